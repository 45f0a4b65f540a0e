"""The page of a delivery: its attempts, their signatures, and what can be done with it."""

from __future__ import annotations

import time
from typing import Any

import pytest
from inspecting import HOME, Browser, Seen
from receivers import closed_port, raw, receiving, status
from servers import Box

ANSWER = b"HTTP/1.1 503 Busy\r\nX-Worker: seven\r\nContent-Length: 4\r\n\r\nbusy"


async def page(browser: Browser, box: Box, number: int = 0, path: str = "") -> Seen:
    """Open the page of the n-th delivery of a sandbox."""
    delivery = (await box.deliveries())[number]
    return await browser.open(f"{HOME}inspector/sandboxes/{box.id}/deliveries/{delivery['id']}{path}")


async def act(browser: Browser, box: Box, name: str) -> Seen:
    """Press a button on the page of the first delivery."""
    delivery = (await box.deliveries())[0]
    return await browser.send(f"{HOME}inspector/sandboxes/{box.id}/deliveries/{delivery['id']}/{name}", {})


async def test_every_attempt_is_shown_with_its_answer(browser: Browser) -> None:
    """Status, headers, body, latency and the next attempt, as a countdown and as a time."""
    async with receiving(raw(ANSWER)) as receiver:
        box = await browser.client.sandbox(
            notification_url=receiver.url, clock={"mode": "manual", "start": "2026-01-01T00:00:00Z"}
        )
        pay_in = await box.deposit(external_identifier="order-17")
        await box.advance(by="0s")
        seen = await page(browser, box)

    for text in (
        "Attempt 1 503",
        "X-Worker seven",
        "busy",
        "next attempt in 1 min",
        "2026-01-01 00:01:00.000",
        "order-17",
    ):
        assert text in seen.text
    assert "X-Service-Signature" in seen.text
    assert f"{HOME}inspector/sandboxes/{box.id}/payments/{pay_in['id']}" in seen.html.links


async def test_an_error_is_said_in_words(browser: Browser) -> None:
    """A receiver that is not there is no answer."""
    box = await browser.client.sandbox(notification_url=f"http://127.0.0.1:{closed_port()}/")
    await box.deposit()
    await box.advance(by="0s")
    seen = await page(browser, box)

    assert "nobody listens at the target" in seen.text
    assert "There was no answer." in seen.text


async def test_the_signature_is_taken_apart(browser: Browser) -> None:
    """Each part, whose it is, what it should be, and why it would fail now."""
    async with receiving(status(200)) as receiver:
        box = await browser.client.sandbox(
            notification_url=receiver.url,
            clock={"mode": "manual", "start": "2020-01-01T00:00:00Z"},
            settings={"webhooks": {"sign_with": "sandbox_clock"}},
        )
        await box.control("POST", "/webhook/rotate-secret", {"grace": "1h"})
        await box.deposit()
        await box.advance(by="0s")
        seen = await page(browser, box)

    assert "t 1577836800 2020-01-01T00:00:00.000Z" in seen.text
    assert "fits the current secret" in seen.text
    assert "fits the previous secret" in seen.text
    assert "stale When it was sent" in seen.text
    assert "Recomputed" in seen.text


async def refused(browser: Browser, answer: int = 401, **members: Any) -> Box:  # noqa: ANN401 - JSON is any
    """Make a sandbox with an attempt that its receiver has refused."""
    async with receiving(status(answer)) as receiver:
        box = await browser.client.sandbox(notification_url=receiver.url, **members)
        await box.deposit(external_identifier="order-17")
        await box.advance(by="0s")
    return box


RIGHT = "The signature that was sent is right for this endpoint's secret."


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            401,
            f"{RIGHT} The receiver refused it: its secret differs, or it does not verify the raw bytes as they came.",
        ),
        (403, f"{RIGHT} The receiver refused it:"),
        (400, f"{RIGHT} If the receiver refused it for that: its secret differs,"),
    ],
)
async def test_a_refusal_of_a_right_signature_is_said_to_be_the_receivers(
    browser: Browser, answer: int, said: str
) -> None:
    """With a link to the doctor, which has all but the shop's secret."""
    box = await refused(browser, answer)
    seen = await page(browser, box)
    (delivery,) = await box.deliveries()
    (attempt,) = delivery["attempts"]
    doctor = await browser.open(next(link for link in seen.html.links if "/signature?" in link))
    values = {value for tag, name, value in doctor.html.attributes if (tag, name) == ("input", "value")}
    header = next(value for name, value in attempt["headers"] if name == "X-Service-Signature")

    assert said in seen.text
    assert {header, attempt["sent_at"]} <= values
    assert attempt["body"] in doctor.html.source.replace("&#34;", '"')
    assert f"{seen.url.partition('/_pay')[2]}#attempt-1" in "".join(doctor.html.links)
    assert ("button", "data-copy", header) in seen.html.attributes
    assert [value for tag, name, value in seen.html.attributes if (tag, name) == ("button", "data-from")]


async def test_a_refusal_of_a_wrong_signature_says_what_is_wrong(browser: Browser) -> None:
    """A fault, a replaced secret, or the time: then the receiver was right."""
    box = await refused(browser)
    await box.control("POST", "/webhook/rotate-secret", {"grace": "1h"})
    assert "It was signed with the previous secret" in (await page(browser, box)).text
    await box.control("POST", "/webhook/rotate-secret", {})
    assert "the secret was probably replaced since then" in (await page(browser, box)).text
    old = await refused(
        browser,
        clock={"mode": "manual", "start": "2020-01-01T00:00:00Z"},
        settings={"webhooks": {"sign_with": "sandbox_clock"}},
    )
    text = (await page(browser, old)).text
    assert "The signature that was sent does not verify: it was signed" in text
    assert RIGHT not in text
    assert "conclusion" not in (await page(browser, await refused(browser, 500))).html.source


async def test_an_attempt_is_judged_at_the_time_of_sending(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """That it would be too old now is no mistake, and only noted."""
    box = await refused(browser, 200)
    assert "too old" not in (await page(browser, box)).text
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 375_000_000_000)
    seen = await page(browser, box)

    assert "verifies When it was sent" in seen.text
    assert "If the same bytes were sent again now, they would be too old" in seen.text
    assert "stale" not in seen.text


async def test_the_newest_attempt_is_first(browser: Browser) -> None:
    """The line of a payment links to each attempt."""
    async with receiving(status(500)) as receiver:
        box = await browser.client.sandbox(notification_url=receiver.url)
        pay_in = await box.deposit()
        await box.advance(by="1m")
        text = (await page(browser, box)).text
        payment = await browser.open(f"{HOME}inspector/sandboxes/{box.id}/payments/{pay_in['id']}")

    assert text.index("Attempt 2 500") < text.index("Attempt 1 500")
    assert [link for link in payment.html.links if link.endswith("#attempt-2")]


async def test_a_faulted_signature_is_diagnosed(browser: Browser) -> None:
    """With the fault that fired beside it; the diagnosis is that of `signature check`."""
    async with receiving(status(401)) as receiver:
        box = await browser.client.sandbox(notification_url=receiver.url)
        fault: dict[str, Any] = {"on": "webhooks", "effect": {"type": "signature", "mode": "wrong_secret"}, "times": 1}
        assert (await box.control("POST", "/faults", fault)).status == 201
        await box.deposit()
        await box.advance(by="0s")
        wrong = await page(browser, box)
        fault = {"on": "webhooks", "effect": {"type": "signature", "mode": "missing"}}
        assert (await box.control("POST", "/faults", fault)).status == 201
        await box.advance(by="1m")
        missing = await page(browser, box)

    assert "⚡" in wrong.text
    assert "does not fit" in wrong.text
    assert "a fault fired: the receiver was right to refuse it" in wrong.text
    assert "the secret is likely another endpoint's" in wrong.text
    assert "The request carries no signature" in missing.text


async def test_what_can_be_done_is_offered(browser: Browser) -> None:
    """Resend makes another attempt, hold stops the next one, release sends it."""
    async with receiving(status(500)) as receiver:
        box = await browser.client.sandbox(notification_url=receiver.url)
        await box.deposit()
        await box.advance(by="0s")
        assert (await act(browser, box, "redeliver")).status == 200
        await box.advance(by="0s")
        assert "Attempt 2 500" in (await page(browser, box)).text
        held = await act(browser, box, "hold")
        assert "held" in held.text
        assert "Release" in held.text
        assert "Hold" not in held.text
        await act(browser, box, "release")
        await box.advance(by="0s")
        assert "Attempt 3" in (await page(browser, box)).text


async def test_what_cannot_be_done_is_refused(browser: Browser) -> None:
    """With the reason, and from no other site."""
    box = await browser.client.sandbox()
    await box.deposit()
    seen = await page(browser, box)

    assert "no URL" in seen.text
    assert "None was made. There was no URL to send it to." in seen.text
    assert not [value for _, name, value in seen.html.attributes if name == "action"]
    assert (await act(browser, box, "release")).status == 409
    foreign = await browser.send(f"{seen.url}/hold", {}, headers={"Sec-Fetch-Site": "cross-site"})
    assert foreign.status == 403


async def test_bytes_can_be_saved_whole(browser: Browser) -> None:
    """What was sent, what came back, and the event itself."""
    async with receiving(raw(ANSWER)) as receiver:
        box = await browser.client.sandbox(notification_url=receiver.url)
        await box.deposit()
        await box.advance(by="0s")
        (delivery,) = await box.deliveries()
        (event,) = (await box.get("/events"))["items"]
        base = f"{browser.origin}{HOME}inspector/sandboxes/{box.id}/deliveries/{delivery['id']}"
        for path, content in (("event", None), ("attempts/1/sent", None), ("attempts/1/answer", b"busy")):
            async with browser.client.session.get(f"{base}/{path}") as saved:
                assert saved.status == 200
                assert await saved.read() == (event["body"].encode() if content is None else content)
        for path in ("attempts/2/sent", "attempts/x/answer"):
            async with browser.client.session.get(f"{base}/{path}") as missing:
                assert missing.status == 404


async def test_an_attempt_without_its_bytes_says_so(browser: Browser) -> None:
    """The journals keep a limited number of bytes."""
    async with receiving(raw(ANSWER)) as receiver:
        box = await browser.client.sandbox(notification_url=receiver.url)
        fault = {"on": "webhooks", "effect": {"type": "signature", "mode": "wrong_body"}, "times": 1}
        await box.control("POST", "/faults", fault)
        await box.deposit()
        await box.advance(by="0s")
        kept = browser.client.server.host.registry.get(box.id)
        (delivery,) = kept.outbox.deliveries.values()
        for attempt in delivery.attempts:
            attempt.strip(delivery.event)
            attempt.body = b""
        seen = await page(browser, box)

    assert "no room for the signed bytes" in seen.text


async def test_an_attempt_in_flight_has_no_answer_yet(browser: Browser) -> None:
    """And the copies of an event have pages of their own."""
    async with receiving(status(500)) as receiver:
        box = await browser.client.sandbox(notification_url=receiver.url)
        fault = {"on": "webhooks", "effect": {"type": "duplicate", "copies": 1}, "times": 1}
        await box.control("POST", "/faults", fault)
        await box.deposit()
        await box.advance(by="0s")
        kept = browser.client.server.host.registry.get(box.id)
        first, *_ = kept.outbox.deliveries.values()
        first.attempts[0].outcome = None
        assert "There is no answer yet." in (await page(browser, box)).text
        assert "(copy 1)" in (await page(browser, box, 1)).text
