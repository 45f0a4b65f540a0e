"""What happened to a payment as one HTML file."""

from __future__ import annotations

import base64
import hashlib
import re
from urllib.parse import quote

import pytest
from drive import deposit_body, key
from inspecting import HOME, Browser, Html
from receivers import receiving, status
from servers import running

from paydouble import Sandbox
from paydouble.guards.credentials import basic_header
from paydouble.server import ServerOptions
from paydouble.web.inspector.masking import masked_header, masked_url


def loads_nothing(source: str) -> Html:
    """Check that a page needs nothing but itself, and return it."""
    html = Html(source)
    assert html.unclosed == []
    assert {"script", "img", "form", "iframe"} & set(html.tags) == set()
    assert [value for tag, name, value in html.attributes if name in {"href", "src", "action"}] == ["data:,"]
    (style,) = re.findall(r"<style>(.*?)</style>", source, re.DOTALL)
    assert not re.search(r"url\(|@import", style)
    (policy,) = [value for tag, _, value in html.attributes if tag == "meta" and value.startswith("default-src")]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.startswith("default-src 'none';")
    assert f"style-src 'sha256-{digest}'" in policy
    return html


async def test_the_file_needs_nothing_but_itself(browser: Browser) -> None:
    """It has everything that the page of the payment shows, without links, actions or scripts."""
    async with receiving(status(500)) as receiver:
        box = await browser.client.sandbox(notification_url=receiver.url)
        pay_in = await box.deposit(external_identifier="order-17")
        await box.advance(by="1m")
        url = f"{browser.origin}/_paydouble/sandboxes/{box.id}/pay-ins/{pay_in['id']}/timeline.html"
        async with browser.client.session.get(url) as response:
            source = await response.text()
        html = loads_nothing(source)

    assert response.status == 200
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'")
    for text in ("order-17", "deposit-creation", "pay-in.created", "attempt 2", "500", "X-Service-Signature", "seed"):
        assert text in html.text


async def test_the_page_of_a_payment_leads_to_the_file(browser: Browser) -> None:
    """A browser saves it under the name of the order."""
    box = await browser.client.sandbox()
    pay_in = await box.deposit(external_identifier='order/"17"')
    page = f"{HOME}inspector/sandboxes/{box.id}/payments/{pay_in['id']}"
    assert f"{page}/timeline.html" in (await browser.open(page)).html.links
    async with browser.client.session.get(f"{browser.origin}{page}/timeline.html") as response:
        loads_nothing(await response.text())
    assert response.headers["Content-Disposition"] == 'attachment; filename="order-17-.html"'


async def test_a_payment_that_is_not_there_has_none(browser: Browser) -> None:
    """The refusal is that of every control call."""
    box = await browser.client.sandbox()
    answer = await box.control("GET", "/pay-ins/payin_1/timeline.html")

    assert answer.error[:2] == (404, "not_found")


async def test_the_control_token_protects_the_file() -> None:
    """As it protects every control call."""
    async with running(ServerOptions(port=0, control_token="secret")) as client:
        answer = await client.control("GET", "/sandboxes/default/pay-ins/payin_1/timeline.html")
        assert answer.error[:2] == (401, "unauthorized")


@pytest.mark.parametrize("text", ["</style><script>alert(1)</script>", "\u202e\u0000"])
async def test_hostile_text_stays_text(text: str) -> None:
    """Also in a file."""
    sandbox = Sandbox(receiver=lambda _: 500)
    sandbox.faults.add("latency", name=text, fixed="1ms")
    pay_in = sandbox.handle(
        "POST", "/pay-in/deposit-creation", deposit_body(external_identifier=text, metadata={"a": text})
    ).json()["data"]
    sandbox.handle("GET", f"/pay-in/{pay_in['id']}?{quote(text)}")
    sandbox.deliver()
    source = sandbox.pay_ins.timeline_html(pay_in["id"])

    loads_nothing(source)
    assert "<script" not in source
    assert "\u202e" not in source
    assert "\u0000" not in source


def test_a_sandbox_of_this_process_has_the_same_file() -> None:
    """It is drawn without a server."""
    sandbox = Sandbox()
    response = sandbox.handle("POST", "/pay-in/deposit-creation", deposit_body(external_identifier="order-17"))
    html = loads_nothing(sandbox.pay_ins.timeline_html(response.json()["data"]["id"]))

    assert "order-17" in html.text
    with pytest.raises(Exception, match="There is no payin 'payin_1'"):
        sandbox.pay_ins.timeline_html("payin_1")


async def test_the_file_has_no_credentials(browser: Browser) -> None:
    """A CI system may publish it; of the business it names only the key."""
    async with receiving(status(500)) as receiver:
        target = receiver.url.replace("http://", "http://hook-user:hook-password@")
        box = await browser.client.sandbox(notification_url=target, business_key="shop", business_secret="s3cret-word")
        headers = {**box.credentials, "Idempotency-Key": key(1), "Cookie": "session=c00kie", "X-Trace": "kept"}
        await browser.client.call("POST", "/api/v1/pay-in/deposit-creation", deposit_body(), headers=headers)
        (pay_in,) = (await box.get("/pay-ins"))["items"]
        proxy = {"Proxy-Authorization": "Bearer t0ken"}
        await browser.client.call("GET", f"/api/v1/pay-in/{pay_in['id']}", headers={**headers, **proxy})
        await box.api("GET", f"/pay-in/{pay_in['id']}")
        await box.advance(by="1m")
        page = f"{HOME}inspector/sandboxes/{box.id}/payments/{pay_in['id']}"
        seen = await browser.open(page)
        async with browser.client.session.get(f"{browser.origin}{page}/timeline.html") as response:
            source = await response.text()
    html = loads_nothing(source)

    basic = box.credentials["Authorization"]
    for secret in (basic.removeprefix("Basic "), "s3cret-word", "hook-password", "c00kie", "t0ken"):
        assert secret not in source, secret
    for text in (
        "Authorization Basic (key shop, secret hidden)",
        "Cookie (hidden)",
        "Bearer (hidden)",
        "X-Trace kept",
        "-u shop",
    ):
        assert text in html.text
    assert "http://(hidden)@127.0.0.1" in html.text
    assert basic in seen.text


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("authorization", basic_header("a", "b"), "Basic (key a, secret hidden)"),
        ("Authorization", "Basic !!!", "Basic (hidden)"),
        ("Proxy-Authorization", "Bearer abc", "Bearer (hidden)"),
        ("Authorization", "abc", "(hidden)"),
        ("Cookie", "a=1; b=2", "(hidden)"),
        ("X-Trace", "abc", "abc"),
    ],
)
def test_a_header_is_shown_without_its_credentials(name: str, value: str, shown: str) -> None:
    """The scheme stays, and the key of HTTP Basic."""
    assert masked_header(value, name) == shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://u:p@host/a@b", "http://(hidden)@host/a@b"),
        ("http://t@k:en@host", "http://(hidden)@host"),
        ("http://host/u:p@x", "http://host/u:p@x"),
    ],
)
def test_a_url_is_shown_without_its_user(url: str, shown: str) -> None:
    """Its host and path stay."""
    assert masked_url(url) == shown
