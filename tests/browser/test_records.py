"""The pages of requests, deliveries and signatures in a real browser, and the file of a payment."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import chromium
import pytest
from chromium import Theme, Window
from drive import deposit_body, key
from playwright.async_api import Browser
from receivers import raw, receiving, status
from servers import Box, Client

ANSWER = b"HTTP/1.1 503 Busy\r\nX-Worker: seven\r\nContent-Length: 4\r\n\r\nbusy"

STYLE = "each => [getComputedStyle(each).borderRadius, getComputedStyle(each).backgroundColor]"


async def lost_and_retried(client: Client, url: str) -> Box:
    """Lose the reply to a deposit, try again with another body, and let the webhooks fail."""
    box = await client.sandbox(notification_url=url)
    fault = {"effect": {"type": "connection_reset"}, "phase": "after_commit", "times": 1}
    assert (await box.control("POST", "/faults", fault)).status == 201
    signed = {"on": "webhooks", "effect": {"type": "signature", "mode": "wrong_secret"}, "times": 1}
    assert (await box.control("POST", "/faults", signed)).status == 201
    headers = {**box.credentials, "Idempotency-Key": key(7)}
    body = deposit_body(external_identifier="order-17")
    address = f"http://127.0.0.1:{client.server.port}/api/v1/pay-in/deposit-creation"
    with pytest.raises(aiohttp.ClientError):
        # A new session: a connection that was used before would be tried again by itself.
        async with aiohttp.ClientSession() as session, session.post(address, json=body, headers=headers):
            pass
    await client.call("POST", "/api/v1/pay-in/deposit-creation", {**body, "amount": 59.9}, headers=headers)
    await box.advance(by="30s")
    return box


async def pages(box: Box) -> list[str]:
    """Return the URLs of the pages of this module."""
    origin = f"http://127.0.0.1:{box.client.server.port}/_paydouble"
    own = f"{origin}/inspector/sandboxes/{box.id}"
    requests = (await box.get("/requests"))["items"]
    (pay_in,) = (await box.get("/pay-ins"))["items"]
    return [
        *(f"{own}/requests/{each['id']}" for each in requests),
        *(f"{own}/deliveries/{each['id']}" for each in (await box.deliveries())[:2]),
        f"{origin}/inspector/signature",
        f"{origin}/sandboxes/{box.id}/pay-ins/{pay_in['id']}/timeline.html",
    ]


async def open_all(window: Window, url: str) -> None:
    """Open a page with everything that can be unfolded on it."""
    await window.page.goto(url)
    await window.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.long)])
async def test_no_page_has_a_barrier(client: Client, browser: Browser, theme: Theme) -> None:
    """axe-core finds nothing, wide and narrow, with everything open; and no page is wider than its window."""
    async with receiving(raw(ANSWER), status(200)) as receiver:
        box = await lost_and_retried(client, receiver.url)
        for width in (320, 800, 1600):
            async with chromium.window(browser, theme=theme, width=width) as window:
                for url in await pages(box):
                    await open_all(window, url)
                    assert await window.width() == width, url
                    # The file allows no script, so axe-core cannot run in it; its parts are on the other pages.
                    if not url.endswith(".html"):
                        assert await window.barriers() == [], url


async def test_from_a_payment_to_the_cause(client: Client, window: Window) -> None:
    """A person goes from the inbox to the refused retry, and reads what differs."""
    async with receiving(raw(ANSWER)) as receiver:
        box = await lost_and_retried(client, receiver.url)
        await window.page.goto(f"http://127.0.0.1:{client.server.port}/_paydouble/")
        await window.page.get_by_role("link", name="order-17").click()
        await window.says(".line .request", "reply lost")
        await window.page.locator(".line .request", has_text="deposit-creation 409").locator("strong a").click()
        await window.says("h2", "What differs from the earlier request")
        await window.says(".differences", "59.9")
        await window.page.get_by_role("link", name="order-17").first.click()
        await window.page.locator(".line .attempt a").first.click()
        await window.says(".record", "X-Worker")
        await window.page.get_by_role("button", name="Send now").press("Enter")
        await window.says(".record h3", "Attempt 2")
    assert len((await box.deliveries())[0]["attempts"]) == 2


async def test_the_doctor_takes_what_was_pasted(client: Client, window: Window) -> None:
    """A body with line ends verifies, though a browser sends them as CRLF."""
    from paydouble.webhooks.signing import sign

    body = '\n{\n  "a": 1\n}\n'
    await window.page.goto(f"http://127.0.0.1:{client.server.port}/_paydouble/inspector/signature")
    await window.page.fill("#header", sign(body, "whsec_x", 1_767_225_600))
    await window.page.fill("#body", body)
    await window.page.fill("#secret", "whsec_x")
    await window.page.fill("#time", "1767225600")
    await window.page.get_by_role("button", name="Check").click()
    await window.says(".result", "The signature verifies")
    assert await window.page.input_value("#body") == body
    assert await window.page.input_value("#secret") == "whsec_x"
    await window.page.fill("#time", "yesterday")
    await window.page.get_by_role("button", name="Check").click()
    await window.says("#result", "The time cannot be read")
    assert await window.page.input_value("#secret") == "whsec_x"


async def test_from_a_refused_signature_to_the_shops_secret(client: Client, window: Window) -> None:
    """The link of the attempt fills the doctor's form; the shop's secret turns out to be another sandbox's."""
    async with receiving(status(401)) as receiver:
        box = await client.sandbox(id="right", notification_url=receiver.url)
        await client.sandbox(id="other", webhook_secret="whsec_of_another")
        await box.deposit()
        await box.advance(by="0s")
    (delivery,) = await box.deliveries()
    origin = f"http://127.0.0.1:{client.server.port}"
    await window.page.goto(f"{origin}/_paydouble/inspector/sandboxes/right/deliveries/{delivery['id']}")
    await window.says(".conclusion", "The signature that was sent is right")
    await window.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=origin)
    await window.page.get_by_role("button", name="Copy Sent body, as it was sent").click()
    await window.says("button.copy", "copied")
    assert await window.page.evaluate("navigator.clipboard.readText()") == delivery["attempts"][0]["body"]
    await window.page.get_by_role("link", name="Check in the signature doctor").click()
    await window.says("h1", "Signature doctor")
    await window.page.keyboard.type("whsec_of_another")
    await window.page.keyboard.press("Enter")
    await window.says("#result", "The secret is that of sandbox 'other'")
    await window.page.fill("#secret", box.document["webhook_secret"])
    await window.page.keyboard.press("Enter")
    await window.says("#result", "The signature verifies")


async def test_the_file_opens_without_a_server(client: Client, window: Window, tmp_path: Path) -> None:
    """It has its style, and asks for nothing."""
    async with receiving(status(500)) as receiver:
        box = await lost_and_retried(client, receiver.url)
        async with client.session.get((await pages(box))[-1]) as response:
            source = await response.text()
    file = tmp_path / "order-17.html"
    file.write_text(source, "utf-8")
    asked: list[str] = []
    window.page.on("request", lambda request: asked.append(request.url))
    await window.page.goto(file.as_uri())

    await window.says("h1", "order-17")
    radius, background = await window.page.locator(".status").first.evaluate(STYLE)
    assert radius == "3px"
    assert background != "rgba(0, 0, 0, 0)"
    await window.page.locator("summary", has_text="Headers and bodies").first.click()
    await window.says(".line details[open] pre", "external_identifier")
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
