"""The tools: what each is called, what it takes, and what it does.

Most tools are control calls. Their names are chosen here; what they take is made from the document of the control API:
the variables of the path and the members of the body become the members of one flat object. An agent pays for each word
of a schema, so a choice of many variants, such as the effects of a fault, is reduced to its names; the pages that come
with the server describe the variants.

Every tool reaches the one server that was given, and `run_clause` the one merchant file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from paydouble.core.documents import Document
from paydouble.core.errors import UsageError
from paydouble.core.ids import DEFAULT_ID
from paydouble.core.json_schema import REF
from paydouble.testing.calls import ask
from paydouble.testing.executors import Address, SyncExecutor
from paydouble.testing.servers import Paydouble
from paydouble.testing.timeline import timeline
from paydouble.web.control.openapi import document
from paydouble.web.control.routes import ROUTES

_SANDBOX: Final = {
    "type": "string",
    "default": DEFAULT_ID,
    "description": f"The sandbox's id; the server has one named {DEFAULT_ID} from its start.",
}
# More variants than these are reduced to their names.
_MOST_VARIANTS: Final = 8
_VARIABLE: Final = re.compile(r"\{(\w+)\}")
_ROUTES: Final = {route.name: route for route in ROUTES}


class Control(NamedTuple):
    """A tool that is one control call."""

    route: str
    note: str = ""
    """What an agent should know besides the route's summary."""
    renamed: Mapping[str, str] = {}
    """Variables of the path → what the tool calls them."""


CONTROL: Final[Mapping[str, Control]] = {
    "make_sandbox": Control(
        "sandbox-create",
        "The answer has base_url, business_key and business_secret, with which the code under test calls the API, and "
        "webhook_secret. Give the clock 'manual' to decide when time passes, and notification_url to get webhooks.",
    ),
    "list_scenarios": Control("scenario-list", "They say what becomes of a payment."),
    "play_scenario": Control("scenario-play", "The answer is the pay-in. Advance the clock to see it through."),
    "add_fault": Control(
        "fault-add",
        'Such as {"effect": {"type": "connection_reset"}, "match": {"operation": "deposit-creation"}, '
        '"phase": "after_commit", "times": 1}: a reply that is lost after the payment was made. The resource faults '
        "describes every effect.",
    ),
    "remove_faults": Control("fault-clear"),
    "advance_clock": Control("clock-advance", "72 hours of retries take a second."),
    "set_pay_in_status": Control("pay-in-transition", renamed={"id": "pay_in"}),
    "verify_requests": Control("request-verify", "When it does not hold, the answer has what came closest."),
    "verify_deliveries": Control("delivery-verify", "When it does not hold, the answer has what came closest."),
}
"""The tools that are control calls."""


class Tool(NamedTuple):
    """A tool as an agent sees it, and the function that carries it out."""

    name: str
    description: str
    schema: Document
    """The JSON Schema of its arguments."""
    run: Callable[[Document], str]
    """Takes the arguments; returns a text. `PaydoubleError` says why it was refused."""
    reads_only: bool = False


class Server:
    """The server that the tools reach."""

    def __init__(self, url: str, token: str | None) -> None:
        """Take its address. `UsageError` when that is no URL; nothing is sent yet."""
        self._executor = SyncExecutor(Address(url, token, None))
        self.handle = Paydouble.connect(url, token)

    def call(self, tool: Control, arguments: Document) -> str:
        """Make the control call of a tool; return the answer's JSON."""
        route = _ROUTES[tool.route]
        left = dict(arguments)
        path = _VARIABLE.sub(lambda found: quote(str(left.pop(_name(tool, found[1]), DEFAULT_ID)), safe=""), route.path)
        query = {name: left.pop(name) for name in route.queries if name in left}
        if query:
            path += "?" + urlencode(query)
        body = left if route.payload is not None else None
        return json.dumps(self._executor.run(ask(route.method, path, body)), indent=1, default=str)

    def what_happened(self, arguments: Document) -> str:
        """Return the timeline of a sandbox."""
        return "\n".join(timeline(self.handle.find(arguments.get("sandbox", DEFAULT_ID))))

    def explain_signature(self, arguments: Document) -> str:
        """Return why a webhook's signature does not verify with a sandbox's secret."""
        from paydouble.webhooks.diagnosis import diagnose  # noqa: PLC0415 - most sessions need none

        sandbox = self.handle.find(arguments.get("sandbox", DEFAULT_ID))
        now = arguments.get("now") or int(sandbox.clock.read().now.timestamp())
        found = diagnose(arguments["body"].encode(), arguments["header"], sandbox.webhook_secret, now=now)
        if found.verified:
            return "It verifies."
        return f"It does not verify: {found.cause}. {found.message}. {found.remedy}"


def tools(server: Server, merchant: Path | None = None) -> list[Tool]:
    """Return the tools for a server, and for a merchant file if one is given."""
    schemas = document()["components"]["schemas"]
    made = [
        Tool(
            name,
            " ".join(filter(None, (_ROUTES[each.route].summary, _ROUTES[each.route].advice, each.note))),
            _schema(each, schemas),
            partial(server.call, each),
            _ROUTES[each.route].method == "GET" or each.route.endswith("-verify"),
        )
        for name, each in CONTROL.items()
    ]
    made.append(
        Tool(
            "what_happened",
            "The timeline of a sandbox: requests, events, webhook attempts and what the faults did, oldest first.",
            _object({"sandbox": _SANDBOX}),
            server.what_happened,
            reads_only=True,
        )
    )
    made.append(
        Tool(
            "explain_signature",
            "Why the signature of a webhook does not verify, and how to repair the code that verifies it.",
            _object(
                {
                    "sandbox": _SANDBOX,
                    "header": {"type": "string", "description": "The value of X-Service-Signature."},
                    "body": {"type": "string", "description": "The exact body that was received."},
                    "now": {
                        "type": "integer",
                        "description": "The time of receipt in Unix seconds; the sandbox's if left out.",
                    },
                },
                ("header", "body"),
            ),
            server.explain_signature,
            reads_only=True,
        )
    )
    if merchant is not None:
        made.append(_run_clause(merchant))
    return made


def _run_clause(merchant: Path) -> Tool:
    from paydouble.conformance.run import CLAUSES  # noqa: PLC0415 - only with a merchant file

    listed = "; ".join(f"{name} {clause.title}" for name, clause in CLAUSES.items())

    def run(arguments: Document) -> str:
        return _played(merchant, arguments["clause"], arguments.get("seed", 1))

    return Tool(
        "run_clause",
        f"Play one clause of conformance against the shop of {merchant.name}, which is started if its file says how. "
        f"The clauses: {listed}.",
        _object(
            {
                "clause": {"type": "string", "enum": list(CLAUSES)},
                "seed": {"type": "integer", "minimum": 0, "default": 1},
            },
            ("clause",),
        ),
        run,
    )


def _played(merchant: Path, clause: str, seed: int) -> str:
    from paydouble.conformance.merchant_file import read_merchant  # noqa: PLC0415 - only with a merchant file
    from paydouble.conformance.run import CLAUSES, Unreachable, play  # noqa: PLC0415 - as above
    from paydouble.conformance.stage import staged  # noqa: PLC0415 - as above

    try:
        with staged(read_merchant(merchant), merchant.resolve().parent, seed) as stage:
            (result,) = play(stage, [CLAUSES[clause]])
    except Unreachable as error:
        raise UsageError(f"the shop cannot be tested: {error}") from None
    if result.verdict == "kept":
        return f"{clause} is kept: {result.clause.title}."
    if result.verdict == "not_tested":
        return f"{clause} is not tested: {result.reason}."
    lines = [f"{clause} is broken ({result.level}): {result.headline}."]
    for problem in result.problems:
        lines += [f"seen: {problem.seen}", f"expected: {problem.expected}"]
    lines += [f"costs: {result.clause.costs}", f"fix: {result.clause.fix}"]
    return "\n".join(lines)


# Schemas


def _name(tool: Control, variable: str) -> str:
    return "sandbox" if variable == "s" else tool.renamed.get(variable, variable)


def _schema(tool: Control, schemas: Mapping[str, Document]) -> Document:
    route = _ROUTES[tool.route]
    members: Document = {}
    required: list[str] = []
    for variable in _VARIABLE.findall(route.path):
        name = _name(tool, variable)
        members[name] = _SANDBOX if variable == "s" else {"type": "string"}
        if variable != "s":
            required.append(name)
    members |= {name: {"type": "string"} for name in route.queries}
    if route.payload is not None:
        described = next(
            media["schema"]
            for path in document()["paths"].values()
            for operation in path.values()
            if operation["operationId"] == tool.route
            for media in operation["requestBody"]["content"].values()
        )
        for variant in _variants(described, schemas):
            for name, each in variant["properties"].items():
                known = members.get(name, each)
                members[name] = each if known == each else {"anyOf": [known, each]}
            required += [name for name in variant.get("required", ()) if name not in required]
    schema = _object(members, required)
    return _with_definitions(schema, schemas)


def _variants(schema: Document, schemas: Mapping[str, Document]) -> Iterator[Document]:
    """Yield the object schemas that a body may have."""
    while "$ref" in schema:
        schema = schemas[schema["$ref"].removeprefix(REF)]
    if "properties" in schema:
        yield schema
    for each in _choice(schema):
        yield from _variants(each, schemas)


def _choice(schema: Document) -> list[Document]:
    found: list[Document] = schema.get("oneOf") or schema.get("anyOf") or []
    return found


def _with_definitions(schema: Document, schemas: Mapping[str, Document]) -> Document:
    """Return a schema that stands alone: what it refers to is below `$defs`, and large choices are reduced."""
    definitions: Document = {}

    def moved(value: Any) -> Any:  # noqa: ANN401 - JSON is any
        if isinstance(value, list):
            return [moved(each) for each in value]
        if not isinstance(value, dict):
            return value
        reference = value.get("$ref")
        if isinstance(reference, str):
            name = reference.removeprefix(REF)
            reduced = _reduced(schemas[name], schemas)
            if reduced is not None:
                return reduced
            if name not in definitions:
                definitions[name] = None  # it may refer to itself
                definitions[name] = moved(schemas[name])
            return {**value, "$ref": f"#/$defs/{name}"}
        return {name: moved(each) for name, each in value.items() if name != "discriminator"}

    made: Document = moved(schema)
    if definitions:
        made["$defs"] = definitions
    return made


def _reduced(schema: Document, schemas: Mapping[str, Document]) -> Document | None:
    """Return a choice of many variants as an object of one of their types; None for any other schema."""
    if len(_choice(schema)) <= _MOST_VARIANTS or "discriminator" not in schema:
        return None
    member = schema["discriminator"]["propertyName"]
    names = [each["properties"][member]["const"] for each in _variants(schema, schemas)]
    return {
        "type": "object",
        "properties": {member: {"type": "string", "enum": names}},
        "required": [member],
        "description": f"Further members depend on {member}; the resource faults describes them.",
    }


def _object(members: Document, required: Any = ()) -> Document:  # noqa: ANN401 - a sequence of names
    return {
        "type": "object",
        "properties": members,
        **({"required": list(required)} if required else {}),
        "additionalProperties": False,
    }
