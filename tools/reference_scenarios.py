"""The page of the scenario format, made from its models and from the shipped files; `tools/reference.py` writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
        "payer": "The payer decides",
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

A scenario is one YAML file: the scripts of a pay-in, its refunds and its disputes, the faults, and the events that a merchant's
receiver gets. [How to write one](../how-to/write-a-scenario.md) begins with a short one; this page lists every key.

```yaml
{example.rstrip()}
```

`paydouble scenario check FILE` reports all errors of a file with their places; with `--play` it plays the file and compares `answers` and `expect`. `scenario schema` prints the JSON Schema, `scenario graph`
draws a timeline, `trigger` plays against a running server. Each shipped file begins with
`{modeline}`, so that editors complete keys and mark errors.

The YAML version is 1.2: `on` and `NO` are texts, amounts keep their digits. Anchors, tags, duplicate keys and a
second document are refused. A duration is written `250ms`, `2s`, `5m`, `1h30m`, `3d`, or as in ISO 8601 `PT1H30M`, `P3D`.

{tables["The file"]}

{tables["lifecycle"]}

## Steps

A script is a list of steps, played one after the other; `after` counts from the previous step, and for the first one from the
creation of the object. Each kind of step has its own key: {_either(steps.PAY_IN_KEYS)}.

A script ends when its next step is not possible: a transition that is not in the [lifecycle](api.md#lifecycles) and is not forced
(the merchant has cancelled, the pay-in has expired), a dispute or a refund of a pay-in that cannot have one. It also ends when a
test or the merchant changes the object's status. With all repetitions written out it has at most
{steps.MOST_STEPS} steps.

{_under("A transition of a pay-in", "A dispute arrives", tables)}

{_under("A dispute arrives", "A branch", tables)}

{_under("A branch", "match", tables)}

### Amounts

In steps an amount is a number (`45.00`, in the currency of the deposit), a share (`50%`), or a difference from the pay-in's
own amount (`"+0.10"`, `"-2%"`; a sign needs the quotation marks). Digits beyond the currency's are cut off; a difference is never 0, and no
amount is less than one minor unit. Elsewhere an amount is a number. None of them is ever a binary float.

## Choosing

A new pay-in plays the first of these: the active scenario of its sandbox (`PUT …/scenarios/active`, `POST …/sandboxes` with
`scenario`); the scenario named by the local part of a `…@scenario.test` customer e-mail, so that a form in a browser can choose it
without code; the first scenario whose `match` fits; the one of the setting `scenario`. `POST …/scenarios/{{name}}/play` makes its own
pay-in. Of several scenarios with the same name an uploaded one is used before a file of `--scenarios DIR`, a later folder or file
before an earlier one, and each of them before a shipped one. No shipped scenario has a `match`.

{_under("match", "deposit", tables)}

## Faults and settings

`faults` has [faults](faults.md), written as in the control API. Each order that plays the scenario has its own copies, with
their own counts, from the first request for its deposit. So a fault before the commit matches exactly that deposit, and a retry
meets the remaining ones; `ttl` counts from then. Faults on webhooks act on the events of the pay-in, its refunds and its disputes.
A receiver that is down for fifty hours is
`{{on: webhooks, ttl: 50h, effect: {{type: connection_reset}}}}`.

`settings` has [settings](settings.md) of a sandbox. They replace its own when the scenario becomes active, is named by the setting
`scenario`, or is first played, and are removed when another scenario with settings is used or the scenario is no longer chosen.

## Playing it

`check --play` and `trigger` make the deposit, carry out the merchant's actions, and then run the clock until no timer is left. The
receiver answers 200 to everything. A call of the merchant that fails (no answer, 5xx, 429) is repeated with the same key a second
later, at most five times. An action `payer` is not a call: it does what a payer would do on the payer's page. `answers` lists the answer to each call, including repeated ones: a status, or `lost` when no complete
answer arrived.

{_under("deposit", "", tables)}

## The shipped scenarios

{_groups()}
"""


def _section(heading: str, text: str, model: type[BaseModel]) -> str:
    definition = _schema() if model is Scenario else _schema()["$defs"][model.__name__]
    required = definition.get("required", ())
    rows = []
    for key, meaning in keys_of(model).items():
        part = definition["properties"][key]
        default = "required" if key in required else _default(part.get("default"))
        rows.append(f"| `{key}` | {_kind(part, key)} | {default} | {meaning.replace('|', chr(92) + '|')} |")
    level = "##" if heading in {"The file", "lifecycle"} else "###"
    title = heading if " " in heading else f"`{heading}`"
    table = "\n".join(("| key | value | default | meaning |", "|---|---|---|---|", *rows))
    return f"{level} {title}\n\n{text}\n\n{table}" if text else f"{level} {title}\n\n{table}"


def _either(names: Sequence[str]) -> str:
    return f"{', '.join(f'`{name}`' for name in names[:-1])} or `{names[-1]}`"


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
