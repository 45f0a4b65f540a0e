"""Strategies for the scripts of a scenario: of pay-ins, refunds and disputes, with every kind of step.

Each strategy names the keys of its model, and `shape` compares them with the model's own, so a new key has to be added
here. `SHAPED` has the models that are generated; a test compares them with the models of the format.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from pydantic import BaseModel

from paydouble.core.json_text import Number
from paydouble.payments.events import EVENT_TYPES
from paydouble.scenarios import steps

Data = st.SearchStrategy[Any]
Keys = dict[str, Data]

SHAPED: set[type[BaseModel]] = set()
"""The models that some strategy generates."""
# Any text, and texts that a YAML reader could take for something else.
CHARACTERS = st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co"), include_characters="\n\t")
TRAPS = [
    "a: b",
    "# x",
    "'\"",
    " ",
    "-",
    "on",
    "NO",
    "12:30:00",
    "010",
    "1e3",
    "0x1F",
    "~",
    "null",
    "true",
    "2026-01-01",
]
TEXT = st.one_of(st.text(CHARACTERS, min_size=1, max_size=30), st.sampled_from(TRAPS))
WORD = st.sampled_from(["a", "fraudulent", "No. 17", "*", "order-*"])
DURATION = st.sampled_from(["0s", "1ms", "250ms", "1.5s", "2s", "3s", "5m", "1h30m", "8h", "3d", "30d"])
FLAG = st.booleans()
AMOUNT = st.one_of(
    st.integers(0, 100_000),
    st.builds(lambda whole, rest: Number(f"{whole}.{rest:02}"), st.integers(0, 999), st.integers(0, 99)),
    st.sampled_from([Number("49.90"), Number("1.250"), Number("0.001")]),
)
PORTION = st.one_of(
    AMOUNT, st.sampled_from(["45.00", "50%", "200%", "0.5%", "+0.10", "-0.10", "-2%", "-100%", "+0.0001"])
)
EVENT = st.sampled_from(sorted(EVENT_TYPES))
JSON = st.recursive(
    st.one_of(st.none(), FLAG, st.integers(-(10**20), 10**20), AMOUNT, TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(TEXT, inner, max_size=2)),
    max_leaves=4,
)
TEXTS = st.dictionaries(TEXT, TEXT, max_size=2)


def shape(model: type[BaseModel], required: Keys, optional: Keys | None = None, *, least: int = 0) -> Data:
    """Return a strategy for the mapping of a model, with at least `least` of its optional keys."""
    optional = optional or {}
    known = {field.alias or name for name, field in model.model_fields.items()}
    assert {*required, *optional} == known, f"{model.__name__} has other keys than are generated"
    SHAPED.add(model)
    made = st.fixed_dictionaries(required, optional=optional)
    return made.filter(lambda data: len(data) - len(required) >= least) if least else made


def one(model: type[BaseModel], choices: Keys, always: Keys | None = None) -> Data:
    """Return a strategy for the mapping of a model that takes exactly one of some keys."""
    shape(model, always or {}, choices)
    return st.one_of([st.fixed_dictionaries({**(always or {}), name: each}) for name, each in choices.items()])


FAILURE = shape(steps.FailureSpec, {}, {"code": WORD, "message": TEXT})
WHEN = shape(
    steps.When,
    {},
    {
        "refund": st.one_of(
            st.sampled_from(["none", "requested", "succeeded", "failed"]),
            one(steps.Moment, {"before": EVENT, "after": EVENT}),
        ),
        "evidence": st.sampled_from(["none", "submitted"]),
        "dispute": st.sampled_from(["none", "open", "won", "lost", "accepted"]),
    },
    least=1,
)
DISPUTE = shape(
    steps.OpenDispute,
    {"after": DURATION, "dispute": shape(steps.DisputeSpec, {}, {"amount": PORTION, "reason": WORD})},
)
REFUND = shape(
    steps.OpenRefund, {"after": DURATION, "refund": shape(steps.RefundSpec, {}, {"amount": PORTION, "reason": WORD})}
)


def _transition(model: type[BaseModel], *, failing: bool, paying: bool = False) -> Data:
    states = model.model_fields["to"].annotation.__args__  # type: ignore[union-attr]  # a Literal
    optional: Keys = {"force": FLAG}
    if failing:
        optional["failure"] = FAILURE
    if paying:
        optional["amount"] = PORTION
    made = shape(model, {"after": DURATION, "to": st.sampled_from(states)}, optional)
    return made.map(_fitting)


def _fitting(step: dict[str, Any]) -> dict[str, Any]:
    """Leave out keys that do not fit the status of a step."""
    wrong = {"failure": "failed", "amount": "succeeded"}
    return {name: value for name, value in step.items() if step["to"] == wrong.get(name, step["to"])}


PAID = [{"after": "2s", "to": "pending"}, {"after": "1s", "to": "processing"}, {"after": "3s", "to": "succeeded"}]


def _wait(few: Data) -> Data:
    sides = dict.fromkeys(("pay", "decline", "abandon", "timeout"), few)
    return shape(steps.AwaitPayer, {"await": st.just("payer")}, {"prompt": TEXT, "within": DURATION, **sides})


def _script(plain: Data, branch: type[BaseModel], repeat: type[BaseModel], *, waits: bool = False) -> Data:
    def around(inner: Data) -> Data:
        few = st.lists(inner, max_size=3)
        return st.one_of(
            inner,
            *([_wait(few)] if waits else []),
            shape(branch, {"when": WHEN}, {"after": DURATION, "then": few, "else": few}),
            shape(repeat, {"repeat": st.integers(1, 4), "steps": st.lists(inner, min_size=1, max_size=3)}),
        )

    return st.lists(around(around(plain)), max_size=5)


PAY_IN_SCRIPT = _script(
    st.one_of(_transition(steps.PayInStep, failing=True, paying=True), DISPUTE, REFUND),
    steps.PayInBranch,
    steps.PayInRepeat,
    waits=True,
)
REFUND_SCRIPT = _script(_transition(steps.RefundStep, failing=True), steps.RefundBranch, steps.RefundRepeat)
DISPUTE_SCRIPT = _script(_transition(steps.DisputeStep, failing=False), steps.DisputeBranch, steps.DisputeRepeat)
LIFECYCLE = shape(
    steps.Lifecycle,
    {},
    {"pay_in": PAY_IN_SCRIPT, "refund": st.one_of(st.none(), REFUND_SCRIPT), "dispute": DISPUTE_SCRIPT},
)
