"""The inbox: a row for each payment, and for each request that led to none."""

from __future__ import annotations

import base64
import itertools
from typing import Any

import pytest
from drive import deposit_body, key
from inspecting import HOME, Browser, Html
from receivers import receiving, status
from servers import Box, Client, exchange

DEPOSITS = "/pay-in/deposit-creation"


def rows(html: Html) -> list[str]:
    """Return the keys of the rows, the newest first."""
    return [value for tag, name, value in html.attributes if (tag, name) == ("tr", "data-key")]


async def shown(browser: Browser, query: str = "") -> list[str]:
    """Return the last part of the keys of the rows that a query shows."""
    seen = await browser.open(f"{HOME}?{query}")
    assert seen.status == 200
    return [key.rpartition("/")[2] for key in rows(seen.html)]


async def refused(box: Box, **changes: Any) -> None:  # noqa: ANN401 - JSON is any
    """Send a deposit that is refused."""
    assert (await box.api("POST", DEPOSITS, {"amount": -1, **changes})).status == 400


async def test_a_payment_is_a_row(browser: Browser) -> None:
    """It has the order, the amount, the state, and a link to its page."""
    box = await browser.client.sandbox()
    pay_in = await box.deposit(external_identifier="order-17", amount=12.5)
    seen = await browser.open()

    assert rows(seen.html) == [f"{box.id}/{pay_in['id']}"]
    for word in ("order-17", "12.50 EUR", "created", "no endpoint", box.id):
        assert word in seen.text
    link = f"/_paydouble/inspector/sandboxes/{box.id}/payments/{pay_in['id']}"
    assert link in seen.html.links
    assert (await browser.open(link)).status == 200


async def test_the_newest_row_is_first(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the clocks of the sandboxes differ: the order is that of real time."""
    milliseconds = itertools.count(1_000)
    monkeypatch.setattr("paydouble.runtime.host.wall_ms", lambda: next(milliseconds))
    boxes = [
        await browser.client.sandbox(clock={"mode": "manual", "start": f"20{n}-01-01T00:00:00Z"}) for n in (30, 20)
    ]
    made = [(await boxes[n % 2].deposit(external_identifier=f"o-{n}"))["id"] for n in range(4)]

    assert await shown(browser) == made[::-1]


async def test_attempts_and_the_next_one_are_on_the_row(browser: Browser) -> None:
    """A receiver that fails shows what it answered, and when it gets the event again."""
    async with receiving(status(500)) as receiver:
        box = await browser.client.sandbox(notification_url=receiver.url)
        await box.deposit()
        await box.advance(by="0s")
        seen = await browser.open()

    assert "500 pay-in.created in 1 min" in seen.text


async def test_a_fault_that_fired_is_on_the_row(browser: Browser) -> None:
    """The badge says what it did."""
    box = await browser.client.sandbox()
    quiet = await box.deposit(external_identifier="quiet")
    fault = {"on": "api", "effect": {"type": "latency", "fixed": "1ms"}, "times": 1}
    assert (await box.control("POST", "/faults", fault)).status == 201
    faulted = await box.deposit(external_identifier="faulted")
    seen = await browser.open()

    assert "⚡" in seen.text
    assert await shown(browser, "show=faults") == [faulted["id"]]
    assert quiet["id"] in await shown(browser)


async def test_a_request_without_a_payment_is_a_row(browser: Browser) -> None:
    """It shows what was wrong, and where."""
    box = await browser.client.sandbox()
    await refused(box)
    seen = await browser.open()

    assert "POST /api/v1/pay-in/deposit-creation" in seen.text
    assert "amount: is -1" in seen.text
    assert len(await shown(browser, "show=refused")) == 1


async def conflict(box: Box) -> tuple[str, str]:
    """Send a deposit, and another one with its key; returns the ids of the payment and of the refused request."""
    headers = {**box.credentials, "Idempotency-Key": key(77)}
    body = deposit_body(external_identifier="order-17")
    made = await box.client.call("POST", f"/api/v1{DEPOSITS}", body, headers=headers)
    answer = await box.client.call("POST", f"/api/v1{DEPOSITS}", {**body, "amount": 1}, headers=headers)
    assert answer.status == 409
    return made.document["data"]["id"], (await box.get("/requests"))["items"][-1]["id"]


async def test_a_conflict_is_a_refused_request(browser: Browser) -> None:
    """Its payment has a mark, the filter lists the request, and a search for its status finds it."""
    box = await browser.client.sandbox()
    payment, request = await conflict(box)
    await box.deposit(external_identifier="order-18")
    seen = await browser.open(f"{HOME}?q=order-17")

    assert "409 conflict" in seen.text
    assert await shown(browser, "show=refused") == [request]
    # Not 409 alone, since a port or a time in the body of another event may hold it.
    assert await shown(browser, "q=409+CONFLICT") == [payment]
    assert await shown(browser, "q=409+CONFLICT&show=refused") == [request]
    assert await shown(browser, "q=order-18&show=refused") == []
    assert "idempotency" in (await browser.open(f"{HOME}?show=refused")).text.lower()


async def test_a_refused_request_names_its_order(browser: Browser) -> None:
    """As far as its body has one, whatever it was refused for."""
    box = await browser.client.sandbox()
    await refused(box, external_identifier="order-400")
    for number, credentials in (("401", f"{box.document['business_key']}:wrong"), ("402", "nobody:x")):
        headers = {"Authorization": f"Basic {base64.b64encode(credentials.encode()).decode()}"}
        body = deposit_body(external_identifier=f"order-{number}")
        await browser.client.call("POST", f"/api/v1{DEPOSITS}", body, headers=headers)
    await box.api("POST", "/pay-in/nowhere", {"external_identifier": "order-404"})
    seen = await browser.open()

    for order in ("order-400", "order-401", "order-402", "order-404"):
        assert f"order {order}" in seen.text
    payment = await box.deposit(external_identifier="order-401")
    assert "401 refused" in (await browser.open(f"{HOME}?q={payment['id']}")).text


async def test_wrong_credentials_are_told_from_silence(browser: Browser) -> None:
    """A shop that calls with an unknown key has a row which says so, and one that sends no HTTP has one too."""
    unknown = {"Authorization": "Basic bm9ib2R5OnNlY3JldA=="}
    await browser.client.call("GET", "/api/v1/pay-ins", headers=unknown)
    await browser.client.call("GET", "/nothing/here")
    await exchange(browser.client.server.port, b"\x16\x03\x01 not HTTP\r\n\r\n")
    seen = await browser.open()

    assert len(rows(seen.html)) == 3
    assert "No sandbox has these credentials (business key nobody)" in seen.text
    assert "There is no GET /nothing/here" in seen.text
    assert "Bytes that are not HTTP The request cannot be read" in seen.text
    assert len(await shown(browser, "show=refused")) == 3
    assert await shown(browser, "sandbox=default") == []


async def test_unreadable_bytes_are_among_the_unclaimed_requests(client: Client) -> None:
    """The control API lists them with the same answer."""
    await exchange(client.server.port, b"\x16\x03\x01 not HTTP\r\n\r\n")
    (item,) = (await client.control("GET", "/unclaimed-requests")).document["items"]

    assert (item["method"], item["target"], item["status"], item["business_key"]) == ("", "", 400, None)
    assert "cannot be read" in item["response_body"]


@pytest.mark.parametrize("text", ["ORDER-17", "payin", "ada@example", "00000000-0000-4000-8000", "whsec-shop.test"])
async def test_search_finds_identifiers_keys_and_bodies(browser: Browser, text: str) -> None:
    """Upper and lower case are the same."""
    box = await browser.client.sandbox(notification_url="http://whsec-shop.test/")
    pay_in = await box.deposit(external_identifier="order-17")
    other = await (await browser.client.sandbox()).deposit(external_identifier="cart")

    found = await shown(browser, f"q={text}")
    assert pay_in["id"] in found
    assert (await shown(browser, "q=cart")) == [other["id"]]
    assert (await shown(browser, "q=nowhere")) == []


async def test_search_finds_refused_requests(browser: Browser) -> None:
    """By what they sent, also if no sandbox has their key."""
    box = await browser.client.sandbox()
    await refused(box, external_identifier="broken-basket")
    await browser.client.call("POST", "/api/v1/x", {"basket": "lost-basket"}, headers={"Authorization": "Basic YTpi"})

    assert len(await shown(browser, "q=broken-basket")) == 1
    assert len(await shown(browser, "q=lost-basket")) == 1
    assert await shown(browser, "q=third-basket") == []


async def test_filters_are_in_the_url(browser: Browser) -> None:
    """By state, sandbox and event type; the links of the page keep what is chosen."""
    first, second = [await browser.client.sandbox() for _ in range(2)]
    failed, waiting = await first.deposit(), await second.deposit()
    await first.control("POST", f"/pay-ins/{failed['id']}/transition", {"to": "failed"})

    assert await shown(browser, "show=failed") == [failed["id"]]
    assert await shown(browser, "show=waiting") == [waiting["id"]]
    assert await shown(browser, f"sandbox={first.id}") == [failed["id"]]
    assert await shown(browser, "type=pay-in.failed") == [failed["id"]]
    assert await shown(browser, f"type=pay-in.created&sandbox={second.id}") == [waiting["id"]]
    seen = await browser.open(f"{HOME}?show=failed&q=order")
    assert f"{HOME}?q=order&show=waiting" in seen.html.links


async def test_a_failed_webhook_is_no_failed_payment(browser: Browser) -> None:
    """Each has a filter of its own; a refused request is neither."""
    async with receiving(status(500)) as receiver:
        box = await browser.client.sandbox(notification_url=receiver.url, scenario="abandoned")
        undelivered = await box.deposit(external_identifier="order-17")
        await box.advance(by="0s")
    quiet = await browser.client.sandbox()
    failed = await quiet.deposit()
    await quiet.control("POST", f"/pay-ins/{failed['id']}/transition", {"to": "failed"})
    await refused(quiet)

    assert await shown(browser, "show=failed") == [failed["id"]]
    assert await shown(browser, "show=undelivered") == [undelivered["id"]]


async def test_what_is_not_known_of_a_filter_is_left_out(browser: Browser) -> None:
    """A bookmark of another version still shows something."""
    pay_in = await (await browser.client.sandbox()).deposit()

    assert await shown(browser, "show=nonsense&type=nonsense&other=1") == [pay_in["id"]]
    assert "Nothing fits this filter" in (await browser.open(f"{HOME}?sandbox=gone")).text


async def test_a_lost_deposit_and_its_retries_are_one_row(browser: Browser) -> None:
    """A request that names the order of a payment belongs to it, though it was refused."""
    box = await browser.client.sandbox()
    pay_in = await box.deposit(external_identifier="order-17")
    await refused(box, external_identifier="order-17")

    assert await shown(browser) == [pay_in["id"]]
    assert await shown(browser, "q=order-17") == [pay_in["id"]]


async def test_a_second_payment_of_an_order_is_said(browser: Browser) -> None:
    """On its row, and on the page of either payment, with a link to the other one."""
    box = await browser.client.sandbox()
    first, second = [await box.deposit(external_identifier="order-17") for _ in range(2)]
    seen = await browser.open()
    links = [f"/_paydouble/inspector/sandboxes/{box.id}/payments/{each['id']}" for each in (first, second)]

    assert seen.text.count("2 payments of this order") == 2
    for link, other in zip(links, reversed(links), strict=True):
        page = await browser.open(link)
        assert "Other payments of this order" in page.text
        assert other in page.html.links
        assert link not in page.html.links


async def test_payments_of_one_order_are_shown_together(browser: Browser) -> None:
    """By a filter of their own, and where a fault fired on one of them."""
    box = await browser.client.sandbox()
    fault = {"on": "api", "effect": {"type": "latency", "fixed": "1ms"}, "times": 1}
    assert (await box.control("POST", "/faults", fault)).status == 201
    pair = [(await box.deposit(external_identifier="order-17"))["id"] for _ in range(2)]
    await box.deposit(external_identifier="order-18")

    assert await shown(browser, "show=twice") == pair[::-1]
    assert await shown(browser, "show=faults") == pair[::-1]
    assert await shown(browser, "show=faults&q=order-18") == []
    assert "status busy" in (await browser.open(f"{HOME}?show=twice")).html.source
    for each in pair:
        await box.control("POST", f"/pay-ins/{each}/transition", {"to": "succeeded", "force": True})
    assert 'status bad">2 payments' in (await browser.open(f"{HOME}?show=twice")).html.source


async def test_an_order_with_very_many_payments_is_shown(browser: Browser) -> None:
    """A test suite may give all of its payments one order; the page of one names the newest of the others."""
    box = await browser.client.sandbox()
    made = [(await box.deposit(external_identifier="order-1"))["id"] for _ in range(23)]
    assert "23 payments of this order" in (await browser.open()).text
    for number, links in ((0, made[3:]), (22, made[3:22])):
        seen = await browser.open(f"/_paydouble/inspector/sandboxes/{box.id}/payments/{made[number]}")
        named = [link.rpartition("/")[2] for link in seen.html.links if "/payments/" in link]
        assert [each for each in named if each in made] == links


async def test_the_next_attempt_names_its_event(browser: Browser) -> None:
    """If it is another one than that of the last attempt; and it has the time of day."""
    async with receiving(status(200)) as receiver:
        clock = {"mode": "manual", "start": "2026-01-01T23:59:50Z"}
        box = await browser.client.sandbox(notification_url=receiver.url, clock=clock, scenario="abandoned")
        await box.deposit()
        assert "in 0" not in (await browser.open()).text
        await box.advance(by="0s")
        held = {"on": "webhooks", "effect": {"type": "delay", "fixed": "30s"}}
        assert (await box.control("POST", "/faults", held)).status == 201
        (pay_in,) = (await box.get("/pay-ins"))["items"]
        await box.control("POST", f"/pay-ins/{pay_in['id']}/transition", {"to": "failed"})
        seen = await browser.open()
        page = await browser.open(f"/_paydouble/inspector/sandboxes/{box.id}/payments/{pay_in['id']}")

    assert "200 pay-in.created in 30 s 2026-01-02 00:00:20 pay-in.failed" in seen.text
    assert "next attempt in 30 s , at 2026-01-02 00:00:20 , of pay-in.failed" in page.text


async def test_a_held_event_is_said(browser: Browser) -> None:
    """A payment whose event a fault holds or drops is no finished one."""
    for effect, word in (("hold", "held"), ("drop", "dropped")):
        box = await browser.client.sandbox(notification_url="http://127.0.0.1:9/")
        fault = {"on": "webhooks", "effect": {"type": effect}}
        assert (await box.control("POST", "/faults", fault)).status == 201
        await box.deposit()
        assert word in (await browser.open(f"{HOME}?sandbox={box.id}")).text


async def test_no_more_rows_than_a_browser_can_take(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest are left out, and the page says how many."""
    monkeypatch.setattr("paydouble.web.inspector.inbox.MOST_ROWS", 3)
    for _ in range(2):
        box = await browser.client.sandbox()
        for number in range(4):
            await box.deposit(external_identifier=f"o-{number}")
    seen = await browser.open()

    assert len(rows(seen.html)) == 3
    assert "older rows left out" in seen.text
    assert "5 older rows left out" in (await browser.open(f"{HOME}?q=deposit-creation")).text
