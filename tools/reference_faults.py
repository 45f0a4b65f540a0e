"""The page of all faults, made from their models; `tools/reference.py` writes it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from paydouble.core.durations import format_duration
from paydouble.faults.api_effects import DistortionEffect, OperationEffect
from paydouble.faults.base import Effect, Lognormal
from paydouble.faults.model import API_EFFECTS, WEBHOOK_EFFECTS, ApiFault, ApiMatch, WebhookMatch

Docs = Callable[[type[BaseModel]], dict[str, str]]
_MATCHES = {
    "operation": "Name of the operation, such as `deposit-creation`.",
    "method": "`GET` or `POST`.",
    "path": "Path of the request, with its prefix and without its query.",
    "idempotency_key": "The key, in either case.",
    "external_identifier": "The merchant's order: of the deposit that is asked for, of the pay-in that a refund, a dispute or an event belongs to, or that a list is filtered by.",
    "object_id": "The object that the request names or has made, or that the event is about; in a refund's creation its pay-in, and in a list that one whose refunds or disputes are asked for.",
    "scenario": "Scenario of the pay-in that it is about, once that exists.",
    "event_type": "Type of the event, such as `pay-in.*`.",
    "attempt": "Number of the attempt, a whole number from 1; for what acts on attempts.",
}


def faults_page(docs: Docs) -> str:
    """Return the page; `docs` reads the docstrings under a model's members."""
    phaseless = ", ".join(f"`{name}`" for name, effect in API_EFFECTS.items() if issubclass(effect, OperationEffect))
    distorting = ", ".join(f"`{name}`" for name, effect in API_EFFECTS.items() if issubclass(effect, DistortionEffect))
    return f"""# Faults

A fault makes one thing fail, exactly when a test wants it: `POST /_paydouble/sandboxes/{{s}}/faults`.
A browser has a form for each effect on the page of a sandbox below `/_paydouble/`.

```json
{{"name": "lost reply", "match": {{"operation": "deposit-creation", "external_identifier": "order-17"}},
 "times": 1, "phase": "after_commit", "effect": {{"type": "connection_reset"}}}}
```

| member | value | default | meaning |
|---|---|---|---|
{_fault_rows(docs)}

## What it matches

All members that are given must match; a request or an event without such a member does not match. `*` in a text matches any
characters, and letter case counts.

| member of `match` | on the API | on webhooks | meaning |
|---|---|---|---|
{_match_rows()}

Only requests of an authenticated business for an existing operation can match, and never the control API. A request on which
an effect cannot act (a read without an older state, a GET for effects on keys) does not count as a match.

## When it fires

The first `skip` matches are ignored. Each later one fires with `probability`, which depends on the sandbox's seed, the fault's id
and the number of the match, so the same seed gives the same result, and other faults change nothing. After `times` firings, after
`ttl`, or when `enabled` is false it does not match any more. Give a fault an `id` if its random values must not depend on how many
faults were added before it.

**When two match**, they are tried in the order in which they were added, and the first enabled one that fires decides; later ones
are not tried, and count nothing. With `compose` the next one acts too, and so on. Then times add up, an answer replaces the previous
one, the last effect on the connection is used, and changes of a body are applied in order. Only faults at the same injection point
compose: faults before the commit, after the commit, on events and on attempts are consulted separately, so one of each can act on
the same deposit without `compose`.

## Before or after the commit

`before_commit`: nothing has happened. There is no object, no key, no event, and no quota was used; a retry with the same key is a
new request. Only after `latency` the request continues; until then its key is in flight, and another request with it joins.
`after_commit`: everything has happened. The state is changed, the real answer is stored under the key, the webhook is sent, but the
caller does not see the answer; a retry gets it, byte for byte, when the fault does not fire any more. It acts on answers of an
operation (a success, a stored 404 or 422, a replay), not on refusals before it. A client that disconnects changes nothing of this.

Without `phase` an effect acts before the commit, except that {distorting}
distort the real answer; with `before_commit` they distort a 500.
These change what the operation itself does or shows, and have no phase: {phaseless}.

The journal's entry names the faults that fired. Its status is the one that was sent to the caller. When no answer was sent, it is
the real one after the commit, and null before it.

## On the API

| effect | attributes | what the caller meets | the bug that it exposes: the merchant … |
|---|---|---|---|
{_effect_rows(API_EFFECTS, docs)}

## On webhooks

| effect | attributes | what the receiver meets | the bug that it exposes: the merchant … |
|---|---|---|---|
{_effect_rows(WEBHOOK_EFFECTS, docs)}

A duration is written `250ms`, `2s`, `5m`, `1h30m`, `3d`, or as in ISO 8601 `PT1H30M`, `P3D`. Times that a
client or a receiver waits for are real time (`fixed`, `uniform`, `lognormal` of `latency`, `hold`, `over`, `lead`). All others are
on the sandbox's clock (`ttl`, `for`, and on webhooks `delay`, `spacing`, `patience`, `delays`). The `reset` of `rate_limit`
counts from now, written as the settings `rate_limit.reset_unit` and `rate_limit.clock` say. `latency` and `delay` take exactly
one of `fixed`, `uniform` (`[low, high]`, both included) and `lognormal`, with mostly short and a few very long times:
{_attributes(Lognormal, docs).replace("<br>", "; ")}.

An invalid fault is refused with 400 and the path of the member (`effect.fixed`), and nothing is added. A sandbox has at most 10000
faults; a reset with the scope `faults` removes them all.
"""


def _fault_rows(docs: Docs) -> str:
    told = {name: text for model in reversed(ApiFault.__mro__[:-2]) for name, text in _own(model, docs).items()}
    told |= {
        "on": "`api` or `webhooks`; chosen by the effect when only one side has it, else `api`.",
        "id": "Its name in calls and journals; made up when absent.",
        "name": "What a reader should know it as.",
        "enabled": "Whether it is asked at all.",
        "match": "What it is about; everything when absent.",
        "effect": "What happens: `type` and its attributes, see below.",
    }
    properties = ApiFault.model_json_schema()["properties"]
    rows = []
    for name, field in ApiFault.model_fields.items():
        kind = {"on": "`api` \\| `webhooks`", "match": "object", "effect": "object"}.get(name) or _kind(
            properties[name]
        )
        default = "" if name in {"on", "match"} else "required" if field.is_required() else _default(field.default)
        rows.append(f"| `{name}` | {kind} | {default} | {' '.join(told[name].split())} |")
    return "\n".join(rows)


def _match_rows() -> str:
    names = dict.fromkeys((*ApiMatch.model_fields, *WebhookMatch.model_fields))
    return "\n".join(
        f"| `{name}` | {_tick(name in ApiMatch.model_fields)} | {_tick(name in WebhookMatch.model_fields)} "
        f"| {_MATCHES[name]} |"
        for name in sorted(names, key=list(_MATCHES).index)
    )


def _tick(there: bool) -> str:  # noqa: FBT001 - a cell's only argument
    return "yes" if there else ""


def _effect_rows(effects: Mapping[str, type[Effect]], docs: Docs) -> str:
    return "\n".join(
        f"| `{name}` | {_attributes(model, docs)} | {_prose(model)} | {model.exposes} |"
        for name, model in effects.items()
    )


def _prose(model: type[BaseModel]) -> str:
    return " ".join((inspect.getdoc(model) or "").split())


def _attributes(model: type[BaseModel], docs: Docs) -> str:
    told = {name: text for base in reversed(_models(model)) for name, text in _own(base, docs).items()}
    schema = model.model_json_schema()
    parts = []
    for name, field in model.model_fields.items():
        if name == "type":
            continue
        shown = field.alias or name
        kind = _kind(schema["properties"][shown])
        default = field.get_default(call_default_factory=True, validated_data={})
        rest = "required" if field.is_required() else "" if default is None else f"default {_default(default, kind)}"
        text = " ".join(told.get(name, "").split()).replace("|", "\\|")
        parts.append(f"`{shown}`: {kind}" + (f", {rest}" if rest else "") + (f". {text}" if text else ""))
    return "<br>".join(parts)


def _models(model: type[BaseModel]) -> list[type[BaseModel]]:
    return [base for base in model.__mro__ if issubclass(base, BaseModel) and base is not BaseModel]


def _own(model: type[Any], docs: Docs) -> dict[str, str]:
    return docs(model)


def _default(value: object, kind: str = "") -> str:
    if value is None:
        return ""
    if kind == "duration" and isinstance(value, int):
        return f"`{format_duration(value)}`"
    return f"`{json.dumps(value)}`"


def _kind(schema: dict[str, Any]) -> str:
    options = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    return " or ".join(_one_kind(each) for each in options)


def _one_kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return "object, see below"
    if "enum" in schema:
        return " \\| ".join(f"`{value}`" for value in schema["enum"])
    if "prefixItems" in schema:
        return f"[{', '.join(_one_kind(each) for each in schema['prefixItems'])}]"
    if schema.get("type") == "array":
        return f"list of: {_one_kind(schema['items'])}"
    if schema.get("examples"):
        return "duration"
    kind = {"string": "text", "integer": "whole number", "boolean": "true, false", None: "any JSON"}
    return kind.get(schema.get("type"), str(schema.get("type"))) + _bounds(schema)


def _bounds(schema: dict[str, Any]) -> str:
    words: Iterable[tuple[str, str]] = (
        ("minimum", "from"),
        ("exclusiveMinimum", "above"),
        ("maximum", "to"),
        ("exclusiveMaximum", "below"),
    )
    return "".join(f" {word} {schema[name]}" for name, word in words if name in schema)
