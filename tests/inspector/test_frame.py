"""What all pages have in common: how they are found, their headers, and what a refusal looks like."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from inspecting import HOME, Browser
from servers import Client, running

from paydouble.server import ServerOptions

FILES = Path(__file__).parents[2] / "src" / "paydouble" / "web" / "inspector" / "static"
STATIC = "/_paydouble/inspector/static/"


async def test_a_browser_is_led_to_the_inbox(browser: Browser) -> None:
    """The address that a person types leads to the first page."""
    seen = await browser.open("/")

    assert (seen.status, seen.url) == (200, browser.origin + HOME)
    assert "Nothing has arrived yet" in seen.text


async def test_the_prefix_leads_to_the_inbox(browser: Browser) -> None:
    """The slash at the end may be left out."""
    assert (await browser.open("/_paydouble")).url == browser.origin + HOME


async def test_other_clients_get_what_the_service_answers(client: Client) -> None:
    """Only a client that asks for HTML is a browser."""
    assert (await client.call("GET", "/")).status == 404


@pytest.mark.parametrize("path", ["/_paydouble", HOME])
async def test_a_client_without_html_learns_what_is_here(client: Client, path: str) -> None:
    """The address in the banner answers curl with the addresses of the pages and the documents, which are there."""
    answer = await client.call("GET", path)
    addresses = {name: url for name, url in answer.document.items() if name != "message"}

    assert answer.status == 200
    assert addresses["inspector"] == f"http://127.0.0.1:{client.server.port}{HOME}"
    for url in addresses.values():
        async with client.session.get(url) as response:
            assert response.status == 200
    assert (await client.call("POST", path)).status == 404
    refused = await client.call("GET", path, headers={"Host": "evil.test"})
    assert (refused.status, refused.document["error"]["code"]) == (403, "foreign_host")


async def test_a_token_is_not_needed_for_the_addresses() -> None:
    """As for the documents that they name."""
    async with running(ServerOptions(port=0, control_token="t0ken")) as client:
        assert (await client.call("GET", HOME)).status == 200


async def test_pages_live_on_the_control_port() -> None:
    """With two ports `/` leads to the pages on both, and the API's port has none."""
    async with running(ServerOptions(port=0, control_port=0)) as client:
        port, control = client.server.port, client.server.control_port
        for each in (port, control):
            seen = await Browser(client).open(f"http://127.0.0.1:{each}/")
            assert (seen.status, seen.url) == (200, f"http://127.0.0.1:{control}{HOME}")
        assert (await client.call("GET", HOME, port=port)).status == 404


async def test_without_the_inspector_there_is_no_page() -> None:
    """A browser is then led to the documentation."""
    async with running(ServerOptions(port=0, inspector=False)) as client:
        browser = Browser(client)
        assert (await browser.open("/")).url == f"{browser.origin}/_paydouble/docs"
        assert (await browser.open(HOME)).status == 404
        assert (await browser.open(f"{STATIC}inspector.css")).status == 404


@pytest.mark.parametrize("path", [HOME, "/_paydouble/inspector/nothing", f"{STATIC}inspector.js", f"{STATIC}none.js"])
async def test_every_answer_has_the_headers_that_protect_it(browser: Browser, path: str) -> None:
    """Pages, files and refusals: nothing from elsewhere, nothing inline, no guessing of types, no frames."""
    headers = (await browser.open(path)).headers
    policy = headers["Content-Security-Policy"]

    assert policy.startswith("default-src 'self';")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Server"] == "paydouble"


async def test_pages_have_nothing_inline(browser: Browser) -> None:
    """The policy would stop it: no style attribute, no event handler, no script without a source."""
    html = (await browser.open()).html

    assert [one for one in html.attributes if one[1] == "style" or one[1].startswith("on")] == []
    assert "style" not in html.tags
    assert html.tags.count("script") == sum(tag == "script" and name == "src" for tag, name, _ in html.attributes)


async def test_what_a_page_loads_is_there(browser: Browser) -> None:
    """Each file has its type, and comes from this server."""
    html = (await browser.open()).html
    loaded = [value for tag, name, value in html.attributes if (tag, name) in {("link", "href"), ("script", "src")}]

    assert len(loaded) == 7
    for url in loaded:
        if url != "data:,":
            assert (await browser.open(url)).status == 200


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/_paydouble/inspector/nothing", "There is no such page"),
        ("/_paydouble/inspector/sandboxes/none/payments/payin_1", "There is no sandbox 'none'"),
        ("/_paydouble/inspector/sandboxes/default/payments/payin_1", "There is no payin 'payin_1'"),
    ],
)
async def test_what_is_not_there_is_said_in_words(browser: Browser, path: str, words: str) -> None:
    """A page that does not exist is a page with a way back."""
    seen = await browser.open(path)

    assert seen.status == 404
    assert words in seen.text
    assert HOME in seen.html.links


async def test_a_page_without_actions_takes_no_form(browser: Browser) -> None:
    """A POST to a page that only shows is refused."""
    seen = await browser.send(HOME, {}, headers={"Accept": "text/html"})

    assert seen.status == 405


async def test_a_foreign_host_is_refused_with_a_page(browser: Browser) -> None:
    """A domain that somebody else points at this server gets nothing (DNS rebinding)."""
    seen = await browser.open(headers={"Host": "evil.test"})

    assert seen.status == 403
    assert "--allowed-host" in seen.text


async def test_a_failure_is_a_page(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A bug of a page is logged, and the browser gets an answer."""
    monkeypatch.setattr("paydouble.web.inspector.inbox.rows", lambda *_: 1 / 0)
    seen = await browser.open()

    assert seen.status == 500
    assert "The log of the server says why" in seen.text
    assert "ZeroDivisionError" in caplog.text


async def test_head_is_answered_like_get(client: Client) -> None:
    """A check of a link needs no body."""
    assert (await client.call("HEAD", HOME, headers={"Accept": "text/html"})).status == 200


def test_a_start_loads_no_page() -> None:
    """A server that never shows a page imports neither jinja2 nor the inspector, also after other requests."""
    script = """
import asyncio, sys, aiohttp
from paydouble.server import Server, ServerOptions

async def main():
    async with Server(ServerOptions(port=0)) as server, aiohttp.ClientSession() as session:
        for path in ("/_paydouble/health", "/_paydouble/sandboxes", "/api/v1/nothing"):
            async with session.get(f"{server.base_url}{path}") as response:
                await response.read()
        found = [name for name in sys.modules if name.startswith(("jinja2", "paydouble.web.inspector"))]
        print(found)
        async with session.get(f"{server.base_url}/", headers={"Accept": "text/html"}) as response:
            print(response.status, "jinja2" in sys.modules)

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n200 True\n"


def test_vendored_files_are_what_their_readme_says() -> None:
    """The vendored files have the sums beside their version, and name no source map."""
    readme = (FILES / "README.md").read_text("utf-8")
    written = dict(re.findall(r"^\| (\S+) \| `([0-9a-f]{64})` \|$", readme, re.MULTILINE))

    assert written == {"htmx.min.js": hashlib.sha256((FILES / "htmx.min.js").read_bytes()).hexdigest()}
    assert "sourceMappingURL" not in (FILES / "htmx.min.js").read_text("utf-8")


def test_the_style_sheet_is_well_formed() -> None:
    """Every block is closed, and none is inside another but those of the rules for media and motion."""
    depth, lines = 0, (FILES / "inspector.css").read_text("utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if line.endswith("{"):
            assert depth == 0 or line.startswith("  "), number
            depth += 1
        depth -= line.strip() == "}"
    assert depth == 0
