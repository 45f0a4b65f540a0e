"""A payment in forms for use elsewhere: its request for curl, what happened as a scenario, and both as a test."""

from __future__ import annotations

import shlex
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from paydouble.core.durations import format_duration
from paydouble.core.errors import UnknownThing
from paydouble.faults.model import document
from paydouble.guards.credentials import parse_basic
from paydouble.sandbox.recorded import recorded_name, recorded_scenario
from paydouble.web.inspector.masking import masked_header
from paydouble.web.inspector.rendering import visible

if TYPE_CHECKING:
    from paydouble.journal import RequestEntry
    from paydouble.sandbox import Sandbox
    from paydouble.web.inspector.activity import Activity

# Headers that curl makes itself, and those that say how one connection is used.
_OWN: Final = frozenset(
    {"host", "content-length", "connection", "accept-encoding", "user-agent", "accept", "transfer-encoding", "expect"}
)
_LARGEST_BODY: Final = 65_536


@dataclass(frozen=True, slots=True)
class Copy:
    """One form, and what it is good for."""

    name: str
    label: str
    text: str
    note: str


def copies(box: Sandbox, activity: Activity, api: str, *, masked: bool = False) -> list[Copy]:
    """Return the forms of a payment; `api` is the URL of the server's API, without its path.

    `masked` leaves credentials out.
    """
    made = []
    first = next((each for each in activity.requests if each.object_id == activity.pay_in.id), None)
    usable = first is not None and len(first.body) <= _LARGEST_BODY
    if first is not None and usable:
        note = "Sends the same request again, with the same idempotency key."
        if masked:
            note += " The file has no credentials: curl asks for the business secret."
        made.append(Copy("curl", "curl", curl(first, api, masked=masked), note))
    scenario = recorded_scenario(box, activity.pay_in, _faults(box, activity))
    if first is not None and usable:
        text = pytest_test(activity, first, scenario, recorded_name(activity.pay_in))
        made.append(Copy("test", "pytest test", text, "Runs without a server; put the shop's own handler in."))
    made.append(Copy("scenario", "scenario file", scenario, "Save it below --scenarios, and play it by its name."))
    return [replace(each, text=visible(each.text)) for each in made]


def curl(entry: RequestEntry, api: str, *, masked: bool = False) -> str:
    """Return a command that sends a request again; `masked` leaves its credentials out."""
    parts = [f"curl -sS -X {shlex.quote(entry.method)} {shlex.quote(api + entry.target)}"]
    for name, value in entry.headers:
        if name.lower().decode("latin-1") not in _OWN:
            parts.append(_option(name.decode("latin-1"), value.decode("latin-1"), masked=masked))
    before = ""
    if entry.body:
        text = entry.body.decode("utf-8", "replace")
        if text.encode() == entry.body and visible(text) == text:
            parts.append(f"--data-binary {shlex.quote(text)}")
        else:
            before = f"echo {b64encode(entry.body).decode()} | base64 -d | "
            parts.append("--data-binary @-")
    return before + " \\\n  ".join(parts)


def _option(name: str, value: str, *, masked: bool) -> str:
    """Return the option with which curl sends a header."""
    credentials = parse_basic(value) if masked and name.lower() == "authorization" else None
    if credentials is not None:
        return f"-u {shlex.quote(credentials[0])}"  # without a secret curl asks for it
    shown = masked_header(value, name) if masked else value
    return f"-H {shlex.quote(f'{name}: {shown}')}"


def pytest_test(activity: Activity, entry: RequestEntry, scenario: str, name: str) -> str:
    """Return a test in which a payment happens as it did here."""
    pay_in = activity.pay_in
    last = max((each.created_at for each in activity.events), default=pay_in.created_at)
    path = entry.target.removeprefix("/api/v1")
    plain = '"""' not in scenario and "\\" not in scenario
    text = f'"""\n{scenario}"""' if plain else repr(scenario)
    types = [each.type for each in activity.events if each.object_id == pay_in.id]
    lines = [
        "from paydouble import Sandbox",
        "",
        f"SCENARIO = {text}",
        "",
        "",
        f"def test_{name.replace('-', '_')}() -> None:",
        "    sandbox = Sandbox(receiver=lambda webhook: 200)  # the shop's handler of webhooks goes here",
        "    sandbox.scenarios.upload(SCENARIO)",
        f"    sandbox.scenarios.activate({name!r})",
        "    # The shop's own order goes here; this request stands for it.",
        f"    response = sandbox.handle({entry.method!r}, {path!r}, body={entry.body!r})",
        f"    sandbox.clock.advance({format_duration(max(0, last - pay_in.created_at))!r})",
        "",
        f"    assert response.status == {entry.status}",
        "    assert [event.type for event in sandbox.events] == [",
        *(f"        {each!r}," for each in types),
        "    ]",
    ]
    return "\n".join(lines) + "\n"


def _faults(box: Sandbox, activity: Activity) -> Iterable[dict[str, Any]]:
    """Yield the declarations of the faults that fired on a payment, as far as they are still there."""
    ids = [fault for each in activity.requests for fault in each.faults]
    for delivery in activity.deliveries:
        ids += delivery.faults
        ids += [fault for attempt in delivery.attempts for fault in attempt.faults]
    for fault_id in dict.fromkeys(ids):
        try:
            fault = document(box.faults.get(fault_id).fault)
        except UnknownThing:  # it was removed
            continue
        # A scenario arms its faults for its own orders.
        fault.get("match", {}).pop("external_identifier", None)
        yield {name: value for name, value in fault.items() if name != "ttl"}
