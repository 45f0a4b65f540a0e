"""The login of a server that has a control token, and the logout."""

from __future__ import annotations

from urllib.parse import urlsplit

from aiohttp import web

from paydouble.web.addresses import HOME, PAGES
from paydouble.web.inspector.visits import LOGIN, Page, Shown, Visit, home, see
from paydouble.web.sessions import Sessions


class Login:
    """The pages of the login."""

    def __init__(self, sessions: Sessions) -> None:
        """Log browsers in and out."""
        self._sessions = sessions

    def show(self, visit: Visit) -> Shown:
        """Show the form, or lead on where no login is needed."""
        back = _own_page(visit.query.get("back", ""))
        if self._sessions.holds(visit.request):
            return see(back)
        return _form(back)

    def enter(self, visit: Visit) -> Shown:
        """Check the token, and lead back to the page that was asked for."""
        back = _own_page(visit.form.get("back", ""))
        if not self._sessions.is_token(visit.form.get("token", "")):
            return _form(back, "This is not the control token that the server was started with.", 403)
        response = see(back)
        self._sessions.begin(response, secure=visit.reached.control.startswith("https:"))
        return response

    def leave(self, visit: Visit) -> web.Response:
        """Log the browser out."""
        response = see(LOGIN)
        self._sessions.end(visit.request, response)
        return response


def _form(back: str, problem: str = "", status: int = 200) -> Page:
    return Page("login.html", {"title": "Log in", "back": back, "problem": problem, "action": LOGIN}, status)


def _own_page(url: str) -> str:
    """Return a URL of the inspector as it was given, and the inbox for any other."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return home()
    if parts.scheme or parts.netloc or not (parts.path == HOME or parts.path.startswith(PAGES)):
        return home()
    return url if url.isascii() and url.isprintable() else home()
