"""The expected and the actual events and answers of a rehearsal side by side, and why they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Final

from paydouble.core import json_text
from paydouble.core.durations import format_duration
from paydouble.core.json_text import JsonTextError
from paydouble.rehearsal.calls import Answer
from paydouble.rehearsal.reasons import reasons, refusals
from paydouble.rehearsal.rehearsing import Arrival, Rehearsal
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.play import Case, Expected, ExpectedEvent

NOTHING: Final = "–"


@dataclass(slots=True, frozen=True)
class Pair:
    """One row of two lists side by side."""

    expected: str
    got: str
    same: bool
    remark: str = ""


@dataclass(slots=True, frozen=True)
class Difference:
    """One thing that is not as the file says; `member` is the place in the file."""

    member: str
    message: str
    """The first thing that differs, in a sentence."""
    pairs: tuple[Pair, ...] = ()
    why: tuple[str, ...] = ()


def compare(scenario: Scenario, rehearsal: Rehearsal, case: Case | None = None) -> list[Difference]:
    """Return where a rehearsal differs from `expect` and `answers` of the scenario, or of one of its cases."""
    found: list[Difference] = []
    if not rehearsal.idle:
        lasted = format_duration(rehearsal.ended - rehearsal.began)
        place = f"cases.{case.name}." if case else ""
        found.append(Difference(f"{place}lifecycle", f"the life has not come to its end after {lasted}"))
    differences = compare_play(scenario, case, rehearsal.arrivals, rehearsal.answers, began=rehearsal.began)
    return [*found, *(_explained(each, case or scenario, rehearsal) for each in differences)]


def compare_play(
    scenario: Scenario, case: Case | None, arrivals: Sequence[Arrival] | None, answers: Sequence[Answer], *, began: int
) -> list[Difference]:
    """Return where a play differs from `expect` and `answers` of the scenario, or of one of its cases.

    Without `arrivals` only the answers are compared. Times are counted from `began`.
    """
    place = f"cases.{case.name}." if case else ""
    described: Case | Scenario = case or scenario
    found: dict[str, Difference | None] = {}
    if arrivals is not None and (case is not None or "expect" in scenario.model_fields_set):
        found["expect"] = compare_events(described.expect, arrivals, began=began)
    if described.answers is not None:
        found["answers"] = compare_answers(described.answers, answers)
    why = tuple(refusals(answers, described.answers or ()))
    return [replace(each, member=place + member, why=why) for member, each in found.items() if each is not None]


def compare_events(expected: Sequence[Expected], arrivals: Sequence[Arrival], *, began: int) -> Difference | None:
    """Return where what arrived differs from what was expected, or None; times are counted from `began`."""
    rows = _side_by_side(
        [each if isinstance(each, str) else each.event for each in expected], [each.type for each in arrivals]
    )
    pairs: list[Pair] = []
    for wanted, came in rows:
        arrival = None if came is None else arrivals[came]
        one = None if wanted is None else expected[wanted]
        problem = _members(one, arrival) if isinstance(one, ExpectedEvent) and arrival is not None else ""
        at = "" if arrival is None else f"+{format_duration(arrival.at - began)}"
        same = one is not None and arrival is not None and not problem and _name(one) == arrival.type
        got = NOTHING if arrival is None else f"{arrival.type}  {at}"
        pairs.append(Pair(NOTHING if one is None else _name(one), got, same, problem))
    return _difference(pairs, "the receiver got")


def compare_answers(expected: Sequence[int | str], answers: Sequence[Answer]) -> Difference | None:
    """Return where the answers to the merchant's calls differ from what was expected, or None."""
    pairs: list[Pair] = []
    for wanted, came in _side_by_side([str(each) for each in expected], [str(each.status) for each in answers]):
        answer = None if came is None else answers[came]
        one = NOTHING if wanted is None else str(expected[wanted])
        got = NOTHING if answer is None else f"{answer.status}  {answer.call.operation}"
        same = answer is not None and one == str(answer.status)
        pairs.append(Pair(one, got, same, "" if answer is None or same else answer.message))
    return _difference(pairs, "the merchant's calls got")


def _side_by_side(expected: Sequence[str], got: Sequence[str]) -> Iterator[tuple[int | None, int | None]]:
    """Yield pairs of indexes into both lists; what both have, in the same order, is one pair."""
    for _, low, high, first, last in SequenceMatcher(None, expected, got, autojunk=False).get_opcodes():
        yield from zip_longest(range(low, high), range(first, last))


def _difference(pairs: Sequence[Pair], got: str) -> Difference | None:
    for number, pair in enumerate(pairs, start=1):
        if pair.same:
            continue
        came = pair.got.partition("  ")[0]
        if pair.expected == NOTHING:
            message = f"{got} {came} as number {number}, which is not expected"
        elif pair.got == NOTHING:
            message = f"number {number}, {pair.expected}, is missing"
        elif pair.expected == came:
            message = f"number {number}, {came}: {pair.remark}"
        else:
            message = f"number {number} is expected to be {pair.expected}; {got} {came}"
        return Difference("", message, tuple(pairs))
    return None


def _explained(difference: Difference, described: Case | Scenario, rehearsal: Rehearsal) -> Difference:
    missing = [pair.expected for pair in difference.pairs if not pair.same and pair.expected != NOTHING]
    why = tuple(reasons(missing, rehearsal, foreseen=described.answers or ()))
    return replace(difference, why=why)


def _name(expected: Expected) -> str:
    return expected if isinstance(expected, str) else expected.event


def _members(expected: ExpectedEvent, arrival: Arrival) -> str:
    """Return the first member of the event's object that is not as expected, or an empty text."""
    try:
        body = json_text.loads(arrival.body)
    except JsonTextError as error:
        return f"its body is no JSON ({error})"
    data = body.get("data") if isinstance(body, dict) else None
    found = data.get("object") if isinstance(data, dict) else None
    return "" if expected.event != arrival.type else _first_wrong(expected.object, found, "object")


def _first_wrong(expected: Any, found: Any, place: str) -> str:  # noqa: ANN401 - JSON is any
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for name, value in expected.items():
            if name not in found:
                return f"{place}.{name} is missing"
            wrong = _first_wrong(value, found[name], f"{place}.{name}")
            if wrong:
                return wrong
        return ""
    return "" if _equal(expected, found) else f"{place} is {_shown(found)}, not {_shown(expected)}"


def _equal(expected: Any, found: Any) -> bool:  # noqa: ANN401 - JSON is any
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, float):
        expected = Decimal(repr(expected))  # numbers of a file are exact
    return bool(expected == found)


def _shown(value: Any) -> str:  # noqa: ANN401 - JSON is any
    if isinstance(value, json_text.Number):
        return value.lexeme
    if isinstance(value, Decimal):
        return format(value, "f")
    return json_text.dumps(value).decode()
