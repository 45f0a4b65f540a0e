"""`paydouble trigger`: play a scenario against a running server, and print the timeline as it happens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from paydouble.cli.completion import complete_scenarios
from paydouble.cli.options import control_token_option, server_option
from paydouble.core.exit_status import ExitStatus
from paydouble.core.ids import DEFAULT_ID

if TYPE_CHECKING:
    from paydouble.cli.remote import Box, Document
    from paydouble.cli.stage import LiveStage
    from paydouble.cli.terminal import Terminal
    from paydouble.rehearsal.merchant import Merchant
    from paydouble.scenarios.model import Scenario
    from paydouble.scenarios.play import Case

# What the server says about a scenario beyond what its file says.
_NOT_IN_THE_FILE: Final = frozenset({"source", "active"})
_GRAIN_MS: Final = 100
# Longer than a person waits at a terminal where nothing moves.
_LONG_MS: Final = 60_000


@click.command()
@click.argument("scenario", shell_complete=complete_scenarios)
@server_option()
@control_token_option()
@click.option("--sandbox", default=DEFAULT_ID, show_default=True, help="The sandbox to play in.")
@click.option("--notification-url", metavar="URL", help="First set the sandbox's notification URL.")
@click.option("--case", "case_name", metavar="NAME", help="Play one of the scenario's cases.")
@click.option("--no-color", is_flag=True, help="Print no colours (NO_COLOR does the same).")
def trigger(
    *,
    scenario: str,
    url: str,
    token: str | None,
    sandbox: str,
    notification_url: str | None,
    case_name: str | None,
    no_color: bool,
) -> int:
    """Play SCENARIO, a name that the server knows or the path of a file, and print what happens as it happens.

    A manual clock is advanced; a real one is waited for, and how long that takes is printed first. Exits with 0 when
    the result is what the file expects, else with 1.
    """
    from contextlib import closing
    from uuid import uuid4

    from paydouble.cli.remote import Box
    from paydouble.cli.stage import LiveStage
    from paydouble.cli.terminal import Terminal, say
    from paydouble.rehearsal.merchant import Merchant
    from paydouble.sandbox.scenario_selector import SCENARIO_DOMAIN

    out = Terminal(no_color=no_color)
    box = Box(url, token, sandbox)
    found = find_scenario(box, scenario)
    case = find_case(found, case_name)
    if notification_url is not None:
        box.control("PATCH", "/webhook", {"notification_url": notification_url})
    order = f"{found.name}-{uuid4().hex[:8]}"  # no other play has this order
    with closing(LiveStage(box, out)) as stage:
        merchant = Merchant(
            stage,
            found,
            case,
            make_key=lambda _: str(uuid4()),
            order=order,
            email=found.name + SCENARIO_DOMAIN,
        )
        try:
            sends = _introduce(box, found, case, order, stage, out)
            merchant.act()
            stage.finish()
            _tidy(box, found)
        except KeyboardInterrupt:
            say("paydouble trigger: stopped; the server goes on with what is still due", err=True)
            return ExitStatus.INTERRUPTED
        return _judge(found, case, merchant, stage, out, sends=sends)


def _introduce(  # noqa: PLR0917 - what a play is made of
    box: Box, scenario: Scenario, case: Case | None, order: str, stage: LiveStage, out: Terminal
) -> bool:
    """Print what is played, and where; returns whether events are sent anywhere."""
    from paydouble.core.instants import write_instant

    out.say_prose(f"{scenario.name}: {scenario.summary}", style=out.bold)
    target: str | None = box.control("GET", "/webhook")["notification_url"]
    advice: list[str] = []
    if stage.mode == "real":
        real, advice = describe_wait(box, length_of(scenario, case, sends=target is not None), stage.rate)
        time = f"real; this takes about {real}, longer if an event is sent again"
    else:
        time = f"{stage.mode}; this command advances it"
    started = write_instant(stage.began).partition(".")[0].replace("T", " ")
    for name, value in (
        ("sandbox", box.id),
        ("order", order),
        ("events go to", target or "nobody; give an endpoint with --notification-url"),
        ("clock", time),
        ("times", f"since {started} UTC of the sandbox"),
    ):
        out.say(out.dim(f"  {name:<14}{value}"))
    if stage.pending:
        out.say(out.dim(f"  {'other timers':<14}{stage.pending}; they fire too"))
    for line in advice:
        out.say(line)
    return target is not None


def _tidy(box: Box, scenario: Scenario) -> None:
    """Restore the settings that the scenario replaced, unless it is the sandbox's active scenario."""
    if scenario.settings is not None:
        playing = any(each["active"] for each in box.control("GET", "/scenarios?limit=1000")["items"])
        if not playing:
            box.control("DELETE", "/scenarios/active")


def _judge(
    scenario: Scenario, case: Case | None, merchant: Merchant, stage: LiveStage, out: Terminal, *, sends: bool
) -> int:
    """Compare what came with what the file expects, and say so; returns the exit status."""
    from paydouble.cli.differences import print_difference
    from paydouble.cli.terminal import count
    from paydouble.core.durations import format_duration
    from paydouble.rehearsal.comparing import compare_play

    expects = case is not None or "expect" in scenario.model_fields_set
    # Without a receiver only the events themselves can be compared, unless the file has faults on webhooks.
    comparable = sends or not any(fault.on == "webhooks" for fault in scenario.faults)
    got = stage.arrivals if sends else stage.events
    wrong = compare_play(scenario, case, got if comparable else None, merchant.answers, began=stage.began)
    for each in wrong:
        print_difference(each, "", out)
    made = f"{count(len(stage.events), 'event')} and {count(len(merchant.answers), 'call')}"
    ended = f"Ended after {format_duration(stage.since(stage.now))} with {made}"
    if wrong:
        out.say_prose(f"{ended}, not as the file expects.", first=f"{out.bad} ", style=out.red)
        return ExitStatus.NEGATIVE
    if expects and not comparable:
        out.say_prose(f"{ended}; nothing was sent, so there is nothing to compare with what the file expects.")
    else:
        ending = f"{ended}{', as the file expects' if expects else ''}."
        out.say_prose(ending, first=f"{out.good} ", style=out.green)
    return ExitStatus.DONE


def find_scenario(box: Box, wanted: str) -> Scenario:
    """Return a scenario by name or path, and upload it if it is a file.

    `UsageError` when it does not exist, when its file is wrong, or when another scenario is active in the sandbox.
    """
    from paydouble.core.errors import UsageError
    from paydouble.scenarios.reading import read_file, read_scenario

    known: dict[str, Document] = {each["name"]: each for each in box.control("GET", "/scenarios?limit=1000")["items"]}
    path = Path(wanted)
    named = path.suffix not in {".yaml", ".yml"} and path.name == wanted
    scenario = _named(box, wanted, known) if named else read_scenario(path)
    active = next((name for name, each in known.items() if each["active"]), scenario.name)
    if active != scenario.name:
        raise UsageError(
            f"sandbox {box.id} plays {active} for every new pay-in; deactivate it first: "
            f"DELETE /_paydouble/sandboxes/{box.id}/scenarios/active"
        )
    if not named:
        box.control("POST", "/scenarios", {"yaml": read_file(path).text})
    return scenario


def find_case(scenario: Scenario, name: str | None) -> Case | None:
    """Return a case by name, or None for the scenario itself."""
    found = next((case for case in scenario.cases if case.name == name), None)
    if name is not None and found is None:
        there = ", ".join(repr(case.name) for case in scenario.cases) or "none"
        raise click.UsageError(f"--case: {scenario.name} has no case {name!r}; there are: {there}.")
    return found


def _named(box: Box, name: str, known: dict[str, Document]) -> Scenario:
    from paydouble.core.errors import UsageError
    from paydouble.core.likeness import nearest
    from paydouble.scenarios.reading import parse_scenario

    if name not in known:
        near = nearest(name, known)
        hint = f"did you mean {near!r}?" if near else "list them with: paydouble scenario list"
        raise UsageError(f"the server knows no scenario {name!r}; {hint}")
    shown = box.control("GET", f"/scenarios/{name}")
    return parse_scenario({member: value for member, value in shown.items() if member not in _NOT_IN_THE_FILE})


def length_of(scenario: Scenario, case: Case | None, *, sends: bool) -> int:
    """Return how many milliseconds of a sandbox's time a play takes; `sends` says whether there is a receiver.

    It is rehearsed, since no line of a file says how long faults, refunds and disputes take.
    """
    from paydouble.core.errors import UsageError
    from paydouble.rehearsal import rehearse
    from paydouble.scenarios.drawing import usual_length

    if not sends:
        kept = tuple(fault for fault in scenario.faults if fault.on != "webhooks")
        scenario = scenario.model_copy(update={"faults": kept})
    try:
        tried = rehearse(scenario, case=case)
    except UsageError:  # it would end after the last instant that a clock can show
        return usual_length(scenario)
    return tried.ended - tried.began


def describe_wait(box: Box, length: int, rate: float) -> tuple[str, list[str]]:
    """Return how long it takes on a real clock, and for a long time lines that say how to avoid the wait."""
    from paydouble.core.durations import format_duration

    real = int(length / rate / _GRAIN_MS) * _GRAIN_MS
    if real < _LONG_MS:
        return format_duration(real), []
    return format_duration(real), [
        "  That is long to wait for. Stop it with Ctrl-C, start the server with",
        "  --clock manual or give this sandbox such a clock, and play it again:",
        f"""  curl -X PUT --json '{{"mode": "manual"}}' {box.url}/clock""",
    ]
