"""A real browser for tests: Debian's Chromium, driven by Playwright, and axe-core to look for barriers."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Literal, cast

import npm
import pytest
from bounds import AT_MOST_SECONDS
from playwright.async_api import Browser, ConsoleMessage, Error, Page, async_playwright, expect

_AXE_VERSION: Final = "4.14.1"
_AXE_INTEGRITY: Final = (
    "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
)
_AXE_PACKAGE: Final = {"name": "axe", "private": True, "dependencies": {"axe-core": _AXE_VERSION}}
_AXE_LOCK: Final = {
    "name": "axe",
    "lockfileVersion": 3,
    "requires": True,
    "packages": {
        "": {"name": "axe", "dependencies": {"axe-core": _AXE_VERSION}},
        "node_modules/axe-core": {"version": _AXE_VERSION, "integrity": _AXE_INTEGRITY},
    },
}
# What a browser says by itself about an answer that a test provokes.
_HARMLESS: Final = ("Failed to load resource", "net::ERR_")
Theme = Literal["light", "dark"]
_AT_MOST_MS: Final = AT_MOST_SECONDS * 1000
expect.set_options(timeout=_AT_MOST_MS)


def executable() -> str:
    """Return the path of Chromium; the test is skipped where there is none."""
    found = (os.environ.get("CHROMIUM"), *map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    for path in found:
        if path:
            return path
    pytest.skip("no chromium is installed here; the tests in a browser need it (Debian: apt-get install chromium)")


@asynccontextmanager
async def started() -> AsyncIterator[Browser]:
    """Run Chromium without a window."""
    path = executable()
    async with async_playwright() as playwright:
        # Without a sandbox of its own, which needs rights that a container rarely has; it only opens our pages.
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=_AT_MOST_MS)
        try:
            yield browser
        finally:
            await browser.close()


class Window:
    """One window, which must not report any error of a page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("console", self._note)
        page.on("pageerror", self._fail)

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(_HARMLESS):
            self.errors.append(message.text)

    def _fail(self, error: Error) -> None:
        self.errors.append(str(error))

    async def says(self, selector: str, text: str) -> None:
        """Wait until an element that is visible contains a text."""
        await self.page.locator(selector, has_text=text).first.wait_for()

    async def focused(self) -> str:
        """Return the text of the element that has the focus."""
        text: str = await self.page.evaluate("(document.activeElement.innerText || '').trim()")
        return text

    async def width(self) -> int:
        """Return the width of the document, which is more than the window's if it scrolls sideways."""
        width: int = await self.page.evaluate("document.documentElement.scrollWidth")
        return width

    async def barriers(self) -> list[str]:
        """Return what axe-core finds wrong with the page: rules, and where they are broken."""
        await self.page.evaluate(_axe().read_text("utf-8"))
        found: dict[str, Any] = await self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{rule['id']}: {node['target']} {node['failureSummary']}"
            for rule in cast("list[dict[str, Any]]", found["violations"])
            for node in rule["nodes"]
        ]


@asynccontextmanager
async def window(browser: Browser, *, theme: Theme = "light", width: int = 1280) -> AsyncIterator[Window]:
    """Open a window with cookies of its own; fails if a page reports an error."""
    context = await browser.new_context(
        color_scheme=theme, viewport={"width": width, "height": 900}, reduced_motion="reduce"
    )
    context.set_default_timeout(_AT_MOST_MS)  # of its pages too
    try:
        made = Window(await context.new_page())
        yield made
        assert made.errors == []
    finally:
        await context.close()


def _axe() -> Path:
    folder = npm.install("axe", json.dumps(_AXE_PACKAGE), json.dumps(_AXE_LOCK))
    return folder / "node_modules" / "axe-core" / "axe.min.js"
