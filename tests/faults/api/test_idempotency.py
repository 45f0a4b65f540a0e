"""Faults on idempotency: stored errors, lost records, false conflicts; and what each leaves in the ledger."""

from __future__ import annotations

import pytest
from drive import key
from receivers import receiving
from servers import Client
from wires import Caller, ask, caller


async def test_before_the_commit_a_stored_error_stays(shop: Caller) -> None:
    """`sticky_5xx` stores its answer under the key: every retry gets it byte for byte, and nothing exists."""
    armed = shop.arm({"type": "sticky_5xx", "status": 503})

    answers = [await shop.deposit() for _ in range(3)]

    assert [answer.status for answer in answers] == [503] * 3
    assert len({answer.body for answer in answers}) == 1
    assert (shop.pay_ins, shop.events, armed.fired) == ([], [], 1)
    assert [entry.verdict for entry in shop.entries] == ["new", "replay", "replay"]


async def test_after_the_commit_a_stored_error_hides_a_deposit(shop: Caller) -> None:
    """The deposit exists, and its caller only ever gets the stored error."""
    armed = shop.arm("sticky_5xx", phase="after_commit")

    answers = [await shop.deposit() for _ in range(3)]

    assert [answer.status for answer in answers] == [500] * 3
    assert len({answer.body for answer in answers}) == 1
    assert (len(shop.pay_ins), shop.events, armed.fired) == (1, ["pay-in.created"], 1)


async def test_another_body_under_a_stored_error_conflicts(shop: Caller) -> None:
    """The key is bound to the first body, as always."""
    shop.arm("sticky_5xx", times=1)
    await shop.deposit()

    other = await shop.deposit(amount=1)

    assert other.status == 409


async def test_a_stored_error_expires_with_its_key(shop: Caller) -> None:
    """After a day the key is free."""
    shop.arm("sticky_5xx", times=1)
    await shop.deposit()
    await shop.box.advance(by="24h")

    assert (await shop.deposit()).status == 200


async def test_a_bad_key_stores_nothing(shop: Caller) -> None:
    """An invalid key cannot store an answer, so the request is refused for the key."""
    shop.arm("sticky_5xx")
    data = shop.request("POST", "/pay-in/deposit-creation", {}).replace(key(1).encode(), b"no-uuid")

    refused = await ask(shop.port, data)

    assert (refused.status, len(shop.sandbox.keys)) == (400, 0)


async def test_a_lost_record_is_carried_out_again(shop: Caller) -> None:
    """`lost_record`: the answer is true, its key forgotten, and a retry creates a second deposit."""
    shop.arm("lost_record", times=1)

    first, second, third = [(await shop.deposit()).document["data"]["id"] for _ in range(3)]

    assert first != second
    assert second == third
    assert (len(shop.pay_ins), shop.events) == (2, ["pay-in.created"] * 2)
    assert [entry.verdict for entry in shop.entries] == ["new", "new", "replay"]


async def test_a_lost_refusal_is_judged_again(shop: Caller) -> None:
    """The record of a 422 can be lost as well."""
    shop.arm("lost_record", times=1)

    answers = [await shop.deposit(currency="XXX") for _ in range(3)]

    assert [answer.status for answer in answers] == [422] * 3
    assert [entry.verdict for entry in shop.entries] == ["new", "new", "replay"]


@pytest.mark.parametrize(("phase", "made"), [("before_commit", 0), ("after_commit", 1)])
async def test_a_conflict_out_of_nothing(shop: Caller, phase: str, made: int) -> None:
    """`force_conflict` is the documented 409 with its details, although the body is the same."""
    shop.arm("force_conflict", phase=phase)

    seen = await shop.deposit()

    details = seen.document["error"]["details"]
    assert (seen.status, seen.document["error"]["code"], len(shop.pay_ins)) == (409, "IDEMPOTENCY_CONFLICT", made)
    assert details["key"] == key(1)
    assert (details["original_request_id"] == shop.entries[0].id) == bool(made)


async def test_a_conflict_names_the_original(shop: Caller) -> None:
    """With a known key, the original request is the one that claimed it."""
    await shop.deposit()
    shop.arm("force_conflict")

    seen = await shop.deposit()

    assert seen.document["error"]["details"] == {"original_request_id": shop.entries[0].id, "key": key(1)}


async def test_these_are_about_posts(shop: Caller) -> None:
    """A GET has no key, so none of these effects acts on it."""
    for effect in ("sticky_5xx", "lost_record", "force_conflict"):
        shop.arm(effect)

    assert (await shop.ask("GET", "/pay-in")).status == 200


async def test_the_webhook_of_a_lost_reply_goes_out(client: Client) -> None:
    """After the commit the receiver gets the event of a deposit whose caller got a reset."""
    async with receiving() as receiver:
        shop = await caller(client, notification_url=receiver.url)
        shop.arm("connection_reset", phase="after_commit")

        seen = await shop.deposit()
        await receiver.wait_for(1)

    assert (seen.end, b'"pay-in.created"' in receiver.requests[0].body) == ("reset", True)


async def test_a_lost_reply_stays_lost_while_the_fault_lasts(shop: Caller) -> None:
    """Without `times` the replays are lost too; after the fault is removed the true answer comes."""
    armed = shop.arm("connection_reset", phase="after_commit")

    ends = [(await shop.deposit()).end for _ in range(3)]
    shop.sandbox.faults.remove(armed.id)
    healed = await shop.deposit()

    assert (ends, armed.fired, len(shop.pay_ins)) == (["reset"] * 3, 3, 1)
    assert healed.document["data"]["id"] == shop.pay_ins[0].id


async def test_after_the_commit_a_refusal_counts_as_an_answer(shop: Caller) -> None:
    """A stored 422 is lost and replayed like a success; a 400 has no commit, so nothing acts after it."""
    armed = shop.arm("empty_response", phase="after_commit", times=1)

    malformed = await shop.deposit(amount="x")
    lost = await shop.deposit(currency="XXX")
    retry = await shop.deposit(currency="XXX")

    assert (malformed.status, lost.data, retry.status, armed.fired) == (400, b"", 422, 1)


async def test_a_match_by_key_hits_one_operation(shop: Caller) -> None:
    """`idempotency_key` matches in upper and lower case, and no other request."""
    shop.arm({"type": "error", "status": 503}, match={"idempotency_key": key(0xA).upper()})

    statuses = [(await shop.deposit(n=n)).status for n in (9, 10, 11)]

    assert statuses == [200, 503, 200]
