"""Control calls about scenarios."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Final

from pydantic import BeforeValidator, ConfigDict, Field

from paydouble import records
from paydouble.api.schemas import (
    STAND_IN_CUSTOMER,
    Amount,
    CurrencyCode,
    CustomerInput,
    DepositRequest,
    Email,
    Identifier,
    Name,
    PaymentMethodChoice,
)
from paydouble.core.documents import Document, dump, open_schema, schema
from paydouble.core.errors import ApiError, UnknownThing, UsageError
from paydouble.core.json_schema import TEXT, described, object_of, or_null, reference
from paydouble.core.likeness import hint
from paydouble.core.refusals import sentence
from paydouble.payments.resources import PayIn
from paydouble.records import scenario_of
from paydouble.sandbox import Sandbox
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.reading import parse_scenario, parse_text, validated
from paydouble.scenarios.writing import plain
from paydouble.web.control.calls import PAGE, SANDBOX, Body, ControlCall, Noun, listed, listing
from paydouble.web.control.calls import ControlRoute as Row
from paydouble.web.control.objects import show_pay_in


def _exact(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        message = sentence("decimal_type", value, {}, "")
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError, not TypeError, into a located error
    # Control bodies have whole numbers as int, and a strict Decimal takes none.
    return Decimal(value) if isinstance(value, int) else value


class ScenarioText(Body):
    """A scenario as the text of its YAML file; one document, without aliases, at most 1 MiB."""

    yaml: str


class ActiveScenario(Body):
    """Which scenario every new pay-in plays."""

    name: str = Field(min_length=1, max_length=64)


class PlayedCustomer(CustomerInput):
    """Who pays."""

    model_config = ConfigDict(strict=True, extra="forbid")

    first_name: Name = STAND_IN_CUSTOMER["first_name"]
    last_name: Name = STAND_IN_CUSTOMER["last_name"]
    email: Email = STAND_IN_CUSTOMER["email"]


class PlayedMethod(PaymentMethodChoice):
    """How the payer pays."""

    model_config = ConfigDict(strict=True, extra="forbid")

    type: str = Field("CREDIT_CARD", min_length=1, max_length=64)


class PlayedDeposit(DepositRequest):
    """The members of a deposit, each with a default; `external_identifier` then is `scenario-NAME-N`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    amount: Annotated[Amount, BeforeValidator(_exact)] = Field(Decimal("49.90"), json_schema_extra={"default": 49.9})
    currency: CurrencyCode = "EUR"
    external_identifier: Identifier = Field(default_factory=str)
    payment_method: PlayedMethod = Field(default_factory=PlayedMethod)
    customer: PlayedCustomer = Field(default_factory=PlayedCustomer)


class PlayScenario(Body):
    """The pay-in that plays a scenario."""

    deposit: PlayedDeposit = Field(default_factory=PlayedDeposit)


def list_all(call: ControlCall) -> Document:
    """Show the scenarios, by name."""
    box = call.sandbox
    return listing(box.scenarios.names(), lambda name: dump(scenario_of(box, name)), call.queries)


def upload(call: ControlCall) -> Document:
    """Upload a scenario, which replaces another of its name for new pay-ins only."""
    box = call.sandbox
    wanted: Document = call.body
    scenario = parse_text(validated(ScenarioText, wanted).yaml) if "yaml" in wanted else parse_scenario(wanted)
    box.upload_scenario(scenario)
    return _whole(box, scenario)


def read_active(call: ControlCall) -> Document:
    """Show the active scenario, which every new pay-in plays, if there is one."""
    return {"name": call.sandbox.active_scenario}


def read(call: ControlCall) -> Document:
    """Show the whole scenario."""
    return _whole(call.sandbox, call.sandbox.scenario(_known(call)))


def activate(call: ControlCall) -> Document:
    """Make a scenario active: every new pay-in plays it."""
    wanted: ActiveScenario = call.body
    call.sandbox.activate_scenario(wanted.name)
    return dump(scenario_of(call.sandbox, wanted.name))


def deactivate(call: ControlCall) -> Document:
    """Deactivate the active scenario: the customer's e-mail, `match` and the setting decide again."""
    name = call.sandbox.active_scenario
    call.sandbox.activate_scenario(None)
    return {"deleted": name}


def play(call: ControlCall) -> Document:
    """Make a pay-in that plays a scenario."""
    from paydouble.api.handlers.pay_ins import play_scenario  # noqa: PLC0415 - a server starts without the operations

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
        document = call.host.act(box, lambda: play_scenario(box, deposit, scenario))
    except ApiError as error:
        # The API's message about a deposit begins with the member.
        member, _, message = error.message.partition(": ")
        raise UsageError(message, member=f"deposit.{member}") from None
    return show_pay_in(box, box.ledger.get(PayIn, document["id"]), call.reached)


def _known(call: ControlCall) -> str:
    name, box = call.params["name"], call.sandbox
    if name not in box.scenarios.names():
        meant = hint(name, box.scenarios.names())
        message = f"There is no scenario {name[:64]!r} in sandbox {box.identity.id}{meant or '.'}"
        raise UnknownThing(message)
    return name


def _whole(box: Sandbox, scenario: Scenario) -> Document:
    return {**dump(scenario_of(box, scenario.name)), **plain(scenario)}


NOUN: Final = Noun(
    routes=(
        Row(
            "scenario-list",
            "GET",
            f"{SANDBOX}/scenarios",
            "The scenarios, shipped and uploaded.",
            list_all,
            listed(reference("ScenarioSummary")),
            queries=PAGE,
        ),
        Row(
            "scenario-add",
            "POST",
            f"{SANDBOX}/scenarios",
            "Upload a scenario.",
            upload,
            reference("WholeScenario"),
            dict,
            status=201,
            body="NewScenario",
            advice=(
                "A scenario as an object, or its file as `yaml` text. It replaces another of its name for new "
                "pay-ins; existing pay-ins keep the scenario that they play."
            ),
        ),
        Row(
            "scenario-active",
            "GET",
            f"{SANDBOX}/scenarios/active",
            "Which scenario is active.",
            read_active,
            object_of({"name": or_null(TEXT)}),
        ),
        Row(
            "scenario-activate",
            "PUT",
            f"{SANDBOX}/scenarios/active",
            "Make a scenario active: every new pay-in plays it.",
            activate,
            reference("ScenarioSummary"),
            ActiveScenario,
            advice="It has precedence over the e-mail of a deposit's customer and the setting `scenario`.",
        ),
        Row(
            "scenario-deactivate",
            "DELETE",
            f"{SANDBOX}/scenarios/active",
            "Deactivate the active scenario.",
            deactivate,
            object_of({"deleted": or_null(TEXT)}),
        ),
        Row(
            "scenario-read",
            "GET",
            f"{SANDBOX}/scenarios/{{name}}",
            "One scenario, with its steps.",
            read,
            reference("WholeScenario"),
        ),
        Row(
            "scenario-play",
            "POST",
            f"{SANDBOX}/scenarios/{{name}}/play",
            "Make a pay-in that plays a scenario.",
            play,
            reference("PayIn"),
            PlayScenario,
            status=201,
            advice="All members of `deposit` may be left out. The events have no request.",
        ),
    ),
    tags={"scenario": "Scenarios, and which one is played."},
    components={
        "ScenarioSummary": schema(records.Scenario),
        "WholeScenario": described(
            "What it is, where it is from, and every member of its file that is given.", open_schema(records.Scenario)
        ),
    },
)
