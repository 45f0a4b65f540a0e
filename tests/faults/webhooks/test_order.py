"""Events in another, reproducible order, none of them lost."""

from __future__ import annotations

from typing import Any

import pytest
from hooked import LIFE, hooked
from servers import Client

CREATED, PENDING, PROCESSING, SUCCEEDED = LIFE


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"strategy": "reverse", "window": 2}, [PENDING, CREATED, SUCCEEDED, PROCESSING]),
        ({"strategy": "reverse", "window": 4}, [SUCCEEDED, PROCESSING, PENDING, CREATED]),
        ({"strategy": "swap", "window": 4}, [PENDING, CREATED, SUCCEEDED, PROCESSING]),
        (
            {"strategy": "permutation", "window": 4, "order": [4, 1, 3, 2]},
            [SUCCEEDED, CREATED, PROCESSING, PENDING],
        ),
        ({}, [PENDING, CREATED, SUCCEEDED, PROCESSING]),
    ],
    ids=str,
)
@pytest.mark.parametrize("each", ["object", "sandbox"])
async def test_a_full_window_leaves_in_its_order(
    client: Client, how: dict[str, Any], expected: list[str], each: str
) -> None:
    """When the window is full, its events are sent at once in the configured order."""
    async with hooked(client) as business:
        fault = business.fault({"type": "reorder", "each": each, **how})
        await business.live()

        assert business.types == expected
        assert [one.faults for one in business.deliveries] == [(fault.id,)] * 4
        assert business.sandbox.idle


async def test_a_shuffle_is_drawn_from_the_seed(client: Client) -> None:
    """The same seed gives the same order, all events arrive, and other seeds give other orders."""
    orders = []
    for seed in (1, 1, 2, 3, 4, 5):
        async with hooked(client, seed=seed) as business:
            business.fault({"type": "reorder", "strategy": "shuffle", "window": 4}, id="mixed")
            await business.live()
            orders.append(tuple(business.types))

    assert orders[0] == orders[1]
    assert {tuple(sorted(order)) for order in orders} == {tuple(sorted(LIFE))}
    assert len(set(orders)) > 2


async def test_each_object_has_a_window_of_its_own(client: Client) -> None:
    """Two pay-ins at the same time: by object each is reversed in itself, by sandbox their first events together."""
    results = {}
    for each in ("object", "sandbox"):
        async with hooked(client) as business:
            business.fault({"type": "reorder", "each": each}, times=4)
            first = (await business.box.deposit())["id"]
            await business.live()
            results[each] = [
                ("AB"[document["data"]["object"]["id"] != first], document["type"]) for document in business.documents
            ]

    assert results["object"][:4] == [("A", PENDING), ("A", CREATED), ("B", PENDING), ("B", CREATED)]
    assert results["sandbox"][:4] == [("B", CREATED), ("A", CREATED), ("B", PENDING), ("A", PENDING)]


@pytest.mark.parametrize("strategy", ["reverse", "swap", "shuffle", "permutation"])
async def test_a_window_that_does_not_fill_goes_when_its_patience_ends(client: Client, strategy: str) -> None:
    """Held until a minute after its first event, then sent in its order as far as that goes."""
    order = {"order": [5, 4, 3, 2, 1]} if strategy == "permutation" else {}
    async with hooked(client) as business:
        effect = {"type": "reorder", "strategy": strategy, "window": 5, "patience": "1m", **order}
        business.fault(effect)
        await business.live()
        held = [each.status for each in business.deliveries]
        await business.box.advance(by="53s")
        early = len(business.requests)
        await business.box.advance(by="1s")

        assert (held, early) == (["held"] * 4, 0)
        assert sorted(business.types) == sorted(LIFE)
        expected = {
            "reverse": LIFE[::-1],
            "permutation": LIFE[::-1],
            "swap": [PENDING, CREATED, SUCCEEDED, PROCESSING],
        }
        assert business.types == expected.get(strategy, business.types)
        assert [each.status for each in business.deliveries] == ["delivered"] * 4


async def test_an_odd_one_out_of_a_swap_stays_in_place(client: Client) -> None:
    """Three events swapped in pairs: the third has no partner."""
    async with hooked(client) as business:
        business.fault({"type": "reorder", "strategy": "swap", "window": 3}, times=3)
        await business.live()

        assert business.types == [PENDING, CREATED, PROCESSING, SUCCEEDED]


async def test_one_released_by_hand_leaves_its_window(client: Client) -> None:
    """The released one is sent at once; the window fills without it."""
    async with hooked(client) as business:
        business.fault({"type": "reorder", "window": 3})
        await business.live()
        await business.box.deposit(external_identifier="order-2")
        await business.box.advance(by="2s")
        created = next(each for each in business.deliveries if each.status == "held" and each.event.type == CREATED)
        business.sandbox.release(created)
        await business.settle()
        await business.box.advance(by="10s")

        assert business.types[:3] == [PROCESSING, PENDING, CREATED]
        assert business.types[3:] == [CREATED, SUCCEEDED, PROCESSING, PENDING]


@pytest.mark.parametrize("how", ["hold", "release", "redeliver"])
async def test_an_emptied_window_is_over(client: Client, how: str) -> None:
    """When the only event of a window is taken out of it, the next one opens a new window, with its full `patience`."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "reorder", "each": "sandbox", "patience": "1m"})
        await business.live()
        (first,) = business.deliveries
        getattr(business.sandbox, how)(first)
        await business.box.advance(by="30s")
        await business.live()
        await business.box.advance(by="30s")
        second = business.deliveries[1].status
        await business.box.advance(by="30s")

        assert second == "held"
        assert business.deliveries[1].status == "delivered"
        assert first.status == ("held" if how == "hold" else "delivered")


async def test_one_held_by_hand_out_of_a_window_stays_held(client: Client) -> None:
    """The end of the window does not release it."""
    async with hooked(client) as business:
        business.fault({"type": "reorder", "window": 4})
        await business.box.deposit()
        await business.box.advance(by="3s")
        business.sandbox.hold(business.deliveries[1])
        await business.box.advance(by="2h")

        assert business.types == [SUCCEEDED, PROCESSING, CREATED]
        assert business.deliveries[1].status == "held"


async def test_a_window_that_loses_its_endpoint_sends_the_rest(client: Client) -> None:
    """Without an endpoint what waited is `no_endpoint`; what comes after there is one again is sent."""
    async with hooked(client) as business:
        business.fault({"type": "reorder", "window": 4})
        await business.box.deposit()
        await business.box.advance(by="2s")
        business.sandbox.set_notification_url(None)
        business.sandbox.set_notification_url(business.receiver.url)
        await business.box.advance(by="4s")

        assert business.types == [SUCCEEDED, PROCESSING]
        assert [each.status for each in business.deliveries[:2]] == ["no_endpoint"] * 2


async def test_a_window_follows_the_endpoint(client: Client) -> None:
    """Events gathered for one URL are sent to the one that is set when the window is full."""
    async with hooked(client) as business, hooked(client) as other:
        business.fault({"type": "reorder", "window": 4})
        await business.box.deposit()
        await business.box.advance(by="2s")
        business.sandbox.set_notification_url(other.receiver.url)
        await business.box.advance(by="4s")

        assert (business.types, other.types) == ([], LIFE[::-1])


@pytest.mark.parametrize("scope", [["deliveries"], ["faults"], ["state"], None])
async def test_a_reset_in_the_middle_of_a_window(client: Client, scope: list[str] | None) -> None:
    """A reset of the deliveries removes their window too; after any other reset they are sent in time."""
    async with hooked(client, scenario="abandoned") as business:
        business.fault({"type": "reorder", "window": 2, "patience": "1m"})
        await business.live()
        await business.box.control("POST", "/reset", {} if scope is None else {"scope": scope})
        await business.box.advance(by="2m")

        gone = scope is None or "deliveries" in scope
        assert business.types == ([] if gone else [CREATED])
        assert [each.status for each in business.deliveries] == ([] if gone else ["delivered"])
