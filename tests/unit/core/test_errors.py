"""Exceptions: the contract's status table, and helpful messages."""

import pytest

from paydouble.core.errors import STATUS, ApiError, IllegalTransition, UsageError


def test_the_status_table_is_the_contracts() -> None:
    """Codes and statuses are those of contract section 7, and no others."""
    expected = {
        "INVALID_INPUT": 400,
        "INVALID_IDEMPOTENCY_KEY": 400,
        "UNAUTHORIZED": 401,
        "FORBIDDEN": 403,
        "NOT_FOUND": 404,
        "IDEMPOTENCY_CONFLICT": 409,
        "VALIDATION_ERROR": 422,
        "RATE_LIMITED": 429,
        "INTERNAL_ERROR": 500,
    }

    assert dict(STATUS) == expected


@pytest.mark.parametrize("code", sorted(STATUS))
def test_some_codes_come_from_the_edge(code: str) -> None:
    """401, 403, 429 and 5xx come from the edge, the others from operations, unless the caller says otherwise."""
    edge = ApiError(code, "").edge

    assert edge == (code in {"UNAUTHORIZED", "FORBIDDEN", "RATE_LIMITED", "INTERNAL_ERROR"})
    assert ApiError(code, "", edge=not edge).edge is not edge
    assert ApiError(code, "").status == STATUS[code]


def test_a_usage_error_names_the_member() -> None:
    """The text begins with the member's path, when there is one."""
    texts = [str(UsageError("must be a number", member="settings.x")), str(UsageError("there is no server"))]

    assert texts == ["settings.x: must be a number", "there is no server"]


@pytest.mark.parametrize(
    ("allowed", "because", "message"),
    [
        (("pending", "failed"), "", "payin p is created and cannot become succeeded (possible: pending, failed)."),
        ((), "", "payin p is created and cannot become succeeded (created is final)."),
        (("pending",), "it is Sunday", "payin p is created and cannot become succeeded (it is Sunday)."),
    ],
)
def test_an_illegal_transition_says_what_was_possible(allowed: tuple[str, ...], because: str, message: str) -> None:
    """The message names both states and the possible ones, or the reason."""
    error = IllegalTransition("payin", "p", "created", "succeeded", allowed, because=because)

    assert str(error) == message
