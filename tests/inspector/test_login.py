"""The login of a server that has a control token."""

from __future__ import annotations

from collections.abc import AsyncIterator
from http.cookies import SimpleCookie
from io import BytesIO

import pytest
from inspecting import HOME, Browser
from servers import Client, running

from paydouble.runtime.wall import wall_ms
from paydouble.server import ServerOptions
from paydouble.web.sessions import COOKIE, LIFETIME_SECONDS, Sessions

TOKEN = "a token with ünusual characters"
LOGIN = "/_paydouble/inspector/login"
LOGOUT = "/_paydouble/inspector/logout"


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Return a client of a server with a control token."""
    async with running(ServerOptions(port=0, control_token=TOKEN)) as made:
        yield made


async def test_a_page_leads_to_the_login_and_back(browser: Browser) -> None:
    """Somebody who follows a link sees the page that it is about after the login."""
    asked = f"{HOME}?q=order-17&show=failed"
    form = await browser.open(asked)

    assert form.url.startswith(f"{browser.origin}{LOGIN}?back=")
    assert "control token" in form.text
    back = next(value for tag, name, value in form.html.attributes if (tag, name) == ("input", "value"))
    assert back == asked
    seen = await browser.send(LOGIN, {"token": TOKEN, "back": back})
    assert (seen.status, seen.url) == (200, browser.origin + asked)


async def test_a_wrong_token_is_refused(browser: Browser) -> None:
    """The form is shown again, and nobody is logged in."""
    seen = await browser.send(LOGIN, {"token": "wrong", "back": HOME})

    assert seen.status == 403
    assert "This is not the control token" in seen.text
    assert browser.cookies == {}


async def test_the_cookie_is_no_token_and_is_kept_from_scripts_and_other_sites(browser: Browser) -> None:
    """The cookie is `HttpOnly` and `SameSite=Strict`, and does not contain the token."""
    seen = await browser.send(LOGIN, {"token": TOKEN, "back": HOME}, follow=False)
    morsel = SimpleCookie(seen.headers["Set-Cookie"])[COOKIE]

    assert TOKEN not in seen.headers["Set-Cookie"]
    assert (morsel["httponly"], morsel["samesite"], morsel["path"]) == (True, "Strict", "/_paydouble/")
    assert morsel["secure"] == ""


async def cookies_of(browser: Browser) -> dict[str, str]:
    """Log in, and return the header with the cookie."""
    await browser.send(LOGIN, {"token": TOKEN})
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}


@pytest.mark.parametrize("path", ["/_paydouble/stream", "/_paydouble/sandboxes/default/stream"])
async def test_a_browser_that_is_logged_in_follows_the_streams(browser: Browser, path: str) -> None:
    """An `EventSource` cannot send the token; it sends the cookie of the login."""
    call = browser.client.call
    assert (await call("HEAD", path)).status == 401
    cookie = await cookies_of(browser)

    async with browser.client.session.get(f"{browser.origin}{path}", headers=cookie) as response:
        assert (response.status, response.content_type) == (200, "text/event-stream")
    assert (await call("HEAD", path, headers={**cookie, "Origin": browser.origin})).status == 200
    await browser.send(LOGOUT, {})
    assert (await call("HEAD", path, headers=cookie)).status == 401


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/sandboxes", {}),
        ("POST", "/sandboxes", {}),
        ("POST", "/stream", {}),
        ("GET", "/nothing", {}),
        ("HEAD", "/stream", {"Sec-Fetch-Site": "same-site"}),
        ("HEAD", "/stream", {"Sec-Fetch-Site": "cross-site"}),
        ("HEAD", "/stream", {"Origin": "http://127.0.0.1:1"}),
        ("HEAD", "/stream", {"Cookie": f"{COOKIE}=1.2.3"}),
    ],
)
async def test_the_cookie_allows_nothing_else(
    browser: Browser, method: str, path: str, headers: dict[str, str]
) -> None:
    """No other control call takes it, and none from a page of another origin."""
    cookie = await cookies_of(browser)

    answer = await browser.client.call(method, f"/_paydouble{path}", headers={**cookie, **headers})

    assert answer.status in {401, 403}


async def test_the_cookie_is_for_https_only_where_there_is_https() -> None:
    """Behind a proxy that speaks TLS the cookie never travels without it."""
    options = ServerOptions(port=0, control_token=TOKEN, trust_forwarded=("127.0.0.1",))
    async with running(options) as client:
        headers = {"X-Forwarded-Proto": "https"}
        seen = await Browser(client).send(LOGIN, {"token": TOKEN}, headers=headers, follow=False)

        assert SimpleCookie(seen.headers["Set-Cookie"])[COOKIE]["secure"] is True


async def test_a_logout_ends_the_session(browser: Browser) -> None:
    """After it the old cookie is worth nothing, even if somebody has kept it."""
    await browser.send(LOGIN, {"token": TOKEN})
    kept = dict(browser.cookies)
    seen = await browser.send(LOGOUT, {})

    assert seen.url.startswith(browser.origin + LOGIN)
    assert browser.cookies == {}
    browser.cookies = kept
    assert (await browser.open()).url.startswith(browser.origin + LOGIN)


@pytest.mark.parametrize("value", ["", "1.2.3", "a.b", "9999999999..", "1.ü.3"])
async def test_an_invented_cookie_logs_nobody_in(browser: Browser, value: str) -> None:
    """Only a value that this server has signed counts."""
    browser.cookies = {COOKIE: value}

    assert (await browser.open()).url.startswith(browser.origin + LOGIN)


async def test_a_session_expires(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser that was left alone for a day has to log in again."""
    await browser.send(LOGIN, {"token": TOKEN})
    later = wall_ms() + LIFETIME_SECONDS * 1000
    monkeypatch.setattr("paydouble.web.sessions.wall_ms", lambda: later)

    assert (await browser.open()).url.startswith(browser.origin + LOGIN)


async def test_who_is_logged_in_sees_no_form(browser: Browser) -> None:
    """The login leads on at once."""
    await browser.send(LOGIN, {"token": TOKEN})

    assert (await browser.open(LOGIN)).url == browser.origin + HOME


@pytest.mark.parametrize(
    "back",
    ["https://evil.test/", "//evil.test/", "/api/v1/x", "javascript:alert(1)", "/_paydouble/\r\nX: y", "http://["],
)
async def test_the_login_leads_only_to_its_own_pages(browser: Browser, back: str) -> None:
    """A link that somebody prepared does not lead elsewhere after the login."""
    seen = await browser.send(LOGIN, {"token": TOKEN, "back": back}, follow=False)

    assert (seen.status, seen.headers["Location"]) == (303, HOME)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.test"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_a_form_of_another_site_is_refused(browser: Browser, headers: dict[str, str]) -> None:
    """Not even the right token helps, and not even from another port of the same host."""
    seen = await browser.send(LOGIN, {"token": TOKEN}, headers=headers)

    assert seen.status == 403
    assert browser.cookies == {}


async def test_a_form_that_cannot_be_read_is_refused(browser: Browser) -> None:
    """Bytes that are no form, and a form that is too large, get a page that says so."""
    for data in (b"\xff=1", b"a=" + b"x" * 2_000_000):
        async with browser.client.session.post(f"{browser.origin}{LOGIN}", data=BytesIO(data)) as response:
            assert response.status == 400
            assert "The form cannot be read" in await response.text()


async def test_the_files_of_the_login_need_none(browser: Browser) -> None:
    """The form has its styles."""
    assert (await browser.open("/_paydouble/inspector/static/inspector.css")).status == 200


def test_without_a_token_nobody_logs_in() -> None:
    """There is nothing to check then."""
    sessions = Sessions(None)

    assert (sessions.needed, sessions.is_token("")) == (False, False)
