"""The page of what a play can do, made from `Play` and the vocabulary of troubles; `tools/reference.py` writes it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from paydouble.stateful import Play
from paydouble.stateful.crafted import AHEAD, Crafted
from paydouble.stateful.interruptions import (
    CANCEL_MEANWHILE,
    JOB_INTERRUPTIONS,
    MEANWHILE,
    REFUND_MEANWHILE,
    WEBHOOK_INTERRUPTIONS,
)
from paydouble.stateful.provider import PAYER_ACTS, PROVIDER_ACTS
from paydouble.stateful.troubles import (
    AFTERWARDS,
    DIALECTS,
    DURATIONS,
    INJECTED,
    ORDER_READ_TROUBLES,
    OWN_REFUND_TROUBLES,
    PAYER_SCENARIOS,
    POST_TROUBLES,
    READ_TROUBLES,
    REFUND_TROUBLES,
    SCENARIOS,
    SHARES,
    SLOW_REFUND,
    SLOW_SCENARIOS,
    WEBHOOK_TROUBLES,
    Trouble,
)

_Words = Mapping[str, str] | Mapping[int | str, str]
# For the machine itself.
_NOT_SHOWN: Final = frozenset({"close", "taped"})


def plays_page() -> str:
    """Return the page."""
    return f"""# Plays

A test can write plays of its own, as the reports of [the machine](hypothesis.md) do. For example:

```python
from paydouble.stateful import Play

with Play(ShopAdapter) as play:
    play.order("49.90", "EUR")
    play.pay(1, "reply lost")
    play.wait("10s")
```

Orders are counted from 1. A time is a text such as `90s`, `10m` or `3d`. What the machine would find, a play raises as `MerchantBug`,
at the latest where its block ends.

## Methods

Names in capitals, such as `READ_TROUBLES`, are the tables below.

{_methods()}

## Troubles of a request

For `pay` and `retry`. `refund` and `refund_again` take {_names(REFUND_TROUBLES)}.
`own_refunds` takes {_names(OWN_REFUND_TROUBLES)}.
The request after the first one meets `then`, one of {_names(AFTERWARDS)}.

{_table(_described(POST_TROUBLES))}

How long it lasts (`lasts`), also of a trouble of reads:

{_table({**DURATIONS, 0: "this lasts as long as the table says"})}

## While the shop works on a request

`meanwhile` of `pay`:

{_table(MEANWHILE)}

Of `refund`:

{_table(REFUND_MEANWHILE)}

`cancel` takes {_names(CANCEL_MEANWHILE)}. What is refunded (`SHARES`) is {_names(SHARES)}, `most` being
two thirds, in whole minor units, rounded down.

## Reads

For `reads`:

{_table(_described(READ_TROUBLES))}

For `reads_of`, which begin with "each read about the order":

{_table(_described(ORDER_READ_TROUBLES))}

## Webhooks

For `webhooks`:

{_table(_described(WEBHOOK_TROUBLES))}

For `interrupt_webhook`:

{_table(WEBHOOK_INTERRUPTIONS)}

For `inject`, a webhook besides the service's own:

{_table(_described(INJECTED))}

For `webhook_ahead`, one that comes just before the next one:

{_table(_described(AHEAD))}

## Background jobs

For `interrupt_jobs`:

{_table(JOB_INTERRUPTIONS)}

## The provider, the payer and the scenario

`provider` takes {_names(PROVIDER_ACTS)}. `payer` takes {_names(PAYER_ACTS)}, for a payment that waits for its payer.
The `scenario` of `pay` is {_names((*SCENARIOS, *PAYER_SCENARIOS, *SLOW_SCENARIOS, SLOW_REFUND))}; [each is explained](scenarios.md).

## Dialects

`Play(ShopAdapter, dialect="…")` changes what the contract leaves open, by [settings](settings.md):

{_table({name: _as_code(document) for name, document in DIALECTS.items()})}
"""


def _methods() -> str:
    shown = {
        name: member
        for name, member in vars(Play).items()
        if inspect.isfunction(member) and not name.startswith("_") and name not in _NOT_SHOWN
    }
    return "\n\n".join(f"### `{name}{_signature(each)}`\n\n{inspect.getdoc(each)}" for name, each in shown.items())


def _signature(method: Callable[..., object]) -> str:
    parameters = inspect.signature(method).parameters.values()
    plain = [each.replace(annotation=each.empty) for each in parameters if each.name != "self"]
    return str(inspect.Signature(plain))


def _described(entries: Mapping[str, Trouble] | Mapping[str, Crafted] | Mapping[str, Trouble | Crafted]) -> _Words:
    return {name: entry.description for name, entry in entries.items()}


def _table(words: _Words) -> str:
    rows = [f"| `{name}` | {text or 'nothing'} |" for name, text in words.items()]
    return "\n".join(("| name | what happens |", "|---|---|", *rows))


def _names(names: Iterable[str]) -> str:
    *others, last = (f"`{name}`" for name in names)
    return f"{', '.join(others)} or {last}"


def _as_code(document: Mapping[str, object]) -> str:
    return f"`{json.dumps(document)}`" if document else ""
