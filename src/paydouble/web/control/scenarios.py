"""Control calls about scenarios: upload, make the default, play."""

from __future__ import annotations

from paydouble.core.documents import dump
from paydouble.core.errors import ApiError, UnknownThing, UsageError
from paydouble.core.likeness import hint
from paydouble.payments.resources import Document, PayIn
from paydouble.records import scenario_of
from paydouble.sandbox import Sandbox
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.reading import parse_scenario, parse_text, validated
from paydouble.scenarios.writing import plain
from paydouble.web.control import views
from paydouble.web.control.scenario_bodies import ActiveScenario, PlayedDeposit, PlayScenario, ScenarioText
from paydouble.web.control.values import ControlCall


def list_all(call: ControlCall) -> Document:
    """Show the scenarios, by name."""
    box = call.sandbox
    return views.listing(box.scenarios.names(), lambda name: dump(scenario_of(box, name)), call.queries)


def upload(call: ControlCall) -> Document:
    """Put a scenario over any other of its name; the pay-ins that there are keep theirs."""
    box = call.sandbox
    wanted: Document = call.body
    scenario = parse_text(validated(ScenarioText, wanted).yaml) if "yaml" in wanted else parse_scenario(wanted)
    box.scenarios.upload(scenario)
    return _whole(box, scenario)


def read_active(call: ControlCall) -> Document:
    """Show which scenario every new pay-in plays, if one does."""
    return {"name": call.sandbox.active_scenario}


def read(call: ControlCall) -> Document:
    """Show all of a scenario."""
    return _whole(call.sandbox, call.sandbox.scenario(_known(call)))


def activate(call: ControlCall) -> Document:
    """Let every new pay-in play a scenario."""
    wanted: ActiveScenario = call.body
    call.sandbox.activate_scenario(wanted.name)
    return dump(scenario_of(call.sandbox, wanted.name))


def deactivate(call: ControlCall) -> Document:
    """Let the e-mail and the setting choose again."""
    name = call.sandbox.active_scenario
    call.sandbox.activate_scenario(None)
    return {"deleted": name}


def play(call: ControlCall) -> Document:
    """Make a pay-in that plays a scenario."""
    from paydouble.api.handlers.pay_ins import open_deposit  # noqa: PLC0415 - a server starts without the operations

    name = _known(call)
    box = call.sandbox
    box.tick()
    wanted: PlayScenario = call.body
    number = box.scenarios.plays + 1
    scenario = box.scenario(name)
    own = scenario.deposit
    members = {} if own is None else own.model_dump(exclude_unset=True)
    members = {"external_identifier": f"scenario-{name}-{number}", **members}
    deposit = validated(PlayedDeposit, {**members, **wanted.deposit.model_dump(exclude_unset=True)})
    try:
        document = call.host.act(box, lambda: open_deposit(box, deposit, scenario))
    except ApiError as error:
        # What the API says of a deposit begins with the deposit's member.
        member, _, message = error.message.partition(": ")
        raise UsageError(message, member=f"deposit.{member}") from None
    box.scenarios.plays = number
    return views.pay_in(box, box.ledger.get(PayIn, document["id"]), call.reached)


def _known(call: ControlCall) -> str:
    name, box = call.params["name"], call.sandbox
    if name not in box.scenarios.names():
        meant = hint(name, box.scenarios.names())
        message = f"There is no scenario {name[:64]!r} in sandbox {box.identity.id}{meant or '.'}"
        raise UnknownThing(message)
    return name


def _whole(box: Sandbox, scenario: Scenario) -> Document:
    return {**dump(scenario_of(box, scenario.name)), **plain(scenario)}
