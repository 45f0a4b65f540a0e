"""Everything that a page shows may come from anybody: it is shown as text, on one page of a bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from drive import deposit_body, key
from inspecting import HOME, Browser, Html
from receivers import raw, receiving
from servers import Box

LARGE = "x" * 1_000_000
MARKUP = "\"'></td><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}"
HOSTILE = [MARKUP, "javascript:alert(1)//", "\u202etxt.exe\u0000\x1b[31m", LARGE]
STATIC = "/_paydouble/inspector/static/"
MOST_CHARACTERS = 3_000_000


def problems(html: Html) -> Iterator[str]:
    """Yield what text from outside has done to a page."""
    sources = sum(tag == "script" and value.startswith(STATIC) for tag, _, value in html.attributes)
    if html.tags.count("script") != sources or "img" in html.tags:
        yield "there is a tag that no template has"
    for tag, name, value in html.attributes:
        leads = name in {"href", "src", "action", "formaction"}
        if name.startswith("on") or name == "style" or (leads and not value.startswith(("/", "http:", "#", "data:,"))):
            yield f"<{tag} {name}={value[:80]!r}>"
    for character in "\u202e\u0000\x1b":
        if character in html.source:
            at = html.source.index(character)
            yield f"the character {character!r} is shown as it is: {html.source[at - 60 : at + 20]!a}"
    if len(html.source) > MOST_CHARACTERS:
        yield f"the page has {len(html.source)} characters"


async def fill(box: Box, text: str, target: str) -> dict[str, Any]:
    """Send a text in everything that a shop, a receiver or a test can send; returns a payment that was accepted."""
    short = text[:100]
    await box.control("PATCH", "", {"notification_url": f"{target}?{quote(short)}"})
    await box.control("POST", "/faults", {"on": "api", "name": short, "effect": {"type": "latency", "fixed": "1ms"}})
    body = deposit_body(
        external_identifier=short,
        metadata={"note": text[:500]},
        customer={"first_name": short, "last_name": short, "email": "ada@example.test"},
        payment_method={"type": "CREDIT_CARD", "code": short},
    )
    await box.api("POST", "/pay-in/deposit-creation", body)
    made = await box.deposit(external_identifier=short)
    await box.api("POST", "/pay-in/deposit-creation", deposit_body(external_identifier=text, amount=1))
    header = {"X-Text": quote(text)[:4000], "Idempotency-Key": key(99), **box.credentials}
    await box.client.call("POST", f"/api/v1/{quote(short, safe='')}", {"a": text}, headers=header)
    await box.client.call("POST", f"/api/v1/x?{quote(short)}", {"a": text})
    transition = {"to": "failed", "failure": {"code": short[:64], "message": text[:500]}}
    await box.control("POST", f"/pay-ins/{made['id']}/transition", transition)
    return made


@pytest.mark.parametrize("text", HOSTILE, ids=["markup", "url", "controls", "large"])
async def test_hostile_text_stays_text(browser: Browser, text: str) -> None:
    """In orders, names, keys, paths, headers, bodies, answers of receivers, and in the query of the page itself."""
    answer = text.encode()
    head = f"HTTP/1.1 500 {text[:20]!a}\r\nContent-Length: {len(answer)}\r\n\r\n".encode()
    async with receiving(raw(head + answer)) as receiver:
        box = await browser.client.sandbox(settings={"body_limit": 8_000_000})
        made = await fill(box, text, receiver.url)
        await box.advance(by="1s")
        payment = f"/_paydouble/inspector/sandboxes/{box.id}/payments/{made['id']}"
        query = quote(text[:2000])
        paths = [HOME, f"{HOME}?show=refused", f"{HOME}?q={query}", f"{HOME}?sandbox={query}", payment, payment + query]
        own = f"/_paydouble/inspector/sandboxes/{box.id}"
        requests = (await box.get("/requests?limit=1000"))["items"]
        unclaimed = (await browser.client.control("GET", "/unclaimed-requests")).document["items"]
        paths += (f"{own}/requests/{each['id']}" for each in requests)
        paths += (f"{own}/deliveries/{each['id']}" for each in await box.deliveries())
        paths += (f"/_paydouble/inspector/unclaimed-requests/{each['id']}" for each in unclaimed)
        for path in paths:
            seen = await browser.open(path)
            assert seen.status == (404 if path == payment + query else 200)
            assert list(problems(seen.html)) == [], path
            assert seen.html.unclosed == []


FIELDS = {
    "": ("q", "id", "clock"),
    "clock": ("clock.mode", "clock.start", "clock.rate"),
    "clock/advance": ("by",),
    "scenario": ("name",),
    "target": ("notification_url",),
    "secret": ("secret", "grace"),
    "sample": ("type",),
    "rate-limit": ("quota.limit", "quota.window", "quota.headers"),
    "reset": ("scope.x", "same_ids"),
    "faults": ("effect.status", "effect.details", "match.path", "id", "name", "ttl", "times", "enabled", "phase"),
    "faults/fault-1/enabled": ("enabled",),
}
"""The fields of the forms on the page of a sandbox, by action."""


@pytest.mark.parametrize("text", HOSTILE, ids=["markup", "url", "controls", "large"])
async def test_what_is_sent_to_a_sandbox_stays_text(browser: Browser, text: str) -> None:
    """In every field of every form, in what they refuse, and in what they change."""
    box = await browser.client.sandbox(clock="manual")
    page = f"/_paydouble/inspector/sandboxes/{box.id}"
    await box.control("POST", "/faults", {"on": "webhooks", "name": text[:200], "effect": {"type": "drop"}})
    for action, names in FIELDS.items():
        fields = dict.fromkeys(names, text[:50_000])
        url = f"{page}/{action}" if action else page.rpartition("/")[0]
        more = [{**fields, "effect": "api.error"}, *({"effect": "api.error", name: fields[name]} for name in names)]
        for given in more:
            seen = await browser.send(url, given)
            assert seen.status in {200, 400, 404, 409}
            assert list(problems(seen.html)) == []
            assert seen.html.unclosed == []
    short = quote(text[:2000])
    scenario = {
        "name": "mine",
        "summary": text[:300],
        "lifecycle": {"pay_in": [{"to": "failed", "failure": {"code": text[:60]}}]},
    }
    await box.control("POST", "/scenarios", scenario)
    library = "/_paydouble/inspector/scenarios"
    for path in (
        library,
        f"{library}?q={short}",
        f"{library}/{short}",
        f"{library}/mine?sandbox={box.id}",
        f"{library}?sandbox={short}",
    ):
        seen = await browser.open(path)
        assert seen.status in {200, 404}
        assert list(problems(seen.html)) == []
    for name in (
        "sandbox",
        "deposit.amount",
        "deposit.external_identifier",
        "deposit.metadata",
        "deposit.customer.email",
    ):
        seen = await browser.send(f"{library}/mine/play", {"sandbox": box.id, name: text[:50_000]})
        assert seen.status in {200, 400, 404}
        assert list(problems(seen.html)) == []
    for query in (
        f"?q={short}",
        f"?page={short}",
        f"/{short}",
        f"/{box.id}?show={short}",
        f"/{box.id}/faults/new?effect={short}",
    ):
        seen = await browser.open(f"/_paydouble/inspector/sandboxes{query}")
        assert seen.status in {200, 404}
        assert list(problems(seen.html)) == []


@pytest.mark.parametrize("text", HOSTILE, ids=["markup", "url", "controls", "large"])
@pytest.mark.parametrize("field", ["header", "body", "secret", "time", "encoding"])
async def test_the_doctor_shows_hostile_text_as_text(browser: Browser, field: str, text: str) -> None:
    """In every field of its form."""
    fields = {"header": "t=1,v1=a", "body": "{}", "secret": "s", "time": "1", field: text[:900_000]}
    seen = await browser.send("/_paydouble/inspector/signature", fields)

    assert seen.status in {200, 400}
    assert list(problems(seen.html)) == []
    assert seen.html.unclosed == []
