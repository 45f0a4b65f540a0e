"""The webhook secret over time."""

from __future__ import annotations

import pytest

from paydouble.webhooks.deliveries import Secrets


@pytest.mark.parametrize(("at", "expected"), [(0, ("new", "old")), (99, ("new", "old")), (100, ("new",))])
def test_both_secrets_sign_until_the_grace_is_over(at: int, expected: tuple[str, ...]) -> None:
    """The new one comes first; from the end of the grace on it is the only one."""
    secrets = Secrets("old")
    secrets.rotate("new", 0, 100)

    assert secrets.at(at) == expected


def test_without_a_grace_the_old_secret_is_over_at_once() -> None:
    """A rotation without a grace also ends the grace of an earlier one."""
    secrets = Secrets("oldest")
    secrets.rotate("old", 0, 100)
    secrets.rotate("new", 10, 0)

    assert secrets.at(10) == ("new",)


def test_a_secret_that_is_set_ends_a_grace() -> None:
    """After a secret was set, only that one signs."""
    secrets = Secrets("old")
    secrets.rotate("new", 0, 100)
    secrets.replace("set")

    assert secrets.at(10) == ("set",)
