"""The payer's page over real sockets, with a client that reads and sends its forms as a browser does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from bounds import AT_MOST_SECONDS
from hypothesis import given
from hypothesis import strategies as st
from servers import Box, Client, running

from paydouble.payments.declines import DECLINES
from paydouble.server import ServerOptions
from paydouble.testing import Receiver
from paydouble.web import payer
from paydouble.web.payer import Markup, markup

BACK = "https://shop.test/back?order=17"
HOSTILE = "</dd><script>alert(1)</script>\"'&{id}"


@dataclass
class Form:
    """One form of a page: its fields as a browser would send them, and the values of its select."""

    fields: dict[str, str] = field(default_factory=dict)
    button: str = ""
    options: list[str] = field(default_factory=list)


class Page(HTMLParser):
    """One page as a browser sees it."""

    def __init__(self, status: int, headers: Any, text: str, url: str) -> None:  # noqa: ANN401 - a multidict
        super().__init__()
        self.status, self.headers, self.source, self.url = status, headers, text, url
        self.forms: list[Form] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self._in_button = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note forms, their fields, and links."""
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self._in_button = tag == "button"
        match tag:
            case "form":
                assert given == {"method": "post"}
                self.forms.append(Form())
            case "input" | "button":
                self.forms[-1].fields[given["name"]] = given["value"]
            case "select":
                self.forms[-1].fields[given["name"]] = ""
            case "option":
                self.forms[-1].options.append(given["value"])
            case "a":
                self.links.append(given["href"])

    def handle_data(self, data: str) -> None:
        """Note the text."""
        self.text += data
        if self._in_button:
            self.forms[-1].button += data

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a button."""
        self._in_button = self._in_button and tag != "button"


@dataclass
class Browser:
    """Opens pages, and sends their forms with the headers of a browser."""

    client: Client
    headers: dict[str, str] = field(default_factory=dict)

    async def open(self, url: str) -> Page:
        """Open a page."""
        async with self.client.session.get(url, allow_redirects=False) as response:
            return Page(response.status, response.headers, await response.text(), url)

    async def press(self, page: Page, button: str, **changes: str) -> Page:
        """Press the button with this text; returns the answer, a redirect that is not followed."""
        (form,) = [form for form in page.forms if form.button == button]
        fields = {name: value or form.options[0] for name, value in form.fields.items()} | changes
        parts = urlsplit(page.url)
        headers = {"Origin": f"{parts.scheme}://{parts.netloc}", "Sec-Fetch-Site": "same-origin", **self.headers}
        async with self.client.session.post(page.url, data=fields, headers=headers, allow_redirects=False) as response:
            return Page(response.status, response.headers, await response.text(), page.url)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Give a client of a fresh server."""
    async with running() as started:
        yield started


async def opened(client: Client, scenario: str = "payer-decides", **members: Any) -> tuple[Box, Browser, Page]:  # noqa: ANN401
    """Return a sandbox on a manual clock, a browser, and the page of a new pay-in of the scenario."""
    box = await client.sandbox(scenario=scenario)
    browser = Browser(client)
    pay_in = await box.deposit(external_identifier="order-17", **members)
    return box, browser, await browser.open(pay_in["payment_url"])


async def statuses(box: Box) -> list[str]:
    """Return the statuses of the pay-ins."""
    return [each["status"] for each in (await box.get("/pay-ins"))["items"]]


async def test_the_page_shows_what_is_to_be_paid(client: Client) -> None:
    """Amount, order, the way back, a button for each action, and every failure code."""
    _, _, page = await opened(client, return_url=BACK)

    assert page.status == 200
    for shown in ("49.90 EUR", "order-17", BACK, "pending"):
        assert shown in page.text
    assert page.links == [BACK]
    assert [form.button for form in page.forms] == [
        *("Pay 49.90 EUR", "Pay, and come back before the webhook", "Decline", "Abandon")
    ]
    assert page.forms[2].options == list(DECLINES)


async def test_the_page_needs_no_script_and_loads_its_own_styles(client: Client) -> None:
    """The policy allows nothing from elsewhere, and no script or style inside the page."""
    _, browser, page = await opened(client)

    assert page.headers["Content-Security-Policy"].startswith("default-src 'self';")
    assert "unsafe" not in page.headers["Content-Security-Policy"]
    assert (page.headers["X-Content-Type-Options"], page.headers["Cache-Control"]) == ("nosniff", "no-store")
    assert {"script", "style"}.isdisjoint(page.tags)
    assert 'style="' not in page.source
    for name, holds in (("colours.css", "color-scheme: light dark"), ("payer.css", "var(--page)")):
        styles = await browser.open(urljoin(page.url, f"/_paydouble/docs/{name}"))
        assert holds in styles.source
        assert f'href="/_paydouble/docs/{name}"' in page.source


async def test_the_page_is_there_without_the_inspector() -> None:
    """With its styles and its buttons."""
    async with running(ServerOptions(port=0, inspector=False)) as client:
        box, browser, page = await opened(client)
        assert (await browser.open(urljoin(page.url, "/_paydouble/docs/colours.css"))).status == 200
        assert (await browser.press(page, "Abandon")).status == 303
        assert await statuses(box) == ["cancelled"]


async def test_every_field_has_a_label(client: Client) -> None:
    """So that a screen reader says what is chosen, and the title says what the page is for."""
    _, browser, page = await opened(client)
    done = await browser.press(page, "Abandon")
    after = await browser.open(urljoin(page.url, done.headers["Location"]))

    assert '<label for="code">' in page.source
    assert "<h1>Pay 49.90 EUR</h1>" in page.source
    assert "<h1>Payment of 49.90 EUR</h1>" in after.source


@pytest.mark.parametrize(
    ("button", "changes", "status", "code"),
    [
        ("Pay 49.90 EUR", {}, "succeeded", None),
        ("Pay, and come back before the webhook", {}, "succeeded", None),
        ("Decline", {}, "failed", "declined"),
        *(("Decline", {"code": code}, "failed", code) for code in list(DECLINES)[1:]),
        ("Abandon", {}, "cancelled", None),
    ],
)
async def test_each_button_does_what_it_says(
    client: Client, button: str, changes: dict[str, str], status: str, code: str | None
) -> None:
    """The browser is led back to the shop, and the pay-in moves as with a real provider."""
    box, browser, page = await opened(client, return_url=BACK)

    answer = await browser.press(page, button, **changes)
    await box.advance(by="1m")

    assert (answer.status, answer.headers["Location"]) == (303, BACK)
    assert await statuses(box) == [status]
    (pay_in,) = (await box.get("/pay-ins"))["items"]
    assert (pay_in.get("failure") or {}).get("code") == code


async def test_without_a_return_url_the_page_shows_the_result(client: Client) -> None:
    """The browser comes back to the page, which has no button any more; an action is then refused with 409."""
    box, browser, page = await opened(client)

    answer = await browser.press(page, "Abandon")
    after = await browser.open(urljoin(page.url, answer.headers["Location"]))
    late = await browser.press(page, "Pay 49.90 EUR")

    assert (answer.status, after.status, after.forms) == (303, 200, [])
    assert "The payment is cancelled. There is nothing left to do." in after.text
    assert (late.status, late.forms) == (409, [])
    assert "so the payer can do nothing any more" in late.text
    assert await statuses(box) == ["cancelled"]


async def test_a_challenge_comes_back_to_the_page(client: Client) -> None:
    """The page asks again with the prompt of the scenario, and only then leads to the shop."""
    box, browser, page = await opened(client, "challenge", return_url=BACK)

    first = await browser.press(page, "Pay 49.90 EUR")
    asked = await browser.open(urljoin(page.url, first.headers["Location"]))
    last = await browser.press(asked, "Pay 49.90 EUR")
    await box.advance(by="1m")

    assert [form.button for form in page.forms] == ["Pay 49.90 EUR", "Decline", "Abandon"]
    assert asked.url == page.url
    assert "Confirm the payment with your bank" in asked.text
    assert last.headers["Location"] == BACK
    assert await statuses(box) == ["succeeded"]


async def test_a_scenario_without_a_wait_shows_the_state_and_the_way_back(client: Client) -> None:
    """There is no button, an action is refused, and the script goes on."""
    box, browser, page = await opened(client, "happy-path", return_url=BACK)
    _, _, other = await opened(client)
    other.url = page.url

    refused = await browser.press(other, "Pay 49.90 EUR")
    await box.advance(until_idle=True)

    assert (page.status, page.forms, page.links) == (200, [], [BACK])
    assert "The scenario happy-path decides what happens to this payment" in page.text
    assert (refused.status, "does not wait for the payer now" in refused.text) == (409, True)
    assert await statuses(box) == ["succeeded"]


async def test_an_unknown_pay_in_has_a_page_that_says_so(client: Client) -> None:
    """404 for reading and for an action, whatever the id is."""
    browser = Browser(client)
    base = f"{client.server.base_url}/_paydouble/checkout/"

    for name in ("payin_x", "", "a/b", "%3Cscript%3Ealert(1)%3C/script%3E", "%ff"):
        page = await browser.open(base + name)
        assert page.status == 404
        assert "script" not in page.tags
    async with client.session.post(f"{base}payin_x", data={"action": "pay"}) as response:
        assert response.status == 404


async def test_hostile_texts_stay_texts(client: Client) -> None:
    """Whatever an order or a prompt contains is shown as it is."""
    box = await client.sandbox()
    steps = [{"await": "payer", "prompt": HOSTILE, "pay": []}]
    asks = {"name": "hostile", "summary": "Hostile.", "lifecycle": {"pay_in": steps}}
    assert (await box.control("POST", "/scenarios", asks)).status == 201
    await box.control("PUT", "/scenarios/active", {"name": "hostile"})
    back = "https://shop.test/b'ack?a=1&b=(2);c=%3Cscript%3E"
    pay_in = await box.deposit(external_identifier=HOSTILE, return_url=back)
    browser = Browser(client)

    page = await browser.open(pay_in["payment_url"])
    answer = await browser.press(page, "Pay 49.90 EUR")

    assert page.text.count(HOSTILE) == 3
    assert "script" not in page.tags
    assert page.links == [back]
    assert (answer.status, answer.headers["Location"]) == (303, back)
    assert [form.button for form in page.forms] == ["Pay 49.90 EUR", "Decline", "Abandon"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.test"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_a_form_of_another_site_is_refused(client: Client, headers: dict[str, str]) -> None:
    """403, and nothing happens."""
    box, browser, page = await opened(client)
    browser.headers = headers

    answer = await browser.press(page, "Pay 49.90 EUR")

    assert answer.status == 403
    await box.advance(by="1m")
    assert await statuses(box) == ["pending"]


async def test_a_foreign_host_gets_no_page(client: Client) -> None:
    """As with every control call, against DNS rebinding."""
    _, _, page = await opened(client)

    async with client.session.get(page.url, headers={"Host": "evil.test"}) as response:
        assert response.status == 403


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"action=refund", 400),
        (b"action=pay&code=expired_card", 400),
        (b"action=decline&code=" + b"x" * 65, 400),
        (b"action=pay&how=now", 400),
        (b"action=%ff", 400),
        (b"\xff\xfe", 400),
        (b"&".join(b"action=pay" for _ in range(9)), 400),
        (b"action=pay&x=" + b"x" * 5_000, 400),
        (b"action=abandon", 303),
    ],
)
async def test_a_form_that_does_not_fit_is_refused(client: Client, body: bytes, status: int) -> None:
    """400 with the page, and nothing happens; a client without an Origin is no browser, and may act."""
    box, _, page = await opened(client)

    async with client.session.post(page.url, data=body, allow_redirects=False) as response:
        assert (response.status, response.headers["Content-Security-Policy"][:18]) == (status, "default-src 'self'")

    assert await statuses(box) == ["pending" if status == 400 else "cancelled"]


async def test_other_methods_are_refused(client: Client) -> None:
    """405 names the two that are allowed."""
    _, _, page = await opened(client)

    async with client.session.put(page.url) as response:
        assert (response.status, response.headers["Allow"]) == (405, "GET, HEAD, POST")


async def test_the_page_needs_no_control_token() -> None:
    """A payer has none."""
    async with running(ServerOptions(port=0, control_token="secret")) as client:
        headers = {"Authorization": "Bearer secret"}
        made = await client.call(
            "POST", "/_paydouble/sandboxes", {"clock": "manual", "scenario": "payer-decides"}, headers=headers
        )
        box = Box(client, made.document)
        browser = Browser(client)
        pay_in = await box.deposit()
        answer = await browser.press(await browser.open(pay_in["payment_url"]), "Abandon")

        assert answer.status == 303
        assert (await box.api("GET", f"/pay-in/{pay_in['id']}")).document["data"]["status"] == "cancelled"


async def test_two_sandboxes_with_one_seed_are_told_apart(client: Client) -> None:
    """The page asks which one is meant, and stays with it."""
    boxes = [await client.sandbox(id=name, seed=7, scenario="payer-decides") for name in ("a", "b")]
    urls = [(await box.deposit())["payment_url"] for box in boxes]
    browser = Browser(client)

    choice = await browser.open(urls[0])
    page = await browser.open(urljoin(urls[0], choice.links[0]))
    answer = await browser.press(page, "Abandon")

    assert urls[0] == urls[1]
    assert (choice.status, len(choice.links), choice.forms) == (409, 2, [])
    assert urljoin(page.url, answer.headers["Location"]) == page.url
    assert [await statuses(box) for box in boxes] == [["cancelled"], ["pending"]]
    assert (await browser.open(f"{urls[0]}?sandbox=c")).status == 404


@pytest.mark.parametrize(
    ("button", "clock", "arrived"),
    [
        ("Pay 49.90 EUR", {"mode": "real", "rate": 20}, True),
        ("Pay 49.90 EUR", {"mode": "auto"}, True),
        ("Pay 49.90 EUR", {"mode": "real", "rate": 0.01}, False),
        ("Pay, and come back before the webhook", {"mode": "real", "rate": 0.1}, False),
    ],
)
async def test_a_payer_comes_back_after_or_before_the_webhook(
    client: Client, monkeypatch: pytest.MonkeyPatch, button: str, clock: dict[str, Any], *, arrived: bool
) -> None:
    """The first button leads back once the events that follow soon have been sent, the second at once."""
    # A busy machine may take longer than the usual patience; at a rate of 0.1 they are due within this one too.
    monkeypatch.setattr(payer, "PATIENCE_SECONDS", AT_MOST_SECONDS)
    async with Receiver() as receiver:
        box = await client.sandbox(
            scenario="payer-decides", notification_url=receiver.url, webhook_secret=receiver.secret
        )
        browser = Browser(client)
        pay_in = await box.deposit(return_url=BACK)
        page = await browser.open(pay_in["payment_url"])
        await box.control("PUT", "/clock", clock)

        answer = await browser.press(page, button)

        assert answer.headers["Location"] == BACK
        assert ("pay-in.succeeded" in [each.event["type"] for each in receiver.received]) is arrived


async def test_a_payer_who_waits_when_the_sandbox_is_deleted_gets_a_page(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says that the payment is gone."""
    monkeypatch.setattr(payer, "PATIENCE_SECONDS", AT_MOST_SECONDS)
    box, browser, page = await opened(client)
    await box.control("PUT", "/clock", {"mode": "real", "rate": 0.1})
    signal = client.server.host.signal(client.server.host.registry.get(box.id))

    pressed = asyncio.create_task(browser.press(page, "Pay 49.90 EUR"))
    async with asyncio.timeout(AT_MOST_SECONDS):
        while not signal.waiting:  # nothing else tells that the payer waits
            assert not pressed.done()
            await asyncio.sleep(0)
    assert (await box.control("DELETE")).status == 200
    answer = await pressed

    assert (answer.status, answer.forms) == (404, [])


async def test_the_page_of_a_payment_that_moves_by_itself_is_loaded_again(client: Client) -> None:
    """Without a script, by the page's head; not when nothing moves."""
    box = await client.sandbox(clock="real", scenario="happy-path")
    pay_in = await box.deposit()
    browser = Browser(client)

    moving = await browser.open(pay_in["payment_url"])
    await box.control("PUT", "/clock", {"mode": "manual"})
    still = await browser.open(pay_in["payment_url"])

    assert [page.source.count('http-equiv="refresh"') for page in (moving, still)] == [1, 0]


@given(st.text())
def test_every_value_is_escaped(text: str) -> None:
    """Whatever a value is, a reader of the page gets it as a text, and no tag more."""
    made = markup('<p title="{value}">{value}</p>{more}', value=text, more=Markup("<br>"))
    page = Page(200, {}, made, "")

    assert page.tags == ["p", "br"]
    assert page.text.replace("\r\n", "\n") == text.replace("\r\n", "\n")
