"""Events without an endpoint: their deliveries are made when they are read, which is not observable."""

from __future__ import annotations

from drive import START, URL, Business, deposit_body
from hypothesis import given
from hypothesis import strategies as st

from paydouble.webhooks.deliveries import Delivery


def _business(limit: int = 100) -> Business:
    # Only creation publishes an event.
    return Business(scenario="abandoned", journal_limit=limit, notification_url=None)


def _deposit(business: Business, url: str | None = None) -> str:
    business.post("/pay-in/deposit-creation", deposit_body(notification_url=url))
    return f"dlv_{business.sandbox.journal.events.entries[-1].id[4:]}"


def _notes(business: Business) -> list[Delivery]:
    return [note.record for note in business.sandbox.feed.since(0)[0] if note.kind == "delivery"]


@given(
    script=st.lists(st.sampled_from(["nowhere", "waits", "settle", "look"]), max_size=40),
    limit=st.integers(1, 4),
)
def test_what_is_kept_does_not_depend_on_when_it_is_read(script: list[str], limit: int) -> None:
    """Deliveries are listed, bounded and counted as if each were made with its event."""
    business = _business(limit)
    outbox = business.sandbox.outbox
    made: list[str] = []
    ended: list[str] = []
    waiting: list[str] = []
    gone = 0
    for step in script:
        match step:
            case "nowhere":
                made.append(_deposit(business))
                ended.append(made[-1])
            case "waits":
                made.append(_deposit(business, URL))
                waiting.append(made[-1])
            case "settle":
                business.deliver_all()
                ended += waiting
                waiting.clear()
            case _:
                assert list(outbox.deliveries) == made
        while len(made) > limit and ended:
            made.remove(ended.pop(0))
            gone += 1

    assert outbox.evicted == gone
    assert outbox.clear() == (len(made), len(waiting))
    assert (outbox.evicted, list(outbox.deliveries)) == (0, [])


def test_one_that_is_settled_again_is_evicted_later() -> None:
    """A delivery that was redelivered, without a URL, counts as settled later than an event that was not read yet."""
    business = _business(limit=3)
    first = business.sandbox.delivery(_deposit(business))
    second, third = _deposit(business), _deposit(business)
    business.sandbox.redeliver(first)

    fourth = _deposit(business)

    assert second not in business.sandbox.outbox.deliveries
    assert list(business.sandbox.outbox.deliveries) == [first.id, third, fourth]


def test_it_has_its_status_and_its_due_time() -> None:
    """`first_due_at` includes the delay of the first attempt; `next_due_at` is None."""
    business = Business(scenario="abandoned", notification_url=None, webhooks={"schedule": ["5s", "1m"]})
    delivery_id = _deposit(business)

    delivery = business.sandbox.delivery(delivery_id)

    assert (delivery.status, delivery.target, delivery.follows_sandbox) == ("no_endpoint", None, True)
    assert (delivery.first_due_at, delivery.next_due_at, delivery.attempts) == (START + 5_000, None, ())


def test_a_note_of_the_feed_shows_its_present_state() -> None:
    """One that was redelivered later is shown as delivered, and is the delivery itself."""
    business = _business()
    delivery_id = _deposit(business)
    (before,) = _notes(business)
    before_status = before.status

    business.sandbox.set_notification_url(URL)
    business.sandbox.redeliver(business.sandbox.delivery(delivery_id))
    business.deliver_all()

    after = _notes(business)
    assert before_status == "no_endpoint"
    assert {id(each) for each in after} == {id(business.sandbox.delivery(delivery_id))}
    assert after[0].status == "delivered"


def test_a_note_of_an_evicted_delivery_still_shows_it() -> None:
    """One that was redelivered, and then removed by a reset of the deliveries, is still in the feed."""
    business = _business()
    delivery_id = _deposit(business)
    business.sandbox.set_notification_url(URL)
    business.sandbox.redeliver(business.sandbox.delivery(delivery_id))
    business.deliver_all()

    business.sandbox.reset(frozenset({"deliveries"}))

    assert {(each.id, each.status) for each in _notes(business)} == {(delivery_id, "delivered")}


def test_a_note_is_not_replaced_by_a_later_event_with_the_same_id() -> None:
    """After a reset with the same ids another event has the id, and the old note is unchanged."""
    business = _business()
    first = _deposit(business)
    business.sandbox.reset(frozenset({"state", "deliveries"}), same_ids=True)
    business.sandbox.set_notification_url(URL)

    again = _deposit(business)

    assert again == first
    assert (_notes(business)[0].status, _notes(business)[0].target) == ("no_endpoint", None)
