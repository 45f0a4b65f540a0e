"""paydouble: a payment service's double for tests.

Public here: `sign` and `verify` for other people's code, with the errors that `verify` raises, and `Sandbox`, the
double without sockets. A server for tests is `paydouble.testing.Paydouble`; the command line is `paydouble`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paydouble.signatures import (
        SignatureError,
        SignatureHeaderMalformed,
        SignatureHeaderMissing,
        SignatureMismatch,
        SignatureTimestampOutOfTolerance,
        sign,
        verify,
    )
    from paydouble.testing.socketless import Sandbox

__all__ = [
    "Sandbox",
    "SignatureError",
    "SignatureHeaderMalformed",
    "SignatureHeaderMissing",
    "SignatureMismatch",
    "SignatureTimestampOutOfTolerance",
    "sign",
    "verify",
]


def __getattr__(name: str) -> object:
    """Load a public name when it is first used: a test run that has the plugin and does not use it stays quick."""
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    module = "paydouble.testing.socketless" if name == "Sandbox" else "paydouble.signatures"
    value = globals()[name] = getattr(import_module(module), name)
    return value
