"""The inspector in a real browser: what its scripts and styles do."""

from __future__ import annotations

from urllib.parse import quote

import chromium
import pytest
from chromium import Theme, Window
from playwright.async_api import Browser, expect
from ports import free_port
from receivers import receiving, status
from servers import Box, Client, running

from paydouble.server import ServerOptions
from paydouble.web.inspector import inbox

HOSTILE = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
HIDE = """hidden => {
  Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}"""

FIRST_EVENT = """url => new Promise((done, fail) => {
  const source = new EventSource(url);
  source.addEventListener('open', event => { if (event.data) { source.close(); done(JSON.parse(event.data).run); } });
  source.addEventListener('error', fail);
})"""


def home(client: Client, query: str = "") -> str:
    """Return the URL of the inbox."""
    return f"http://127.0.0.1:{client.server.port}/_paydouble/{query}"


def page_of(box: Box, pay_in: str) -> str:
    """Return the URL of the page of a payment."""
    return f"http://127.0.0.1:{box.client.server.port}/_paydouble/inspector/sandboxes/{box.id}/payments/{pay_in}"


async def live(window: Window, url: str) -> None:
    """Open a page, and wait until it follows what happens."""
    await window.page.goto(url)
    await window.says("#live", "Live")


async def traffic(client: Client) -> tuple[Box, str]:
    """Make a payment with everything on it, and every kind of row; returns the payment."""
    async with receiving(status(500), status(200)) as receiver:
        box = await client.sandbox(id="shop-tests", notification_url=receiver.url)
        fault = {"on": "api", "effect": {"type": "latency", "fixed": "1ms"}, "times": 1}
        assert (await box.control("POST", "/faults", fault)).status == 201
        pay_in = await box.deposit(external_identifier="order-17")
        await box.advance(by="1h")
        await box.control("POST", f"/pay-ins/{pay_in['id']}/disputes", {"amount": 20})
        await box.deposit(external_identifier="order-18")
        await box.api("POST", "/pay-in/deposit-creation", {"amount": -1})
        await client.call("GET", "/api/v1/pay-in", headers={"Authorization": "Basic YTpi"})
    return box, pay_in["id"]


async def test_a_deposit_appears_without_a_reload(client: Client, window: Window) -> None:
    """The row comes by itself, changes with its payment, and goes with its sandbox."""
    box = await client.sandbox()
    await live(window, home(client))
    await window.says(".empty", "Nothing has arrived yet")
    pay_in = await box.deposit(external_identifier="order-17")
    await window.says("tbody tr", "order-17")
    await box.control("POST", f"/pay-ins/{pay_in['id']}/transition", {"to": "failed"})
    await window.says("tbody tr .status", "failed")
    await box.deposit(external_identifier="order-18")
    await window.says("tbody tr:first-child", "order-18")
    await box.control("DELETE")
    await window.says(".empty", "Nothing has arrived yet")


async def test_the_whole_row_opens_its_payment(client: Client, window: Window) -> None:
    """With the mouse anywhere in it, in a new tab with the middle button; a selected text is left alone."""
    box = await client.sandbox()
    await box.deposit(external_identifier="order-17")
    await live(window, home(client))
    amount = window.page.locator("tbody .amount")
    async with window.page.context.expect_page() as opened:
        await amount.click(button="middle")
    assert "/payments/" in (await opened.value).url
    await window.page.evaluate("getSelection().selectAllChildren(document.querySelector('tbody .sandbox'))")
    assert await amount.evaluate("each => { each.click(); return location.pathname; }") == "/_paydouble/"
    await window.page.evaluate("getSelection().removeAllRanges()")
    await amount.click()
    await window.page.wait_for_url("**/payments/**")
    await window.page.go_back()
    assert await window.page.locator("tbody a, tbody button").count() == 1


async def test_a_filter_survives_a_reload(client: Client, window: Window) -> None:
    """It is in the address, so a bookmark of it works too."""
    box = await client.sandbox()
    for name in ("apple", "pear"):
        await box.deposit(external_identifier=name)
    await live(window, home(client))
    await window.page.fill("#q", "PEAR")
    await window.page.press("#q", "Enter")
    await window.page.wait_for_url("**/?q=PEAR*")
    await window.page.get_by_role("link", name="Waiting").click()
    await window.page.wait_for_url("**show=waiting*")
    await window.page.select_option("#sandbox", box.id)
    await window.page.wait_for_url(f"**sandbox={box.id}*")
    await window.page.reload()

    assert await window.page.locator("tbody tr").count() == 1
    assert await window.page.input_value("#q") == "PEAR"
    await window.says("#live", "Live")
    await box.deposit(external_identifier="apple-2")
    await box.deposit(external_identifier="pear-2")
    await window.says("tbody tr:first-child", "pear-2")
    assert await window.page.locator("tbody tr").count() == 2


async def test_a_paused_list_counts_what_is_new(client: Client, window: Window) -> None:
    """It stands still until somebody goes on."""
    box = await client.sandbox()
    await live(window, home(client))
    await window.page.click("#pause")
    for number in range(3):
        await box.deposit(external_identifier=f"order-{number}")
    await window.says("#pause", "Resume · 3 new")
    assert await window.page.locator("tbody tr").count() == 0
    await window.page.keyboard.press("p")
    await window.says("tbody tr:first-child", "order-2")
    assert await window.page.locator("tbody tr").count() == 3
    await window.says("#pause", "Pause")


async def test_a_paused_list_keeps_no_more_than_it_shows(
    client: Client, window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest rows, and not their history; a sandbox that is deleted in the meantime leaves none."""
    monkeypatch.setattr(inbox, "MOST_ROWS", 5)
    box, other = await client.sandbox(), await client.sandbox()
    await box.deposit(external_identifier="before")
    await live(window, home(client))
    await window.page.click("#pause")
    for number in range(8):
        await other.deposit(external_identifier=f"other-{number}")
    await window.says("#pause", "Resume · 5 new")
    await other.control("DELETE")
    pay_ins = [await box.deposit(external_identifier=f"order-{number}") for number in range(4)]
    await window.says("#pause", "Resume · 4 new")
    await box.control("POST", f"/pay-ins/{pay_ins[0]['id']}/transition", {"to": "failed"})
    await box.deposit(external_identifier="order-4")
    await window.says("#pause", "Resume · 5 new")
    await window.page.click("#pause")
    await window.says("tbody tr:first-child", "order-4")
    await window.says("tbody tr:last-child", "order-0")
    await window.says("tbody tr:last-child .status", "failed")
    assert await window.page.locator("tbody tr").count() == 5


async def test_a_hidden_tab_follows_nothing(client: Client, window: Window) -> None:
    """Its stream is closed, and what happened meanwhile comes when somebody looks again."""
    box = await client.sandbox()
    await live(window, home(client))
    async with window.page.expect_event("requestfailed", lambda request: "stream" in request.url):
        await window.page.evaluate(HIDE, True)
    await box.deposit(external_identifier="order-17")
    assert await window.page.locator("tbody tr").count() == 0
    await window.page.evaluate(HIDE, False)
    await window.says("tbody tr", "order-17")


async def test_the_list_goes_on_after_a_restart(window: Window) -> None:
    """The page connects again by itself, and says that the old server's payments are gone."""
    port = free_port()
    async with running(ServerOptions(port=port)) as client:
        await (await client.sandbox()).deposit(external_identifier="before")
        await live(window, home(client))
        await window.says("tbody tr", "before")
    await window.says("#live", "trying again")
    async with running(ServerOptions(port=port)) as client:
        await (await client.sandbox()).deposit(external_identifier="after")
        await window.says("tbody tr", "after")
        await window.says("#notice", "The server was started again")
        assert await window.page.locator("tbody tr").count() == 1


async def test_sending_again_shows_the_second_attempt(client: Client, window: Window) -> None:
    """By keyboard alone, and without losing what is open on the page."""
    async with receiving(status(500)) as receiver:
        box = await client.sandbox(notification_url=receiver.url)
        pay_in = await box.deposit()
        await box.advance(by="0s")
        await live(window, page_of(box, pay_in["id"]))
        await window.page.locator("summary", has_text="Event body").first.press("Enter")
        await window.page.get_by_role("button", name="Send now").press("Enter")
        await window.says(".line .title", "attempt 2")
        assert await window.page.locator("details[open]").count() == 1
        await window.page.get_by_role("button", name="Hold").press("Enter")
        await window.says(".delivery .status", "held")
        await window.page.get_by_role("button", name="Release").press("Enter")
        await window.says(".line .title", "attempt 3")


async def test_what_is_refused_is_said_on_the_page(client: Client, window: Window) -> None:
    """With script too, which replaces a part of the page."""
    box = await client.sandbox()
    pay_in = await box.deposit()
    await live(window, page_of(box, pay_in["id"]))
    await window.page.get_by_text("Change this payment").click()
    await window.page.select_option("#to", "succeeded")
    await window.page.get_by_role("button", name="Move").click()
    await window.says("#problem", "Tick the box to do it all the same.")
    await window.page.check("input[name=force]")
    await window.page.get_by_role("button", name="Move").click()
    await window.says(".sum .status", "succeeded")
    assert await window.page.locator("#problem").count() == 0


async def test_a_payment_follows_what_happens(client: Client, window: Window) -> None:
    """New lines come by themselves."""
    box = await client.sandbox()
    pay_in = await box.deposit()
    await live(window, page_of(box, pay_in["id"]))
    await box.advance(by="1h")
    await window.says(".line .title", "pay-in.succeeded")
    await box.control("DELETE")
    await window.says("#live", "not on the server any more")


async def test_everything_works_by_keyboard(client: Client, window: Window) -> None:
    """`/` searches, `j` and `k` move, Enter opens, `h` goes back, `?` shows the keys."""
    box = await client.sandbox()
    for name in ("apple", "pear"):
        await box.deposit(external_identifier=name)
    await live(window, home(client))
    keys = window.page.keyboard
    seen = []
    for key in "jjjk":
        await keys.press(key)
        seen.append(await window.focused())
    assert seen == ["pear", "apple", "apple", "pear"]
    await keys.press("Enter")
    await window.page.wait_for_url("**/payments/**")
    await window.says("h1", "pear")
    await keys.press("h")
    await window.page.wait_for_url(home(client))
    await keys.press("?")
    await window.says("dialog", "Next row, previous row")
    await keys.press("j")
    await keys.press("Escape")
    await keys.press("/")
    await keys.type("apple j?")
    assert await window.page.input_value("#q") == "apple j?"
    await window.page.goto(home(client))
    await keys.press("Tab")
    assert await window.focused() == "Skip to the content"
    await keys.press("Enter")
    await keys.press("Tab")
    assert await window.page.evaluate("document.activeElement.id") == "q"


async def test_hostile_text_stays_text(client: Client, window: Window) -> None:
    """Also where a script puts it into the page."""
    box = await client.sandbox()
    await live(window, home(client, f"?q={quote('<script>')}"))
    pay_in = await box.deposit(external_identifier=HOSTILE, metadata={"note": HOSTILE})
    await client.call("POST", f"/api/v1/{quote(HOSTILE, safe='')}", {"note": HOSTILE})
    await window.says("tbody tr", "<script>")
    await live(window, page_of(box, pay_in["id"]))
    await box.control("POST", f"/pay-ins/{pay_in['id']}/transition", {"to": "failed"})
    await window.says(".line .title", "pay-in.failed")

    assert await window.page.locator("main script, main img").count() == 0
    assert await window.page.title() != "taken"


async def test_the_login_leads_on(browser: Browser) -> None:
    """With the token a browser sees the page that it asked for and follows the stream, and a logout ends that."""
    async with running(ServerOptions(port=0, control_token="t0ken")) as client, chromium.window(browser) as window:
        await window.page.goto(home(client, "?show=failed"))
        await window.page.fill("#token", "wrong")
        await window.page.press("#token", "Enter")
        await window.says(".problem", "not the control token")
        await window.page.fill("#token", "t0ken")
        await window.page.press("#token", "Enter")
        await window.page.wait_for_url(home(client, "?show=failed"))
        await window.says("#live", "Live")
        assert await window.page.evaluate(FIRST_EVENT, "/_paydouble/stream") == client.server.host.everything.run
        await window.page.get_by_role("button", name="Log out").click()
        await window.says("h1", "Log in")


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.long)])
async def test_no_page_has_a_barrier(client: Client, browser: Browser, theme: Theme) -> None:
    """axe-core finds nothing on any page, in either theme, wide and narrow, with everything open."""
    box, pay_in = await traffic(client)
    pages = [home(client), home(client, "?q=nothing"), page_of(box, pay_in), home(client, "inspector/nothing")]
    for width in (1280, 320):
        async with chromium.window(browser, theme=theme, width=width) as window:
            for url in pages:
                await window.page.goto(url)
                await window.page.evaluate(
                    "document.querySelectorAll('details').forEach(each => { each.open = true; })"
                )
                assert await window.barriers() == [], url
            await window.page.goto(home(client))
            await window.page.keyboard.press("?")
            assert await window.barriers() == []


async def test_a_page_takes_the_rows_of_a_burst(client: Client, window: Window) -> None:
    """The newest five hundred are on the page, and it can still be used."""
    box = await client.sandbox()
    await live(window, home(client))
    for number in range(520):
        await box.deposit(external_identifier=f"order-{number}")
    await window.says("tbody tr:first-child", "order-519")
    # Not `wait_for_function`, which evaluates a text again and again: the page's policy forbids that.
    await expect(window.page.locator("tbody tr")).to_have_count(500, timeout=120_000)
    await window.page.keyboard.press("j")
    assert await window.focused() == "order-519"
