"""The signature doctor."""

from __future__ import annotations

import base64
import logging

import pytest
from inspecting import HOME, Browser, Seen

from paydouble.webhooks.signing import sign

PAGE = f"{HOME}inspector/signature"
SECRET = "whsec_of_the_shop"
AT = 1_767_225_600


async def ask(browser: Browser, **fields: str) -> Seen:
    """Send the form, with a signature that verifies unless something else is given."""
    body = '{"a":1}'
    return await browser.send(
        PAGE, {"header": sign(body, SECRET, AT), "body": body, "secret": SECRET, "time": str(AT), **fields}
    )


async def test_the_doctor_is_in_the_navigation(browser: Browser) -> None:
    """It can be found from every page."""
    assert PAGE in (await browser.open()).html.links
    assert (await browser.open(PAGE)).status == 200


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "verifies The signature verifies; it was signed 0 s ago."),
        ({"time": "2026-01-01T00:00:10Z"}, "it was signed 10 s ago"),
        ({"time": ""}, "stale It was signed"),
        ({"secret": "whsec_other"}, "wrong secret"),
        (
            {"header": f"X-Service-Signature: {sign('{}', SECRET, AT)}", "body": "{}"},
            "the header was given with its name",
        ),
        ({"body": "\x1b[0m"}, "has control characters and is not repeated here"),
        ({"header": "t=1", "body": ""}, "The signature header holds no v1"),
        ({"body": base64.b64encode(b'{"a":1}').decode(), "encoding": "base64"}, "The signature verifies"),
        ({"header": sign(b"a\r\nb", SECRET, AT), "body": "a\r\nb"}, "The signature verifies"),
        ({"header": sign(b"a\nb", SECRET, AT), "body": "a\r\nb"}, "The signature verifies"),
        ({"header": "t=99999999999999999999,v1=ü"}, "not a time that a clock can show"),
    ],
)
async def test_the_cause_is_a_sentence(browser: Browser, fields: dict[str, str], said: str) -> None:
    """It is the diagnosis of `signature check`; line ends are what they were before the browser sent them."""
    seen = await ask(browser, **fields)

    assert seen.status == 200
    assert said in seen.text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"header": " "}, "Paste the header"),
        ({"header": "t" * 20_000}, "The header has 20,000 characters"),
        ({"secret": " "}, "Give the webhook secret"),
        ({"time": "yesterday"}, "The time cannot be read"),
        ({"time": "9" * 30}, "The time cannot be read"),
        ({"body": "{", "encoding": "base64"}, "The body is not base64"),
    ],
)
async def test_a_field_that_cannot_be_used_is_said(browser: Browser, fields: dict[str, str], said: str) -> None:
    """With what to give instead."""
    seen = await ask(browser, **fields)

    assert seen.status == 400
    assert said in seen.text


async def test_a_secret_of_another_sandbox_is_recognised(browser: Browser) -> None:
    """The doctor names the sandboxes, and no secret."""
    await browser.client.sandbox(id="right", webhook_secret=SECRET)
    other = await browser.client.sandbox(id="other", webhook_secret="whsec_of_another")
    said = "The secret is that of sandbox 'other', but the signature was made with that of sandbox 'right'."
    assert said in (await ask(browser, secret=" whsec_of_another ")).text
    assert "The secret is that of sandbox 'other'." in (await ask(browser, secret="whsec_of_another", body="{}")).text
    assert "The secret is that of" in (await ask(browser, secret="whsec_of_another", header="t=1")).text
    assert "made with the secret of sandbox 'right'" in (await ask(browser, secret="whsec_unknown")).text
    await other.control("POST", "/webhook/rotate-secret", {"grace": "1h"})
    seen = await ask(browser, secret="whsec_of_another")
    assert "that of sandbox 'other' before its secret was replaced" in seen.text
    assert "whsec_of" not in seen.html.source

    for text in ((await ask(browser)).text, (await ask(browser, time="0")).text):
        assert "sandbox 'right'" not in text
    for number in range(4):
        await browser.client.sandbox(id=f"same-{number}", webhook_secret="whsec_shared")
    assert "and 1 more" in (await ask(browser, secret="whsec_shared")).text


async def test_an_attempt_fills_the_form(browser: Browser) -> None:
    """Its body as text or as base64; one that is not kept is said."""
    box = await browser.client.sandbox(notification_url="http://127.0.0.1:9/")
    await box.deposit(external_identifier="order-17")
    await box.advance(by="0s")
    (delivery,) = await box.deliveries()
    address = f"{PAGE}?sandbox={box.id}&delivery={delivery['id']}&attempt="
    text = (await browser.open(f"{address}1")).text
    assert "attempt 1 of pay-in.created" in text
    assert "order-17" in text
    assert (await browser.open(f"{address}9")).status == 404
    kept = next(iter(browser.client.server.host.registry.get(box.id).outbox.deliveries.values()))
    kept.attempts[0].body, kept.attempts[0].outcome = b"\xff\r\n", None
    assert base64.b64encode(b"\xff\r\n").decode() in (await browser.open(f"{address}1")).text


async def test_the_secret_is_nowhere_afterwards(browser: Browser, caplog: pytest.LogCaptureFixture) -> None:
    """Neither on the page, nor in a URL or a log."""
    caplog.set_level(logging.DEBUG)
    seen = await ask(browser)

    assert SECRET not in seen.html.source
    assert SECRET not in seen.url
    assert SECRET not in caplog.text
    assert seen.headers["Cache-Control"] == "no-store"
