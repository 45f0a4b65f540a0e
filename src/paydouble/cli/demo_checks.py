"""What the demo checks of an act's events: order, signatures, bytes, attempts and their instants."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from paydouble.cli.demo_stage import Act
from paydouble.cli.demo_timeline import LADDER, offset, succeeded
from paydouble.core.instants import parse_instant

# Contract section 6, delivery rule 3, written out: the demo must not compute what it means to check.
CONTRACT_LADDER: Final = ("+0s", "+1m", "+6m", "+36m", "+2h36m", "+10h36m", "+34h36m", "+58h36m")


def check_events(act: Act, expected: Sequence[tuple[str, str]], *, attempts: int = 1) -> None:
    """Hold the act's events against types with the instants at which they must have happened.

    Each must have been delivered at its `attempts`-th attempt, those before it at the contract's instants, verified,
    in order, and byte for byte as the service says that it sent it.
    """
    deliveries = [each for each in act.deliveries if each["attempts"]]
    never = [each["event_type"] for each in act.deliveries if not each["attempts"]]
    act.expect("events that were never sent", [], never)
    happened = [(each["event_type"], _since(act, each["attempts"][0]["due_at"])) for each in deliveries]
    act.expect("events", _listing(expected), _listing(happened))
    unverified = [each for each in act.received if not each.verified]
    if unverified:
        cause = unverified[0].diagnosis
        act.problems.append(
            f"signatures: {len(unverified)} of {len(act.received)} did not verify ({cause.cause if cause else '?'})"
        )
    for each in deliveries:
        _check_attempts(act, each, attempts)
    taken = [each for each in act.received if each.verified and 200 <= each.answered < 300]  # noqa: PLR2004 - HTTP
    arrived = _words([each.event["type"] for each in taken]) or "nothing"
    act.expect("order of arrival", _words([each["event_type"] for each in deliveries]), arrived)
    created = [parse_instant(each.event["created_at"]) for each in taken]
    act.expect("created_at goes back", [], [later for earlier, later in pairwise(created) if later < earlier])
    sent = {each["event_id"]: each["attempts"][-1]["body"] for each in deliveries}
    changed = [each.event["type"] for each in taken if sent[each.event["id"]] != each.body.decode()]
    act.expect("bodies changed on their way", [], changed)


def _check_attempts(act: Act, delivery: dict[str, Any], attempts: int) -> None:
    kind = delivery["event_type"]
    made = delivery["attempts"]
    if delivery["status"] != "delivered":
        act.problems.append(
            f"{kind} is {delivery['status']}, not delivered, after {len(made)} of {len(LADDER)} attempts"
        )
        return
    act.expect(f"{kind} got through at attempt", attempts, next(each["number"] for each in made if succeeded(each)))
    began = parse_instant(made[0]["due_at"])
    instants = [offset(parse_instant(each["due_at"]) - began) for each in made]
    act.expect(f"attempts of {kind}", _words(CONTRACT_LADDER[:attempts]), _words(instants))


def _since(act: Act, instant: str) -> str:
    return offset(parse_instant(instant) - act.began)


def _listing(events: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{kind} {at}" for kind, at in events) or "none"


def _words(words: Sequence[str]) -> str:
    return " ".join(words)
