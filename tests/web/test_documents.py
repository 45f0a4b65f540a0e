"""The documents over HTTP: what they say, and that they need nothing from elsewhere."""

from __future__ import annotations

import hashlib
import json
import re
from importlib.resources import files

import aiohttp
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from pydantic import BaseModel
from servers import running
from yarl import URL

from paydouble import Sandbox
from paydouble.server import Server, ServerOptions
from paydouble.web.control.app import find
from paydouble.web.pages import shipped_pages

STATIC = files("paydouble.web") / "static"
PAGES = {
    "/_paydouble/openapi.json": "application/json",
    "/_paydouble/control-openapi.json": "application/json",
    "/_paydouble/docs": "text/html",
    "/_paydouble/docs/": "text/html",
    "/_paydouble/docs/docs.css": "text/css",
    "/_paydouble/docs/docs.js": "text/javascript",
    "/_paydouble/docs/swagger-ui.css": "text/css",
    "/_paydouble/docs/swagger-ui-bundle.js": "text/javascript",
}
TEXTS = {"/_paydouble/llms.txt": "text/plain", "/_paydouble/docs/reference/faults.md": "text/markdown"}

# Of the payer's page.
STYLES = "/_paydouble/docs/payer.css"


@pytest.mark.parametrize(("path", "kind"), [*PAGES.items(), *TEXTS.items(), (STYLES, "text/css")])
async def test_a_page_has_its_type_and_may_load_nothing_from_elsewhere(path: str, kind: str) -> None:
    """Each page comes with its content type and a policy that keeps the browser on this server."""
    async with (
        Server(ServerOptions(port=0)) as server,
        aiohttp.ClientSession() as session,
        session.get(server.base_url + path) as response,
    ):
        assert (200, kind) == (response.status, response.content_type)
        assert response.headers["Content-Security-Policy"].startswith("default-src 'self';")
        assert response.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_browser_at_the_front_door_is_led_to_the_documentation_without_the_inspector() -> None:
    """A browser at the address shows the docs page; a program gets the service's 404 as before."""
    async with Server(ServerOptions(port=0, inspector=False)) as server, aiohttp.ClientSession() as session:
        browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
        async with session.get(server.base_url, headers=browser) as page:
            seen = (page.status, page.content_type, page.url.path)
        async with session.get(f"{server.base_url}/", headers={"Accept": "*/*"}) as answer:
            refused = (answer.status, (await answer.json())["error"]["code"])
        async with session.get(f"{server.base_url}/other", headers=browser) as answer:
            other = answer.status

    assert seen == (200, "text/html", "/_paydouble/docs")
    assert (refused, other) == ((404, "not_found"), 404)


async def test_the_front_door_leads_to_the_control_port() -> None:
    """With a port of its own for control calls the documentation is there; a program gets the service's 404."""
    async with (
        Server(ServerOptions(port=0, control_port=0, inspector=False)) as server,
        aiohttp.ClientSession() as session,
    ):
        async with session.get(f"{server.base_url}/", headers={"Accept": "text/html"}) as page:
            assert (page.status, page.url.port, page.url.path) == (200, server.control_port, "/_paydouble/docs")
        async with session.get(f"{server.base_url}/", headers={"Accept": "*/*"}) as answer:
            assert answer.status == 404


async def test_the_served_document_names_the_server_and_is_valid() -> None:
    """`openapi.json` is valid, names the address that it came from, and is the same when asked for again."""
    async with Server(ServerOptions(port=0)) as server, aiohttp.ClientSession() as session:
        texts = []
        for _ in range(2):
            async with session.get(f"{server.base_url}/_paydouble/openapi.json") as response:
                texts.append(await response.text())

    served = json.loads(texts[0])
    assert [{"url": server.base_url}] == served["servers"]
    assert list(OpenAPIV31SpecValidator(served).iter_errors()) == []
    assert texts[0] == texts[1]


async def test_the_control_document_is_valid_wherever_it_is_served() -> None:
    """`control-openapi.json` is valid and names no address, since it may be served on a port of its own."""
    async with Server(ServerOptions(port=0)) as server, aiohttp.ClientSession() as session:
        texts = []
        for _ in range(2):
            async with session.get(f"{server.base_url}/_paydouble/control-openapi.json") as response:
                texts.append(await response.text())

    served = json.loads(texts[0])
    assert served["servers"] == [{"url": "/"}]
    assert list(OpenAPIV31SpecValidator(served).iter_errors()) == []
    assert texts[0] == texts[1]


@pytest.mark.parametrize("path", ["docs/README.md", "docs/../documents.py", "docs/docs.html", "docs/nothing", "doc"])
async def test_nothing_else_is_handed_out(path: str) -> None:
    """A name that is no page is not found, whatever lies in the folder."""
    async with Server(ServerOptions(port=0)) as server, aiohttp.ClientSession() as session:
        url = URL(f"{server.base_url}/_paydouble/{path}", encoded=True)
        async with session.get(url) as response:
            assert response.status == 404


async def test_a_page_is_only_to_be_read() -> None:
    """A POST to a page is no page."""
    async with (
        Server(ServerOptions(port=0)) as server,
        aiohttp.ClientSession() as session,
        session.post(f"{server.base_url}/_paydouble/docs") as response,
    ):
        assert response.status == 404


def test_the_page_refers_only_to_this_server() -> None:
    """Whatever the page loads is one of the pages above."""
    html = (STATIC / "docs.html").read_text(encoding="utf-8")
    loaded = re.findall(r'(?:src|href)="([^"]*)"', html)

    assert {"data:,", "/_paydouble/docs?control", *PAGES} - {"/_paydouble/docs/"} == set(loaded)


def test_vendored_files_are_what_their_readme_says() -> None:
    """The vendored files have the sums that stand beside their version."""
    readme = (STATIC / "README.md").read_text(encoding="utf-8")
    written = dict(re.findall(r"^\| (\S+) \| `([0-9a-f]{64})` \|$", readme, re.MULTILINE))
    found = {name: hashlib.sha256((STATIC / name).read_bytes()).hexdigest() for name in written}

    assert written == found
    assert set(written) == {"swagger-ui.css", "swagger-ui-bundle.js"}


@pytest.mark.parametrize("name", ["swagger-ui.css", "swagger-ui-bundle.js"])
def test_vendored_files_ask_for_no_source_map(name: str) -> None:
    """No vendored file names a source map, which would not be found."""
    assert "sourceMappingURL" not in (STATIC / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("control_port", [None, 0])
async def test_a_payer_is_led_to_a_page_that_is_there(control_port: int | None) -> None:
    """`payment_url` can be opened, also when everything but the service has a port of its own."""
    async with running(ServerOptions(port=0, control_port=control_port)) as client:
        pay_in = await (await client.sandbox()).deposit()
        async with client.session.get(pay_in["payment_url"]) as page:
            assert (page.status, page.content_type) == (200, "text/html")


async def test_the_index_for_language_models_names_every_page_that_is_served() -> None:
    """Each link of `llms.txt` leads to a document of the same server, and each page is among them."""
    async with (
        Server(ServerOptions(port=0)) as server,
        aiohttp.ClientSession(f"{server.base_url}/_paydouble/") as session,
    ):
        async with session.get("llms.txt") as response:
            links = re.findall(r"\]\(([^)]+)\)", await response.text())
        answers = {}
        for link in links:
            async with session.get(link) as response:
                answers[link] = (response.status, await response.text())
        async with session.get("docs/reference/faults.md") as response:
            faults = await response.text()

    assert [link for link, (status, _) in answers.items() if status != 200] == []
    assert {f"docs/{name}" for name in shipped_pages()} == {link for link in links if link.endswith(".md")}
    assert faults == shipped_pages()["reference/faults.md"].read_text("utf-8")


@pytest.mark.parametrize("name", ["nothing.md", "../README.md", "README.md", "decisions/README.md", "%2e%2e/README.md"])
async def test_no_other_file_is_served(name: str) -> None:
    """Only the shipped pages are found, whatever a path says."""
    async with Server(ServerOptions(port=0)) as server, aiohttp.ClientSession() as session:
        url = URL(f"{server.base_url}/_paydouble/docs/{name}", encoded=True)
        async with session.get(url) as response:
            assert response.status == 404


def test_each_call_in_the_index_is_one_of_the_control_api() -> None:
    """The calls of its first steps exist, and their bodies are valid."""
    text = " ".join((STATIC / "llms.txt").read_text("utf-8").partition("\n## ")[0].split())
    calls = re.findall(r"`([A-Z]+) /_paydouble(/\S+)`(?: with `(\{.*?\})`\.)?", text)

    assert len(calls) == 5
    with Sandbox() as sandbox:
        for method, path, body in calls:
            route, _ = find(method, path.replace("{id}", "s"))
            if route.payload is None:
                assert body == ""
            elif issubclass(route.payload, BaseModel):
                route.payload.model_validate(json.loads(body))
            else:
                members = json.loads(body)
                sandbox.faults.add(members.pop("effect"), **members)
