"""Works on a page by keyboard alone, and knows the buttons that the pages have, so that tests press all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from chromium import Window
from playwright.async_api import Locator, expect

import paydouble.web

_WEB: Final = Path(paydouble.web.__file__).parent
_SOURCES: Final = (*sorted((_WEB / "inspector" / "templates").glob("*.html")), _WEB / "payer.py")
_BUTTON: Final = re.compile(r"<button\b[^>]*>(.*?)</button>", re.DOTALL)
_VARIES: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{\w+\}", re.DOTALL)
_MOST_STOPS: Final = 300
_MOST_TRIES: Final = 10
# What Tab can reach, as far as our pages have it; `reach` corrects what this leaves out.
_STOPS: Final = """target => {
  const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
    .filter(each => each.checkVisibility() && !each.disabled && each.type !== 'hidden');
  const at = all.indexOf(target), from = all.findIndex(each => each === document.activeElement);
  return at < 0 ? 0 : at > from ? at - from : 0;
}"""


def buttons() -> dict[str, list[str]]:
    """Return the labels of the buttons by the file in which they are written; what varies in a label is `…`."""
    found = {path.name: list(_labels(path.read_text("utf-8"))) for path in _SOURCES}
    return {name: labels for name, labels in found.items() if labels}


def _labels(source: str) -> Iterator[str]:
    for label in _BUTTON.findall(source):
        yield _VARIES.sub("…", label).strip()


class Keyboard:
    """The keyboard of one window; remembers the buttons that it has pressed."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.page = window.page
        self._pressed: set[tuple[str, str]] = set()

    def left(self, *files: str) -> list[str]:
        """Return the buttons of some files that were not pressed."""
        known = buttons()
        return [f"{file}: {label}" for file in files for label in known[file] if (file, label) not in self._pressed]

    async def reach(self, target: Locator) -> None:
        """Press Tab until an element has the focus; fails when Tab never comes to it."""
        await target.wait_for()
        if await target.evaluate("each => each === document.activeElement"):
            return
        for _ in range(_MOST_STOPS):
            for _ in range(max(1, await target.evaluate(_STOPS))):
                await self.page.keyboard.press("Tab")
            if await target.evaluate("each => each === document.activeElement"):
                return
        raise AssertionError(f"Tab does not come to {target}")

    async def press(
        self, file: str, label: str, *, shown: str = "", target: Locator | None = None, key: str = "Enter"
    ) -> None:
        """Press a button: `label` as `buttons` returns it, `shown` as the page does where it varies.

        `target` is the button where the page has several with this label.
        """
        assert label in buttons()[file], f"{file} has no button {label}"
        pattern = re.compile(rf"^\s*{re.escape(shown or label)}\s*$")
        await self.reach(target or self.page.locator("button").filter(has_text=pattern, visible=True).first)
        await self.page.keyboard.press(key)
        self._pressed.add((file, label))

    async def open(self, summary: str) -> None:
        """Unfold a part of the page."""
        await self.reach(self.page.locator("summary", has_text=summary).first)
        await self.page.keyboard.press("Enter")

    async def write(self, selector: str, text: str) -> None:
        """Write into a field in place of what it has."""
        await self.reach(self.page.locator(selector))
        await self.page.keyboard.press("ControlOrMeta+a")
        await self.page.keyboard.type(text)

    async def choose(self, selector: str, shown: str, value: str = "") -> None:
        """Choose an option of a list by the letters that it shows; its value is the same unless given."""
        field = self.page.locator(selector)
        await self.reach(field)
        await self.page.keyboard.type(shown)
        for _ in range(_MOST_TRIES):
            if await field.input_value() == (value or shown):
                return
            # After a second without a letter the browser begins another search: a busy machine may make one.
            await field.evaluate("each => { each.blur(); each.focus(); }")
            await self.page.keyboard.type(shown)
        await expect(field).to_have_value(value or shown)
