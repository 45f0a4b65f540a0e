"""Which faults fire: matching, counting, probability, order; and that the index finds what a search would."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paydouble.core.errors import UnknownThing, UsageError
from paydouble.core.seeded_random import SeededRandom
from paydouble.faults import table as table_module
from paydouble.faults.armed import Armed
from paydouble.faults.base import Effect
from paydouble.faults.model import ApiMatch, WebhookMatch, parse_fault
from paydouble.faults.table import FaultTable
from paydouble.guards.credentials import basic_header
from paydouble.inprocess import InProcess
from paydouble.sandbox.publishing import EventContext

NOW = 1_000_000
AUTHORIZATION = basic_header("sandbox_key", "sandbox_secret")


@dataclass
class Context:
    """A request with the members that a test gives it."""

    members: dict[str, str | int] = field(default_factory=dict)
    suits: bool = True

    def value(self, member: str) -> str | int | None:
        """Return a member."""
        return self.members.get(member)

    def relevant(self, effect: Effect) -> bool:  # noqa: ARG002 - the protocol's signature
        """Return what the test says."""
        return self.suits


def _table(seed: int = 1) -> FaultTable:
    return FaultTable(SeededRandom(seed))


def _add(table: FaultTable, now: int = NOW, **members: Any) -> Armed:  # noqa: ANN401 - JSON is any
    return table.add(parse_fault({"effect": {"type": "empty_response"}, **members}), now)


def _fire(table: FaultTable, **members: str | int) -> list[str]:
    return [armed.id for armed, _ in table.fire("before", Context(members), NOW)]


def test_an_empty_table_has_no_active_points() -> None:
    """An injection point without faults is not active, and nothing fires."""
    table = _table()

    assert ("before" in table.active_points, "after" in table.active_points, _fire(table), len(table)) == (
        False,
        False,
        [],
        0,
    )


def test_a_fault_acts_at_its_injection_point_only() -> None:
    """A fault before the commit does not make the point after it active."""
    table = _table()
    _add(table, phase="after_commit")

    assert ("before" in table.active_points, "after" in table.active_points, _fire(table)) == (False, True, [])


@pytest.mark.parametrize(
    ("match", "fires"),
    [
        ({}, True),
        ({"operation": "deposit-creation"}, True),
        ({"operation": "deposit-*"}, True),
        ({"operation": "refund-*"}, False),
        ({"operation": "deposit-creation", "method": "POST"}, True),
        ({"operation": "deposit-creation", "method": "GET"}, False),
        ({"external_identifier": "order-1", "operation": "deposit-creation"}, True),
        ({"external_identifier": "order-2", "operation": "deposit-creation"}, False),
        ({"scenario": "*"}, False),
        ({"object_id": "x"}, False),
    ],
    ids=str,
)
def test_every_member_of_a_match_must_fit(match: dict[str, Any], *, fires: bool) -> None:
    """Every member of a match must be there and fit; a member that a request does not have fits nothing."""
    table = _table()
    _add(table, id="f", match=match)

    fired = _fire(table, operation="deposit-creation", method="POST", external_identifier="order-1")

    assert fired == (["f"] if fires else [])


def test_an_attempt_is_a_number() -> None:
    """Whole numbers match too."""
    table = _table()
    table.add(parse_fault({"id": "w", "effect": {"type": "chunked"}, "match": {"attempt": 2}}), NOW)

    fired = [len(table.fire("attempt", Context({"attempt": n}), NOW)) for n in (1, 2, 3)]

    assert fired == [0, 1, 0]


def test_skip_then_times() -> None:
    """The first matches are passed over, then it fires `times` times, then never; other requests do not count."""
    table = _table()
    armed = _add(table, skip=2, times=2, match={"method": "POST"})

    fired = [len(_fire(table, method=method)) for method in ("POST", "GET", "POST", "POST", "POST", "POST")]

    assert (fired, armed.matched, armed.fired) == ([0, 0, 0, 1, 1, 0], 4, 2)


def test_what_has_nothing_to_act_on_does_not_count() -> None:
    """When the effect cannot act on a match, the counts do not change."""
    table = _table()
    armed = _add(table, times=1)

    fired = table.fire("before", Context(suits=False), NOW)

    assert (fired, armed.matched, armed.fired) == ([], 0, 0)


def test_a_fault_is_active_until_its_ttl_ends() -> None:
    """`ttl` counts from when it was added; at its end the fault is inactive."""
    table = _table()
    armed = _add(table, ttl="2s")

    fired = [len(table.fire("before", Context(), NOW + after)) for after in (0, 1999, 2000)]

    assert (fired, armed.is_active(NOW + 1999), armed.is_active(NOW + 2000)) == ([1, 1, 0], True, False)


def test_a_disabled_fault_is_skipped() -> None:
    """The next one decides."""
    table = _table()
    _add(table, id="off", enabled=False)
    _add(table, id="on")

    assert _fire(table) == ["on"]


def test_only_the_first_fault_fires_unless_it_composes() -> None:
    """Faults are tried in the order of their addition, until one fires that does not compose."""
    table = _table()
    _add(table, id="a", compose=True, match={"external_identifier": "x"})
    _add(table, id="waits", skip=9)
    _add(table, id="b", compose=True)
    _add(table, id="c", match={"operation": "deposit-*"})
    _add(table, id="d")

    assert _fire(table, external_identifier="x", operation="deposit-creation") == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("probability", "low", "high"), [(0.0, 0, 0), (0.1, 60, 140), (0.5, 430, 570), (1.0, 1000, 1000)]
)
def test_probability_is_a_share(probability: float, low: int, high: int) -> None:
    """About that share of a thousand matches fires."""
    table = _table()
    armed = _add(table, probability=probability)

    for _ in range(1000):
        _fire(table)

    assert low <= armed.fired <= high
    assert armed.matched == 1000


def _pattern(table: FaultTable, name: str) -> list[bool]:
    return [name in _fire(table) for _ in range(64)]


def test_the_same_seed_fires_alike() -> None:
    """It depends on the seed, the fault's id and the number of the match."""
    tables = [_table(seed) for seed in (1, 1, 2)]
    for table in tables:
        _add(table, id="f", probability=0.5)

    first, same, other = (_pattern(table, "f") for table in tables)

    assert first == same
    assert first != other


def test_other_faults_do_not_change_random_values() -> None:
    """With other faults before and after it, a fault fires as it does alone; with another id it fires otherwise."""
    alone, crowd = _table(), _table()
    _add(alone, id="f", probability=0.5)
    for name in ("other", "f", "third"):
        _add(crowd, id=name, probability=0.5, compose=True)

    by_itself = _pattern(alone, "f")
    fired = [_fire(crowd) for _ in range(64)]

    assert ["f" in each for each in fired] == by_itself
    assert ["third" in each for each in fired] != by_itself


def test_ids_are_given_or_made() -> None:
    """A fault without an id gets a free one; an id that is taken is refused."""
    table = _table()
    _add(table, id="fault-2")

    made = [_add(table).id, _add(table).id]

    assert made == ["fault-3", "fault-4"]
    with pytest.raises(UsageError, match="already is a fault 'fault-2'") as refused:
        _add(table, id="fault-2")
    assert refused.value.member == "id"


def test_a_change_keeps_counts_and_place() -> None:
    """A changed fault keeps its counts, and its place in the order."""
    table = _table()
    _add(table, id="a", match={"method": "GET"})
    _add(table, id="b")
    _fire(table, method="GET")

    armed = table.change("a", parse_fault({"effect": {"type": "empty_response"}, "match": {"method": "POST"}}))

    assert (_fire(table, method="POST"), _fire(table, method="GET"), armed.fired) == (["a"], ["b"], 2)


def test_a_removed_fault_neither_fires_nor_is_found() -> None:
    """It fires no more, and cannot be found."""
    table = _table()
    _add(table, id="a")
    _add(table, id="b", phase="after_commit")

    table.remove("a")

    assert (
        [armed.id for armed in table],
        len(table),
        "before" in table.active_points,
        "after" in table.active_points,
    ) == (
        ["b"],
        1,
        False,
        True,
    )
    with pytest.raises(UnknownThing, match="There is no fault 'a'"):
        table.get("a")
    with pytest.raises(UnknownThing):
        table.remove("a")


def test_clear_returns_the_number_of_faults() -> None:
    """Everything is removed, and the number returned."""
    table = _table()
    _add(table)
    _add(table)

    assert (table.clear(), len(table), _fire(table), table.active_points) == (2, 0, [], frozenset())


def test_the_number_of_faults_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that never removes its faults gets an error in the end."""
    monkeypatch.setattr(table_module, "MOST_FAULTS", 2)
    table = _table()
    _add(table)
    _add(table)

    with pytest.raises(UsageError, match="2 faults already; delete some"):
        _add(table)


_MEMBERS = ("external_identifier", "path")  # few, so that they meet often
_VALUES = st.sampled_from(["a", "b", "a*", "*", "*b", "a*b", "a*b*c", "b*"])
_MATCHES = st.dictionaries(st.sampled_from(_MEMBERS), _VALUES, max_size=3)
_REQUESTS = st.dictionaries(st.sampled_from(_MEMBERS), st.sampled_from(["a", "b", "ab", "axb", "axbxc", "bc"]))


@given(st.lists(st.tuples(_MATCHES, st.booleans(), _REQUESTS), max_size=8))
@example([({"path": "a*b*c"}, True, {"path": "axbxc"})])
@example([({"path": "b*"}, True, {"path": "a"}), ({"path": "a*"}, True, {"path": "a"})])
def test_the_index_finds_what_a_search_would(
    steps: list[tuple[dict[str, str], bool, dict[str, str]]],
) -> None:
    """The index leads to exactly the faults that a search of all of them in order would find."""
    table = _table()
    for match, compose, members in steps:
        _add(table, match=match, compose=compose)

        expected = []
        for armed in table:
            wanted = armed.fault.match.model_dump(exclude_none=True)
            if all(name in members and fnmatchcase(members[name], value) for name, value in wanted.items()):
                expected.append(armed.id)
                if not armed.fault.compose:
                    break
        assert _fire(table, **members) == expected


@pytest.mark.parametrize("member", ApiMatch.model_fields)
def test_a_request_has_every_member_that_a_fault_may_match(member: str) -> None:
    """A member that is not looked up would never match, unnoticed."""
    double = InProcess()
    box = double.sandbox
    wanted = {"operation": "deposit-creation"}.get(member, "none")
    armed = box.faults.add(parse_fault({"match": {member: wanted}, "effect": {"type": "empty_response"}}), box.now)

    double.handle(double.request("GET", "/pay-in"))

    assert armed.matched == 0


@pytest.mark.parametrize("member", WebhookMatch.model_fields)
def test_an_event_has_every_member_that_a_fault_may_match(member: str) -> None:
    """The same holds for events."""
    box = InProcess().sandbox
    wanted = {"attempt": 1, "event_type": "pay-in.created"}.get(member, "none")
    box.faults.add(parse_fault({"on": "webhooks", "match": {member: wanted}, "effect": {"type": "chunked"}}), box.now)

    assert EventContext(box.publisher, "pay-in.created", "payin_none").value(member) in {
        None,
        "pay-in.created",
        "payin_none",
    }


def test_an_unknown_member_of_a_match_is_an_error() -> None:
    """A new member of a match that is forgotten here causes an error, not a fault that never fires."""
    box = InProcess().sandbox

    with pytest.raises(KeyError):
        EventContext(box.publisher, "pay-in.created", "payin_none").value("moon_phase")
