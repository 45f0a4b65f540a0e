"""The pages of conformance: the clauses, and the keys of merchant files; `tools/reference.py` writes them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from paydouble.conformance.clauses import Clause
from paydouble.conformance.levels import FAMILIES, LEVELS, NEEDS
from paydouble.conformance.merchant_file import (
    AcceptedFinding,
    AnyCall,
    Driver,
    MerchantFile,
    OrderCall,
    PayCall,
    PlaceOrderCall,
    RulesCall,
    Service,
    Start,
    WebhookTarget,
)
from paydouble.conformance.placeholders import MONEY, ORDER, REFUND, RUN, SERVICE, TIME
from paydouble.conformance.run import CLAUSES
from paydouble.yamlfile.schema import attribute_docs

_PARTS = (
    ("The file", MerchantFile),
    ("A finding of `accepts`", AcceptedFinding),
    ("`webhook`", WebhookTarget),
    ("`start`", Start),
    ("`service`", Service),
    ("`driver`", Driver),
    ("A call", AnyCall),
    ("`driver.place_order`", PlaceOrderCall),
    ("`driver.pay` and `driver.retry`", PayCall),
    ("`driver.order`", OrderCall),
    ("`driver.broken_rules`", RulesCall),
)
_SIDES = {"W": "Webhooks: a consumer of events", "C": "Calls: a client of the API"}


def clauses_page() -> str:
    """Return the page of the clauses."""
    levels = "\n".join(f"| **{level}** | {meaning} |" for level, meaning in LEVELS.items())
    sides = "\n\n".join(f"## {title}\n\n{_families(side)}" for side, title in _SIDES.items())
    return f"""# Clauses

`paydouble conformance merchant merchant.yaml` plays these {len(CLAUSES)} clauses against a shop in any language, which
[a file](merchant-file.md) describes. A clause is *kept*, *broken*, or *not tested* with the reason; what a file does not give is
never kept. [Test a shop in any language](../how-to/test-a-shop-in-any-language.md) shows how.

| level | meaning |
|---|---|
{levels}

A problem can be milder than its clause: that a forged event has no effect is M, and that it is refused with 400 is S. A
run fails by M and B, and with `--strict` by S.

{sides}
"""


def _families(side: str) -> str:
    parts = []
    for family, title in FAMILIES.items():
        rows = [_row(each) for each in CLAUSES.values() if each.family == family and family.startswith(side)]
        if rows:
            head = f"### {family}: {title}\n\n| id | section | level | what holds | how it is played | needs |\n|---|---|---|---|---|---|\n"
            parts.append(head + "\n".join(rows))
    return "\n\n".join(parts)


def _row(clause: Clause) -> str:
    needs = ", ".join(f"`{need}`" for need in clause.needs if need != "driver")
    return f"| {clause.id} | {clause.section} | {clause.level} | {clause.title}. | {clause.stimulus} | {needs} |"


def merchant_file_page() -> str:
    """Return the page of merchant files."""
    parts = "\n\n".join(f"## {title}\n\n{_keys(model)}" for title, model in _PARTS)
    names = "\n".join(
        f"| `{{{name}}}` | {meaning} | {where} |"
        for where, table in (
            ("every call, and `start` without `ready`", SERVICE),
            ("every call, `start`, and `webhook`", RUN),
            ("calls about an order", ORDER),
            ("`place_order`, `refund`", MONEY),
            ("`refund`", REFUND),
            ("`set_time`", TIME),
        )
        for name, meaning in table.items()
    )
    needs = "\n".join(f"| `{need}` | {lacks} |" for need, lacks in NEEDS.items())
    return f"""# The merchant file

`merchant.yaml` says how a shop is reached, in whatever language it is. `paydouble conformance init` writes a commented one,
`paydouble conformance doctor` tries each call, [`paydouble conformance merchant`](clauses.md) tests the shop, and `paydouble explore`
searches for bugs that no clause foresees. From Python, `paydouble.conformance.merchant_of(path)` is an adapter for `MerchantMachine`. It is plain YAML:
no anchors, no aliases, no tags.

{parts}

## Placeholders

`{{{{` and `}}}}` are braces. A value that is one placeholder alone keeps its type: `"{{minor}}"` in a JSON body is a number.

| placeholder | meaning | where |
|---|---|---|
{names}

## What clauses need

A clause whose needs a file does not meet is not tested.

| need | what the file has to have |
|---|---|
{needs}
"""


def _keys(model: type[BaseModel]) -> str:
    docs = attribute_docs(model)
    own = {name: field for name, field in model.model_fields.items() if name in docs}
    if model is not AnyCall and issubclass(model, AnyCall):
        own = {name: field for name, field in own.items() if name not in AnyCall.model_fields}
    rows = [f"| `{field.alias or name}` | {_default(field)} | {docs[name]} |" for name, field in own.items()]
    return "| key | | meaning |\n|---|---|---|\n" + "\n".join(rows)


def _default(field: Any) -> str:  # noqa: ANN401 - pydantic's
    return "required" if field.is_required() else ""
