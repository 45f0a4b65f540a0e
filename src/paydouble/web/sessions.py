"""The login of a browser: a cookie that proves that its user has given the control token, without containing it.

The value is `ISSUED.NONCE.SIGNATURE`, signed with a key that is derived from the control token. So it needs no memory,
and it is valid until it expires, also after a restart with the same token. A logout is remembered until the server
stops.
"""

from __future__ import annotations

import hmac
import secrets
from collections import deque
from hashlib import sha256
from typing import Final

from aiohttp import web

from paydouble.runtime.wall import wall_ms

COOKIE: Final = "paydouble_inspector"
LIFETIME_SECONDS: Final = 12 * 3600
_MOST_LOGOUTS: Final = 1_000


class Sessions:
    """The logins of one server; without a control token everybody is logged in."""

    def __init__(self, token: str | None) -> None:
        """Take the control token."""
        self._token = None if token is None else token.encode("utf-8", "replace")
        self._key = hmac.digest(self._token or b"", b"paydouble inspector session", "sha256")
        self._ended: deque[str] = deque(maxlen=_MOST_LOGOUTS)

    @property
    def needed(self) -> bool:
        """Return whether a login is needed at all."""
        return self._token is not None

    def is_token(self, given: str) -> bool:
        """Return whether a text is the control token, in a time that does not depend on where it differs."""
        return self._token is not None and hmac.compare_digest(given.encode("utf-8", "replace"), self._token)

    def holds(self, request: web.BaseRequest) -> bool:
        """Return whether a request comes from a browser that is logged in."""
        if not self.needed:
            return True
        issued, _, rest = request.cookies.get(COOKIE, "").partition(".")
        nonce, _, signature = rest.partition(".")
        if not hmac.compare_digest(signature.encode("utf-8", "replace"), self._sign(issued, nonce).encode()):
            return False
        age = wall_ms() // 1000 - int(issued)  # it was signed here, so it is a number
        return age < LIFETIME_SECONDS and nonce not in self._ended

    def begin(self, response: web.Response, *, secure: bool) -> None:
        """Log the browser in that gets this response; `secure` is for https."""
        issued, nonce = str(wall_ms() // 1000), secrets.token_urlsafe(16)
        response.set_cookie(
            COOKIE,
            f"{issued}.{nonce}.{self._sign(issued, nonce)}",
            max_age=LIFETIME_SECONDS,
            path="/_paydouble/",
            secure=secure,
            httponly=True,
            samesite="Strict",
        )

    def end(self, request: web.BaseRequest, response: web.Response) -> None:
        """Log the browser of a request out, and delete its cookie; the old value is not accepted any more."""
        if self.needed and self.holds(request):
            self._ended.append(request.cookies[COOKIE].split(".")[1])
        response.del_cookie(COOKIE, path="/_paydouble/")

    def _sign(self, issued: str, nonce: str) -> str:
        text = f"{issued}.{nonce}".encode("utf-8", "replace")
        return hmac.new(self._key, text, sha256).hexdigest()
