"""The parts of a sandbox that a reset can forget, and which of them make sense together."""

from __future__ import annotations

from typing import Final

from paydouble.core.errors import UsageError

# What `reset` can forget. The scope of a reset without one is all of it.
RESET_SCOPES: Final = ("state", "faults", "requests", "deliveries", "clock", "scenarios")


def check_scope(scope: frozenset[str], *, same_ids: bool) -> None:
    """Raise `UsageError` for a reset that makes no sense; for those who change something before they reset."""
    unknown = sorted(scope - frozenset(RESET_SCOPES))
    if unknown:
        parts = ", ".join(RESET_SCOPES)
        raise UsageError(f"{unknown[0]!r} is no part of a sandbox; there are: {parts}", member="scope")
    if "clock" in scope and "state" not in scope:
        raise UsageError("the clock can only be reset together with the state, which lies in its past", member="scope")
    if same_ids and "state" not in scope:
        raise UsageError("ids begin again with the state, which this scope does not name", member="same_ids")
