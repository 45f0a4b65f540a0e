"""Every action of every page by keyboard alone. A button that no test presses fails the test of its page by name."""

from __future__ import annotations

import asyncio
from itertools import chain

import chromium
import pytest
from chromium import Window
from keyboard import Keyboard, buttons
from playwright.async_api import Browser, expect
from receivers import receiving, status
from servers import Box, Client, running

from paydouble.server import ServerOptions
from paydouble.web.inspector import advances
from paydouble.webhooks.signing import sign

FILES = {
    "inbox": ["inbox.html"],
    "login": ["login.html", "base.html"],
    "payment": ["payment.html", "payment_copies.html", "line_event.html", "parts.html"],
    "delivery": ["delivery.html"],
    "sandboxes": ["sandboxes.html"],
    "sandbox": ["sandbox.html", "fault.html"],
    "clock": ["clock.html"],
    "scenarios": ["scenarios.html", "scenario.html"],
    "doctor": ["doctor.html"],
    "payer": ["payer.py"],
}
"""The pages, and where their buttons are written."""


@pytest.fixture
def keyboard(window: Window) -> Keyboard:
    """Return the keyboard of the window."""
    return Keyboard(window)


def url(client: Client, *segments: str) -> str:
    """Return the URL of a page of the inspector; without segments that of the inbox."""
    below = f"inspector/{'/'.join(segments)}" if segments else ""
    return f"http://127.0.0.1:{client.server.port}/_paydouble/{below}"


def test_each_page_with_a_button_has_a_test() -> None:
    """The files in which buttons are written are those whose buttons the tests below count."""
    assert sorted(chain.from_iterable(FILES.values())) == sorted(buttons())


async def test_the_inbox(client: Client, keyboard: Keyboard) -> None:
    """Search, pause and go on, open the list of keys and close it; a chip and a list are chosen too."""
    page, says = keyboard.page, keyboard.window.says
    box = await client.sandbox(id="shop")
    for name in ("apple", "pear"):
        await box.deposit(external_identifier=name)
    await page.goto(url(client))
    await says("#live", "Live")
    await keyboard.press("inbox.html", "Pause", key="Space")
    await expect(page.locator("#pause")).to_have_attribute("aria-pressed", "true")
    await page.keyboard.press("Space")
    await expect(page.locator("#pause")).to_have_attribute("aria-pressed", "false")
    await page.goto(url(client))
    await keyboard.press("base.html", "Shortcuts")
    await says("dialog", "Next row, previous row")
    await keyboard.press("base.html", "Close")
    await expect(page.locator("dialog")).to_be_hidden()
    await keyboard.write("#q", "pear")
    await keyboard.press("inbox.html", "Search")
    await page.wait_for_url("**/?q=pear*")
    await expect(page.locator("tbody tr")).to_have_count(1)
    await keyboard.choose("#sandbox", "shop")
    await page.wait_for_url("**sandbox=shop*")
    await keyboard.reach(page.get_by_role("link", name="Waiting"))
    await page.keyboard.press("Enter")
    await page.wait_for_url("**show=waiting*")
    await keyboard.reach(page.get_by_role("link", name="pear"))
    await page.keyboard.press("Enter")
    await says("h1", "pear")

    assert keyboard.left(*FILES["inbox"]) == []


async def test_the_login(browser: Browser) -> None:
    """Log in, and log out."""
    async with running(ServerOptions(port=0, control_token="t0ken")) as client, chromium.window(browser) as window:
        keyboard = Keyboard(window)
        await window.page.goto(url(client))
        await keyboard.write("#token", "t0ken")
        await keyboard.press("login.html", "Log in")
        await window.says("#live", "Live")
        await keyboard.press("base.html", "Shortcuts")
        await keyboard.press("base.html", "Close")
        await keyboard.press("base.html", "Log out")
        await window.says("h1", "Log in")

        assert keyboard.left(*FILES["login"]) == []


async def test_a_payment(client: Client, keyboard: Keyboard) -> None:
    """Force a state, refund, open a dispute, send a delivery, copy an id and a request."""
    page, says = keyboard.page, keyboard.window.says
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    async with receiving(status(500)) as receiver:
        box = await client.sandbox(notification_url=receiver.url)
        pay_in = await box.deposit()
        await box.advance(by="0s")
        await page.goto(url(client, "sandboxes", box.id, "payments", pay_in["id"]))
        await says("#live", "Live")
        await keyboard.press("parts.html", "copy")
        await says("button.copy", "copied")
        assert await page.evaluate("navigator.clipboard.readText()") == pay_in["id"]
        await keyboard.open("Copy as curl")
        button = page.locator("button[data-from=copy-curl]")
        await keyboard.press("payment_copies.html", "copy", target=button)
        await expect(button).to_have_text("copied")
        assert "curl" in await page.evaluate("navigator.clipboard.readText()")
        await keyboard.press("line_event.html", "…", shown="Send now")
        await says(".line .title", "attempt 2")
        await keyboard.open("Change this payment")
        await keyboard.choose("#to", "succeeded")
        await keyboard.reach(page.locator("input[name=force]"))
        await page.keyboard.press("Space")
        await keyboard.press("payment.html", "Move")
        await says(".sum .status", "succeeded")
        await keyboard.write("#refund", "5")
        await keyboard.press("payment.html", "Refund")
        await says(".related", "Refund")
        await keyboard.write("#dispute", "7")
        await keyboard.write("#reason", "fraudulent")
        await keyboard.press("payment.html", "Open")
        await says(".related", "Dispute")

    assert keyboard.left(*FILES["payment"]) == []


async def test_a_delivery(client: Client, keyboard: Keyboard) -> None:
    """Hold, release and send it again; the focus stays where it was."""
    page, says = keyboard.page, keyboard.window.says
    async with receiving(status(500)) as receiver:
        box = await client.sandbox(notification_url=receiver.url)
        await box.deposit()
        await box.advance(by="0s")
        (delivery,) = await box.deliveries()
        await page.goto(url(client, "sandboxes", box.id, "deliveries", delivery["id"]))
        await keyboard.press("delivery.html", "…", shown="Hold")
        await says(".sum .status", "held")
        await keyboard.press("delivery.html", "…", shown="Release")
        await says(".record h3", "Attempt 2")
        await keyboard.press("delivery.html", "…", shown="Send now", key="Space")
        await says(".record h3", "Attempt 3")

    assert keyboard.left(*FILES["delivery"]) == []


async def test_the_sandboxes(client: Client, keyboard: Keyboard) -> None:
    """Make one, and search for it."""
    page, says = keyboard.page, keyboard.window.says
    await client.sandbox(id="other")
    await page.goto(url(client, "sandboxes"))
    await keyboard.open("New sandbox")
    await keyboard.write("#new-id", "shop")
    await keyboard.choose("#new-clock", "manual")
    await keyboard.press("sandboxes.html", "Make it")
    await says("h1", "shop")
    await page.goto(url(client, "sandboxes"))
    await keyboard.write("#q", "shop")
    await keyboard.press("sandboxes.html", "Search")
    await page.wait_for_url("**?q=shop*")
    await expect(page.locator("tbody tr")).to_have_count(1)

    assert keyboard.left(*FILES["sandboxes"]) == []


async def test_a_sandbox(client: Client, keyboard: Keyboard) -> None:
    """Everything that its page changes, and its deletion at the end."""
    page, says = keyboard.page, keyboard.window.says
    box = await client.sandbox(id="shop", notification_url="http://127.0.0.1:9/")
    await box.deposit()
    file = "sandbox.html"
    await page.goto(url(client, "sandboxes", box.id))
    await keyboard.open("Replace the clock")
    await keyboard.choose("[name='clock.mode']", "auto")
    await keyboard.press(file, "Replace")
    await says("#clock", "auto")
    await keyboard.choose("#scenario", "card-declined")
    await keyboard.press(file, "Set")
    await says("section", "Every new payment plays card-declined")
    await keyboard.write("#target", "http://127.0.0.1:10/hook")
    await keyboard.press(file, "Change the target")
    await says(".done", "Events go to the new target.")
    assert (await box.get("/webhook"))["notification_url"] == "http://127.0.0.1:10/hook"
    await keyboard.choose("#sample", "dispute.created")
    await keyboard.press(file, "Send")
    await says(".done", "dispute.created")
    await _secrets(box, keyboard)
    await keyboard.open("Set a rate limit")
    await keyboard.write("[name='quota.limit']", "50")
    await keyboard.write("[name='quota.window']", "1m")
    await keyboard.press(file, "Set the limit")
    await says("section", "50 requests each 1m")
    await keyboard.press(file, "Remove the limit")
    await says("section", "There is none.")
    await _faults(box, keyboard)
    await keyboard.reach(page.locator("[name='scope.clock']"))
    await page.keyboard.press("Space")
    await keyboard.press(file, "Reset what is ticked")
    await says(".sum", "0 payments")
    await keyboard.open("Delete this sandbox")
    await keyboard.press(file, "Delete …", shown="Delete shop")
    await says("h1", "Sandboxes")
    assert (await client.control("GET", "/sandboxes/shop")).status == 404

    assert keyboard.left(*FILES["sandbox"]) == []


async def _secrets(box: Box, keyboard: Keyboard) -> None:
    """Make a new webhook secret, then give one."""
    before = (await box.get("/webhook"))["secret"]
    await keyboard.open("New secret")
    await keyboard.write("#grace", "24h")
    await keyboard.press("sandbox.html", "Make a new secret")
    await keyboard.window.says(".done", "secret")
    made = (await box.get("/webhook"))["secret"]
    await keyboard.open("New secret")
    await keyboard.write("#secret", "whsec_ours")
    await keyboard.press("sandbox.html", "Replace the secret")
    await keyboard.window.says(".done", "secret")
    assert made != before
    assert (await box.get("/webhook"))["secret"] == "whsec_ours"


async def _faults(box: Box, keyboard: Keyboard) -> None:
    """Add a fault, pause and remove it, then remove all of two."""
    page, says = keyboard.page, keyboard.window.says
    await keyboard.choose("#effect", "html_error", "api.html_error")
    await keyboard.press("sandbox.html", "Continue")
    await says("h1", "Add the fault html_error")
    await keyboard.write("[name='match.operation']", "deposit-creation")
    await keyboard.press("fault.html", "Add the fault")
    await says(".faults", "html_error, operation: deposit-creation")
    await keyboard.press("sandbox.html", "…", shown="Pause")
    await says(".faults .status", "paused")
    await keyboard.press("sandbox.html", "Remove")
    await expect(page.locator(".faults")).to_have_count(0)
    for _ in range(2):
        await box.control("POST", "/faults", {"effect": {"type": "connection_reset"}})
    await page.reload()
    await keyboard.press("sandbox.html", "Remove all faults")
    await expect(page.locator(".faults")).to_have_count(0)


async def test_a_clock(client: Client, keyboard: Keyboard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Move it by a step, by a duration and until nothing is left, and stop an advance while the page shows its way."""
    page, says = keyboard.page, keyboard.window.says
    stopped = asyncio.Event()
    step = advances.Advance._step  # noqa: SLF001 - the steps of this test wait

    async def slow(*given: object) -> bool:
        moved: bool = await step(*given)  # type: ignore[arg-type]  # passed on as they are
        await stopped.wait()
        return moved

    box = await client.sandbox(id="shop")
    await page.goto(url(client, "sandboxes", box.id))
    await keyboard.press("clock.html", "…", shown="+1 h")
    await says(".last", "+1h")
    await keyboard.write("#by", "90s")
    await keyboard.press("clock.html", "Move")
    await says(".last", "+1m30s")
    await box.deposit()
    await keyboard.press("clock.html", "Until idle")
    await says(".counts", "pay-in.succeeded")
    await box.deposit(external_identifier="order-2")
    monkeypatch.setattr(advances.Advance, "_step", slow)
    monkeypatch.setattr(advances, "STEP_TIMERS", 1)
    monkeypatch.setattr(advances, "PATIENCE_SECONDS", 0.0)
    await keyboard.press("clock.html", "…", shown="+72 h")
    await says("#clock", "Moving by 72h")
    await keyboard.reach(page.get_by_role("button", name="Stop"))
    for _ in range(2):  # the second comes after the first was put into the page
        await page.wait_for_event("response", lambda answer: answer.url.endswith("/clock"))
    await expect(page.get_by_role("button", name="Stop")).to_be_focused()
    async with page.expect_response("**/clock/stop"):
        await keyboard.press("clock.html", "Stop")
    stopped.set()
    await says(".last", "It was stopped.")

    assert keyboard.left(*FILES["clock"]) == []


async def test_the_scenarios(client: Client, keyboard: Keyboard) -> None:
    """Search the library, open a scenario, let every payment play it, and play it."""
    page, says = keyboard.page, keyboard.window.says
    box = await client.sandbox(id="shop")
    await page.goto(url(client, "scenarios?sandbox=shop"))
    await keyboard.write("#q", "card-declined")
    await keyboard.press("scenarios.html", "Search")
    await page.wait_for_url("**q=card-declined*")
    await keyboard.reach(page.get_by_role("link", name="card-declined", exact=True))
    await page.keyboard.press("Enter")
    await says("h1", "card-declined")
    await keyboard.press(
        "scenario.html", "Let every new payment of … play it", shown="Let every new payment of shop play it"
    )
    await says("section", "Every new payment plays card-declined")
    await page.go_back()
    await keyboard.open("Members of the deposit")
    await keyboard.write("[name='deposit.external_identifier']", "order-17")
    await keyboard.press("scenario.html", "Play it")
    await says("h1", "order-17")
    assert [each["external_identifier"] for each in (await box.get("/pay-ins"))["items"]] == ["order-17"]

    assert keyboard.left(*FILES["scenarios"]) == []


async def test_the_doctor(client: Client, keyboard: Keyboard) -> None:
    """Write a header, a body and a secret, and read the result."""
    await keyboard.page.goto(url(client, "signature"))
    await keyboard.write("#header", sign("{}", "whsec_x", 1_767_225_600))
    await keyboard.write("#body", "{}")
    await keyboard.write("#secret", "whsec_x")
    await keyboard.write("#time", "1767225600")
    await keyboard.press("doctor.html", "Check")
    await keyboard.window.says(".result", "The signature verifies")

    assert keyboard.left(*FILES["doctor"]) == []


async def test_the_page_of_a_payer(client: Client, keyboard: Keyboard) -> None:
    """Pay, come back first, be declined with a code, and abandon."""
    box = await client.sandbox(scenario="payer-decides", clock="manual")

    async def ask(button: str, shown: str, state: str, code: str = "") -> None:
        pay_in = await box.deposit(external_identifier=button)
        await box.advance(by="1s")
        await keyboard.page.goto(pay_in["payment_url"])
        if code:
            await keyboard.choose("#code", code)
        await keyboard.press("payer.py", button, shown=shown)
        await keyboard.window.says("h1", "Payment of 49.90 EUR")
        await box.advance(by="1m")
        seen = await box.get(f"/pay-ins/{pay_in['id']}")
        assert seen["status"] == state
        assert not code or seen["failure"]["code"] == code

    await ask("Pay …", "Pay 49.90 EUR", "succeeded")
    await ask("Pay, and come back before the webhook", "", "succeeded")
    await ask("Decline", "", "failed", "insufficient_funds")
    await ask("Abandon", "", "cancelled")

    assert keyboard.left(*FILES["payer"]) == []
