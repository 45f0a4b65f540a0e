"""The page of the scenario format, made from its models and from the shipped files; `tools/reference.py` writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from pydantic import BaseModel

from paydouble.scenarios import schema, steps
from paydouble.scenarios.library import shipped_files
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.reading import read_scenario
from reference_scenario_keys import SECTIONS, keys_of

# Folders of the library, in the order of the page.
GROUPS: Final = MappingProxyType(
    {
        "happy-paths": "Happy paths",
        "declines": "Declines and expiries",
        "refunds": "Refunds",
        "disputes": "Disputes",
        "delivery": "Delivery trouble",
        "api": "API trouble",
        "money": "Money",
    }
)


def scenarios_page() -> str:
    """Return the page."""
    tables = {heading: _section(heading, text, model) for heading, text, model in SECTIONS}
    modeline, _, example = shipped_files()["dispute-decided-by-evidence"].read_text("utf-8").partition("\n")
    return f"""# Scenarios

A scenario is one YAML file, from its name to what is expected of it: the life of a pay-in, of its refunds and disputes,
what goes wrong on the way, and what a merchant's receiver gets. [How to write one](../how-to/write-a-scenario.md) begins
with a short one; this page lists every key.

```yaml
{example.rstrip()}
```

`paydouble scenario check FILE` says what is wrong with a file, all of it at once and each thing at its place; with
`--play` it plays the file and compares `answers` and `expect`. `scenario schema` prints the JSON Schema, `scenario graph`
draws a timeline, `trigger` plays against a running server. Each shipped file begins with
`{modeline}`, so that editors complete and underline.

The YAML is that of version 1.2: `on` and `NO` are texts, amounts keep their digits. Anchors, tags, duplicate keys and a
second document are refused. A duration is written `250ms`, `2s`, `5m`, `1h30m`, `3d`, or as in ISO 8601 `PT1H30M`, `P3D`.

{tables["The file"]}

{tables["lifecycle"]}

## Steps

A script is a list of steps, taken one after the other; `after` counts from the step before it, and for the first from the
beginning of the object. A step is known by one of its keys: `to`, `dispute`, `refund`, `when` or `repeat`.

A script ends where its next step cannot be taken: a transition that the [lifecycle](api.md#lifecycles) has no arrow for and
that is not forced (the merchant has cancelled, the pay-in has expired), a dispute or a refund of a pay-in that cannot have
one. It ends too when a test or the merchant moves the object in its place. With all repetitions written out it has at most
{steps.MOST_STEPS} steps.

{_under("A transition of a pay-in", "A dispute arrives", tables)}

{_under("A dispute arrives", "A branch", tables)}

{_under("A branch", "match", tables)}

### Amounts

In steps an amount is a number (`45.00`, in the currency of the deposit), a share (`50%`), or a difference from the pay-in's
own amount (`"+0.10"`, `"-2%"`; the quotation marks are needed before a sign). What is finer than the currency is cut off; a
difference is never nothing, and no amount is less than the smallest unit. Elsewhere an amount is a number. None of them ever
passes through a binary float.

## Choosing

A new pay-in takes the active scenario of its sandbox (`PUT …/scenarios/active`, `POST …/sandboxes` with `scenario`); else
the scenario that the local part of a `…@scenario.test` customer e-mail names, so that a form in a browser can choose it
without code; else the first whose `match` fits; else that of the setting `scenario`. `POST …/scenarios/{{name}}/play` makes a
pay-in of its own. What was uploaded stands before the files of `--scenarios DIR`, a later folder or file before an earlier
one of the same name, and all of them before the shipped ones, none of which has a `match`.

{_under("match", "deposit", tables)}

## Faults and settings

`faults` holds [faults](faults.md) as the control API takes them. Each order that plays the scenario has armed copies of its
own, with counts of their own, from the moment in which its deposit is asked for, so that one which acts before the commit
finds the very deposit, and a retry finds what is left; `ttl` counts from then. Those on webhooks act on the pay-in's events
and on those of its refunds and disputes. A receiver that is down for fifty hours is
`{{on: webhooks, ttl: 50h, effect: {{type: connection_reset}}}}`.

`settings` holds [settings](settings.md) of a sandbox. They are laid over its own when the scenario is made active, named
by the setting `scenario`, or first played, and taken back when another one with settings comes or the choice ends.

## Trying it out

`check --play` and `trigger` make the deposit, let the merchant act, and then let the clock run until nothing is left to
happen. The receiver answers 200 to whatever reaches it. A call of the merchant that fails (no answer, 5xx, 429) is made
again with the same key a second later, five times at most; `answers` lists what each call got, repeated ones included, as a
status, or as `lost` when no whole answer arrived.

{_under("deposit", "", tables)}

## The shipped scenarios

{_groups()}
"""


def _section(heading: str, text: str, model: type[BaseModel]) -> str:
    definition = _schema() if model is Scenario else _schema()["$defs"][model.__name__]
    required = definition.get("required", ())
    rows = []
    for key, told in keys_of(model).items():
        part = definition["properties"][key]
        default = "required" if key in required else _default(part.get("default"))
        rows.append(f"| `{key}` | {_kind(part, key)} | {default} | {told.replace('|', chr(92) + '|')} |")
    level = "##" if heading in {"The file", "lifecycle"} else "###"
    title = heading if " " in heading else f"`{heading}`"
    table = "\n".join(("| key | value | default | meaning |", "|---|---|---|---|", *rows))
    return f"{level} {title}\n\n{text}\n\n{table}" if text else f"{level} {title}\n\n{table}"


def _under(first: str, end: str, tables: Mapping[str, str]) -> str:
    """Return the sections from one heading up to another one."""
    headings = list(tables)
    last = headings.index(end) if end else len(headings)
    return "\n\n".join(tables[heading] for heading in headings[headings.index(first) : last])


@cache
def _schema() -> dict[str, Any]:
    return schema.build()


def _default(value: object) -> str:
    return "" if value is None else f"`{json.dumps(value) if not isinstance(value, str) else value}`"


def _kind(part: dict[str, Any], key: str = "") -> str:
    """Return the type of a key in words; `part` is its JSON Schema."""
    special = {"faults": "list of [faults](faults.md)", "settings": "[settings](settings.md)"}
    if key in special:
        return special[key]
    if "anyOf" in part and "%" not in json.dumps(part.get("examples", "")):
        options = [_kind(each) for each in part["anyOf"] if each.get("type") != "null"]
        return " or ".join(options)
    if "$ref" in part:
        return _linked(part["$ref"].rpartition("/")[2])
    if "const" in part or "enum" in part:
        values = part.get("enum", [part.get("const")])
        return "event type" if "pay-in.created" in values else " \\| ".join(f"`{value}`" for value in values)
    if "examples" in part:
        return "[amount](#amounts)" if "50%" in part["examples"] else "duration"
    return _plain(part)


def _plain(part: dict[str, Any]) -> str:
    if part.get("type") == "array":
        pair = part.get("prefixItems")
        if pair:
            return f"[{', '.join(_kind(each) for each in pair)}]"
        inner = "[steps](#steps)" if "oneOf" in part["items"] else _kind(part["items"])
        return f"list of {inner}"
    if part.get("type") == "object":
        below = part.get("additionalProperties")
        return f"mapping of texts to {_kind(below)}" if isinstance(below, dict) else "mapping"
    low, high = part.get("minimum"), part.get("maximum")
    within = f" from {low} to {high}" if low is not None and high is not None else ""
    words = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true, false"}
    return words[part["type"]] + within


def _linked(name: str) -> str:
    heading = next(heading for heading, _, model in SECTIONS if model.__name__ == name)
    # The anchor that GitHub makes of a heading: lower case, words joined, only letters and digits.
    anchor = "".join(char for char in heading.lower().replace(" ", "-") if char.isalnum() or char in "-_")
    return f"[{heading.removeprefix('An ').removeprefix('A ')}](#{anchor})"


def _groups() -> str:
    parts = []
    for folder, title in GROUPS.items():
        rows = [
            f"| `{name}` | {read_scenario(path).summary} |"
            for name, path in shipped_files().items()
            if path.parent.name == folder
        ]
        parts.append("\n".join((f"### {title}", "", "| scenario | what happens |", "|---|---|", *rows)))
    return "\n\n".join(parts)
