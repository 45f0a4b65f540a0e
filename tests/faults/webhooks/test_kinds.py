"""Events with unusual content: ties, another business's, and the wrong environment's."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hooked import LIFE, hooked
from openapi_reader import made, problems
from servers import Client

from paydouble.payments.resources import Refund


async def test_a_tie_has_the_time_of_the_event_before_it(client: Client) -> None:
    """An object's event has the `created_at` of the one before; the first of an object has none before it."""
    async with hooked(client) as business:
        fault = business.fault({"type": "tie"})
        await business.live()

        assert len({document["created_at"] for document in business.documents}) == 1
        assert len({document["id"] for document in business.documents}) == 4
        assert fault.fired == 3
        assert business.types == LIFE


async def test_without_a_tie_times_differ(client: Client) -> None:
    """A tie of one event changes only that event."""
    async with hooked(client) as business:
        business.fault({"type": "tie"}, match={"event_type": "pay-in.processing"})
        await business.live()

        times = [document["created_at"] for document in business.documents]
        assert [first == second for first, second in pairwise(times)] == [False, True, False]


async def test_a_tie_needs_no_endpoint(client: Client) -> None:
    """It is in the event itself, which a test can read without a receiver."""
    async with hooked(client) as business:
        business.sandbox.set_notification_url(None)
        fault = business.fault({"type": "tie"})
        await business.live()

        assert fault.fired == 3
        assert len({each.event.created_at for each in business.deliveries}) == 1


async def test_two_final_states_never_tie(client: Client) -> None:
    """A merchant could not know which is the newer one, so the event of a late failure keeps its own time."""
    async with hooked(client) as business:
        pay_in = await business.live()
        made = await business.box.api("POST", "/refund/refund-creation", {"payin_id": pay_in})
        refund = business.sandbox.ledger.get(Refund, made.document["data"]["id"])
        await business.box.advance(by="1h")
        fault = business.fault({"type": "tie"})
        business.sandbox.force_transition(refund, "failed", force=True)
        await business.box.advance(by="1h")

        succeeded, failed = business.documents[-2:]
        assert (succeeded["type"], failed["type"]) == ("refund.succeeded", "refund.failed")
        assert succeeded["created_at"] < failed["created_at"]
        assert fault.fired == 0


async def test_a_foreign_event_comes_before_the_own_one(client: Client) -> None:
    """It has the same type, is validly signed, and contains no id of this business."""
    async with hooked(client, scenario="abandoned") as business:
        fault = business.fault({"type": "foreign"}, times=1)
        pay_in_id = await business.live()

        foreign, own = business.documents
        assert foreign["type"] == own["type"]
        assert all(business.verifies(request) for request in business.requests)
        assert own["data"]["object"]["id"] == pay_in_id
        text = business.requests[0].body.decode()
        known = [pay_in_id, own["id"], own["data"]["object"]["reference"], own["request_id"], '"order-1"']
        assert [each for each in known if each in text] == []
        assert {each.id: each.faults for each in business.deliveries} == {
            f"dlv_{foreign['id'][4:]}": (fault.id,),
            f"dlv_{own['id'][4:]}": (fault.id,),
        }
        schema = made()["webhooks"][own["type"]]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert problems(schema, foreign) == []


async def test_a_foreign_refund_belongs_to_a_foreign_pay_in(client: Client) -> None:
    """Its `payin_id` is unknown to the business too."""
    async with hooked(client) as business:
        pay_in_id = await business.live()
        business.fault({"type": "foreign"}, match={"event_type": "refund.created"})
        refund = await business.box.api("POST", "/refund/refund-creation", {"payin_id": pay_in_id})
        await business.settle()

        foreign, own = business.requests[-2:]
        assert pay_in_id in own.body.decode()
        assert pay_in_id not in foreign.body.decode()
        assert refund.document["data"]["id"] not in foreign.body.decode()
        assert json.loads(foreign.body)["type"] == "refund.created"


async def test_foreign_events_without_a_request_id(client: Client) -> None:
    """A member that is not in the event is not in the foreign one either."""
    async with hooked(client, settings={"event_request_id": "omit"}) as business:
        business.fault({"type": "foreign"}, match={"event_type": "pay-in.pending"})
        await business.live()

        foreign, own = business.documents[1:3]
        assert sorted(foreign) == sorted(own)
        assert "request_id" not in foreign


async def test_a_foreign_event_and_copies_have_ids_of_their_own(client: Client) -> None:
    """Combined with new ids, no two events have the same."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "foreign"}, compose=True)
        business.fault({"type": "duplicate", "copies": 2, "new_id": True})
        await business.live()

        assert len({document["id"] for document in business.documents}) == 4


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("own", [True, False])
async def test_livemode_says_the_wrong_environment(client: Client, *, value: bool, own: bool) -> None:
    """The event has the fault's value, and the next one the sandbox's."""
    async with hooked(client, scenario="abandoned", settings={"livemode": own}) as business:
        business.fault({"type": "livemode", "value": value}, times=1)
        await business.live()
        await business.live()

        assert [document["livemode"] for document in business.documents] == [value, own]
        assert all(business.verifies(request) for request in business.requests)


async def test_without_an_endpoint_there_is_nobody_to_bother(client: Client) -> None:
    """Effects on sending do not fire, no event is added, and effects on the event itself still act."""
    async with hooked(client, scenario="abandoned") as business:
        business.sandbox.set_notification_url(None)
        for effect in ({"type": "foreign"}, {"type": "hold"}, {"type": "duplicate"}, {"type": "reorder"}):
            business.fault(effect, compose=True)
        fault = business.fault({"type": "livemode"})
        await business.live()

        assert [(each.status, each.faults) for each in business.deliveries] == [("no_endpoint", (fault.id,))]
        assert sum(each.fired for each in business.sandbox.faults) == 1
        assert len(business.sandbox.journal.events.entries) == 1
