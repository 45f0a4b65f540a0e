"""A deposit is validated as a dictionary, by the schema of its model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import pytest
from drive import deposit_body
from pydantic import ValidationError

from paydouble.api.schemas import DepositRequest
from paydouble.config import explain

LEAST: Final = deposit_body(amount=50)
WHOLE: Final[dict[str, Any]] = {
    **LEAST,
    "country": "DE",
    "notification_url": "https://merchant.test/hooks",
    "return_url": "https://merchant.test/return",
    "expires_in": 3600,
    "metadata": {"cart": "c-1"},
}
VALUES: Final[tuple[Any, ...]] = (None, True, 5, "", "x", "x" * 3000, [], {}, {"": "x"}, {"cart": 5})
BODIES: Final = [
    WHOLE,
    *VALUES,
    *({each: value for each, value in LEAST.items() if each != name} for name in (*LEAST, "none of them")),
    *({**WHOLE, name: value} for name in (*WHOLE, "curency") for value in VALUES),
    *(
        {**WHOLE, outer: {**WHOLE[outer], name: value}}
        for outer in ("payment_method", "customer", "metadata")
        for name in (*WHOLE[outer], "emial", "code")
        for value in VALUES
    ),
]


def _outcome(validate: Callable[[object], Any], body: object) -> object:
    """Return what a validation gives, or the place and the message of its first error, as a client reads them."""
    try:
        return validate(body)
    except ValidationError as error:
        return explain(error, DepositRequest)


@pytest.mark.parametrize("extra", [None, "forbid"])
def test_the_dictionary_of_a_deposit_has_what_its_model_would_have(extra: Literal["forbid"] | None) -> None:
    """What is accepted has the same members with the same values, and what is refused has the same message."""

    def dictionary(body: object) -> object:
        return DepositRequest.validated(body, extra)

    def dumped_model(body: object) -> object:
        return DepositRequest.model_validate(body, extra=extra).model_dump()

    got = [_outcome(dictionary, body) for body in BODIES]

    assert got == [_outcome(dumped_model, body) for body in BODIES]
    assert sum(isinstance(each, dict) for each in got) > 2
    assert sum(isinstance(each, tuple) for each in got) > 100
