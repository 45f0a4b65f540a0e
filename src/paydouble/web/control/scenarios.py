"""Control calls about scenarios: upload, make the default, play."""

from __future__ import annotations

from paydouble.core.errors import ApiError, UnknownThing, UsageError
from paydouble.payments.resources import Document
from paydouble.scenarios.reading import parse_scenario, parse_text, validated
from paydouble.web.control import views
from paydouble.web.control.scenario_bodies import ActiveScenario, PlayScenario, ScenarioText
from paydouble.web.control.values import ControlCall


def list_all(call: ControlCall) -> Document:
    """Show the scenarios, by name."""
    box = call.sandbox
    return views.listing(box.scenarios.names(), lambda name: views.scenario(box, name), call.queries)


def upload(call: ControlCall) -> Document:
    """Put a scenario over any other of its name; the pay-ins that there are keep theirs."""
    box = call.sandbox
    wanted: Document = call.body
    scenario = parse_text(validated(ScenarioText, wanted).yaml) if "yaml" in wanted else parse_scenario(wanted)
    box.scenarios.upload(scenario)
    return {**views.scenario(box, scenario.name), **scenario.model_dump(mode="json", exclude_none=True)}


def activate(call: ControlCall) -> Document:
    """Let every new pay-in play a scenario."""
    wanted: ActiveScenario = call.body
    call.sandbox.scenarios.activate(wanted.name)
    return views.scenario(call.sandbox, wanted.name)


def deactivate(call: ControlCall) -> Document:
    """Let the e-mail and the setting choose again."""
    name = call.sandbox.active_scenario
    call.sandbox.scenarios.active = None
    return {"deleted": name}


def play(call: ControlCall) -> Document:
    """Make a pay-in that plays a scenario."""
    from paydouble.api.handlers.pay_ins import open_deposit  # noqa: PLC0415 - a server starts without the operations

    name = call.params["name"]
    box = call.sandbox
    if name not in box.scenarios.names():
        message = f"There is no scenario {name[:64]!r} in sandbox {box.identity.id}."
        raise UnknownThing(message)
    box.tick()
    wanted: PlayScenario = call.body
    deposit = wanted.deposit
    number = box.scenarios.plays + 1
    if "external_identifier" not in deposit.model_fields_set:
        deposit = deposit.model_copy(update={"external_identifier": f"scenario-{name}-{number}"})
    try:
        document = call.host.act(box, lambda: open_deposit(box, deposit, scenario=name))
    except ApiError as error:
        # What the API says of a deposit begins with the deposit's member.
        member, _, message = error.message.partition(": ")
        raise UsageError(message, member=f"deposit.{member}") from None
    box.scenarios.plays = number
    return document
