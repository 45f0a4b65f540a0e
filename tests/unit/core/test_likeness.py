"""Suggestions for misspelt names."""

import pytest

from paydouble.core.likeness import hint, nearest


@pytest.mark.parametrize(
    ("name", "names", "expected"),
    [
        ("time", ["ttl", "times"], "times"),
        ("notificationUrl", ["scenario", "notification_url"], "notification_url"),
        ("NOTIFICATION-URL", ["scenario", "notification_url"], "notification_url"),
        ("after", ["before_commit", "after_commit"], "after_commit"),
        ("happy_path", ["happy-path", "slow"], "happy-path"),
        ("hapy-pth", ["happy-path", "slow"], "happy-path"),
        ("card", ["card-declined", "card-expired"], ""),  # ambiguous
        ("a", ["after_commit"], ""),
        ("colour", ["status", "method"], ""),
        ("", ["status"], ""),
        (5, ["5"], ""),
        (None, ["none"], ""),
        ("z" * 100_000, ["z"], ""),
    ],
)
def test_the_nearest_name_is_found_or_none(name: object, names: list[str], expected: str) -> None:
    """Case, hyphens and underscores do not count, and a prefix is enough if only one name has it."""
    assert nearest(name, names) == expected
    assert hint(name, names) == (f"; did you mean {expected!r}?" if expected else "")
