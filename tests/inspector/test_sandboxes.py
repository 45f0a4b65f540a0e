"""The list of sandboxes, and the page of one: its clock, faults, webhooks, limit, scenario, reset and end."""

from __future__ import annotations

import pytest
from bounds import AT_MOST_SECONDS
from inspecting import Browser
from receivers import receiving, status
from servers import Box, Client, running

from paydouble.server import ServerOptions
from paydouble.web.inspector import advances

LIST = "/_paydouble/inspector/sandboxes"


def at(box: Box, *segments: str) -> str:
    """Return the path of the page of a sandbox, or of one below it."""
    return "/".join((f"{LIST}/{box.id}", *segments))


@pytest.fixture
async def box(client: Client) -> Box:
    """Return a sandbox with a manual clock."""
    return await client.sandbox(clock="manual")


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a page wait for the end of an advance; a test that wants to see one on its way changes it."""
    monkeypatch.setattr(advances, "PATIENCE_SECONDS", AT_MOST_SECONDS)


async def at_rest(browser: Browser, box: Box) -> None:
    """Look at the clock until no advance runs; each look is an answer of the server meanwhile."""
    while "hx-trigger" in (await browser.open(at(box, "clock"))).html.source:
        pass


# The list


async def test_the_newest_sandbox_is_first(browser: Browser) -> None:
    """With its requests, payments, clock and faults, and a link to its page."""
    await browser.client.sandbox(id="older")
    newer = await browser.client.sandbox(id="newer", clock="manual", notification_url="http://shop.test/hook")
    await newer.deposit()
    await newer.control("POST", "/faults", {"on": "webhooks", "effect": {"type": "drop"}})
    seen = await browser.open(LIST)

    assert seen.text.index("newer") < seen.text.index("older")
    assert "1 1 manual" in seen.text
    assert "http://shop.test/hook" in seen.text
    assert f"{LIST}/newer" in seen.html.links


async def test_labels_and_leases_are_shown(browser: Browser) -> None:
    """On the list, where labels are searched too, and on the page of a sandbox."""
    await browser.client.sandbox(id="leased", ttl="1h", labels={"job": "1234", "shard": "<7>"})
    seen = await browser.open(LIST)
    found = await browser.open(f"{LIST}?q=job:12")
    page = await browser.open(f"{LIST}/leased")

    assert "job:1234 shard:<7>" in seen.text
    assert "if unused" in seen.text
    assert "1 to 1 of 1, out of 2" in found.text
    assert "job:1234 shard:<7>" in page.text
    assert "after 1h without use" in page.text


async def test_a_list_of_many_is_cut_and_searched(browser: Browser) -> None:
    """Each page has fifty; a search looks at ids, keys and targets."""
    for number in range(120):
        await browser.client.sandbox(id=f"worker-{number:03}")
    first = await browser.open(LIST)
    second = await browser.open(f"{LIST}?page=2")
    found = await browser.open(f"{LIST}?q=WORKER-01")

    assert "1 to 50 of 121" in first.text
    assert first.html.tags.count("tr") == 51
    assert "worker-119" in first.text
    assert "51 to 100 of 121" in second.text
    assert "1 to 10 of 10, out of 121" in found.text
    for page in ("0", "-1", "99", "x", "9" * 30):
        assert (await browser.open(f"{LIST}?page={page}")).status == 200
    assert "No sandbox fits" in (await browser.open(f"{LIST}?q=nothing")).text


async def test_a_sandbox_is_made(browser: Browser) -> None:
    """The page of the new one says so; a refusal has the words of the control API."""
    made = await browser.send(LIST, {"id": "mine", "clock": "manual"})
    assert made.url.endswith(f"{LIST}/mine")
    assert "Sandbox mine was made" in made.text

    refused = await browser.send(LIST, {"id": "mine", "clock": ""})
    answer = await browser.client.call("POST", "/_paydouble/sandboxes", {"id": "mine"})
    assert refused.status == answer.status == 400
    assert answer.document["error"]["message"] in refused.text


async def test_a_server_without_a_sandbox_says_so() -> None:
    """The list is not simply empty."""
    async with running(ServerOptions(port=0)) as client:
        await client.call("DELETE", "/_paydouble/sandboxes/default")
        assert "There is no sandbox" in (await Browser(client).open(LIST)).text


async def test_a_notice_is_shown_once(browser: Browser, box: Box) -> None:
    """It is gone after a reload, and no link can make a page say something."""
    done = await browser.send(at(box, "target"), {"notification_url": "http://shop.test/"})

    assert "Events go to the new target" in done.text
    assert "Events go to the new target" not in (await browser.open(at(box))).text
    assert "invented" not in (await browser.open(f"{at(box)}?notice=invented")).text


# The clock


async def test_a_clock_is_moved(browser: Browser) -> None:
    """By a button's time; the page says what fired and what the attempts met."""
    async with receiving(status(200), status(500), status(200)) as receiver:
        box = await browser.client.sandbox(clock="manual", notification_url=receiver.url, scenario="happy-path")
        await box.deposit()
        done = await browser.send(at(box, "clock", "advance"), {"by": "72h"})

    assert "The clock was moved by 72h" in done.text
    assert "pay-in.succeeded × 1" in done.text
    assert "attempts 500 × 1" in done.text
    assert "+72h in" in done.text
    assert "in in" not in done.text
    assert "Nothing is left to happen" in done.text


async def test_a_clock_moves_until_nothing_is_left(browser: Browser, box: Box) -> None:
    """However far that is."""
    await box.deposit(external_identifier="a")
    done = await browser.send(at(box, "clock", "advance"), {"until_idle": "true"})

    assert "The clock was moved until nothing is left to happen" in done.text
    assert (await box.control("GET", "/clock")).document["idle"]


@pytest.mark.parametrize("by", ["soon", "-1h", "99999d"])
async def test_a_refused_advance_has_the_words_of_the_control_api(browser: Browser, box: Box, by: str) -> None:
    """And what was given stays in the field."""
    refused = await browser.send(at(box, "clock", "advance"), {"by": by})
    answer = await box.control("POST", "/clock/advance", {"by": by})

    assert refused.status == answer.status == 400
    assert answer.document["error"]["message"] in refused.text
    assert ("input", "value", by) in refused.html.attributes


async def test_how_far_must_be_given(browser: Browser, box: Box) -> None:
    """An empty form moves nothing."""
    refused = await browser.send(at(box, "clock", "advance"), {})

    assert refused.status == 400
    assert "how far is missing" in refused.text


async def test_a_long_advance_shows_its_progress_and_can_be_stopped(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile other requests are answered, a second advance is refused, and the page asks again by itself."""
    monkeypatch.setattr(advances, "STEP_TIMERS", 1)
    monkeypatch.setattr(advances, "PATIENCE_SECONDS", 0.0)
    async with receiving(status(500)) as receiver:
        box = await browser.client.sandbox(clock="manual", notification_url=receiver.url)
        for number in range(20):
            await box.deposit(external_identifier=f"o-{number}")
        moving = await browser.send(at(box, "clock", "advance"), {"by": "90d"})
        assert "The clock is moving by 90d" in moving.text
        assert ("p", "hx-trigger", "every 500ms") in moving.html.attributes
        assert any(
            tag == "progress" and name == "max" for tag, name, _ in moving.html.attributes
        ) or "timers fired" in (moving.text)
        refused = await browser.send(at(box, "clock", "advance"), {"by": "1h"})
        assert refused.status == 409
        assert "An advance of this clock is running" in refused.text
        part = await browser.open(at(box, "clock"))
        assert "progress" in part.html.tags
        assert "html" not in part.html.tags
        await browser.send(at(box, "clock", "stop"), {})
        await at_rest(browser, box)
        ended = await browser.open(at(box))

    assert "It was stopped" in ended.text
    assert "The last advance from this page" in ended.text
    assert "hx-trigger" not in ended.html.source


async def test_nothing_is_stopped_while_no_advance_runs(browser: Browser, box: Box) -> None:
    """The form of an old page does no harm."""
    assert (await browser.send(at(box, "clock", "stop"), {})).status == 200


async def test_an_advance_in_steps_is_the_same_advance(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fires what one control call fires, and ends at the same instant."""
    monkeypatch.setattr(advances, "STEP_TIMERS", 3)
    async with receiving(status(500)) as receiver:
        boxes = [
            await browser.client.sandbox(
                clock={"mode": "manual", "start": "2027-01-01T00:00:00Z"}, notification_url=receiver.url, seed=1
            )
            for _ in range(2)
        ]
        for each in boxes:
            for number in range(3):
                await each.deposit(external_identifier=f"o-{number}")
        called = (await boxes[0].control("POST", "/clock/advance", {"by": "72h"})).document
        done = await browser.send(at(boxes[1], "clock", "advance"), {"by": "72h"})

    assert f"{called['fired']:,} timers fired, {called['attempts']:,} attempts" in done.text
    assert (await boxes[1].control("GET", "/clock")).document["now"] == called["now"]


async def test_a_clock_that_is_replaced_ends_an_advance(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reset of the clock, or another clock, is not moved by the old advance."""
    monkeypatch.setattr(advances, "STEP_TIMERS", 1)
    monkeypatch.setattr(advances, "PATIENCE_SECONDS", 0.0)
    async with receiving(status(500)) as receiver:
        box = await browser.client.sandbox(clock="manual", notification_url=receiver.url)
        for number in range(20):
            await box.deposit(external_identifier=f"o-{number}")
        await browser.send(at(box, "clock", "advance"), {"until_idle": "true"})
        await box.control("POST", "/reset", {"scope": ["clock", "deliveries", "state"]})
        await at_rest(browser, box)
        ended = await browser.open(at(box, "clock"))

    assert "The clock was replaced meanwhile" in ended.text


async def test_an_advance_ends_with_its_sandbox(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """A deletion stops it, and leaves nothing behind."""
    monkeypatch.setattr(advances, "STEP_TIMERS", 1)
    monkeypatch.setattr(advances, "PATIENCE_SECONDS", 0.0)
    async with receiving(status(500)) as receiver:
        box = await browser.client.sandbox(clock="manual", notification_url=receiver.url)
        await box.deposit()
        await browser.send(at(box, "clock", "advance"), {"by": "90d"})
        deleted = await browser.send(at(box, "delete"), {})
        await advances.ended()

    assert f"Sandbox {box.id} was deleted" in deleted.text
    assert (await browser.open(at(box))).status == 404


async def test_an_advance_without_an_end_is_ended(browser: Browser, box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many timers."""
    monkeypatch.setattr(advances, "STEP_TIMERS", 1)
    monkeypatch.setattr(advances, "MOST_TIMERS", 2)
    await box.deposit()
    done = await browser.send(at(box, "clock", "advance"), {"by": "1d"})

    assert "It ended after 2 timers" in done.text


async def test_a_clock_is_replaced(browser: Browser, box: Box) -> None:
    """By one of another mode; a contradiction is refused, and the form stays open."""
    done = await browser.send(at(box, "clock"), {"clock.mode": "real", "clock.rate": "60"})
    assert "The clock was replaced" in done.text
    assert "real, 60.0 times as fast" in done.text

    refused = await browser.send(at(box, "clock"), {"clock.mode": "manual", "clock.rate": "2"})
    assert refused.status == 400
    assert "only a real clock has a rate" in refused.text
    assert ("details", "open", "") in refused.html.attributes


# Where events go, the limit, the scenario


async def test_the_target_is_changed_and_removed(browser: Browser, box: Box) -> None:
    """What is no URL is refused."""
    await browser.send(at(box, "target"), {"notification_url": "http://shop.test/hook"})
    assert (await box.control("GET", "/webhook")).document["notification_url"] == "http://shop.test/hook"
    assert "no target any more" in (await browser.send(at(box, "target"), {"notification_url": " "})).text
    refused = await browser.send(at(box, "target"), {"notification_url": "javascript:alert(1)"})
    assert refused.status == 400
    assert "notification_url" in refused.text


async def test_secrets_are_shown_on_demand(browser: Browser, box: Box) -> None:
    """They are not on the page before."""
    state = (await box.control("GET", "/webhook")).document
    hidden, shown = await browser.open(at(box)), await browser.open(f"{at(box)}?show=secrets")

    assert state["secret"] not in hidden.html.source
    assert state["secret"] in shown.text


async def test_a_secret_is_rotated_and_replaced(browser: Browser, box: Box) -> None:
    """With a grace both sign; one that is given is used at once."""
    before = (await box.control("GET", "/webhook")).document["secret"]
    done = await browser.send(at(box, "secret"), {"grace": "24h"})
    state = (await box.control("GET", "/webhook")).document
    assert "the old one signs too for 24h" in done.text
    assert state["previous_secret"] == before != state["secret"]
    shown = await browser.open(f"{at(box)}?show=secrets")
    assert f"this one signs too: {before}" in shown.text

    assert "A new webhook secret was made." in (await browser.send(at(box, "secret"), {"grace": ""})).text
    await browser.send(at(box, "secret"), {"secret": "whsec_mine"})
    assert (await box.control("GET", "/webhook")).document["secret"] == "whsec_mine"
    assert (await browser.send(at(box, "secret"), {"grace": "soon"})).status == 400


async def test_a_sample_event_is_sent(browser: Browser, box: Box) -> None:
    """Of the type that was chosen."""
    assert (
        "A sample pay-in.failed event was made"
        in (await browser.send(at(box, "sample"), {"type": "pay-in.failed"})).text
    )
    assert (await browser.send(at(box, "sample"), {"type": "nothing"})).status == 400


async def test_a_rate_limit_is_set_and_removed(browser: Browser, box: Box) -> None:
    """From a form that is made from the schema of the control call."""
    done = await browser.send(
        at(box, "rate-limit"), {"quota.limit": "5", "quota.window": "1m", "quota.headers": "always"}
    )
    assert "5 requests each 1m, with headers always." in done.text
    refused = await browser.send(at(box, "rate-limit"), {"quota.limit": "many"})
    answer = await box.control("PUT", "/rate-limit", {"limit": "many"})
    assert answer.document["error"]["message"] in refused.text
    assert "There is none" in (await browser.send(at(box, "rate-limit", "clear"), {})).text


async def test_a_scenario_is_activated_and_deactivated(browser: Browser, box: Box) -> None:
    """An unknown one is refused."""
    assert (
        "Every new payment plays card-declined"
        in (await browser.send(at(box, "scenario"), {"name": "card-declined"})).text
    )
    assert (await box.control("GET", "/scenarios/active")).document == {"name": "card-declined"}
    assert "None is active" in (await browser.send(at(box, "scenario"), {"name": ""})).text
    assert (await browser.send(at(box, "scenario"), {"name": "card-decline"})).status == 400


# Begin again


async def test_what_is_ticked_is_reset(browser: Browser, box: Box) -> None:
    """And nothing else; without a tick nothing is."""
    await box.deposit()
    await box.control("POST", "/faults", {"on": "webhooks", "effect": {"type": "drop"}})
    done = await browser.send(at(box, "reset"), {"scope.faults": "on"})

    assert "Reset: faults." in done.text
    assert (await box.control("GET", "/faults")).document["items"] == []
    assert "1 payment" in done.text
    refused = await browser.send(at(box, "reset"), {"same_ids": "on"})
    assert (refused.status, "tick what is to be reset" in refused.text) == (400, True)
    assert (await browser.send(at(box, "reset"), {"scope.faults": "on", "same_ids": "on"})).status == 400


async def test_a_sandbox_that_is_gone_is_a_page(browser: Browser, box: Box) -> None:
    """For every action too."""
    await browser.send(at(box, "delete"), {})
    for action in ("delete", "reset", "target", "clock", "clock/advance", "clock/stop", "faults", "faults/clear"):
        seen = await browser.send(at(box, action), {"by": "1h", "effect": "api.error"})
        assert seen.status == 404
        assert "There is no sandbox" in seen.text


async def test_a_form_of_another_site_does_nothing(browser: Browser, box: Box) -> None:
    """The rules of all pages hold for every action."""
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.test"}):
        assert (await browser.send(at(box, "delete"), {}, headers=headers)).status == 403
    assert (await box.control("GET", "")).status == 200
