"""Faults on the page of a sandbox, and the form that is made from the schema of each effect."""

from __future__ import annotations

import re
from typing import Any

import pytest
from inspecting import Browser
from servers import Box, Client

from paydouble.web.inspector.schema_forms import Field, body, effects, fields

SIDES = ("api", "webhooks")
ALL = [f"{side}.{name}" for side in SIDES for name in effects(side)]


@pytest.fixture
async def box(client: Client) -> Box:
    """Return a sandbox with a manual clock."""
    return await client.sandbox(clock="manual")


def page(box: Box, *segments: str) -> str:
    """Return the path of the page of a sandbox, or of one below it."""
    return "/".join((f"/_paydouble/inspector/sandboxes/{box.id}", *segments))


def example(field: Field) -> str:
    """Return a value that a field takes."""
    schema = field.schema
    if field.kind == "choice":
        return field.options[0]
    if field.kind == "number":
        return str(schema.get("minimum", 1))
    if field.kind == "json":
        return '{"a": 1}'
    values = ("1.50", "USD", "http://proxy.test/")
    return next(value for value in values if re.search(schema.get("pattern", ""), value))


@pytest.mark.parametrize("effect", ALL)
async def test_every_effect_has_a_form_that_adds_it(browser: Browser, box: Box, effect: str) -> None:
    """It asks for what the effect needs, and nothing more is needed."""
    shown = await browser.open(page(box, f"faults/new?effect={effect}"))
    side, _, name = effect.partition(".")
    needed = {each.name: example(each) for each in fields(effects(side)[name], {}, within="effect.") if each.required}
    if "fixed" in effects(side)[name]["properties"]:
        needed["effect.fixed"] = "1s"
    done = await browser.send(page(box, "faults"), {"effect": effect, **needed})

    assert shown.status == 200
    assert {value for tag, key, value in shown.html.attributes if key == "name"} >= set(needed)
    assert "was added" in done.text
    (made,) = (await box.control("GET", "/faults")).document["items"]
    assert (made["on"], made["effect"]["type"]) == (side, name)


async def test_a_fault_is_described_before_its_form(browser: Browser, box: Box) -> None:
    """Each with a link to its form, on which operation and event type are chosen from lists."""
    seen = await browser.open(page(box))
    assert all(f"{page(box, 'faults', 'new')}?effect={effect}" in seen.html.links for effect in ALL)
    assert "connection_reset The connection is reset (RST)." in seen.text

    form = await browser.open(page(box, "faults/new?effect=api.latency"))
    assert ("select", "name", "match.operation") in form.html.attributes
    assert form.text.index("phase") < form.text.index("lognormal")
    other = await browser.open(page(box, "faults/new?effect=webhooks.drop"))
    assert ("select", "name", "match.event_type") in other.html.attributes
    assert "There is nothing to choose: it always does the same." in other.text


async def test_values_reach_the_control_api_as_they_are_meant(browser: Browser, box: Box) -> None:
    """Whole numbers, fractions, texts, choices, lists, objects, and members of the match."""
    wanted: list[tuple[dict[str, str], dict[str, Any]]] = [
        (
            {"effect": "api.error", "effect.status": "503", "effect.code": "5", "effect.details": '{"a": [1, "b"]}'},
            {"status": 503, "code": "5", "details": {"a": [1, "b"]}},
        ),
        ({"effect": "api.latency", "effect.uniform": "1s, 2s"}, {"uniform": ["1s", "2s"]}),
        (
            {
                "effect": "api.latency",
                "effect.lognormal.median": "1s",
                "effect.lognormal.sigma": "0.5",
                "effect.lognormal.max": "9s",
            },
            {"lognormal": {"median": "1s", "sigma": 0.5, "max": "9s"}},
        ),
        (
            {
                "effect": "webhooks.reorder",
                "effect.strategy": "permutation",
                "effect.window": "3",
                "effect.order": "2,1,3",
            },
            {"strategy": "permutation", "order": [2, 1, 3]},
        ),
        ({"effect": "webhooks.schedule", "effect.delays": '["1m"]'}, {"delays": ["1m"]}),
        ({"effect": "webhooks.tamper", "effect.value": "a text"}, {"value": "a text"}),
        ({"effect": "webhooks.tamper", "effect.value": "12.50"}, {"value": 12.50}),
        ({"effect": "webhooks.duplicate", "effect.new_id": "true"}, {"new_id": True}),
        ({"effect": "api.redirect", "effect.to": "http://a.test/", "effect.status": "308"}, {"status": 308}),
    ]
    for given, expected in wanted:
        match = {
            "match.external_identifier": "order-*",
            "times": "2",
            "probability": "0.25",
            "ttl": "2h",
            "name": "mine",
        }
        done = await browser.send(page(box, "faults"), {**given, **match})
        made = (await box.control("GET", "/faults")).document["items"][-1]
        assert "was added" in done.text
        assert {name: made["effect"].get(name) for name in expected} == expected
        assert made["match"] == {"external_identifier": "order-*"}
        assert (made["times"], made["probability"], made["ttl"], made["name"]) == (2, 0.25, "2h", "mine")


@pytest.mark.parametrize(
    ("given", "document"),
    [
        ({"effect.status": "200"}, {"effect": {"type": "error", "status": 200}}),
        ({"effect.status": "many"}, {"effect": {"type": "error", "status": "many"}}),
        ({}, {"effect": {"type": "error"}}),
        ({"effect.status": "503", "times": "1.5"}, {"effect": {"type": "error", "status": 503}, "times": 1.5}),
        (
            {"effect.status": "503", "match.operation": "deposit"},
            {"effect": {"type": "error", "status": 503}, "match": {"operation": "deposit"}},
        ),
    ],
)
async def test_a_refusal_has_the_words_of_the_control_api(
    browser: Browser, box: Box, given: dict[str, str], document: dict[str, Any]
) -> None:
    """What was given stays in the fields."""
    refused = await browser.send(page(box, "faults"), {"effect": "api.error", **given})
    answer = await box.control("POST", "/faults", {"on": "api", **document})

    assert refused.status == answer.status == 400
    assert answer.document["error"]["message"] in refused.text
    for value in given.values():
        assert {("input", "value", value), ("option", "value", value)} & set(refused.html.attributes)


@pytest.mark.parametrize("effect", ["", "api", "api.nothing", "webhooks.error", "x.y"])
async def test_an_unknown_effect_has_no_form(browser: Browser, box: Box, effect: str) -> None:
    """Neither to look at nor to send."""
    assert (await browser.open(page(box, f"faults/new?effect={effect}"))).status == 404
    assert (await browser.send(page(box, "faults"), {"effect": effect})).status == 404


async def test_a_fault_is_paused_resumed_and_removed(browser: Browser, box: Box) -> None:
    """Its row says what it is; one that is gone is refused."""
    fault = {"id": "f", "on": "api", "times": 1, "effect": {"type": "error", "status": 503}}
    await box.control("POST", "/faults", fault)
    paused = await browser.send(page(box, "faults/f/enabled"), {"enabled": "false"})
    assert "Fault f is paused" in paused.text
    assert "paused 0 0 of 1 Resume" in paused.text
    assert "active 0 0 of 1 Pause" in (await browser.send(page(box, "faults/f/enabled"), {"enabled": "true"})).text
    await box.client.call("GET", "/api/v1/pay-in", headers=box.credentials)
    assert "used up 1 1 of 1" in (await browser.open(page(box))).text
    assert "Fault f was removed" in (await browser.send(page(box, "faults/f/remove"), {})).text
    gone = await browser.send(page(box, "faults/f/remove"), {})
    assert gone.status == 404
    assert "'f'" in gone.text


async def test_a_fault_that_has_expired_says_so(browser: Browser, box: Box) -> None:
    """After its time to live on the sandbox's clock."""
    await box.control("POST", "/faults", {"ttl": "1s", "on": "webhooks", "effect": {"type": "drop"}})
    await box.advance(by="2s")

    assert "expired" in (await browser.open(page(box))).text


async def test_faults_of_scenarios_name_their_order(browser: Browser, box: Box) -> None:
    """They are listed after those of a test, and all of them can be removed at once."""
    await box.control("POST", "/scenarios/lost-webhook/play")
    seen = await browser.open(page(box))
    assert "armed by a scenario for order scenario-lost-webhook-1" in seen.text
    done = await browser.send(page(box, "faults/clear"), {})
    assert "All faults were removed" in done.text
    assert "There is none: everything goes as documented" in done.text


async def test_a_list_of_many_faults_is_cut(browser: Browser, box: Box) -> None:
    """The page says how many it leaves out."""
    for _ in range(203):
        await box.control("POST", "/faults", {"on": "webhooks", "effect": {"type": "drop"}})

    assert "3 more are left out" in (await browser.open(page(box))).text


def test_a_body_has_the_members_that_were_given() -> None:
    """An empty field leaves its member out, and text that is not JSON is sent as a text."""
    schema = {"properties": {"n": {"type": "integer"}, "t": {"type": "string"}, "inner": {"properties": {"v": {}}}}}
    wanted = fields(schema, {"n": "5 apples", "t": "", "inner.v": "[1"})

    assert body(wanted, {"on": "api"}) == b'{"on":"api","n":"5 apples","inner":{"v":"[1"}}'
