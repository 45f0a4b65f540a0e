"""The library of scenarios, and each of them: its scripts drawn as a graph, its file, and a form that plays it.

The graph is the timeline of `scenario graph` (`scenarios/drawing.py`) as nested lists: the sides of a branch are inside
it, also for somebody who listens to the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

from paydouble.payments.lifecycle import DISPUTE, PAY_IN, REFUND
from paydouble.records import scenario_of
from paydouble.scenarios import drawing
from paydouble.scenarios.library import shipped_files
from paydouble.scenarios.writing import write_scenario
from paydouble.web.control.replies import ControlError
from paydouble.web.inspector.activity import Tone, state_tone
from paydouble.web.inspector.control_calls import perform
from paydouble.web.inspector.schema_forms import Field, body, component, fields
from paydouble.web.inspector.visits import (
    Page,
    PageRoute,
    Refused,
    Shown,
    Visit,
    payment_url,
    sandbox_url,
    scenarios_url,
    see,
)

if TYPE_CHECKING:
    from paydouble.sandbox import Sandbox
    from paydouble.scenarios.model import Scenario

_STATES: Final = frozenset({*PAY_IN, *REFUND, *DISPUTE})
_FIRST_WORD: Final = re.compile(r"[a-z_]+")


@dataclass(frozen=True, slots=True)
class Row:
    """One scenario of the list."""

    name: str
    url: str
    summary: str
    group: str
    active: bool


@dataclass(frozen=True, slots=True)
class Node:
    """One thing that happens, or a heading such as `otherwise:`, with what is inside it."""

    time: str
    what: str
    tone: Tone | None
    """How a state is marked; None for anything else."""
    inside: list[Node] = field(default_factory=list)


def show(visit: Visit) -> Page:
    """Show the library, as one sandbox sees it."""
    box = _box(visit.query.get("sandbox", ""), visit)
    wanted = visit.query.get("q", "").strip()
    rows = _rows(box)
    text = wanted.casefold()
    found = [row for row in rows if text in row.name or text in row.summary.casefold()]
    return Page(
        "scenarios.html",
        {
            "title": "Scenarios",
            "q": wanted,
            "groups": [(name, list(inside)) for name, inside in groupby(found, lambda row: row.group)],
            "found": len(found),
            "total": len(rows),
            "here": scenarios_url(),
            **_sandboxes(visit, box),
        },
    )


def _box(name: str, visit: Visit) -> Sandbox:
    """Return the sandbox of a name, or without one the first."""
    if name:
        return visit.host.registry.get(name)
    box = next(iter(visit.host.registry), None)
    if box is None:
        raise Refused(409, "There is no sandbox", "A scenario is played in a sandbox. Make one on the page Sandboxes.")
    return box


def _sandboxes(visit: Visit, box: Sandbox) -> dict[str, object]:
    return {"sandbox": box.identity.id, "sandboxes": [each.identity.id for each in visit.host.registry]}


def _rows(box: Sandbox) -> list[Row]:
    """Return the scenarios of a sandbox by group: uploads, own files by folder, then the shipped ones."""
    rows = []
    for name in box.scenarios.names():
        known = scenario_of(box, name)
        url = scenarios_url(name, sandbox=box.identity.id)
        rows.append(Row(name, url, known.summary, _group(known.source, name), known.active))
    return sorted(rows, key=lambda row: (row.group.startswith(_SHIPPED), row.group, row.name))


_SHIPPED: Final = "Shipped: "


def _group(source: str, name: str) -> str:
    if source == "shipped":
        return f"{_SHIPPED}{shipped_files()[name].parent.name}"
    return {"uploaded": "Uploaded", "given": "Given by the program"}.get(source) or f"Folder {Path(source).parent}"


def show_one(visit: Visit) -> Page:
    """Show a scenario."""
    return _page(visit, visit.query.get("sandbox", ""))


def _page(visit: Visit, sandbox: str, problem: str = "", status: int = 200) -> Page:
    box, name = _box(sandbox, visit), visit.params["name"]
    if name not in box.scenarios.names():
        text = f"Sandbox {box.identity.id} has no scenario {name[:64]!r}."
        raise Refused(404, "There is no such scenario", text)
    scenario = box.scenario(name)
    known = scenario_of(box, name)
    return Page(
        "scenario.html",
        {
            "title": f"Scenario {name}",
            "name": name,
            "summary": known.summary,
            "source": known.source,
            "active": known.active,
            "sections": [(title, tree(rows)) for title, rows in drawing.sections(scenario)],
            "file": _file(known.source, scenario).encode(),
            "library": scenarios_url(sandbox=sandbox),
            "play": scenarios_url(name, "play"),
            "activate": sandbox_url(box.identity.id, "scenario"),
            "members": _members(visit),
            "problem": problem,
            **_sandboxes(visit, box),
        },
        status,
    )


def _file(source: str, scenario: Scenario) -> str:
    """Return the file of a scenario; only that of a shipped one cannot have changed since it was read."""
    return shipped_files()[scenario.name].read_text("utf-8") if source == "shipped" else write_scenario(scenario)


def tree(rows: Iterable[drawing.Row]) -> list[Node]:
    """Return the rows of a section as a tree."""
    top: list[Node] = []
    levels = [top]
    for row in rows:
        del levels[row.depth + 1 :]
        word = _FIRST_WORD.match(row.what)
        state = word is not None and word[0] in _STATES
        node = Node(row.time, row.what, state_tone(word[0]) if state and word is not None else None)
        levels[-1].append(node)
        levels.append(node.inside)
    return top


def _members(visit: Visit) -> list[Field]:
    return list(fields(component("PlayedDeposit"), visit.form, within="deposit."))


async def play(visit: Visit) -> Shown:
    """Make a deposit that plays a scenario, and show the payment."""
    name, sandbox = visit.params["name"], visit.form.get("sandbox", "")
    box = _box(sandbox, visit)
    given = body(_members(visit))
    try:
        made = await perform(visit, "POST", "sandboxes", box.identity.id, "scenarios", name, "play", body=given)
    except ControlError as error:
        return _page(visit, sandbox, str(error), error.status)
    return see(payment_url(box.identity.id, made["id"]), f"This payment plays {name}.")


_AT: Final = "inspector/scenarios"
ROUTES: Final = (
    PageRoute("GET", _AT, show),
    PageRoute("GET", f"{_AT}/{{name}}", show_one),
    PageRoute("POST", f"{_AT}/{{name}}/play", play),
)
