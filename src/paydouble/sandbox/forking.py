"""Copies of a sandbox: checkpoints, which stand still, and forks, which go on as businesses of their own.

A copy is made of the whole graph of objects below a sandbox, by the type of each object (`_Copier`):

    immutable ───────────────────► shared: bytes, events, settings, scenarios, faults, timers
    dict, list, deque, set, tuple ► made again, with copies of their members
    a class of this package ──────► made again, attribute by attribute
    anything else ────────────────► TypeError, which names the type

So a new attribute of any part is copied without a line here, and a part of a new kind fails in every test of a fork. An
object that two parts refer to is copied once. A few attributes are not copied, since they belong to those who watch the
original (`_BEGINS_WITH`).

A copy of a sandbox that answers the same commands gives the same answers to the byte, because everything random depends
on its seed and its counters, and a fork keeps both.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Container
from dataclasses import fields, is_dataclass
from decimal import Decimal
from operator import attrgetter
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final, NamedTuple, cast
from weakref import ref

from orjson import Fragment
from pydantic import BaseModel

from paydouble.core.errors import UnknownThing, UsageError
from paydouble.core.json_text import Number
from paydouble.core.seeded_random import SeededRandom
from paydouble.core.timers import Timer
from paydouble.feed import Feed
from paydouble.payments.catalogue import Catalogue
from paydouble.payments.events import Event
from paydouble.payments.resources import Customer, Failure, PaymentMethod
from paydouble.sandbox.business import Sandbox
from paydouble.sandbox.identity import Identity
from paydouble.sandbox.recording import Recording
from paydouble.scenarios.library import Library
from paydouble.webhooks.attempts import Transport
from paydouble.webhooks.deliveries import AttemptError, Outcome

MOST_CHECKPOINTS: Final = 16
"""The number of checkpoints that a sandbox keeps."""
# Characters of the original's id that the id of a fork begins with; an id has at most 64.
_LONGEST_BEGINNING: Final = 48
# Nothing changes these objects after they were made, except `Library`, which all sandboxes of a process share.
IMMUTABLE: Final = (
    bool,
    bytes,
    float,
    frozenset,
    int,
    object,
    str,
    type,
    type(None),
    AttemptError,
    BuiltinFunctionType,
    Catalogue,
    Customer,
    Decimal,
    Event,
    Failure,
    Fragment,
    FunctionType,
    Library,
    Number,
    Outcome,
    PaymentMethod,
    SeededRandom,
    Timer,
    Transport,
)
_BEGINS_WITH: Final[dict[tuple[type, str], Callable[[], Any]]] = {
    (Feed, "_listeners"): list,
    (Recording, "listener"): lambda: None,
    (Sandbox, "checkpoints"): dict,
    (Sandbox, "forks"): int,
}
"""What an attribute is in a copy, whatever it is in the original."""


class ForkSpec(NamedTuple):
    """What a fork is called, and its credentials; what is missing is derived. A missing secret of webhooks stays."""

    id: str | None = None
    business_key: str | None = None
    business_secret: str | None = None
    webhook_secret: str | None = None


def checkpoint(box: Sandbox) -> str:
    """Keep a sandbox as it is now, and return the id of the checkpoint; `UsageError` when there are too many."""
    if len(box.checkpoints) >= MOST_CHECKPOINTS:
        raise UsageError(
            f"sandbox {box.identity.id} has {MOST_CHECKPOINTS} checkpoints, the most that it keeps; fork from one of "
            "them, or make a checkpoint of a fork"
        )
    box.tick()
    checkpoint_id = f"checkpoint-{len(box.checkpoints) + 1}"
    box.checkpoints[checkpoint_id] = copied(box)
    return checkpoint_id


def fork(
    box: Sandbox, spec: ForkSpec, checkpoint_id: str | None = None, *, seed: int, taken: Container[object] = ()
) -> Sandbox:
    """Return a fork of a sandbox as it is now, or as it was at a checkpoint.

    What the spec leaves out is derived from a `seed` and the fork's id, which is none of those that are `taken`.
    `UnknownThing` when there is no such checkpoint.
    """
    if checkpoint_id is None:
        box.tick()
        source = box
    elif checkpoint_id in box.checkpoints:
        source = box.checkpoints[checkpoint_id]
    else:
        raise UnknownThing(f"There is no checkpoint {checkpoint_id[:64]!r} of sandbox {box.identity.id}.")
    identity = Identity.derived(seed, spec.id or _free_id(box, taken), box.identity.seed)
    made = copied(source)
    made.become(
        id=identity.id,
        business_key=spec.business_key or identity.business_key,
        business_secret=spec.business_secret or identity.business_secret,
        webhook_secret=spec.webhook_secret,
    )
    return made


def _free_id(box: Sandbox, taken: Container[object]) -> str:
    while True:
        box.forks += 1
        fork_id = f"{box.identity.id[:_LONGEST_BEGINNING]}-fork-{box.forks}"
        if fork_id not in taken:
            return fork_id


def copied(box: Sandbox) -> Sandbox:
    """Return a copy of a sandbox with the same identity, whose clock goes on from the sandbox's latest instant."""
    made = cast("Sandbox", _Copier().copy(box))
    made.clock.continue_from(box.now)
    return made


class _Copier:
    """Makes one copy of a graph of objects."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}
        """By the id of an original: its copy."""

    def copy(self, value: Any) -> Any:  # noqa: ANN401 - any object of a sandbox
        kind = type(value)
        if kind in _SHARED:
            return value
        made = self._made.get(id(value))
        if made is None:
            made = (_RULES.get(kind) or _rule_of(kind))(self, value)
            self._made[id(value)] = made
        return made

    def of_list(self, value: list[Any]) -> list[Any]:
        shared, copy = _SHARED, self.copy
        return [each if type(each) in shared else copy(each) for each in value]

    def of_deque(self, value: deque[Any]) -> deque[Any]:
        shared, copy = _SHARED, self.copy
        return deque([each if type(each) in shared else copy(each) for each in value], value.maxlen)

    def of_set(self, value: set[Any]) -> set[Any]:
        return set(map(self.copy, value))

    def of_dict(self, value: dict[Any, Any]) -> dict[Any, Any]:
        # Keys are texts, numbers, classes, or tuples of these.
        shared, copy = _SHARED, self.copy
        return {key: each if type(each) in shared else copy(each) for key, each in value.items()}

    def of_tuple(self, value: tuple[Any, ...]) -> tuple[Any, ...]:
        shared, copy = _SHARED, self.copy
        for member in value:
            if type(member) not in shared:
                break
        else:
            return value
        return tuple.__new__(type(value), [each if type(each) in shared else copy(each) for each in value])

    def of_record(self, value: Any) -> Any:  # noqa: ANN401 - see `copy`
        # Thousands of these are copied. None refers to another that refers to it, so a constructor can make the copy.
        kind = type(value)
        read, places = _FIELDS[kind]
        members = list(read(value))
        for place in places:
            member = members[place]
            if type(member) not in _SHARED:
                members[place] = self.copy(member)
        return kind(*members)

    def of_reference(self, value: ref[Any]) -> ref[Any]:
        return ref(self.copy(value()))

    def of_method(self, value: MethodType) -> MethodType:
        return MethodType(value.__func__, self.copy(value.__self__))

    def of_object(self, value: Any) -> Any:  # noqa: ANN401 - see `copy`
        kind = type(value)
        made = object.__new__(kind)
        self._made[id(value)] = made  # before its attributes, which may refer to it
        shared, copy = _SHARED, self.copy
        for name in (*_SLOTS[kind], *getattr(value, "__dict__", ())):
            member = getattr(value, name)
            setattr(made, name, member if type(member) in shared else copy(member))
        for name in _WATCHED.get(kind, ()):
            setattr(made, name, _BEGINS_WITH[kind, name]())
        return made


_SHARED: Final[set[type]] = set(IMMUTABLE)
_RULES: Final[dict[type, Callable[[_Copier, Any], Any]]] = {
    list: _Copier.of_list,
    deque: _Copier.of_deque,
    set: _Copier.of_set,
    dict: _Copier.of_dict,
    tuple: _Copier.of_tuple,
    ref: _Copier.of_reference,
    MethodType: _Copier.of_method,
}
"""By type: how to copy an object. Types that were met are added, by `_rule_of`."""
_SLOTS: Final[dict[type, tuple[str, ...]]] = {}
"""By type: its attributes that have slots."""
_FIELDS: Final[dict[type, tuple[Callable[[Any], tuple[Any, ...]], tuple[int, ...]]]] = {}
"""By type: what returns the fields of a dataclass, and the places of those that may have to be copied."""
_PLAIN: Final = frozenset({"None", "bool", "bytes", "float", "int", "str", "tuple"})
"""A field whose annotation has only these names is shared without a look at its value."""
_WATCHED: Final = {kind: tuple(name for each, name in _BEGINS_WITH if each is kind) for kind, _ in _BEGINS_WITH}


def _rule_of(kind: type) -> Callable[[_Copier, Any], Any]:
    """Return how objects of a type that is met for the first time are copied; `TypeError` when nothing says how."""
    if is_frozen(kind):
        _SHARED.add(kind)
        rule: Callable[[_Copier, Any], Any] = _itself
    elif issubclass(kind, tuple):
        rule = _Copier.of_tuple
    elif kind.__module__.partition(".")[0] == __name__.partition(".")[0]:
        if is_dataclass(kind):
            members = fields(kind)
            places = [place for place, each in enumerate(members) if not _is_plain(str(each.type))]
            _FIELDS[kind] = attrgetter(*(each.name for each in members)), tuple(places)
            _RULES[kind] = _Copier.of_record
            return _Copier.of_record
        names = [name for each in kind.__mro__ for name in getattr(each, "__slots__", ())]
        _SLOTS[kind] = tuple(name for name in names if name != "__weakref__" and (kind, name) not in _BEGINS_WITH)
        rule = _Copier.of_object
    else:
        message = f"nothing says how a {kind.__module__}.{kind.__qualname__} of a sandbox is copied"
        raise TypeError(message)
    _RULES[kind] = rule
    return rule


def _is_plain(annotation: str) -> bool:
    return _PLAIN.issuperset(re.findall(r"\w+", annotation))


def is_frozen(kind: type) -> bool:
    """Return whether objects of a model or a dataclass cannot be changed."""
    if issubclass(kind, BaseModel):
        return bool(kind.model_config.get("frozen"))
    return is_dataclass(kind) and bool(cast("Any", kind).__dataclass_params__.frozen)


def _itself(_copier: _Copier, value: Any) -> Any:  # noqa: ANN401 - see `copy`
    return value
