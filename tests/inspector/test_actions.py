"""What a person can do with a payment, and what can be taken along from its page."""

from __future__ import annotations

import base64
import json
import shlex
from typing import Any

import pytest
from drive import deposit_body, key
from inspecting import Browser, Html, Seen
from receivers import receiving, status
from servers import Box

from paydouble.runfile.files import unpack
from paydouble.runfile.replaying import replay
from paydouble.scenarios.reading import parse_text


class Opened:
    """The page of a payment."""

    def __init__(self, browser: Browser, box: Box, pay_in: dict[str, Any]) -> None:
        self.browser, self.box, self.id = browser, box, pay_in["id"]
        self.url = f"/_paydouble/inspector/sandboxes/{box.id}/payments/{self.id}"

    async def open(self) -> Seen:
        """Open it."""
        return await self.browser.open(self.url)

    async def do(self, action: str, **fields: str) -> Seen:
        """Send one of its forms, which must be on it."""
        form = f"{self.url}/{action}"
        assert ("form", "action", form) in (await self.open()).html.attributes
        return await self.browser.send(form, fields)

    async def pay_in(self) -> Any:  # noqa: ANN401 - JSON is any
        """Return the payment as the control API shows it."""
        return await self.box.get(f"/pay-ins/{self.id}")

    async def deliveries(self) -> list[dict[str, Any]]:
        """Return its deliveries."""
        return await self.box.deliveries()


async def opened(browser: Browser, **members: object) -> Opened:
    """Return the page of a new payment."""
    box = await browser.client.sandbox(**members)
    return Opened(browser, box, await box.deposit(external_identifier="order-17"))


async def paid(browser: Browser) -> Opened:
    """Return the page of a payment that has succeeded."""
    page = await opened(browser)
    await page.do("transition", to="succeeded", force="yes")
    return page


async def test_a_state_is_forced(browser: Browser) -> None:
    """The form leads back to the payment, which shows it."""
    page = await opened(browser)
    seen = await page.do("transition", to="failed", code="card_declined", message="")

    assert (seen.status, seen.url) == (200, browser.origin + page.url)
    assert "card_declined: The payment was declined." in seen.text
    assert (await page.pay_in())["status"] == "failed"


async def test_states_that_the_lifecycle_allows_come_first(browser: Browser) -> None:
    """None is chosen before somebody chooses, and a final state has none that is allowed."""
    page = await opened(browser)
    assert _states((await page.open()).html)[:3] == ["", "pending", "failed"]
    assert "Next in its lifecycle" in (await page.open()).html.source
    final = (await page.do("transition", to="failed")).html
    assert _states(final)[0] == ""
    assert "created" in _states(final)
    assert "Next in its lifecycle" not in final.source


def _states(html: Html) -> list[str]:
    return [value for tag, name, value in html.attributes if (tag, name) == ("option", "value")]


async def test_what_the_lifecycle_does_not_have_needs_force(browser: Browser) -> None:
    """Without it the page says why, and nothing has changed."""
    page = await opened(browser)
    seen = await page.do("transition", to="succeeded")

    assert seen.status == 409
    assert "Tick the box to do it all the same" in seen.text
    assert (await page.pay_in())["status"] == "created"
    assert (await page.do("transition", to="succeeded", force="yes")).status == 200
    assert (await page.pay_in())["status"] == "succeeded"


async def test_a_payment_is_refunded(browser: Browser) -> None:
    """By an amount, or by all that is left; more is refused in words."""
    page = await paid(browser)
    await page.do("refund", amount="10")
    assert "more than the 39.90 that is left" in (await page.do("refund", amount="40")).text
    seen = await page.do("refund", amount="")

    assert (await page.pay_in())["refund_pending_amount"] == 49.9
    assert "refund refund.created" in seen.text
    assert ("form", "action", f"{page.url}/refund") not in seen.html.attributes


async def test_a_refund_is_part_of_the_run(browser: Browser) -> None:
    """So that the run can be repeated with it."""
    page = await paid(browser)
    await page.do("refund", amount="10", reason="damaged")
    url = f"/_paydouble/sandboxes/{page.box.id}/export"
    exported = await browser.client.session.post(browser.origin + url, json={"raw": True})

    assert replay(unpack(await exported.read())) is None


@pytest.mark.parametrize("amount", ["x", "-1", "0", "NaN", "1e999", "1.234"])
async def test_what_is_no_amount_is_refused(browser: Browser, amount: str) -> None:
    """The page says what is wrong."""
    page = await paid(browser)
    for action in ("refund", "dispute"):
        seen = await page.do(action, amount=amount)
        assert seen.status == 409
        assert ("p", "role", "alert") in seen.html.attributes


async def test_a_dispute_is_opened(browser: Browser) -> None:
    """With a reason, about a part or about everything."""
    page = await paid(browser)
    await page.do("dispute", amount="9.90", reason="not received")
    await page.do("dispute")

    assert (await page.pay_in())["disputed_amount"] == 49.9
    (event, *_) = [each for each in (await page.box.get("/events"))["items"] if each["type"] == "dispute.created"]
    assert "not received" in event["body"]


async def test_a_delivery_is_sent_again_held_and_released(browser: Browser) -> None:
    """The buttons are those that its state allows."""
    async with receiving(status(500)) as receiver:
        page = await opened(browser, notification_url=receiver.url)
        await page.box.advance(by="0s")
        delivery = (await page.deliveries())[0]["id"]
        path = f"deliveries/{delivery}"
        seen = await page.do(f"{path}/hold")
        assert "held" in seen.text
        assert (await page.deliveries())[0]["status"] == "held"
        await page.do(f"{path}/release")
        await page.box.advance(by="0s")
        await page.do(f"{path}/redeliver")
        await page.box.advance(by="0s")

        assert len((await page.deliveries())[0]["attempts"]) == 3
        assert "attempt 3" in (await page.open()).text


async def test_an_action_on_what_is_gone_is_refused(browser: Browser) -> None:
    """A form of a page that was open for long."""
    page = await opened(browser)
    seen = await browser.send(f"{page.url}/deliveries/dlv_none/redeliver", {})
    assert seen.status == 409
    assert "dlv_none" in seen.text
    await page.box.control("DELETE")
    assert (await browser.send(f"{page.url}/transition", {"to": "failed"})).status == 404


async def test_an_action_needs_a_form_of_this_server(browser: Browser) -> None:
    """Another site cannot act, not even from another port of this machine."""
    page = await opened(browser)
    for headers in ({"Origin": "http://127.0.0.1:1"}, {"Sec-Fetch-Site": "same-site"}):
        seen = await browser.send(f"{page.url}/transition", {"to": "failed"}, headers=headers)
        assert seen.status == 403
    assert (await page.pay_in())["status"] == "created"


def copied(seen: Seen, name: str) -> str:
    """Return a text to copy from a page."""
    found = seen.html.source.partition(f'id="copy-{name}"')[2].partition(">")[2].partition("</pre>")[0]
    for entity, character in (("&#34;", '"'), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        found = found.replace(entity, character)
    return found


async def test_the_request_can_be_copied_for_curl(browser: Browser) -> None:
    """The same request again, to the byte: with the same key it gets the same answer."""
    page = await opened(browser)
    words = shlex.split(copied(await page.open(), "curl").replace("\\\n", ""))
    url = words[words.index("POST") + 1]
    headers = dict(words[at + 1].split(": ", 1) for at, word in enumerate(words) if word == "-H")
    body = words[words.index("--data-binary") + 1]
    async with browser.client.session.post(url, data=body.encode(), headers=headers) as response:
        answer = await response.json()

    assert answer["data"]["id"] == page.id
    assert (await page.box.get("/requests"))["items"][-1]["idempotency"]["verdict"] == "replay"


async def test_bytes_that_are_no_plain_text_can_be_copied_for_curl(browser: Browser) -> None:
    """They travel as base64, since a terminal would change them."""
    box = await browser.client.sandbox()
    page = Opened(browser, box, await box.deposit(metadata={"note": "\u202e"}))
    command = copied(await page.open(), "curl")
    assert "base64 -d" not in command  # JSON has an escape for it
    body = json.dumps(deposit_body(metadata={"note": "\u202e"}), ensure_ascii=False).encode()
    headers = {**box.credentials, "Idempotency-Key": key(9), "Content-Type": "application/json"}
    made = await browser.client.call("POST", "/api/v1/pay-in/deposit-creation", data=body, headers=headers)
    page = Opened(browser, box, made.document["data"])
    sent = copied(await page.open(), "curl").split()

    assert base64.b64decode(sent[1]) == body


async def test_the_payment_can_be_copied_as_a_test(browser: Browser) -> None:
    """The test passes as it is, with the scenario and the events of this payment."""
    page = await opened(browser)
    await page.box.advance(by="1h")
    code = copied(await page.open(), "test")
    names: dict[str, Any] = {}
    exec(compile(code, "pasted", "exec"), names)  # noqa: S102 - our own text

    names["test_recorded_order_17"]()
    assert "pay-in.succeeded" in code


async def test_the_payment_can_be_copied_as_a_scenario(browser: Browser) -> None:
    """With the faults that fired on it."""
    box = await browser.client.sandbox()
    fault = {"on": "api", "effect": {"type": "latency", "fixed": "1ms"}, "times": 1}
    assert (await box.control("POST", "/faults", fault)).status == 201
    page = Opened(browser, box, await box.deposit())
    await box.advance(by="1h")
    scenario = parse_text(copied(await page.open(), "scenario"))

    assert [step.to for step in scenario.lifecycle.pay_in] == ["pending", "processing", "succeeded"]  # type: ignore[union-attr]
    assert len(scenario.faults) == 1
    await box.control("DELETE", "/faults")
    assert not parse_text(copied(await page.open(), "scenario")).faults
