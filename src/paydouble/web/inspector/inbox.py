"""The inbox: a row for each payment of all sandboxes, and for each request that led to none. The newest is first.

What is shown is chosen by the query of the URL, so that a filter can be kept as a bookmark:

    q         text in identifiers, keys or bodies
    show      `failed`, `undelivered`, `waiting`, `faults`, `twice` or `refused`
    sandbox   the id of a sandbox
    type      the type of an event that the payment has had
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from paydouble.core.money import write_minor
from paydouble.faults import labels
from paydouble.payments.events import EVENT_TYPES
from paydouble.payments.lifecycle import PAID
from paydouble.payments.resources import PayIn
from paydouble.web.inspector.activity import (
    Activity,
    Badge,
    Tone,
    activities,
    answer_of,
    attempt_result,
    fired,
    is_refused,
    last_attempt,
    next_due,
    owner_of,
    refusal,
    refused_as,
    same_order,
    state_tone,
)
from paydouble.web.inspector.visits import Page, PageRoute, Visit, home, path, payment_url, request_url

if TYPE_CHECKING:
    from paydouble.journal import RequestEntry, UnclaimedEntry
    from paydouble.runtime.host import Host
    from paydouble.sandbox import Sandbox

MOST_ROWS: Final = 500
REFUSED: Final = "refused"
"""The value of `show` that lists refused requests, also those of payments, and no payments."""
FAULTS: Final = "faults"
"""The value of `show` for payments on which a fault fired, with the other payments of their orders."""


class Filter(NamedTuple):
    """Which rows are shown."""

    q: str = ""
    show: str = ""
    sandbox: str = ""
    type: str = ""

    @staticmethod
    def of(query: Mapping[str, str]) -> Filter:
        """Return the filter of a URL's query; a value that is not known is left out."""
        show, kind = query.get("show", ""), query.get("type", "")
        return Filter(
            query.get("q", "").strip(),
            show if show in SHOWN else "",
            query.get("sandbox", ""),
            kind if kind in EVENT_TYPES else "",
        )

    def url(self, **changes: str) -> str:
        """Return the URL of the inbox with this filter, or with some values of it changed."""
        return home(**self._replace(**changes)._asdict())


@dataclass(frozen=True, slots=True)
class Due:
    """When the next attempt is due."""

    at: int
    """In milliseconds on the sandbox's clock."""
    milliseconds: int
    """How far away it is on that clock."""
    real_seconds: float | None
    """How far away it is in real time; None on a clock that does not move by itself."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row."""

    key: str
    """Its id among the rows."""
    kind: str
    """`payment`, `request` or `unclaimed`."""
    at: int
    """When it began, in milliseconds: on the sandbox's clock, or in real time if it is unclaimed."""
    arrived: int
    """The same in real time, as far as it is known; the order of the rows."""
    title: str
    sandbox: str = ""
    url: str = ""
    amount: str = ""
    state: str = ""
    tone: Tone = "idle"
    sent: str = ""
    """The event of the last attempt."""
    attempt: int = 0
    result: str = ""
    """What became of the last attempt."""
    result_tone: Tone = "idle"
    due: Due | None = None
    due_event: str = ""
    """The event of the next attempt, if it is another one than that of the last attempt."""
    payments: int = 1
    """How many payments its order has."""
    payments_tone: Tone = "idle"
    faults: tuple[Badge, ...] = ()
    refusals: tuple[str, ...] = ()
    """How requests of the payment were refused, such as `409 conflict`."""
    order: str = ""
    """The order that a request names."""
    note: str = ""


def show(visit: Visit) -> Page:
    """Show the inbox."""
    chosen = Filter.of(visit.query)
    reached = position(visit.host)  # before the rows are made, so that nothing is missed in between
    found = rows(visit.host, chosen)
    host = visit.host
    return Page(
        "inbox.html",
        {
            "title": "Inbox",
            "filter": chosen,
            "chips": [(each.label, chosen.url(show=name), chosen.show == name) for name, each in SHOWN.items()],
            "sandboxes": [box.identity.id for box in host.registry],
            "types": tuple(EVENT_TYPES),
            "rows": found[:MOST_ROWS],
            "most": MOST_ROWS,
            "more": len(found) - MOST_ROWS,
            "cleared": home(),
            "stream": path("inbox", "stream", **{name: value for name, value in chosen._asdict().items() if value}),
            "position": reached,
            "api": visit.reached.api,
            "keys": [(box.identity.id, box.identity.business_key) for box in host.registry][:1],
        },
    )


def position(host: Host) -> str:
    """Return up to where somebody has seen everything who sees the inbox now: `RUN.NUMBER.UNCLAIMED`."""
    return f"{host.everything.run}.{host.everything.look()}.{host.unclaimed.log.total}"


def rows(host: Host, chosen: Filter) -> list[Row]:
    """Return the rows that a filter lets through, the newest first; without a filter at most `MOST_ROWS` a sandbox."""
    found: list[Row | None] = []
    for box in host.registry:
        if chosen.sandbox in {"", box.identity.id}:
            box.tick()
            found += _rows_of(box, chosen)
    if not chosen.sandbox:
        found += [chosen_unclaimed(each, chosen) for each in reversed(host.unclaimed.log.entries)]
    return sorted((row for row in found if row is not None), key=lambda row: row.arrived, reverse=True)


def _rows_of(box: Sandbox, chosen: Filter) -> Iterator[Row | None]:
    known: dict[str, Badge] = {}
    if chosen.show == REFUSED:
        for entry in reversed(box.journal.requests.entries):
            yield chosen_request(box, entry, chosen, known)
        return
    wanted = None
    if chosen == Filter(sandbox=chosen.sandbox):
        newest = box.ledger.newest_first(PayIn)
        wanted = [each.id for each, _ in zip(newest, range(MOST_ROWS), strict=False)][::-1]
    payments, others = activities(box, wanted)
    faulted = faulted_orders(payments.values()) if chosen.show == FAULTS else ()
    for activity in reversed(payments.values()):
        yield chosen_payment(box, activity, chosen, known, faulted)
    for entry in reversed(tuple(others if wanted is None else _refused(box))):
        yield chosen_request(box, entry, chosen, known)


def _refused(box: Sandbox) -> Iterable[RequestEntry]:
    """Return the requests that belong to no payment, and were refused or have no answer yet."""
    for entry in box.journal.requests.entries:
        if (entry.status is None or is_refused(entry)) and owner_of(box, entry) is None:
            yield entry


# Rows


def payment_row(box: Sandbox, activity: Activity, known: dict[str, Badge] | None = None) -> Row:
    """Return the row of a payment."""
    pay_in = activity.pay_in
    last = last_attempt(activity.deliveries)
    result, tone = attempt_result(last[1]) if last else _unsent(activity)
    following = next_due(activity.deliveries)
    first = activity.requests[0] if activity.requests else None
    return Row(
        key=f"{box.identity.id}/{pay_in.id}",
        kind="payment",
        at=pay_in.created_at,
        arrived=first.arrived if first is not None and first.arrived else pay_in.created_at,
        title=pay_in.external_identifier,
        sandbox=box.identity.id,
        url=payment_url(box.identity.id, pay_in.id),
        amount=f"{write_minor(pay_in.amount, pay_in.digits)} {pay_in.currency}",
        state=pay_in.status,
        tone=state_tone(pay_in.status),
        sent=last[0].event.type if last else "",
        attempt=last[1].number if last else 0,
        result=result,
        result_tone=tone,
        due=None if following is None else due_of(box, following[1]),
        due_event=""
        if following is None or (last and last[0].event is following[0].event)
        else following[0].event.type,
        payments=len(box.ledger.holders(PayIn, pay_in.external_identifier)),
        payments_tone="bad" if _paid_twice(box, pay_in) else "busy",
        faults=_faults_of(box, activity, known),
        refusals=tuple(dict.fromkeys(refused_as(each) for each in activity.requests if is_refused(each))),
    )


def _paid_twice(box: Sandbox, pay_in: PayIn) -> bool:
    """Return whether more than one payment of an order has succeeded."""
    return sum(box.ledger.get(PayIn, each).status == PAID for each in same_order(box, pay_in)) > 1


def due_of(box: Sandbox, due: int) -> Due:
    """Return when something is due."""
    return Due(due, due - box.now, box.clock.real_seconds_until(due))


def _unsent(activity: Activity) -> tuple[str, Tone]:
    """Return why no attempt was sent."""
    states = {each.status for each in activity.deliveries}
    if "held" in states:
        return "held", "busy"
    if "dropped" in states:
        return "dropped", "bad"
    return ("no endpoint", "idle") if "no_endpoint" in states else ("", "idle")


def _faults_of(box: Sandbox, activity: Activity, known: dict[str, Badge] | None) -> tuple[Badge, ...]:
    requests = (fault for each in activity.requests for fault in each.faults)
    deliveries = (fault for each in activity.deliveries for fault in each.faults)
    attempts = (fault for each in activity.deliveries for one in each.attempts for fault in one.faults)
    return (
        *fired(box, requests, labels.to_request, known),
        *fired(box, (*deliveries, *attempts), labels.to_event, known),
    )


def _request_row(box: Sandbox, entry: RequestEntry, known: dict[str, Badge]) -> Row:
    state, tone = answer_of(box, entry)
    return Row(
        key=f"{box.identity.id}/{entry.id}",
        kind="request",
        at=entry.at,
        arrived=entry.arrived or entry.at,
        title=f"{entry.method} {entry.target}",
        sandbox=box.identity.id,
        url=request_url(box.identity.id, entry.id),
        state=state,
        tone=tone,
        faults=fired(box, entry.faults, labels.to_request, known),
        order=entry.external_identifier or "",
        note=refusal(entry),
    )


def _unclaimed_row(entry: UnclaimedEntry) -> Row:
    key = "no business key" if entry.business_key is None else f"business key {entry.business_key}"
    unclaimed = f"No sandbox has these credentials ({key}). " if entry.method else ""
    return Row(
        key=f"/{entry.id}",
        kind="unclaimed",
        at=entry.at,
        arrived=entry.at,
        title=f"{entry.method} {entry.target}" if entry.method else "Bytes that are not HTTP",
        url=request_url("", entry.id),
        state=str(entry.status),
        tone="bad",
        order=entry.external_identifier or "",
        note=f"{unclaimed}{refusal(entry)}",
    )


# What a filter lets through


def faulted_orders(payments: Iterable[Activity]) -> frozenset[str]:
    """Return the orders of the payments on which a fault fired."""
    return frozenset(each.pay_in.external_identifier for each in payments if each.faulted)


def chosen_payment(
    box: Sandbox,
    activity: Activity,
    chosen: Filter,
    known: dict[str, Badge] | None = None,
    faulted: Container[str] = (),
) -> Row | None:
    """Return the row of a payment if a filter lets it through; `faulted` are the orders on which a fault fired."""
    row = payment_row(box, activity, known)
    if not SHOWN[chosen.show].fits(row) and row.title not in faulted:
        return None
    if chosen.type and all(event.type != chosen.type for event in activity.events):
        return None
    return row if not chosen.q or _in_payment(activity, chosen.q.casefold()) else None


def chosen_request(
    box: Sandbox, entry: RequestEntry, chosen: Filter, known: dict[str, Badge] | None = None
) -> Row | None:
    """Return the row of a request if it was refused or is in flight, and a filter lets it through."""
    if chosen.type or not (entry.status is None or is_refused(entry)):
        return None
    row = _request_row(box, entry, {} if known is None else known)
    fits = SHOWN[chosen.show].fits(row) and (not chosen.q or _in_request(entry, chosen.q.casefold()))
    return row if fits else None


def chosen_unclaimed(entry: UnclaimedEntry, chosen: Filter) -> Row | None:
    """Return the row of an unclaimed request if a filter lets it through."""
    row = _unclaimed_row(entry)
    if chosen.type or not SHOWN[chosen.show].fits(row):
        return None
    wanted = chosen.q.casefold()
    found = not wanted or _in_request(entry, wanted) or wanted in (entry.business_key or "").casefold()
    return row if found else None


class Kind(NamedTuple):
    """One value of `show`: the label of its chip, and which rows it lets through."""

    label: str
    fits: Callable[[Row], bool]


def _is_waiting(row: Row) -> bool:
    return row.kind != "unclaimed" and (row.tone == "busy" or row.due is not None or row.result == "held")


SHOWN: Final[Mapping[str, Kind]] = {
    "": Kind("All", lambda _: True),
    "failed": Kind("Failed payments", lambda row: row.kind == "payment" and row.tone == "bad"),
    "undelivered": Kind("Failed webhooks", lambda row: row.result_tone == "bad"),
    "waiting": Kind("Waiting", _is_waiting),
    FAULTS: Kind("Faults fired", lambda row: bool(row.faults)),
    "twice": Kind("Same order twice", lambda row: row.payments > 1),
    REFUSED: Kind("Refused requests", lambda row: row.kind != "payment" and row.tone == "bad"),
}
"""By the value of `show`."""


def _in_payment(activity: Activity, wanted: str) -> bool:
    pay_in = activity.pay_in
    names = (pay_in.external_identifier, pay_in.id, pay_in.reference)
    if any(wanted in name.casefold() for name in names):
        return True
    if any(_in_request(entry, wanted) for entry in activity.requests):
        return True
    text = wanted.encode("utf-8", "replace")
    if any(wanted in event.id.casefold() or text in event.body.lower() for event in activity.events):
        return True
    return any(wanted in each.id.casefold() or wanted in (each.target or "").casefold() for each in activity.deliveries)


def _in_request(entry: RequestEntry, wanted: str) -> bool:
    names = (entry.id, entry.target, entry.key or "", entry.operation or "")
    if is_refused(entry) and wanted in refused_as(entry):
        return True
    if any(wanted in name.casefold() for name in names):
        return True
    text = wanted.encode("utf-8", "replace")
    return text in entry.body.lower() or text in entry.response_body.lower()


ROUTES: Final = (PageRoute("GET", "", show),)
