"""Opens pages of the inspector without a browser, and reads them as a person would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urljoin

import aiohttp
from servers import Client

HOME: Final = "/_paydouble/"
POLICY: Final = "default-src 'self'"
_EMPTY: Final = frozenset({"meta", "link", "input", "br", "hr", "img"})


class Html(HTMLParser):
    """What is on a page: its words, links, attributes, and its forms."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        """Tag, name and value of every attribute."""
        self.links: list[str] = []
        self.unclosed: list[str] = []
        self._text: list[str] = []
        self.feed(source)
        self.close()

    @property
    def text(self) -> str:
        """Return the words of the page, with single blanks."""
        return " ".join("".join(self._text).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag with its attributes."""
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "a":
            self.links.append(dict(attrs).get("href") or "")
        if tag not in _EMPTY:
            self.unclosed.append(tag)
        self._text.append(" ")

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a tag, which must be the one that was opened last."""
        assert self.unclosed.pop() == tag
        self._text.append(" ")

    def handle_data(self, data: str) -> None:
        """Note words."""
        self._text.append(data)


@dataclass
class Seen:
    """One answer to a browser."""

    status: int
    headers: Mapping[str, str]
    url: str
    html: Html

    @property
    def text(self) -> str:
        """Return the words of the page."""
        return self.html.text


@dataclass
class Browser:
    """Opens pages of one server as a browser does, and keeps its cookies."""

    client: Client
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        """Return the origin of the pages."""
        return f"http://127.0.0.1:{self.client.server.control_port or self.client.server.port}"

    async def open(self, path: str = HOME, *, headers: Mapping[str, str] | None = None, follow: bool = True) -> Seen:
        """Open a page."""
        return await self._ask("GET", path, None, {"Accept": "text/html,*/*;q=0.8", **(headers or {})}, follow=follow)

    async def send(
        self, path: str, fields: Mapping[str, str], *, headers: Mapping[str, str] | None = None, follow: bool = True
    ) -> Seen:
        """Send a form."""
        sent = {"Origin": self.origin, "Sec-Fetch-Site": "same-origin", **(headers or {})}
        return await self._ask("POST", path, fields, sent, follow=follow)

    async def _ask(
        self, method: str, path: str, fields: Mapping[str, str] | None, headers: Mapping[str, str], *, follow: bool
    ) -> Seen:
        url = urljoin(self.origin, path)
        cookie = (
            {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} if self.cookies else {}
        )
        session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        async with (
            session,
            session.request(method, url, data=fields, headers={**headers, **cookie}, allow_redirects=False) as response,
        ):
            text = await response.text()
            for name, morsel in response.cookies.items():
                if morsel.value:
                    self.cookies[name] = morsel.value
                else:
                    self.cookies.pop(name, None)
            if follow and response.status in {302, 303}:
                return await self.open(urljoin(url, response.headers["Location"]))
            return Seen(response.status, dict(response.headers), str(response.url), Html(text))
