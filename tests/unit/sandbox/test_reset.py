"""Resets: of everything, or of one part without harm to the others."""

import pytest
from benches import DAY, SECOND, START, URL, Wall, advance, bench, deposit, paid, timeline

from paydouble.config import load_settings
from paydouble.core.errors import UsageError
from paydouble.journal import RequestEntry
from paydouble.payments.resources import PayIn
from paydouble.sandbox import Sandbox
from paydouble.sandbox.business import check_scope
from paydouble.webhooks.deliveries import Outcome

ALL = frozenset({"state", "requests", "deliveries", "clock"})


def busy() -> Sandbox:
    """Return a sandbox with two pay-ins, a refund, a dispute, a request and a failed delivery."""
    box = bench()
    pay_in = paid(box)
    box.create_refund(pay_in, amount=1, reason=None, external_identifier=None)
    box.open_dispute(pay_in)
    deposit(box)
    box.journal.requests.add(RequestEntry(box.ids.make("req"), box.now, "GET", "/", None, b"", b""))
    fail(box)
    return box


def fail(box: Sandbox) -> None:
    """Let the next attempt fail."""
    taken = box.next_attempt(URL, START)
    assert taken is not None
    box.settle(*taken, Outcome(START, 1.0, status=500))


def test_a_reset_of_everything_is_a_new_beginning() -> None:
    """With the same ids, the same commands give the same bytes as in a new sandbox."""
    box, fresh = busy(), bench()

    box.reset(ALL, same_ids=True)
    deposit(box)
    deposit(fresh)

    assert (box.now, box.idle, len(box.timers)) == (START, fresh.idle, len(fresh.timers))
    assert [event.body for event in box.journal.events.entries] == [fresh.journal.events.entries[0].body]
    assert box.secrets == fresh.secrets


def ids_after(*resets: bool, scope: frozenset[str] = ALL) -> set[str]:
    """Return the ids and the reference of a deposit that comes after resets, each with `same_ids` or not."""
    box = busy()
    for same_ids in resets:
        box.reset(scope, same_ids=same_ids)
    pay_in = deposit(box)
    event = box.journal.events.entries[-1]
    return {pay_in.id, pay_in.reference, event.id, box.ids.make("req"), box.ids.derive("payin", "sample", 0)}


@pytest.mark.parametrize("scope", [ALL, frozenset({"state"})])
def test_a_reset_begins_new_ids(scope: frozenset[str]) -> None:
    """A receiver that remembers meets no id twice; the ids follow from the seed and the number of resets."""
    generations = [ids_after(*[False] * resets, scope=scope) for resets in range(4)]

    assert len(set.union(*generations)) == 4 * 5
    assert generations == [ids_after(*[False] * resets, scope=scope) for resets in range(4)]


def test_a_reset_gives_the_same_ids_when_asked() -> None:
    """Such a reset does not count: ids begin as after the last reset that did."""
    assert ids_after(False, True, True) == ids_after(False)
    assert ids_after(True, False) == ids_after(False)


def test_rates_and_faults_do_not_change_with_a_reset() -> None:
    """They depend on the seed alone."""
    box = bench()
    before = box.randomness.whole("rate", "EUR-USD", 1)

    box.reset(ALL)

    assert box.randomness.whole("rate", "EUR-USD", 1) == before


@pytest.mark.parametrize(
    ("scope", "same_ids", "message"),
    [
        ({"clock"}, False, "scope: a reset of the clock needs one of the state; add 'state' to the scope"),
        ({"faults"}, True, "same_ids: only a reset of the state can repeat ids; add 'state' to the scope"),
        (
            {"state", "books"},
            False,
            (
                "scope: 'books' is not a part of a sandbox; "
                "there are: state, faults, requests, deliveries, clock, scenarios"
            ),
        ),
    ],
)
def test_a_reset_that_makes_no_sense_is_refused(scope: set[str], same_ids: bool, message: str) -> None:
    """The message says what is wrong with which member."""
    with pytest.raises(UsageError) as caught:
        check_scope(frozenset(scope), same_ids=same_ids)

    assert str(caught.value) == message


def test_a_reset_says_what_it_removed() -> None:
    """Each part is counted, cancelled work included."""
    box = busy()

    removed = box.reset(ALL)

    expected = {
        "events": 7,
        "deliveries": 7,
        "deliveries_cancelled": 7,
        "requests": 1,
        "pay_ins": 2,
        "refunds": 1,
        "disputes": 1,
        "idempotency_keys": 0,
        "timers_cancelled": 3,
    }
    assert removed == expected
    assert set(box.reset(ALL).values()) == {0}


def test_requests_can_be_forgotten_alone() -> None:
    """The journal of requests is empty, and everything else goes on."""
    box = busy()
    timers = len(box.timers)

    removed = box.reset(frozenset({"requests"}))

    assert removed == {"requests": 1}
    assert (len(box.timers), len(box.outbox.deliveries), box.ledger.count(PayIn)) == (timers, 7, 2)


def test_deliveries_can_be_forgotten_alone() -> None:
    """No attempt is made any more, but scripts go on and new events are delivered."""
    box = busy()
    since = box.now - START

    box.reset(frozenset({"deliveries"}))
    quiet = box.outbox.quiet
    advance(box, 2 * SECOND)

    assert (quiet, box.ledger.count(PayIn)) == (True, 2)
    assert timeline(box) == [(since + SECOND, "refund.processing"), (since + 2 * SECOND, "pay-in.pending")]
    assert len(box.outbox.deliveries) == 2


def test_state_can_be_forgotten_alone() -> None:
    """Ledger, keys and scripts are gone; deliveries go on, retries included, and the clock stays where it was."""
    box = busy()
    now = box.now

    removed = box.reset(frozenset({"state"}))
    advance(box, DAY)

    assert (removed["timers_cancelled"], box.ledger.count(PayIn), box.now) == (3, 0, now + DAY)
    assert len(box.journal.events.entries) == 7
    retried = [box.next_attempt(URL, START)]
    while retried[-1] is not None:
        box.settle(*retried[-1], Outcome(START, 1.0, status=200))
        retried.append(box.next_attempt(URL, START))
    assert [taken[1].number for taken in retried if taken] == [1, 1, 1, 1, 1, 1, 2]


@pytest.mark.parametrize("same_ids", [False, True])
def test_ids_of_kept_records_are_not_used_again(same_ids: bool) -> None:
    """Events and requests after a reset of the state get no id that a kept one has."""
    box = busy()
    events = {event.id for event in box.journal.events.entries}
    requests = {entry.id for entry in box.journal.requests.entries}

    box.reset(frozenset({"state"}), same_ids=same_ids)
    for _ in range(9):
        deposit(box)

    assert len({event.id for event in box.journal.events.entries}) == len(events) + 9
    assert len(box.outbox.deliveries) == len(events) + 9
    assert box.ids.make("req") not in requests


def test_a_delivery_in_flight_survives_a_reset_of_the_state() -> None:
    """Its outcome is still recorded, and its endpoint is free again."""
    box = bench(scenario="abandoned")
    deposit(box)
    taken = box.next_attempt(URL, START)
    assert taken is not None

    box.reset(frozenset({"state"}))
    deposit(box)
    box.settle(*taken, Outcome(START, 1.0, status=200))

    assert taken[0].status == "delivered"
    assert box.next_attempt(URL, START) is not None


def test_a_small_journal_survives_resets() -> None:
    """With room for one delivery, the oldest settled one is evicted, however often the state was reset."""
    box = bench(url=None, journal_limit=1)
    for _ in range(3):
        deposit(box)
        box.reset(frozenset({"state"}))
        deposit(box)

    assert (len(box.outbox.deliveries), box.outbox.evicted) == (1, 5)


@pytest.mark.parametrize(("scope", "now"), [({"state"}, START + DAY), ({"state", "clock"}, START)])
def test_the_clock_begins_again_when_asked(scope: set[str], now: int) -> None:
    """Only a reset that names the clock starts it again."""
    box = bench(wall=Wall())
    advance(box, DAY)

    box.reset(frozenset(scope))

    assert (box.now, box.clock.now()) == (now, now)


def test_settings_of_an_existing_sandbox_can_change() -> None:
    """New settings apply from now on: to timestamps, decisions and limits."""
    box = bench(url=None)
    dispute = box.open_dispute(paid(box))

    box.apply(load_settings({"timestamps": "seconds", "journal_limit": 2, "disputes": {"decision": "lost"}}))
    box.submit_evidence(dispute, {"receipt": "r"})
    advance(box, 3 * DAY)

    assert (dispute.status, box.ledger.stamp(START)) == ("lost", "2026-01-01T00:00:00Z")
    assert (len(box.journal.events.entries), len(box.outbox.deliveries)) == (2, 2)


def test_an_unknown_scenario_is_refused() -> None:
    """Neither a new sandbox, nor new settings, nor a deposit may name a scenario that does not exist."""
    box = bench()
    settings = box.settings
    message = (
        f"scenario: there is no scenario 'happy' among the {len(box.scenarios.names())}; did you mean 'happy-path'?"
    )

    for attempt in (
        lambda: bench(scenario="happy"),
        lambda: box.apply(load_settings({"scenario": "happy"})),
        lambda: deposit(box, scenario="happy"),
    ):
        with pytest.raises(UsageError) as caught:
            attempt()
        assert str(caught.value) == message
    assert (box.settings, box.ledger.count(PayIn), len(box.timers)) == (settings, 0, 0)
