"""The library of scenarios, the page of one, and playing it."""

from __future__ import annotations

from pathlib import Path

import pytest
from inspecting import Browser
from servers import Box, Client, running

from paydouble.runtime.host import HostOptions
from paydouble.scenarios.drawing import Row
from paydouble.scenarios.library import open_library, shipped_files
from paydouble.server import ServerOptions
from paydouble.web.inspector.scenarios import tree

LIBRARY = "/_paydouble/inspector/scenarios"
UPLOAD = {
    "name": "mine",
    "summary": "A <b>bold</b> scenario.",
    "lifecycle": {"pay_in": [{"after": "5s", "to": "failed"}]},
}


@pytest.fixture
async def box(client: Client) -> Box:
    """Return a sandbox with a manual clock."""
    return await client.sandbox(clock="manual")


async def test_every_shipped_scenario_is_listed_and_has_a_page(browser: Browser) -> None:
    """With its summary, its graph and its file."""
    seen = await browser.open(LIBRARY)
    names = list(shipped_files())

    assert f"{len(names)} of {len(names)}" in seen.text
    for name in names:
        assert f"{LIBRARY}/{name}?sandbox=default" in seen.html.links
        one = await browser.open(f"{LIBRARY}/{name}")
        assert one.status == 200
        assert "Pay-in +0s created" in one.text
        assert f"name: {name}" in one.text
        assert one.html.unclosed == []


async def test_the_library_is_searched(browser: Browser) -> None:
    """In names and summaries, in either case."""
    assert "1 of 63" in (await browser.open(f"{LIBRARY}?q=LOST-REPLY")).text
    assert "No scenario fits" in (await browser.open(f"{LIBRARY}?q=nothing+of+this+kind")).text


async def test_uploads_and_own_files_are_listed_first(tmp_path: Path) -> None:
    """In groups that say where they are from; a shipped one that is replaced is not listed twice."""
    (tmp_path / "happy-path.yaml").write_text("name: happy-path\nsummary: My own.\nlifecycle: {pay_in: []}\n")
    library, _ = open_library([tmp_path])
    async with running(ServerOptions(port=0, shared=HostOptions(library=library))) as client:
        box = await client.sandbox()
        await box.control("POST", "/scenarios", UPLOAD)
        text = (await Browser(client).open(f"{LIBRARY}?sandbox={box.id}")).text
        own = (await Browser(client).open(f"{LIBRARY}/happy-path")).text

    assert text.index("Folder") < text.index("Uploaded") < text.index("Shipped: ")
    assert "happy-path My own." in text
    assert text.count(" happy-path ") == 1
    assert "A <b>bold</b> scenario." in text
    assert f"From {tmp_path}" in own
    assert "summary: My own." in own


async def test_an_upload_is_shown_as_its_sandbox_has_it(browser: Browser, box: Box) -> None:
    """With the file that would have the same meaning; another sandbox has none of this name."""
    await box.control("POST", "/scenarios", UPLOAD)
    seen = await browser.open(f"{LIBRARY}/mine?sandbox={box.id}")

    assert f"Uploaded to sandbox {box.id}" in seen.text
    assert "+5s failed" in seen.text
    assert "name: mine" in seen.text
    assert (await browser.open(f"{LIBRARY}/mine?sandbox=default")).status == 404


async def test_sides_of_a_branch_are_inside_it(browser: Browser) -> None:
    """As nested lists, which a screen reader announces."""
    html = (await browser.open(f"{LIBRARY}/payer-decides")).html.source
    branch = html[html.index("if the payer pays:") : html.index("if the payer is declined:")]

    assert branch.count('<ol class="graph">') == 1
    assert 'class="status good">succeeded' in branch


def test_rows_become_a_tree() -> None:
    """What is deeper is inside the row before it."""
    rows = [
        Row(0, "+0s", "created"),
        Row(0, "", "3 times:"),
        Row(1, "+1s", "pending"),
        Row(0, "+9s", "a dispute arrives"),
    ]
    first, repeat, last = tree(rows)

    assert (first.tone, first.inside) == ("busy", [])
    assert (repeat.tone, [each.what for each in repeat.inside]) == (None, ["pending"])
    assert last.tone is None


async def test_a_scenario_is_played(browser: Browser, box: Box) -> None:
    """In the sandbox that was chosen; the payment's page follows."""
    done = await browser.send(f"{LIBRARY}/card-declined/play", {"sandbox": box.id})

    assert f"/sandboxes/{box.id}/payments/" in done.url
    assert "This payment plays card-declined." in done.text
    assert "scenario-card-declined-1" in done.text
    assert "49.90 EUR" in done.text


async def test_a_deposit_that_plays_can_have_members(browser: Browser, box: Box) -> None:
    """Those of the control call, from its schema; a refusal has its words, and keeps what was given."""
    fields = {
        "sandbox": box.id,
        "deposit.amount": "12.50",
        "deposit.currency": "USD",
        "deposit.external_identifier": "o-1",
    }
    done = await browser.send(f"{LIBRARY}/happy-path/play", {**fields, "deposit.metadata": '{"cart": "7"}'})
    assert "12.50 USD" in done.text
    assert "o-1" in done.text

    refused = await browser.send(f"{LIBRARY}/happy-path/play", {**fields, "deposit.amount": "-3"})
    answer = await box.control("POST", "/scenarios/happy-path/play", {"deposit": {"amount": -3}})
    assert refused.status == answer.status == 400
    assert answer.document["error"]["message"] in refused.text
    assert ("input", "value", "-3") in refused.html.attributes
    assert ("details", "open", "") in refused.html.attributes


async def test_what_is_not_there_is_not_played(browser: Browser, box: Box) -> None:
    """Neither an unknown scenario nor one in an unknown sandbox."""
    assert (await browser.open(f"{LIBRARY}/happy-pat")).status == 404
    assert (await browser.send(f"{LIBRARY}/happy-pat/play", {"sandbox": box.id})).status == 404
    assert (await browser.open(f"{LIBRARY}?sandbox=none")).status == 404
    assert (await browser.send(f"{LIBRARY}/happy-path/play", {"sandbox": "none"})).status == 404


async def test_without_a_sandbox_nothing_can_be_played() -> None:
    """The page says what to do."""
    async with running(ServerOptions(port=0)) as client:
        await client.call("DELETE", "/_paydouble/sandboxes/default")
        seen = await Browser(client).open(LIBRARY)

    assert seen.status == 409
    assert "Make one on the page Sandboxes" in seen.text


async def test_a_scenario_is_made_active_from_its_page(browser: Browser, box: Box) -> None:
    """Then its page and the list say so."""
    await browser.send(f"/_paydouble/inspector/sandboxes/{box.id}/scenario", {"name": "yen"})

    assert f"active in {box.id}" in (await browser.open(f"{LIBRARY}/yen?sandbox={box.id}")).text
    assert "yen active" in (await browser.open(f"{LIBRARY}?sandbox={box.id}")).text
