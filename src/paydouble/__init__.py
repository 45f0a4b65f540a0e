"""paydouble: a payment service's double for tests.

Public here: `sign` and `verify` for other people's code, with the errors that `verify` raises. The command line is
`paydouble`; a server for tests is made with `paydouble.server`.
"""

from __future__ import annotations

from paydouble.signatures import (
    SignatureError,
    SignatureHeaderMalformed,
    SignatureHeaderMissing,
    SignatureMismatch,
    SignatureTimestampOutOfTolerance,
    sign,
    verify,
)

__all__ = [
    "SignatureError",
    "SignatureHeaderMalformed",
    "SignatureHeaderMissing",
    "SignatureMismatch",
    "SignatureTimestampOutOfTolerance",
    "sign",
    "verify",
]
