"""The list of sandboxes, the newest first, and a form that makes one.

A test run can have hundreds: the list is cut into pages, and only what a page shows is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, get_args

from paydouble.core.clock import ClockMode
from paydouble.payments.resources import PayIn
from paydouble.web.control.replies import ControlError
from paydouble.web.inspector.control_calls import perform
from paydouble.web.inspector.visits import Page, PageRoute, Shown, Visit, sandbox_url, sandboxes_url, see

if TYPE_CHECKING:
    from paydouble.runtime.host import Host
    from paydouble.sandbox import Sandbox

ROWS: Final = 50
"""Sandboxes on one page of the list."""


@dataclass(frozen=True, slots=True)
class Row:
    """One sandbox of the list."""

    id: str
    url: str
    created: int
    """In real time, in milliseconds."""
    requests: int
    payments: int
    mode: str
    now: int
    """On its clock, in milliseconds."""
    faults: int
    fired: int
    """How often its faults have fired."""
    scenario: str
    target: str
    labels: tuple[str, ...]
    """As `name:value`."""
    expires: int | None
    """When it is deleted if nobody uses it, in milliseconds of real time; None without a lease."""


def show(visit: Visit) -> Page:
    """Show the list."""
    return _page(visit)


def _page(visit: Visit, problem: str = "", status: int = 200) -> Page:
    wanted = visit.query.get("q", "").strip()
    found = _found(visit.host, wanted)
    number = _number(visit.query.get("page", ""), -(-len(found) // ROWS))
    first = (number - 1) * ROWS
    return Page(
        "sandboxes.html",
        {
            "title": "Sandboxes",
            "q": wanted,
            "rows": [_row(visit.host, box) for box in found[first : first + ROWS]],
            "total": len(visit.host.registry),
            "found": len(found),
            "first": first + 1,
            "newer": sandboxes_url(q=wanted, page=str(number - 1)) if number > 1 else "",
            "older": sandboxes_url(q=wanted, page=str(number + 1)) if first + ROWS < len(found) else "",
            "here": sandboxes_url(),
            "modes": get_args(ClockMode),
            "given": visit.form,
            "problem": problem,
        },
        status,
    )


def _found(host: Host, wanted: str) -> list[Sandbox]:
    """Return the sandboxes with a text in their id, business key, target or a label, the newest first."""
    text = wanted.casefold()
    return [
        box
        for box in reversed(list(host.registry))
        if any(
            text in each.casefold()
            for each in (
                box.identity.id,
                box.identity.business_key,
                box.notification_url or "",
                *_labels(host, box),
            )
        )
    ]


def _labels(host: Host, box: Sandbox) -> tuple[str, ...]:
    return tuple(f"{name}:{value}" for name, value in host.tenancy(box).labels.items())


def _number(text: str, pages: int) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else 1  # noqa: PLR2004 - no list is longer
    return max(1, min(number, pages))


def _row(host: Host, box: Sandbox) -> Row:
    return Row(
        id=box.identity.id,
        url=sandbox_url(box.identity.id),
        created=host.created_at(box),
        requests=box.journal.requests.total,
        payments=box.ledger.count(PayIn),
        mode=box.clock.mode,
        now=box.tick(),
        faults=len(box.faults),
        fired=sum(each.fired for each in box.faults),
        scenario=box.active_scenario or "",
        target=box.notification_url or "",
        labels=_labels(host, box),
        expires=host.expires_at(box),
    )


async def create(visit: Visit) -> Shown:
    """Make a sandbox."""
    body = {name: value for name in ("id", "clock") if (value := visit.form.get(name, ""))}
    try:
        made = await perform(visit, "POST", "sandboxes", body=body)
    except ControlError as error:
        return _page(visit, str(error), error.status)
    return see(sandbox_url(made["id"]), f"Sandbox {made['id']} was made.")


ROUTES: Final = (
    PageRoute("GET", "inspector/sandboxes", show),
    PageRoute("POST", "inspector/sandboxes", create),
)
