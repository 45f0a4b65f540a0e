"""What happened in a sandbox as rows of a timeline, and how a row is written for a person.

The live log of `serve`, the report of a failed test, `trigger`, `scenario check --play` and `demo` all show requests,
events and attempts. Each makes a `Row` of what it sees with the functions below, and a `Renderer` writes it, so the
same thing has the same words everywhere. They differ in how times are shown (the clock's, or counted from a beginning),
in colours and in width.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Protocol

from paydouble.core import json_text
from paydouble.core.durations import UNITS_MS, format_duration
from paydouble.core.errors import UnknownThing
from paydouble.core.instants import Stamps, write_instant
from paydouble.core.printable import printable
from paydouble.faults import labels

if TYPE_CHECKING:
    from datetime import datetime

    from paydouble.records import Attempt, DeliverySummary, Event, Request, UnclaimedRequest
    from paydouble.sandbox import Sandbox

Find = Callable[[str], labels.Declaration | None]
"""Returns the declaration of a fault by its id, or None when there is no such fault any more."""
CALL: Final = ("merchant", "service")
WEBHOOK: Final = ("service", "merchant")
SERVICE: Final = ("service",)
MERCHANT: Final = ("merchant",)
PAYER: Final = ("payer",)
CONTROL: Final = ("control",)
REPORT_WIDTH: Final = 80
"""Columns of a timeline whose times are counted from a beginning."""
_PREFIX: Final = "/api/v1"
_WHO: Final = 11
_WHAT: Final = 27
_SECOND_MS: Final = 1000
_MOST_HOURS: Final = 99
# Of the message of a refusal; the whole of it is in the request's `response_body`.
_LONGEST_MESSAGE: Final = 200
_NAMES: Final = ("external_identifier", "payin_id", "id")


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that happened."""

    at: int
    """When, in milliseconds on the sandbox's clock."""
    who: tuple[str, ...]
    """Who acted, and on whom: `CALL`, `WEBHOOK`, or one side alone."""
    what: str
    result: str = ""
    good: bool | None = None
    """Whether the result is as it should be; None marks nothing."""
    faults: str = ""
    """What faults did to it, as `labels.describe` returns it."""
    notes: tuple[str, ...] = ()
    """What else there is to say about it."""
    delivery: str = ""
    """The id of the delivery that an attempt belongs to."""
    attempt: int = 0
    """The number of an attempt; 0 for everything else."""
    latency_ms: float | None = None


# Rows


def request_row(request: Request, find: Find, names: Iterable[str | None] = ()) -> Row:
    """Return the row of a request to the API; `names` are the order or ids that it is about."""
    target = request.target.removeprefix(_PREFIX)
    words = [request.method, target, *(name for name in names if name and name not in request.path.split("/"))]
    if request.method == "POST":
        words.append(money(answered(request.response_body)))
    faults = labels.describe(request.faults, find, labels.to_request)
    verdict = "" if request.verdict == "none" else f" {request.verdict}"
    result = "no answer" if request.status is None else f"{request.status}{verdict}"
    good = None if faults else True
    if request.status is None or request.status >= 400:  # noqa: PLR2004 - HTTP
        good = False
    return Row(_ms(request.at), CALL, " ".join(filter(None, words)), result, good, faults, _refusal(request))


def unclaimed_row(request: UnclaimedRequest) -> Row:
    """Return the row of a request that no sandbox claims, or of bytes that are not a request."""
    if not request.method:
        return Row(_ms(request.at), CALL, "unreadable bytes", str(request.status), good=False, notes=_refusal(request))
    key = "no business key" if request.business_key is None else f"business key {request.business_key!r}"
    what = f"{request.method} {request.target.removeprefix(_PREFIX)}"
    notes = (f"no sandbox claims it ({key})", *_refusal(request))
    return Row(_ms(request.at), CALL, what, str(request.status), good=False, notes=notes)


def event_row(event: Event, about: str = "", result: str = "") -> Row:
    """Return the row of an event; `about` is the merchant's name for the payment, taken from the body if empty."""
    name = about or payment(resource_of(event.body))
    # The first event of an object shows its id, the later ones its amount.
    shows_id = event.type.endswith(".created") and name != event.object_id
    more = event.object_id if shows_id else money(resource_of(event.body))
    notes = (more,) if more else ()
    return Row(_ms(event.created_at), SERVICE, f"{event.type} {name}".rstrip(), result, notes=notes)


def delivery_row(delivery: DeliverySummary, at: int, about: str, find: Find) -> Row:
    """Return the row of a delivery that is not sent at once; `at` is when that was decided, in milliseconds."""
    result, faults, good = way(delivery, at, find)
    return Row(at, SERVICE, _event_name(delivery, about), result, good, faults, delivery=delivery.id)


def way(delivery: DeliverySummary, now: int, find: Find) -> tuple[str, str, bool | None]:
    """Return the state of a delivery that is not sent at once, what faults did to it, and whether it is good.

    The state is empty where the text about the faults names it. `now` is in milliseconds.
    """
    faults = labels.describe(delivery.faults, find, labels.to_event)
    if f", {delivery.status} " in faults:
        return "", faults, False
    match delivery.status:
        case "waiting":
            due = "" if delivery.next_due_at is None else f"due {instant(_ms(delivery.next_due_at), now)}"
            return due, faults, None
        case "no_endpoint":
            return "no endpoint", faults, None
        case status:
            return status, faults, status == "delivered"


def attempt_row(delivery: DeliverySummary, attempt: Attempt, about: str, find: Find, notes: Sequence[str] = ()) -> Row:
    """Return the row of an attempt; without an outcome it is in flight."""
    status, error = attempt.status, attempt.error_kind
    good = status is not None and 200 <= status < 300  # noqa: PLR2004 - HTTP
    return Row(
        _ms(attempt.due_at),
        WEBHOOK,
        _event_name(delivery, about),
        error or ("in flight" if status is None else str(status)),
        good if status or error else None,
        labels.describe(attempt.faults, find, labels.to_attempt),
        tuple(notes),
        delivery.id,
        attempt.number,
        attempt.latency_ms,
    )


def faults_of(box: Sandbox) -> Find:
    """Return how the faults of a sandbox in this process are found."""

    def find(fault_id: str) -> labels.Declaration | None:
        from paydouble.faults.model import document  # noqa: PLC0415 - models that are built only once a fault is used

        try:
            return document(box.faults.get(fault_id).fault)
        except UnknownThing:  # it was removed
            return None

    return find


def _event_name(delivery: DeliverySummary, about: str) -> str:
    return f"{delivery.event_type}{labels.copy(delivery.id)} {about}".rstrip()


def _refusal(request: Request) -> tuple[str, ...]:
    """Return code and message of an answer that says what was wrong."""
    if request.status is None or request.status < 400:  # noqa: PLR2004 - HTTP
        return ()
    error = _member(document(request.response_body), "error")
    if not {"code", "message"} <= error.keys():
        return ()  # a fault has replaced the service's own answer
    text = f"{error['code']}: {error['message']}"
    return (text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}…",)


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * _SECOND_MS)


# Names, money and times


def document(body: bytes) -> dict[str, Any]:
    """Return a body as a JSON object, with fractional numbers as `Decimal`s; empty when it is not an object."""
    try:
        read = json_text.read(body)
    except json_text.JsonTextError:
        return {}
    return read if isinstance(read, dict) else {}


def answered(body: bytes) -> dict[str, Any]:
    """Return the object that an answer of the API holds; empty when it holds none."""
    return _member(document(body), "data")


def resource_of(body: bytes) -> dict[str, Any]:
    """Return the object that an event's body is about; empty when there is none."""
    return _member(answered(body), "object")


def _member(parent: dict[str, Any], name: str) -> dict[str, Any]:
    found = parent.get(name)
    return found if isinstance(found, dict) else {}


def order_in(resource: dict[str, Any]) -> str:
    """Return the merchant's order in an object; empty when it has none."""
    order = resource.get("external_identifier")
    return word(order) if isinstance(order, str) else ""


def money(resource: dict[str, Any]) -> str:
    """Return an object's amount, such as `49.90 EUR`; empty when it has none."""
    amount, currency = resource.get("amount"), resource.get("currency")
    if isinstance(amount, bool) or not isinstance(amount, int | str | Decimal) or not isinstance(currency, str):
        return ""
    return word(f"{amount} {currency}")


def payment(resource: dict[str, Any]) -> str:
    """Return a name for an object: its order, else the id of its pay-in, else its own id; empty without any."""
    return next((word(resource[name]) for name in _NAMES if isinstance(resource.get(name), str)), "")


def word(value: object) -> str:
    """Return a value from outside as a short text without control characters."""
    return printable(str(value)[:40])


def took(milliseconds: float) -> str:
    """Return a latency: `in 12 ms`, `in 1.2 s`."""
    if milliseconds >= _SECOND_MS:
        return f"in {milliseconds / _SECOND_MS:.1f} s"
    return f"in {milliseconds:.0f} ms" if milliseconds >= 1 else "in <1 ms"


def offset(milliseconds: int) -> str:
    """Return a time since a beginning: `+2s`, `+1m`, `+58h36m`, `+30d6s`.

    Up to 99 hours are not written as days, so that they compare easily with the contract's table of retries.
    """
    hours, rest = divmod(milliseconds, UNITS_MS["h"])
    if hours > _MOST_HOURS:
        return f"+{format_duration(milliseconds)}"
    return "+" + (f"{hours}h" if hours else "") + (format_duration(rest) if rest or not hours else "")


def instant(at: int, now: int) -> str:
    """Return when something is due, with the date if it is not today; both times are in milliseconds."""
    day, _, time = write_instant(at).partition("T")
    time = time.partition(".")[0]
    return f"at {time}" if write_instant(now).startswith(day) else f"on {day} at {time}"


# Writing


class Screen(Protocol):
    """What a timeline is written for."""

    good: str
    bad: str
    arrow: str

    def green(self, text: str) -> str:
        """Return a text marked as good."""

    def red(self, text: str) -> str:
        """Return a text marked as bad."""

    def dim(self, text: str) -> str:
        """Return a text marked as less important."""

    def bold(self, text: str) -> str:
        """Return a heading."""


class Plain:
    """A screen without colours, such as the report of a test."""

    good = "✓"
    bad = "✗"
    arrow = "→"

    def green(self, text: str) -> str:
        """Return the text."""
        return text

    red = dim = bold = green


class Renderer:
    """Writes rows as lines: when, who, what, the result, and notes.

    With `began` (milliseconds), times are counted from it, and lines have at most 80 columns. Without it times are the
    clock's, a line with the date comes before the first row of each day, and lines are folded only if `width` is given.
    """

    def __init__(
        self, screen: Screen, *, began: int | None = None, width: int | None = None, heading: str = "", name: str = ""
    ) -> None:
        """Write for a screen: `heading` after each date, `name` after each time."""
        self._screen = screen
        self._began = began
        self._width = width if began is None else REPORT_WIDTH
        self._heading = f"UTC  {printable(heading)}".rstrip()
        self._name = f"{printable(name)}  " if name else ""
        self._day = ""
        self._stamps = Stamps()

    def lines(self, row: Row) -> Iterator[str]:
        """Yield the lines of a row."""
        if self._began is not None:
            time = f"  {offset(row.at - self._began):<9}"
        else:
            day, _, rest = self._stamps.write(row.at).partition("T")
            time = rest.removesuffix("Z")
            if day != self._day:
                self._day = day
                yield self._screen.bold(f"{day} {self._heading}")
        indent = len(time) + 2 + _WHO + 1
        head = f"{time}  {self._name}{self._who(row.who):<{_WHO}} {printable(row.what):<{_WHAT}}"
        yield from self._folded(head, self._parts(row), indent)

    def text(self, row: Row) -> str:
        """Return a row on one line, without its time and without who acted."""
        return "  ".join([printable(row.what), *(part for part, _ in self._parts(row))])

    def _parts(self, row: Row) -> list[tuple[str, Callable[[str], str]]]:
        screen = self._screen
        result = row.result
        if row.latency_ms is not None:
            result += f" {took(row.latency_ms)}"
        if row.attempt > 1:
            result += f", attempt {row.attempt}"
        result = printable(f"{result}{row.faults}".removeprefix(", "))
        style = screen.dim
        if row.good is not None:
            result = f"{screen.good if row.good else screen.bad} {result}"
            style = screen.green if row.good else screen.red
        elif row.faults:
            style = screen.red
        notes: list[tuple[str, Callable[[str], str]]] = [(printable(each), screen.dim) for each in row.notes]
        return [(result, style), *notes] if result else notes

    def _folded(self, head: str, parts: Sequence[tuple[str, Callable[[str], str]]], indent: int) -> Iterator[str]:
        """Yield a head and parts as one line, or as several where the width is not enough for one."""
        width = self._width
        length, line = len(head), head
        for part, style in parts:
            if width is None or length + 2 + len(part) <= width:
                length, line = length + 2 + len(part), f"{line}  {style(part)}"
                continue
            yield line.rstrip()
            *full, last = textwrap.wrap(part, max(width - indent, 20), break_on_hyphens=False) or [""]
            yield from (" " * indent + style(each) for each in full)
            length, line = indent + len(last), " " * indent + style(last)
        yield line.rstrip()

    def _who(self, who: Sequence[str]) -> str:
        """Return who acts. The service is one end of every arrow, so only the other end is named."""
        if len(who) == 1:
            return who[0]
        arrow = self._screen.arrow
        return f"{arrow} {who[1]}" if who[0] == "service" else f"{who[0]} {arrow}"
