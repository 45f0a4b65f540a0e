"""From method and path to an operation."""

from __future__ import annotations

import pytest

from paydouble.api.operations import OPERATIONS, PREFIX, operations
from paydouble.api.routes import Routes
from paydouble.core.errors import UsageError

ROUTES = Routes(OPERATIONS, PREFIX)


def test_every_operation_is_found_under_its_path() -> None:
    """Each row of the table answers its own method and path, with the path's variables."""
    for operation in OPERATIONS:
        found = ROUTES.match(operation.method, PREFIX + operation.path.replace("{id}", "payin_1"))

        assert found == (operation, {"id": "payin_1"} if "{id}" in operation.path else {})


def test_a_variable_is_decoded() -> None:
    """Percent signs in a path's segment are taken for what they stand for, and a slash stays in its segment."""
    found = ROUTES.match("GET", "/api/v1/pay-in/a%2Fb%20%C3%A9")

    assert found is not None
    assert found[1] == {"id": "a/b é"}


@pytest.mark.parametrize("path", ["/api/v1/pay-in/", "/api/v1/pay-in//cancellation", "/api/v1/pay-in/a/b/c", "/"])
def test_a_variable_is_one_segment_and_not_empty(path: str) -> None:
    """Neither nothing nor two segments are an id."""
    assert [ROUTES.match(method, path) for method in ("GET", "POST")] == [None, None]


def test_the_documented_paths_are_the_contracts() -> None:
    """Three paths are documented, and these are they."""
    documented = [PREFIX + each.path for each in OPERATIONS if each.path_provenance == "documented"]

    assert documented == [
        "/api/v1/pay-in/deposit-creation",
        "/api/v1/pay-in/deposit-creation/exchange-rates",
        "/api/v1/pay-in/deposit-creation/available-payment-methods",
    ]


def test_an_assumed_path_can_be_moved() -> None:
    """A deployment with another path for refunds is one setting away."""
    routes = Routes(operations({"refund-creation": "/refunds/new"}), PREFIX)

    moved, old = routes.match("POST", "/api/v1/refunds/new"), routes.match("POST", "/api/v1/refund/refund-creation")

    assert moved is not None
    assert (moved[0].name, old) == ("refund-creation", None)


@pytest.mark.parametrize(
    ("paths", "word"),
    [
        ({"deposit-creation": "/deposits"}, "documented"),
        ({"refunds": "/refunds"}, "refund-creation"),
        ({"refund-creation": "refunds"}, "refund-creation"),
        ({"refund-creation": "/refunds/"}, "refund-creation"),
        ({"refund-retrieval": "/refunds"}, "id"),
        ({"refund-creation": "/payout/payout-initiation"}, "two operations"),
    ],
)
def test_a_path_that_cannot_be_is_refused(paths: dict[str, str], word: str) -> None:
    """The message says which operation and why."""
    with pytest.raises(UsageError, match=word):
        operations(paths)
