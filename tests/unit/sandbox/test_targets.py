"""Where events are sent, and with which secrets they are signed."""

import pytest
from benches import DAY, SECOND, START, URL, advance, bench, deposit, paid

from paydouble.core.errors import UnknownThing
from paydouble.sandbox import Sandbox
from paydouble.webhooks.deliveries import Outcome
from paydouble.webhooks.signing import signature_header

OWN = "http://127.0.0.1:9/own"


def targets(box: Sandbox) -> list[tuple[str, str | None]]:
    """Return type and target of every delivery."""
    return [(each.event.type, each.target) for each in box.outbox.deliveries.values()]


def signatures(box: Sandbox) -> str:
    """Return the signature header of the next attempt."""
    taken = box.next_attempt(URL, START)
    assert taken is not None
    box.settle(*taken, Outcome(START, 1.0, status=200))
    return dict(taken[1].headers)["X-Service-Signature"]


def test_a_deposits_own_url_wins_for_all_its_events() -> None:
    """Events of the pay-in, of its refunds and of its disputes go to the deposit's own URL, others to the sandbox's."""
    box = bench()
    pay_in = paid(box, notification_url=OWN)
    box.create_refund(pay_in, amount=1, reason=None, external_identifier=None)
    box.open_dispute(pay_in)
    count = len(targets(box))
    deposit(box)

    assert {target for _, target in targets(box)[:count]} == {OWN}
    assert targets(box)[count:] == [("pay-in.created", URL)]
    assert {kind.partition(".")[0] for kind, _ in targets(box)} == {"pay-in", "refund", "dispute"}


def test_without_any_url_an_event_is_recorded_all_the_same() -> None:
    """The event is in the journal, its delivery is `no_endpoint`, and nothing is left to do."""
    box = bench(url=None, scenario="abandoned")
    deposit(box)

    (delivery,) = box.outbox.deliveries.values()

    assert (delivery.status, delivery.attempts, box.outbox.quiet) == ("no_endpoint", (), True)
    assert len(box.journal.events.entries) == 1


def test_open_deliveries_go_to_the_new_url() -> None:
    """What has not arrived goes to the new URL, except for events whose deposit has its own."""
    box = bench()
    deposit(box)
    deposit(box, notification_url=OWN)

    box.set_notification_url("http://127.0.0.1:9/new")

    assert targets(box) == [("pay-in.created", "http://127.0.0.1:9/new"), ("pay-in.created", OWN)]
    assert box.next_attempt(URL, START) is None
    assert box.next_attempt("http://127.0.0.1:9/new", START) is not None


def test_removing_the_url_settles_open_deliveries() -> None:
    """Removing the URL settles the deliveries that waited for it, and cancels their retries."""
    box = bench(scenario="abandoned")
    pay_in = deposit(box)
    taken = box.next_attempt(URL, START)
    assert taken is not None
    box.settle(*taken, Outcome(START, 1.0, status=500))
    before = len(box.timers)

    box.set_notification_url(None)
    box.cancel_pay_in(pay_in)

    assert (before, box.idle) == (2, True)
    assert {each.status for each in box.outbox.deliveries.values()} == {"no_endpoint"}


def test_the_old_secret_signs_too_until_its_grace_ends() -> None:
    """Until the last millisecond of the grace both secrets sign, the new one first; then only the new one."""
    box = bench(scenario="abandoned")
    for _ in range(3):
        deposit(box)
    bodies = [event.body for event in box.journal.events.entries]

    new = box.rotate_secret(10 * SECOND)
    at_once = signatures(box)
    advance(box, 10 * SECOND - 1)
    at_last = signatures(box)
    advance(box, 1)
    after = signatures(box)

    t = START // 1000
    assert at_once == signature_header(bodies[0], [new, "whsec_bench"], t)
    assert at_last == signature_header(bodies[1], [new, "whsec_bench"], t)
    assert after == signature_header(bodies[2], [new], t)


def test_a_rotation_without_grace_is_at_once() -> None:
    """With no grace the old secret signs nothing any more; each rotation makes another secret."""
    box = bench(scenario="abandoned")
    deposit(box)

    first = box.rotate_secret(DAY)
    second = box.rotate_secret(0)

    assert len({first, second, "whsec_bench"}) == 3
    assert signatures(box) == signature_header(box.journal.events.entries[0].body, [second], START // 1000)


def test_a_delivery_is_found_while_it_is_kept() -> None:
    """An unknown delivery is named together with its sandbox."""
    box = bench()
    deposit(box)
    (delivery,) = box.outbox.deliveries.values()

    assert box.delivery(delivery.id) is delivery
    with pytest.raises(UnknownThing, match=r"^There is no delivery 'dlv_x' in sandbox bench.$"):
        box.delivery("dlv_x")
