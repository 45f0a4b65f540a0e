"""The page of a payment: one line of time."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
from bounds import FAR_LONGER
from drive import deposit_body, key
from inspecting import Browser
from receivers import receiving, status
from servers import Box, Client

DEPOSITS = "/pay-in/deposit-creation"


async def page(browser: Browser, box: Box, pay_in: dict[str, Any]) -> str:
    """Return the words of the page of a payment."""
    seen = await browser.open(f"/_paydouble/inspector/sandboxes/{box.id}/payments/{pay_in['id']}")
    assert seen.status == 200
    return seen.text


def in_order(text: str, *words: str) -> bool:
    """Return whether words come in this order."""
    at = 0
    for word in words:
        at = text.find(word, at) + len(word)
        if at < len(word):
            return False
    return True


async def test_requests_events_and_attempts_are_in_the_order_of_sending(browser: Browser) -> None:
    """Also while a manual clock stands still, and with an answer that the receiver gave."""
    async with receiving(status(500), status(200)) as receiver:
        box = await browser.client.sandbox(notification_url=receiver.url, scenario="happy-path")
        pay_in = await box.deposit(external_identifier="order-17")
        await box.advance(by="10m")
        text = await page(browser, box, pay_in)

    assert in_order(
        text,
        "order-17",
        "49.90 EUR",
        "succeeded",
        "POST /api/v1/pay-in/deposit-creation",
        "200",
        "payment pay-in.created",
        "paydouble → merchant pay-in.created attempt 1",
        "500",
        "payment pay-in.pending",
    )
    assert "pay-in.created attempt 2" in text
    assert "real " in text


async def test_the_differences_of_each_event_are_shown(browser: Browser) -> None:
    """Those to the event before it, and what the event itself says about them."""
    box = await browser.client.sandbox()
    pay_in = await box.deposit()
    await box.control("POST", f"/pay-ins/{pay_in['id']}/transition", {"to": "failed"})
    text = await page(browser, box, pay_in)

    assert in_order(text, "pay-in.failed", 'status "created" "failed"', "previous_attributes", '"status":"created"')
    assert "declined: The payment was declined." in text


async def test_the_payments_of_one_order_explain_each_other(browser: Browser) -> None:
    """On both pages: when the other request came, with which key, and what differs."""
    box = await browser.client.sandbox()
    body = deposit_body(external_identifier="order-17")
    made = []
    for number, changes in enumerate(({}, {}, {"amount": 60})):
        headers = {**box.credentials, "Idempotency-Key": key(number + 1)}
        answer = await browser.client.call("POST", f"/api/v1{DEPOSITS}", {**body, **changes}, headers=headers)
        made.append(answer.document["data"])
    entries = browser.client.server.host.registry.get(box.id).journal.requests.entries
    for entry, arrived in zip(entries, (1_000_000, 1_001_200, 1_126_200), strict=True):
        entry.arrived = arrived
    first, second, third = [await page(browser, box, each) for each in made]

    same = (
        "The idempotency key is another one, so the service takes it for a new request. "
        "The bodies are the same, byte for byte. Compare the requests"
    )
    later = "in real time a second request with another idempotency key made payment"
    assert in_order(first, f"1.2 s later {later} {made[1]['id']}", same, f"2 min 7 s later {later}", "amount 49.9 60")
    earlier = "in real time a request with another idempotency key made payment"
    assert in_order(second, f"1.2 s earlier {earlier} {made[0]['id']}", same, "2 min 5 s later")
    assert in_order(third, "2 min 7 s earlier", "2 min 5 s earlier", "One member of the body differs.")
    file = await browser.open(f"/_paydouble/sandboxes/{box.id}/pay-ins/{made[0]['id']}/timeline.html")
    assert "1.2 s later" in file.text
    entries.popleft()
    assert "Another request made payment" in await page(browser, box, made[1])


async def test_a_lost_reply_is_no_success(browser: Browser) -> None:
    """The service has answered 200, and the client got nothing: neither is hidden."""
    box = await browser.client.sandbox()
    for phase in ("before_commit", "after_commit"):
        fault = {"effect": {"type": "connection_reset"}, "phase": phase, "times": 1}
        assert (await box.control("POST", "/faults", fault)).status == 201
        with pytest.raises(aiohttp.ClientError):
            # A new session: a connection that was used before would be tried again by itself.
            async with aiohttp.ClientSession() as session:
                await Client(browser.client.server, session).call(
                    "POST",
                    f"/api/v1{DEPOSITS}",
                    deposit_body(external_identifier="order-17"),
                    headers={**box.credentials, "Idempotency-Key": key(7)},
                )
    (pay_in,) = (await box.get("/pay-ins"))["items"]
    address = f"/_paydouble/inspector/sandboxes/{box.id}/payments/{pay_in['id']}"
    seen = await browser.open(address)

    assert in_order(seen.text, "no answer ⚡ nothing done", "200, reply lost ⚡ fault-2")
    assert seen.html.source.count('class="request bad"') == 2
    assert f"/_paydouble/inspector/sandboxes/{box.id}#fault-2" in seen.html.links


async def test_times_and_stamps_that_say_nothing_are_left_out(browser: Browser) -> None:
    """The real time beside the same time of a real clock, and the `updated_at` of every event."""
    box = await browser.client.sandbox(clock="real", scenario="abandoned")
    pay_in = await box.deposit()
    await box.control("POST", f"/pay-ins/{pay_in['id']}/transition", {"to": "failed"})
    entry = browser.client.server.host.registry.get(box.id).journal.requests.entries[0]
    entry.arrived = entry.at + 49
    seen = await browser.open(f"/_paydouble/inspector/sandboxes/{box.id}/payments/{pay_in['id']}")
    assert "real 2" not in seen.text
    assert not [tag for tag, name, value in seen.html.attributes if value == "real"]
    assert "updated_at" not in seen.html.source.partition('class="differences"')[2].partition("</table>")[0]
    entry.arrived += 5000
    assert " real " in await page(browser, box, pay_in)


async def test_the_verdict_on_a_key_is_shown(browser: Browser) -> None:
    """With the key, for the first request, its repetition and a conflict."""
    box = await browser.client.sandbox()
    headers = {**box.credentials, "Idempotency-Key": key(7)}
    body = deposit_body(external_identifier="order-17")
    made = await browser.client.call("POST", f"/api/v1{DEPOSITS}", body, headers=headers)
    await browser.client.call("POST", f"/api/v1{DEPOSITS}", body, headers=headers)
    await browser.client.call("POST", f"/api/v1{DEPOSITS}", {**body, "amount": 1}, headers=headers)
    text = await page(browser, box, made.document["data"])

    assert in_order(text, f"Idempotency key {key(7)}", "new : the key was new", "replay : the key", "409", "conflict :")


async def test_a_fault_is_shown_where_it_fired(browser: Browser) -> None:
    """At the request, the event or the attempt."""
    async with receiving() as receiver:
        box = await browser.client.sandbox(notification_url=receiver.url)
        for fault in (
            {"on": "api", "effect": {"type": "latency", "fixed": "1ms"}},
            {"on": "webhooks", "effect": {"type": "signature", "mode": "wrong_secret"}},
        ):
            assert (await box.control("POST", "/faults", fault)).status == 201
        pay_in = await box.deposit()
        await box.advance(by="0s")
        text = await page(browser, box, pay_in)

    assert in_order(text, "deposit-creation", "⚡", "pay-in.created attempt 1", "⚡", "wrong_secret")


async def test_the_next_attempt_is_counted_down(browser: Browser) -> None:
    """In the sandbox's time; a clock that moves by itself gives the browser the seconds."""
    # One that hardly moves, so that a busy machine sees the same time.
    slow = {"mode": "real", "rate": 0.001}
    async with receiving(status(500)) as receiver:
        for clock, ticks in (("manual", 0), (slow, 2)):
            box = await browser.client.sandbox(notification_url=receiver.url, clock=clock, scenario="abandoned")
            pay_in = await box.deposit()
            wanted = {"match": {"attempt_count": 1}, "timeout": FAR_LONGER}
            if clock == "manual":
                await box.advance(by="0s")
            else:
                assert (await box.control("POST", "/deliveries/wait", wanted)).document["passed"]
            path = f"/_paydouble/inspector/sandboxes/{box.id}/payments/{pay_in['id']}"
            seen = await browser.open(path)
            assert "next attempt in 1 min" in seen.text or "next attempt in 59 s" in seen.text or "in 60 s" in seen.text
            assert sum(name == "data-seconds" for _, name, _ in seen.html.attributes) == ticks


async def test_refunds_and_disputes_are_part_of_the_payment(browser: Browser) -> None:
    """With their events, and what they took of the money."""
    box = await browser.client.sandbox()
    pay_in = await box.deposit()
    await box.control("POST", f"/pay-ins/{pay_in['id']}/transition", {"to": "succeeded", "force": True})
    await box.control("POST", f"/pay-ins/{pay_in['id']}/disputes", {"amount": 20})
    text = await page(browser, box, pay_in)

    assert "Dispute dispute_" in text
    assert "Disputed 20.00 EUR" in text
    assert "dispute dispute.created" in text


async def test_evicted_records_are_said(browser: Browser) -> None:
    """A page that may lack something says so."""
    box = await browser.client.sandbox(settings={"journal_limit": 2})
    pay_in = await box.deposit()
    assert "evicted" not in await page(browser, box, pay_in)
    for number in range(3):
        await box.deposit(external_identifier=f"o-{number}")
    text = await page(browser, box, pay_in)

    assert "has evicted" in text
    assert "Nothing is kept about this payment" in text


@pytest.mark.parametrize("path", ["payments/%00", "payments/..%2f..", "payments/" + "x" * 5000])
async def test_an_odd_id_is_no_payment(browser: Browser, path: str) -> None:
    """It is answered with a page like any other that is not there."""
    assert (await browser.open(f"/_paydouble/inspector/sandboxes/default/{path}")).status == 404
