"""The same event again: at once, later, in parallel, after a successful delivery, or under a new id."""

from __future__ import annotations

from collections import Counter

from hooked import LIFE, hooked
from receivers import Exchange, ok, status
from servers import Client

SECOND, MINUTE = 1_000, 60_000


async def test_a_duplicate_follows_at_once(client: Client) -> None:
    """The same bytes arrive again, right after the original and before the next event."""
    async with hooked(client) as business:
        fault = business.fault({"type": "duplicate"}, match={"event_type": "pay-in.pending"})
        await business.live()

        assert business.types == [LIFE[0], LIFE[1], LIFE[1], *LIFE[2:]]
        first, second = business.requests[1:3]
        assert first.body == second.body
        assert all(business.verifies(each) for each in business.requests)
        original, copy = business.deliveries[1:3]
        assert (copy.id, copy.faults, copy.event) == (f"{original.id}.1", (fault.id,), original.event)


async def test_copies_come_at_their_spacing(client: Client) -> None:
    """Three copies ten seconds apart come ten, twenty and thirty seconds after the original."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "duplicate", "copies": 3, "spacing": "10s"})
        start = business.sandbox.now
        await business.live()
        early = len(business.requests)
        await business.box.advance(by="24s")

        assert (early, len({each.body for each in business.requests})) == (1, 1)
        assert [each.attempts[0].due_at - start for each in business.deliveries] == [0, 10_000, 20_000, 30_000]


async def test_days_later_a_copy_still_comes(client: Client) -> None:
    """The spacing may be longer than a receiver remembers events."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "duplicate", "spacing": "7d"}, times=1)
        await business.live(expires_in=2_592_000)
        await business.box.advance(by="7d")

        assert [each.body for each in business.requests] == [business.deliveries[0].event.body] * 2


async def test_concurrent_copies_are_in_flight_together(client: Client) -> None:
    """Each of four requests is answered only when all four have arrived, and all are delivered."""

    async def when_all_are_there(exchange: Exchange) -> None:
        await exchange.receiver.wait_for(4)
        await ok(exchange)

    async with hooked(client, when_all_are_there, scenario="abandoned") as business:
        business.fault({"type": "duplicate", "copies": 3, "concurrent": True}, times=1)
        await business.live()

        assert business.receiver.connections == 4
        assert {each.body for each in business.requests} == {business.deliveries[0].event.body}
        assert [each.status for each in business.deliveries] == ["delivered"] * 4


async def test_a_new_id_is_the_same_fact(client: Client) -> None:
    """The copies differ from the original, and from each other, only in the id."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "duplicate", "copies": 2, "new_id": True})
        await business.live()

        documents = business.documents
        ids = [document.pop("id") for document in documents]
        assert len(set(ids)) == 3
        assert all(each.startswith("evt_") for each in ids)
        assert documents[0] == documents[1] == documents[2]
        assert all(business.verifies(each) for each in business.requests)


async def test_after_success_waits_for_a_2xx(client: Client) -> None:
    """While the receiver refuses no copy comes; once the event is delivered, one does, and only once."""
    async with hooked(client, status(500), ok, scenario="abandoned") as business:
        business.fault({"type": "duplicate", "after_success": True, "spacing": "30s"}, times=1)
        start = business.sandbox.now
        await business.live()
        await business.box.advance(by="54s")
        taken = len(business.requests)
        await business.box.advance(by="10m")
        business.sandbox.redeliver(business.deliveries[0])
        await business.settle()

        original, copy = business.deliveries
        assert taken == 2
        assert [each.due_at - start for each in original.attempts[:2]] == [0, MINUTE]
        assert [each.due_at - start for each in copy.attempts] == [90 * SECOND]
        assert len(business.requests) == 4


async def test_copies_after_success_do_not_wait_for_the_rest_of_the_queue(client: Client) -> None:
    """In their own queues they are sent while the next event is still unanswered."""

    async def last(exchange: Exchange) -> None:
        await exchange.receiver.wait_for(4)
        await ok(exchange)

    async with hooked(client, ok, last, scenario="abandoned") as business:
        effect = {"type": "duplicate", "after_success": True, "copies": 2, "concurrent": True}
        business.fault(effect, times=1)
        business.sandbox.set_notification_url(None)
        first, second = (await business.box.deposit())["id"], (await business.box.deposit())["id"]
        business.sandbox.set_notification_url(business.receiver.url)
        business.sandbox.emit_event("pay-in.created", business.sandbox.ledger.find(first))  # type: ignore[arg-type]
        business.sandbox.emit_event("pay-in.created", business.sandbox.ledger.find(second))  # type: ignore[arg-type]
        await business.settle()

        subjects = Counter(each["data"]["object"]["id"] for each in business.documents)
        assert subjects == {first: 3, second: 1}
        assert [each.status for each in business.deliveries if each.attempts] == ["delivered"] * 4


async def test_an_exhausted_event_has_no_copy_after_success(client: Client) -> None:
    """An event that was never delivered is not copied."""
    async with hooked(client, status(500), scenario="abandoned") as business:
        business.fault({"type": "duplicate", "after_success": True}, compose=True)
        business.fault({"type": "schedule", "attempts": 2})
        await business.live()
        await business.box.advance(by="1h")

        assert [each.status for each in business.deliveries] == ["exhausted"]


async def test_several_faults_make_copies_of_their_own(client: Client) -> None:
    """Combined, each makes its copies; every delivery has its own id and all arrive."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "duplicate", "copies": 2}, compose=True)
        business.fault({"type": "duplicate", "copies": 2}, compose=True)
        business.fault({"type": "duplicate", "copies": 2, "new_id": True, "spacing": "1s"}, compose=True)
        await business.live()

        assert len({each.id for each in business.deliveries}) == 7
        assert [each.status for each in business.deliveries] == ["delivered"] * 7
        assert len({document["id"] for document in business.documents}) == 3


async def test_copies_of_a_delayed_event_come_after_it(client: Client) -> None:
    """The spacing counts from when the original is due."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "delay", "fixed": "1m"}, compose=True)
        business.fault({"type": "duplicate", "spacing": "1s"})
        start = business.sandbox.now
        await business.live()
        await business.box.advance(by="2m")

        assert [each.attempts[0].due_at - start for each in business.deliveries] == [MINUTE, MINUTE + SECOND]


async def test_copies_wait_where_the_endpoint_moves(client: Client) -> None:
    """A copy that is still to come follows the sandbox's URL."""
    async with hooked(client, scenario="abandoned") as business, hooked(client) as other:
        business.fault({"type": "duplicate", "spacing": "1m", "copies": 2})
        await business.live()
        business.sandbox.set_notification_url(other.receiver.url)
        await business.box.advance(by="1m")
        business.sandbox.set_notification_url(None)
        await business.box.advance(by="1m")

        assert (len(business.requests), len(other.requests)) == (1, 1)
        assert [each.status for each in business.deliveries] == ["delivered", "delivered", "no_endpoint"]


async def test_a_full_journal_loses_no_copy(client: Client) -> None:
    """With a journal of one the original is evicted, and its copies still come."""
    async with hooked(client, scenario="abandoned", settings={"journal_limit": 1}) as business:
        business.fault({"type": "duplicate", "copies": 3, "spacing": "10s"}, times=1)
        await business.live()
        await business.box.advance(by="1m")

        assert len(business.requests) == 4
        assert len(business.deliveries) == 1
        assert business.sandbox.outbox.evicted == 3
