"""From a template and its values to a response, with the headers that every page has."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined

from paydouble.core.durations import UNITS_MS
from paydouble.core.instants import write_instant
from paydouble.core.printable import printable
from paydouble.timeline import offset, took
from paydouble.web.inspector.masking import masked_header, masked_url
from paydouble.web.inspector.visits import delivery_url, request_url

STATIC: Final[Mapping[str, str]] = {
    "inspector.css": "text/css",
    "inspector.js": "text/javascript",
    "follow.js": "text/javascript",
    "inbox.js": "text/javascript",
    "payment.js": "text/javascript",
    "htmx.min.js": "text/javascript",
}
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Server": "paydouble",
}
LONGEST_NAME: Final = 200
"""Characters of an identifier, a URL or a key that a page shows."""
LONGEST_BODY: Final = 65_536
"""Characters of a body that a page shows."""
LONGEST_DUMP: Final = 4_096
"""Bytes of a body that a page shows in hex beside its text."""
_PARTS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_OPENING: Final = frozenset("{[")
_CLOSING: Final = frozenset("}]")
_DEEPEST: Final = 100


def respond(html: str, status: int = 200) -> web.Response:
    """Return a page as a response."""
    headers = {"Content-Type": "text/html; charset=utf-8", **HEADERS}
    return web.Response(body=html.encode("utf-8", "replace"), status=status, headers=headers)


def static(name: str) -> web.Response | None:
    """Return a file that pages load, or None."""
    kind = STATIC.get(name)
    if kind is None:
        return None
    # A browser asks again each time, so that a page and its files are always of one version.
    headers = {"Content-Type": f"{kind}; charset=utf-8", **HEADERS, "Cache-Control": "no-cache"}
    return web.Response(body=_read(name), headers=headers)


@cache
def _read(name: str) -> bytes:
    return (files("paydouble.web.inspector") / "static" / name).read_bytes()


def stylesheet() -> str:
    """Return the text of the stylesheets of a page, in one."""
    colours = (files("paydouble.web") / "static" / "colours.css").read_text("utf-8")
    return f"{colours}\n{_read('inspector.css').decode()}"


def render(template: str, values: Mapping[str, Any]) -> str:
    """Return the HTML of a template; every value in it is escaped."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("paydouble.web.inspector"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "plain": plain,
        "iso": write_instant,
        "clock": clock_time,
        "day": day,
        "took": took,
        "until": until,
        "gap": gap,
        "offset": offset,
        "body": shown_body,
        "sentence": as_sentence,
        "visible": visible,
        "masked_header": masked_header,
        "masked_url": masked_url,
    }
    environment.globals |= {"request_url": request_url, "delivery_url": delivery_url}
    return environment


# Filters of the templates


def plain(text: object, longest: int = LONGEST_NAME) -> str:
    """Return a text from outside on one line, without control characters, and cut if it is long."""
    given = str(text)
    if len(given) <= longest:
        return printable(given)
    return f"{printable(given[:longest])}… ({len(given):,} characters)"


def clock_time(instant: int) -> str:
    """Return the time of day of an instant (milliseconds): `14:03:22.250`."""
    return write_instant(instant)[11:-1]


def day(instant: int) -> str:
    """Return the date of an instant (milliseconds)."""
    return write_instant(instant)[:10]


def until(milliseconds: int) -> str:
    """Return how long something will take, in two units at most: `in 8 s`, `in 2 h 5 min`, `in 3 d`."""
    if milliseconds <= 0:
        return "now"
    seconds = -(-milliseconds // 1000)
    parts: list[tuple[int, str]] = []
    for unit, name in (("d", "d"), ("h", "h"), ("m", "min"), ("s", "s")):
        count, seconds = divmod(seconds, UNITS_MS[unit] // 1000)
        if count or parts:
            parts.append((count, name))
    return "in " + " ".join(f"{count} {name}" for count, name in parts[:2] if count)


def gap(milliseconds: int) -> str:
    """Return how long it was between two things: `250 ms`, `1.2 s`, `2 min 5 s`."""
    long = milliseconds >= UNITS_MS["m"]
    return (until(milliseconds) if long else took(milliseconds)).removeprefix("in ")


def as_sentence(text: str) -> str:
    """Return a message as a sentence of its own."""
    if not text:
        return ""
    first = text.partition(" ")[0]
    if first.isalpha() and len(first) > 1:  # `t` and `v1` are names
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "?")) else f"{text}."


class Body:
    """Bytes as a page shows them: text, JSON with line ends, or a hex dump."""

    __slots__ = ("_content", "cut", "kind", "size", "text")

    def __init__(self, content: bytes) -> None:
        """Take the bytes."""
        self._content = content
        self.size = len(content)
        self.cut = self.size > LONGEST_BODY
        shown = content[:LONGEST_BODY]
        try:
            text = shown.decode("utf-8", "strict" if not self.cut else "ignore")
        except UnicodeDecodeError:
            self.kind, self.text = "hex", hex_dump(shown[: LONGEST_BODY // 16])
            self.cut = self.size > LONGEST_BODY // 16
            return
        formatted = None if self.cut else indented(text)
        self.kind = "text" if formatted is None else "json"
        self.text = visible(text if formatted is None else formatted)

    @property
    def as_sent(self) -> str:
        """Return the text as it was sent where `text` has other line ends; empty otherwise."""
        if self.kind != "json":
            return ""
        sent = visible(self._content.decode())
        return "" if sent == self.text else sent

    @property
    def exact(self) -> bool:
        """Return whether a text has all the bytes: `as_sent`, or `text` without one."""
        return self.kind != "hex" and not self.cut and is_visible(self._content.decode())

    @property
    def hex(self) -> str:
        """Return the first bytes as a hex dump, unless `text` is one."""
        return "" if self.kind == "hex" else hex_dump(self._content[:LONGEST_DUMP])

    @property
    def hex_cut(self) -> bool:
        """Return whether `hex` lacks the end."""
        return self.size > LONGEST_DUMP


def shown_body(content: bytes) -> Body:
    """Return bytes as a page shows them."""
    return Body(content)


def visible(text: str) -> str:
    """Return a text with its control characters and direction controls escaped; line ends stay."""
    return "\n".join(map(printable, text.split("\n")))


def is_visible(text: str) -> bool:
    """Return whether a text is shown as it is, without an escape."""
    return visible(text) == text


def hex_dump(content: bytes, first: int = 0) -> str:
    """Return bytes as lines of an offset, sixteen bytes in hex, and their ASCII characters.

    `first` is the offset of the first byte.
    """
    lines = []
    for at in range(0, len(content), 16):
        row = content[at : at + 16]
        characters = "".join(chr(each) if 32 <= each < 127 else "." for each in row)  # noqa: PLR2004 - printable ASCII
        lines.append(f"{first + at:08x}  {row.hex(' '):<47}  {characters}")
    return "\n".join(lines)


def indented(text: str) -> str | None:
    """Return a JSON text with line ends and indentation; None for anything else. Values stay as they were written."""
    try:
        if not isinstance(json.loads(text), dict | list):
            return None
    except (ValueError, RecursionError):
        return None
    lines: list[str] = []
    line, depth, before = "", 0, ""
    for part in _PARTS.findall(text):
        if part in _CLOSING:
            depth -= 1
            if before not in _OPENING:
                lines.append(line)
                line = "  " * depth
        elif before in _OPENING or before == ",":
            lines.append(line)
            line = "  " * depth
        line += f"{part} " if part == ":" else part
        depth += part in _OPENING
        if depth > _DEEPEST:
            return None
        before = part
    return "\n".join([*lines, line])
