"""Writes the reference pages that are made from the code: `python tools/reference.py` (`--check` only compares).

A setting's description is the docstring under it in the source, so the page always agrees with the code.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from paydouble import config
from paydouble.api.operations import OPERATIONS, PREFIX
from paydouble.conformance.merchant_file import SCHEMA as MERCHANT_SCHEMA
from paydouble.conformance.merchant_file import build as build_merchant
from paydouble.core.json_schema import REF, Schema
from paydouble.openapi.components import page_name
from paydouble.openapi.document import document
from paydouble.payments.events import EVENT_TYPES
from paydouble.payments.lifecycle import TABLES
from paydouble.scenarios.schema import PATH as SCHEMA
from paydouble.scenarios.schema import build
from paydouble.web.control.deliveries import DeliveryMatch
from paydouble.web.control.journal import RequestMatch
from paydouble.web.control.openapi import COMPONENTS
from paydouble.web.control.routes import ROUTES
from paydouble.yamlfile.schema import attribute_docs, written
from reference_adapter import adapter_page
from reference_answers import answers_text
from reference_assumptions import assumptions_section, link
from reference_cli import command_line_page
from reference_conformance import clauses_page, merchant_file_page
from reference_errors import errors_page
from reference_faults import faults_page
from reference_llms import llms_text
from reference_plays import plays_page
from reference_scenarios import scenarios_page

# Heading -> component; the members of nested components are in the same table.
RECORDS = {"A request": "Request", "An event": "Event", "A delivery": "Delivery", "An attempt": "Attempt"}
PAGES = Path(__file__).parents[1] / "docs" / "reference"
ANSWERS = Path(__file__).parents[1] / "clients" / "answers.json"
LLMS = Path(__file__).parents[1] / "src" / "paydouble" / "web" / "static" / "llms.txt"


def settings_rows(model: type[BaseModel], prefix: str = "") -> list[str]:
    """Return a table row for each setting, those of nested models under their path."""
    docs = attribute_docs(model)
    schema = model.model_json_schema(mode="serialization")
    # A model with required members (a quota's limit) needs some value for them, which is not printed.
    example = model(**{name: 1 for name, field in model.model_fields.items() if field.is_required()})
    values = example.model_dump(mode="json")
    rows = []
    for name, field in model.model_fields.items():
        inner = _nested(field.annotation)
        if inner is not None:
            rows += settings_rows(inner, f"{prefix}{name}.")
            continue
        kind = _kind(schema["properties"][name])
        shown = json.dumps(values[name], ensure_ascii=False) if not field.is_required() else "required"
        rows.append(f"| `{prefix}{name}` | {kind} | `{shown}` | {docs[name]} | {link(prefix + name)} |")
    return rows


def _nested(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 - any annotation
    options = [annotation, *getattr(annotation, "__args__", ())]
    return next((each for each in options if isinstance(each, type) and issubclass(each, BaseModel)), None)


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " \\| ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if schema.get("examples"):
        return "duration"
    return {"integer": "whole number", "string": "text", "boolean": "true, false"}.get(
        str(schema.get("type")), str(schema.get("type"))
    )


def settings_page() -> str:
    """Return the page of all settings."""
    rows = "\n".join(settings_rows(config.Settings))
    return f"""# Settings

Every assumption that a real deployment could contradict is a setting of a sandbox. Give them to the default sandbox with
`paydouble serve --set NAME=VALUE` or under `settings:` in the file of `--config`, to another one with `settings` in
`POST /_paydouble/sandboxes`, and change them at any time with `PATCH /_paydouble/sandboxes/{{s}}`. A duration is
written `250ms`, `2s`, `5m`, `1h30m`, `3d`, or as in ISO 8601 `PT1H30M`, `P3D`.

| setting | value | default | meaning | assumption |
|---|---|---|---|---|
{rows}

The paths of assumed operations are settings of the server: `paths:` in the file of `--config`, by operation name.

## The catalogue

What is shipped knows every currency of ISO 4217 with its minor digits, the common payment methods and a table of rates. Your own is
merged over it, member by member: under `catalogue:` at the top of the file of `--config`, or as `settings.catalogue` of a sandbox. Null
removes something.

<!-- file: paydouble.yaml -->
```yaml
catalogue:
  shipped: true                    # false: only these methods are offered
  currencies:
    XTS: {{digits: 4, per_us_dollar: "2.5"}}
    NOK: {{per_us_dollar: "11"}}     # still two digits
    BYN: null                      # removed
  payment_methods:                 # by type, then by code
    CREDIT_CARD:
      card: {{limits: {{EUR: ["0.50", "5000.00"]}}}}
    CASH:
      counter: {{name: At the counter, countries: ["NO", SE], limits: {{NOK: [1, 9999.50], "*": ["0", "500"]}}}}
    PIX: null
```

Limits are the smallest and the largest amount of a currency, in its own digits. Those of `*` are for every currency that is not named:
US dollars, converted with the table, the largest rounded up to one leading digit. A method without `countries` is for every country, and a
new one without `limits` for every currency. Write amounts as texts where a binary float could be made of them, as in JSON or Python. A
scenario cannot change the catalogue.

## Every assumption

The service's contract leaves these questions open. [What is documented and what is assumed](../explanation/documented-and-assumed.md)
explains the difference.

{assumptions_section()}
"""


def operations_page() -> str:
    """Return the page of the API's operations, events and lifecycles."""
    rows = "\n".join(
        f"| {row.name} | {row.method} `{PREFIX}{row.path}` | {row.path_provenance} | {row.summary} |"
        for row in OPERATIONS
    )
    events = "\n".join(f"| {kind} | {meaning} | {when} |" for kind, (meaning, when) in EVENT_TYPES.items())
    charts = "\n\n".join(_chart(kind) for kind in TABLES)
    whole = document(OPERATIONS, server_url="")
    components = whole["components"]["schemas"]
    headers = "\n".join(f"| {' | '.join(row)} |" for row in _answer_headers(whole["paths"]))
    bodies = "\n\n".join(
        _fields(row.name, components[row.payload.__name__], components) for row in OPERATIONS if row.payload is not None
    )
    read = [components[row.answer.__name__] for row in OPERATIONS if row.method == "GET" and not row.listed]
    objects = "\n\n".join(_fields(each["properties"]["object"]["const"], each, components) for each in read)
    lists = [row for row in OPERATIONS if row.listed]
    page = _fields("A page", components[page_name(lists[0].answer.__name__)], components)
    queries = "\n".join(
        f"| {row.name} | `{query.name}` | {_values_of(query.schema)} | {query.description} |"
        for row in lists
        for query in row.queries
    )
    return f"""# API

The OpenAPI document (`paydouble openapi`, `/_paydouble/openapi.json`) has every field; a running server shows it at
`/_paydouble/docs`. *Documented* is what the service's contract shows, *assumed* what the double had to decide. The served
document follows the settings of the business whose credentials come with the request, else those of the default sandbox; its
examples are those of the default settings.

| operation | call | path | what it does |
|---|---|---|---|
{rows}

## Events

| type | meaning | sent when |
|---|---|---|
{events}

## Request bodies

`?` marks what may be absent. An amount has all digits of its currency.

{bodies}

## Objects

Answers have them under `data`, events under `data.object`; a pay-in in an event has its documented members alone.

{objects}

## Headers of answers

With the default settings. [Settings](settings.md) add more: the rate-limit headers to all answers, for instance.

| header | statuses | | meaning |
|---|---|---|---|
{headers}

## Lists

A list answers a page of these objects under `data`, and takes these members in its query string. Others are ignored: a list that is asked for by another member has all objects.

{page}

### Query strings

| operation | member | value | meaning |
|---|---|---|---|
{queries}

## Lifecycles

Drawn from the double's own tables; a state without an outgoing arrow is final. Beyond the tables, a scenario or a control call can
`force` a change. [The machine](hypothesis.md#the-machine) plays two such: a refund that fails after its success, and a dispute that is
opened again after it was won.

{charts}
"""


def _answer_headers(paths: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the headers of all answers of the document, each with the statuses that have it."""
    statuses: dict[str, set[str]] = {}
    meant: dict[str, Mapping[str, Any]] = {}
    every: set[str] = set()
    for operation in (each for path in paths.values() for each in path.values()):
        for status, answer in operation["responses"].items():
            every.add(status)
            for name, header in answer["headers"].items():
                statuses.setdefault(name, set()).add(status)
                meant.setdefault(name, header)
    for name, found in statuses.items():
        of = "all" if found == every else ", ".join(sorted(found))
        optional = "" if meant[name]["required"] else " (may be absent)"
        yield f"`{name}`", of + optional, meant[name]["x-provenance"], meant[name]["description"]


def _fields(heading: str, component: Schema, components: Mapping[str, Schema]) -> str:
    if not component["properties"]:
        return f"### {heading}\n\nIt has no members."
    rows = "\n".join(
        f"| `{member}{'' if required else '?'}` | {_value_of(schema, components)} | {schema['x-provenance']} "
        f"| {_meaning(schema)} |"
        for member, schema, required in _members_of(component, components)
    )
    return f"### {heading}\n\n| member | value | | meaning |\n|---|---|---|---|\n{rows}"


def _values_of(schema: Mapping[str, Any]) -> str:
    """Return the values that a member of a query string takes, in words."""
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if "minimum" in schema:
        return f"{schema['minimum']} to {schema['maximum']}, {schema['default']} when absent"
    return "text"


def _chart(kind: str) -> str:
    arrows = "\n".join(f"    {state} --> {to}" for state, following in TABLES[kind].items() for to in following)
    return f"### {kind}\n\n```mermaid\nstateDiagram-v2\n{arrows}\n```"


def control_page() -> str:
    """Return the page of the control API."""
    rows = "\n".join(
        f"| {row.method} `{row.path}` | {_members(row.payload, row.name)} | {row.summary} |" for row in ROUTES
    )
    records = "\n\n".join(_record(heading, name) for heading, name in RECORDS.items())
    return f"""# Control API

JSON over HTTP under `/_paydouble`, for tests in any language. A call is never journalled as a request of the API and never
rate limited. It answers 4xx only when the call itself is wrong: `{{"error": {{"code", "message", "member"}}}}` says what is
wrong and where, and nothing was changed. Unknown members are refused. Every JSON answer ends with a newline.

| call | members (`?` may be absent) | what it does |
|---|---|---|
{rows}

Lists answer `{{"items": […], "next_cursor": null | "…", "evicted": 0}}`; pass `cursor` and `limit` (1 to 1000). Events take
`type` and `object_id` as well, deliveries `event_type`, `object_id`, `external_identifier` and `status`.

`GET /sandboxes` takes `label` as well: `label=job:1234,shard:7` is for sandboxes that have both labels. With a `ttl` a sandbox is
deleted when nobody uses it ([share a server between jobs](../how-to/share-a-server-between-jobs.md)).

Each request, event, attempt and fault has a `sequence`: its number in the order in which they happened in the sandbox.
Requests are numbered when they arrive, attempts when they are sent. On a manual clock nothing else shows which was first.

A request without a business key, or with one that no sandbox has, is unclaimed: it is in no sandbox's journal. So are bytes
that are not an HTTP request; they have an empty `method` and `target`.
`GET /unclaimed-requests` shows the newest 100, as requests that also have a `business_key`: the first 16 KiB of the headers,
the first 4 KiB of the body, and no credentials. `serve` logs a line for each.

## Documents

| path | what it is |
|---|---|
| `/_paydouble/docs` | Both OpenAPI documents as a page that needs no network. |
| `/_paydouble/openapi.json`, `/_paydouble/control-openapi.json` | The OpenAPI documents of the API, with the settings of the sandbox whose credentials are sent, and of these calls. |
| `/_paydouble/llms.txt` | An index of this documentation for language models: how to test with the double, and links to all pages. |
| `/_paydouble/docs/reference/faults.md` | A page of this documentation as Markdown; the same for each page of the tutorial, the how-to guides, the reference and the explanations. |

## Access

With `--control-token` every call except `GET /health` and the documents needs `Authorization: Bearer …`. A server at an
address that other machines reach needs a token, or `--insecure-control`. With `--control-port` the control API is on
that port only. Against DNS rebinding the `Host` of a call must be an address, a single-label name such as
`localhost` or a compose service, `host.docker.internal`, or a name given with `--allowed-host`; calls with a foreign
`Origin` are refused.

## Time

`clock` is `"real"`, `"manual"` or `"auto"`, or an object with `mode`, `start` and, for a real clock, `rate`. A manual clock
moves only when it is advanced; an auto clock jumps to the next timer once nothing has been in flight for 50 ms; every clock
can be advanced. `advance` takes exactly one of `by`, `to` and `until_idle`, carries out everything due in order of time,
waits for the attempts of one instant before the next, and answers `{{"now", "fired", "attempts", "idle"}}` when all of it has
settled; `idle` is true when nothing is left to happen, now or later. A second advance waits for the first. A clock
without `start` begins at the server's `--start`, or at wall time.

## Faults

[Faults](faults.md) lists the effects and their attributes. Without `on` an effect that only one side has chooses that
side; one that both have is on the API. Reads show `times_matched`, `times_fired`, `expires_at` and whether it is `active`.
PATCH changes members of a fault: `match` and `effect` are replaced as a whole, null resets a member to its default, and the
counts stay. A rate limit (`PUT …/rate-limit`) replaces the previous one, and its first window starts unused.

## Verify and wait

```json
{{"match": {{"operation": "deposit-creation", "body": {{"amount": 49.90}}}}, "count": 1}}
```

`match` of a request takes {_listed(RequestMatch)}; of a delivery {_listed(DeliveryMatch)} (`type` is an alias of `event_type`). The
`external_identifier` of a delivery is the one of its pay-in, also for events of a refund or a dispute. All given members must match; `*` in a text matches any characters, `headers` and `body` are partial objects, and the case of header names does
not matter. `count`, or `at_least` and `at_most`, is the expected number, by default at least one. Instead of all these, `sequence`
is a list of matches that must be met in this order, with others in between allowed. A request counts from its arrival, with `status`
null while it is in flight. An `operation` or an `event_type` that does not exist, or a pattern that fits none, is refused like
an unknown member, since it could never match.

The answer is 200 either way: `{{"passed", "count", "expected", "closest", "evicted"}}`. When it did not pass, `closest` holds
up to three near misses, each with its `differences`: the member, with its path in a body (`body.customer.email`), the
`wanted` value and the value that it `got`, with the exact digits of each number. When the journal has evicted entries, `evicted`
counts them, and a `note` says that what you ask about may have been among them.

`wait` answers the moment it holds, or after `timeout` (real time, `5s` unless given, at most `10m`) with the same
explanation and `timed_out: true`, so a test needs no sleep. When the sandbox is deleted during the wait it answers 404.

## What the journals show

{records}

## Events and deliveries

`POST …/events` emits any documented event for an object that exists, with the object as it is now; `POST …/webhook/test`
sends a sample whose object exists only in the event. `hold` holds a delivery that is not settled, `release` sends a held one
now, `redeliver` sends one more attempt now, whatever the status is; `POST …/deliveries/redeliver` does that for everything
whose latest attempt has failed, or failed since an instant of the sandbox's clock.

## Scenarios

A new pay-in plays, in this order: the active scenario of the sandbox (`PUT …/scenarios/active`), the one that its customer's
e-mail names (`card-declined@scenario.test`), the first whose `match` it fits, the one that the setting `scenario` names. `play`
makes a pay-in that plays a scenario, with the scenario's `deposit` and the members of the call's `deposit`.
An upload replaces another scenario of its name for new pay-ins; an existing pay-in keeps the scenario that it plays.

A scenario's `faults` are armed for each order that plays it, with counts of their own, as soon as its deposit is asked for;
the list of faults shows them as `NAME-ORDER.PLACE`. Removing all faults removes those too, for existing
orders. Its `settings` apply to the sandbox while it is the active scenario or the one of the setting `scenario`, and from the moment
when a pay-in begins to play it, until another scenario with settings replaces them.

## The stream

`GET …/stream` sends Server-Sent Events: `request`, `event`, `attempt`, `delivery`, `clock`, `fault` and `reset`, each with its
document as the lists show it (an attempt inside the summary of its delivery) and its number as `id`. It starts with what happens next; with
`Last-Event-ID` it continues after that number, and with 0 it sends everything that is kept. An event `gap` reports what is no longer kept,
with `{{"evicted": n}}`. The stream ends with the sandbox.

`GET /stream` sends the same for all sandboxes, each document with the member `sandbox` in front, under numbers of its own: one order
for the whole server. Several sandboxes' events of the same moment are in no certain order. The stream looks for something new four
times a second, so that requests cost no more while somebody watches. A browser's `EventSource` cannot send a header with its first
request, so the number may also be the parameter `after`. The first event is `open` with `run`, which another start of the server
changes, and `newest`; `deleted` names a sandbox that is no more.

Where a control token is set, a browser that is logged in at the inspector can follow both streams without it: an `EventSource` of a page
of the same origin sends the cookie of the login. No other control call takes that cookie.

## Metrics

`GET /metrics` is Prometheus text, with the extra `paydouble[metrics]`: sandboxes, and for each of them requests, attempts,
deliveries by status, timers and firings of faults. The figures are counted on each call; a reset reduces them.
"""


def _record(heading: str, name: str) -> str:
    rows = "\n".join(
        f"| `{member}` | {_kind_of(schema, COMPONENTS)} | {_meaning(schema)} |"
        for member, schema, _ in _members_of(COMPONENTS[name], COMPONENTS)
    )
    return f"### {heading}\n\n| member | value | meaning |\n|---|---|---|\n{rows}"


def _members_of(
    component: Schema, components: Mapping[str, Schema], above: str = ""
) -> Iterator[tuple[str, Schema, bool]]:
    """Yield members with their schemas, and whether they are required; those of an inner object are under its name."""
    for member, schema in component["properties"].items():
        inner = components.get(_referred(schema), {})
        yield f"{above}{member}", schema, member in component.get("required", ())
        if "properties" in inner:
            yield from _members_of(inner, components, f"{above}{member}.")


def _referred(schema: Schema) -> str:
    options = [schema, *schema.get("anyOf", ())]
    return next((each["$ref"].removeprefix(REF) for each in options if "$ref" in each), "")


def _value_of(schema: Schema, components: Mapping[str, Schema]) -> str:
    """Return what a member of the API can be, with its limits."""
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    example = f"such as `{schema['examples'][0]}`" if "pattern" in schema and "examples" in schema else ""
    limits = (
        example,
        _span("{} characters", schema, "minLength", "maxLength"),
        _span("{}", schema, "minimum", "maximum"),
        _span("{} members", schema, "minProperties", "maxProperties"),
        _span("values of {} characters", schema.get("additionalProperties") or {}, "minLength", "maxLength"),
        f"more than {schema['exclusiveMinimum']}" if "exclusiveMinimum" in schema else "",
        f"pattern `{schema['pattern']}`" if "pattern" in schema else "",
    )
    return ", ".join([_kind_of(schema, components), *filter(None, limits)]).replace("|", "\\|")


def _span(words: str, schema: Schema, least: str, most: str) -> str:
    if most not in schema:
        return ""
    span = f"{schema[least]:,} to {schema[most]:,}" if least in schema else f"at most {schema[most]:,}"
    return words.format(span)


def _kind_of(schema: Schema, components: Mapping[str, Schema]) -> str:
    if "anyOf" in schema:
        return " or ".join(_kind_of(each, components) for each in schema["anyOf"])
    if "$ref" in schema:
        return "object" if "properties" in components[_referred(schema)] else "bytes"
    if "const" in schema:
        return f"`{schema['const']}`"
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " or ".join(_kind_named(kind, schema, components) for kind in kinds)


_TEXTS = {"date-time": "time", "uri": "URL"}


def _kind_named(kind: str, schema: Schema, components: Mapping[str, Schema]) -> str:
    if kind == "array":
        inner = _kind_of(schema["items"], components)
        return "list of pairs" if schema["items"].get("maxItems") == 2 else f"list of {inner}s"  # noqa: PLR2004
    if kind == "string":
        return "name" if "enum" in schema else _TEXTS.get(schema.get("format", ""), "text")
    if kind == "object" and schema.get("additionalProperties"):
        return f"object of {_kind_of(schema['additionalProperties'], components)}s"
    return {"integer": "whole number", "boolean": "true, false"}.get(kind, kind)


def _meaning(schema: dict[str, Any]) -> str:
    return str(schema.get("description", "")).replace("|", "\\|")


def _listed(model: type[BaseModel]) -> str:
    *names, last = [f"`{name}`" for name in model.model_fields]
    return f"{', '.join(names)} and {last}"


def _members(payload: type[BaseModel | dict[str, Any]] | None, name: str) -> str:
    if payload is None:
        return ""
    if not issubclass(payload, BaseModel):
        return (
            "those of a [fault](faults.md)"
            if name.startswith("fault")
            else "a [scenario](scenarios.md), or `yaml`: its file's text"
        )
    return ", ".join(f"`{name}{'' if field.is_required() else '?'}`" for name, field in payload.model_fields.items())


def main() -> int:
    """Write the pages, the schema of scenarios and the answers for clients, or with `--check` report which are out of date."""
    stale = []
    for path, text in {
        PAGES / "adapter.md": adapter_page(),
        PAGES / "clauses.md": clauses_page(),
        PAGES / "merchant-file.md": merchant_file_page(),
        PAGES / "command-line.md": command_line_page(),
        PAGES / "errors.md": errors_page(),
        PAGES / "settings.md": settings_page(),
        PAGES / "api.md": operations_page(),
        PAGES / "control-api.md": control_page(),
        PAGES / "faults.md": faults_page(attribute_docs),
        PAGES / "plays.md": plays_page(),
        PAGES / "scenarios.md": scenarios_page(),
        MERCHANT_SCHEMA: written(build_merchant()),
        SCHEMA: written(build()),
        ANSWERS: answers_text(),
        LLMS: llms_text(),
    }.items():
        if "--check" in sys.argv[1:]:
            if not path.exists() or path.read_text("utf-8") != text:
                stale.append(str(path.relative_to(PAGES.parents[1])))
        else:
            path.write_text(text, "utf-8")
    if stale:
        print(f"out of date: {', '.join(stale)}; run `python tools/reference.py`")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
