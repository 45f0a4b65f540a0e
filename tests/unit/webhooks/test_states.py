"""The states of a delivery, edge by edge, as the figure in `webhooks/deliveries.py` draws them."""

from __future__ import annotations

import pytest

from paydouble.config import Settings, load_settings
from paydouble.payments.events import Event
from paydouble.webhooks.deliveries import (
    DELIVERY_STATUSES,
    SETTLED,
    Attempt,
    AttemptError,
    Delivery,
    DeliveryStatus,
    Outbox,
    Outcome,
    Secrets,
)

URL, OTHER = "http://127.0.0.1:9/", "http://127.0.0.1:10/"
TAKEN = Outcome(0, 1.0, 200)
FAILED = Outcome(0, 1.0, 500)
BROKEN = Outcome(0, 1.0, None, AttemptError("refused", "Nothing listens."))
ONCE = load_settings({"webhooks": {"schedule": ["0s"], "repeat_last": False}})


class Box:
    """An outbox with one delivery."""

    def __init__(self, url: str | None = URL, settings: Settings = ONCE) -> None:
        """Create the delivery; it is due."""
        self.outbox = Outbox(10)
        self.webhooks = settings.webhooks
        event = Event("evt_1", "pay-in.created", "payin_1", 0, None, b"{}")
        self.delivery: Delivery = self.outbox.create(event, target=url, follows_sandbox=True, now=0)

    def send(self) -> Attempt:
        """Take the attempt that is due; it is then in flight."""
        endpoint = self.delivery.endpoint
        taken = self.outbox.next_attempt(
            endpoint, settings=self.webhooks, secrets=Secrets("whsec_x"), now=0, wall=1_000_000
        )
        assert taken is not None
        return taken[1]

    def answer(self, attempt: Attempt, outcome: Outcome) -> int | None:
        """Settle an attempt; return when the next one is due."""
        return self.outbox.settle(self.delivery, attempt, outcome, settings=self.webhooks)

    def in_state(self, status: DeliveryStatus) -> Box:
        """Bring the delivery into a settled status."""
        match status:
            case "delivered":
                self.answer(self.send(), TAKEN)
            case "exhausted":
                self.answer(self.send(), FAILED)
            case _:
                self.outbox.finish(self.delivery, status)
        return self


def test_a_delivery_waits_if_it_has_an_endpoint() -> None:
    """Without one it is settled from the start."""
    assert Box().delivery.status == "waiting"
    assert Box(url=None).delivery.status == "no_endpoint"


@pytest.mark.parametrize(("outcome", "status"), [(TAKEN, "delivered"), (FAILED, "exhausted"), (BROKEN, "exhausted")])
def test_the_last_attempt_settles_a_delivery(outcome: Outcome, status: str) -> None:
    """A 2xx delivers it, anything else exhausts it."""
    box = Box()

    assert box.answer(box.send(), outcome) is None
    assert box.delivery.status == status


def test_an_earlier_failure_leaves_it_waiting() -> None:
    """The schedule has another attempt."""
    box = Box(settings=Settings())

    assert box.answer(box.send(), FAILED) == 60_000
    assert (box.delivery.status, box.delivery.next_due_at) == ("waiting", 60_000)


def test_its_own_schedule_is_used_before_the_sandboxs() -> None:
    """Its offsets and its number of attempts are set by a fault."""
    box = Box(settings=Settings())
    box.delivery.offsets, box.delivery.most_attempts = (0, 7, 70), 2

    assert box.answer(box.send(), FAILED) == 7
    box.outbox.enqueue(box.delivery)
    assert box.answer(box.send(), FAILED) is None
    assert box.delivery.status == "exhausted"


@pytest.mark.parametrize(("outcome", "status"), [(TAKEN, "delivered"), (FAILED, "held")])
def test_held_in_flight(outcome: Outcome, status: str) -> None:
    """A delivery that is held while its attempt is in flight is delivered by a 2xx, and stays held otherwise."""
    box = Box(settings=Settings())
    attempt = box.send()
    box.outbox.withdraw(box.delivery)

    assert box.answer(attempt, outcome) is None
    assert box.delivery.status == status


@pytest.mark.parametrize("held", [False, True])
def test_removing_the_url_settles_an_open_delivery(held: bool) -> None:
    """A waiting and a held one end as `no_endpoint`."""
    box = Box()
    if held:
        box.outbox.withdraw(box.delivery)

    assert box.outbox.retarget(None) == [box.delivery]
    assert box.delivery.status == "no_endpoint"


@pytest.mark.parametrize(("outcome", "status"), [(TAKEN, "delivered"), (FAILED, "no_endpoint")])
@pytest.mark.parametrize("held", [False, True])
def test_losing_the_url_in_flight(held: bool, outcome: Outcome, status: str) -> None:
    """The attempt in flight still decides, of a held delivery too."""
    box = Box(settings=Settings())
    attempt = box.send()
    if held:
        box.outbox.withdraw(box.delivery)

    assert box.outbox.retarget(None) == []
    assert box.answer(attempt, outcome) is None
    assert box.delivery.status == status


@pytest.mark.parametrize("before", sorted(SETTLED))
def test_a_redelivered_one_gets_a_single_attempt(before: DeliveryStatus) -> None:
    """A 2xx delivers it; a failure takes it back to the status it had, and from `no_endpoint` to `exhausted`."""
    after = "exhausted" if before == "no_endpoint" else before
    failing, succeeding = Box().in_state(before), Box().in_state(before)
    for box, outcome in ((failing, FAILED), (succeeding, TAKEN)):
        box.outbox.resend(box.delivery, OTHER, 0)
        assert (box.delivery.status, box.delivery.target) == ("waiting", OTHER)
        assert box.answer(box.send(), outcome) is None

    assert (failing.delivery.status, succeeding.delivery.status) == (after, "delivered")


def test_without_a_url_nothing_is_redelivered() -> None:
    """It ends as `no_endpoint`."""
    box = Box().in_state("exhausted")
    box.outbox.resend(box.delivery, None, 0)

    assert (box.delivery.status, box.outbox.quiet) == ("no_endpoint", True)


def test_every_status_is_open_or_settled() -> None:
    """Only waiting and held deliveries can still be sent without redelivery."""
    assert set(DELIVERY_STATUSES) - SETTLED == {"waiting", "held"}
