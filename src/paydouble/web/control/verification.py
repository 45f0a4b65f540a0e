"""Questions about the journals: `verify` answers at once, `wait` as soon as it holds, and both explain the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Generic, TypeVar

import orjson
from pydantic import BaseModel, Field, ValidationInfo, field_validator

from paydouble.config import RealDuration, Whole
from paydouble.core import json_text
from paydouble.core.documents import Document
from paydouble.core.json_schema import ANYTHING, COUNT, FLAG, TEXT, Schema, described, list_of, object_of, reference
from paydouble.sandbox import Sandbox
from paydouble.verification import Criterion, Expectation, Verdict, verify, verify_sequence
from paydouble.web.control.calls import Body, ControlCall

T = TypeVar("T")
Members = Mapping[str, tuple[Callable[[T], Any], bool]]
"""How to read each member of a match, and whether that is costly."""
VERDICT: Final = reference("Verdict")
COMPONENTS: Final[Mapping[str, Schema]] = {
    "Difference": object_of(
        {
            "member": described("The member, with its path where it is inside of a body: `body.customer.email`.", TEXT),
            "wanted": ANYTHING,
            "got": described("What it was; absent members are null.", ANYTHING),
        }
    ),
    "NearMiss": described(
        "A record that came close: what identifies it, and what was not as wanted.",
        object_of(
            {"id": TEXT, "differences": list_of(reference("Difference"))},
            **dict.fromkeys(("at", "method", "target", "event_type", "object_id"), TEXT),
        ),
    ),
    "Verdict": object_of(
        {
            "passed": FLAG,
            "count": COUNT,
            "expected": TEXT,
            "closest": described("Up to three near misses, when it did not pass.", list_of(reference("NearMiss"))),
            "evicted": COUNT,
        },
        note=TEXT,
        timed_out=FLAG,
    ),
}
"""The schemas of a verdict."""
_DEEPEST = 100
"""Levels of nested lists and objects of a journalled body that an answer shows."""


class Question(Body):
    """How many are expected (at least one when absent), and for `wait` how long in real time."""

    count: Whole | None = Field(None, ge=0)
    at_least: Whole | None = Field(None, ge=0)
    at_most: Whole | None = Field(None, ge=0)
    timeout: RealDuration = 5000

    @field_validator("at_least", "at_most")
    @classmethod
    def _agree(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value is not None and info.data.get("count") is not None:
            message = "contradicts count; give the one or the other"
            raise ValueError(message)
        if value is not None and info.field_name == "at_most" and value < (info.data.get("at_least") or 0):
            message = "is below at_least"
            raise ValueError(message)
        return value


def alone(value: object, info: ValidationInfo) -> object:
    """Refuse a sequence beside other members, for `AfterValidator`."""
    others = [name for name in ("match", "count", "at_least", "at_most") if _says_something(info.data.get(name))]
    if value is not None and others:
        message = f"stands alone, without {' and '.join(others)}"
        raise ValueError(message)
    return value


def _says_something(member: object) -> bool:
    return bool(member.model_fields_set) if isinstance(member, BaseModel) else member is not None


def given(match: BaseModel) -> dict[str, Any]:
    """Return the members of a match that were given."""
    return {name: value for name, value in match if value is not None}


@dataclass(slots=True, frozen=True)
class Journal(Generic[T]):
    """A journal about which questions are asked."""

    records: Callable[[Sandbox], Iterable[T]]
    evicted: Callable[[Sandbox], int]
    name: Callable[[T], Document]
    """Returns what identifies a record in an explanation."""
    criteria: Callable[[Any, Sandbox], list[Criterion[T]]]
    """Returns what a match asks of a record."""

    def verify(self, call: ControlCall) -> Document:
        """Say whether the journal holds what is expected."""
        wanted, box = call.body, call.sandbox
        box.tick()
        records = self.records(box)
        if wanted.sequence is None:
            expectation = Expectation(wanted.count, wanted.at_least, wanted.at_most)
            verdict = verify(records, self.criteria(wanted.match, box), expectation)
        else:
            verdict = verify_sequence(records, [self.criteria(each, box) for each in wanted.sequence])
        return _show(verdict, self.name, self.evicted(box))

    async def wait(self, call: ControlCall) -> Document:
        """Answer once the journal holds what is expected, or when the time is over."""
        # In real time: on a manual clock nothing may happen.
        answer: Document = {}

        def holds() -> bool:
            answer.clear()
            answer.update(self.verify(call))
            return bool(answer["passed"])

        held = await call.host.until(call.sandbox, holds, call.body.timeout / 1000)
        return answer if held else {**answer, "timed_out": True}


def _show(verdict: Verdict[T], name: Callable[[T], Document], evicted: int) -> Document:
    document: Document = {
        "passed": verdict.passed,
        "count": verdict.count,
        "expected": verdict.expected,
        "closest": [
            {
                **name(miss.record),
                "differences": [
                    {"member": member, "wanted": _exact(wanted), "got": _printable(_exact(got))}
                    for member, wanted, got in miss.differences
                ],
            }
            for miss in verdict.closest
        ],
        "evicted": evicted,
    }
    if evicted:
        document["note"] = (
            f"The journal has evicted {evicted} older entries, and what you ask about may have been among them; "
            "raise the settings journal_limit and journal_bytes."
        )
    return document


def _printable(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    try:
        text = json_text.dumps(value)
        json_text.check_depth(text, _DEEPEST)
    except (orjson.JSONEncodeError, json_text.JsonTextError):
        return "(nested too deeply to be shown)"  # the journal keeps bodies that the API has refused
    return value if len(text) <= 2000 else text[:2000].decode("utf-8", "replace")  # noqa: PLR2004 - about a page


def _exact(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    """Return JSON whose numbers are written with the digits with which they were read."""
    if isinstance(value, Decimal):
        return value if isinstance(value, json_text.Number) else json_text.Number(str(value))
    if isinstance(value, dict):
        return {name: _exact(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_exact(member) for member in value]
    return value
