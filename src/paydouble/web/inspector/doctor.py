"""The signature doctor: paste a header, a body and a secret, and read why the signature does not verify.

Nothing that is pasted is stored or logged. It comes in the body of a POST, never in a URL, and the secret is not
repeated on the page.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Final

from paydouble.core.instants import LATEST_MS, parse_instant
from paydouble.runtime.wall import wall_ms
from paydouble.web.inspector.rendering import visible
from paydouble.web.inspector.signatures import SignatureView, taken_apart
from paydouble.web.inspector.visits import Page, PageRoute, Visit, doctor_url

_FIELDS: Final = ("header", "body", "time", "encoding")
_LONGEST_HEADER: Final = 10_000
_LAST_SECOND: Final = LATEST_MS // 1000


class _Unusable(Exception):
    """A field cannot be used; the message says why, and what to give."""


def show(visit: Visit) -> Page:
    """Show the empty form."""
    del visit
    return _page(dict.fromkeys(_FIELDS, ""))


def examine(visit: Visit) -> Page:
    """Say whether the signature of the form verifies, or why not."""
    given = {name: visit.form.get(name, "") for name in _FIELDS}
    secret = visit.form.get("secret", "")
    try:
        found = _examined(given, secret)
    except _Unusable as error:
        return _page(given, problem=str(error), status=400)
    return _page(given, found=found)


def _page(
    given: Mapping[str, str], *, found: SignatureView | None = None, problem: str = "", status: int = 200
) -> Page:
    body = given["body"].replace("\r\n", "\n")
    # Escapes in the form would be taken for the body the next time.
    repeated = body if visible(body.replace("\t", " ")) == body.replace("\t", " ") else ""
    values = {
        "title": "Signature doctor",
        "action": doctor_url(),
        "given": {**given, "body": repeated},
        "left_out": bool(body) and not repeated,
        "found": found,
        "problem": problem,
    }
    return Page("doctor.html", values, status)


def _examined(given: Mapping[str, str], secret: str) -> SignatureView:
    header = given["header"].strip()
    if not header:
        raise _Unusable("Paste the header: the value of X-Service-Signature, or the whole line.")
    if len(header) > _LONGEST_HEADER:
        raise _Unusable(f"The header has {len(header):,} characters; a signature has less than {_LONGEST_HEADER:,}.")
    if not secret.strip():
        raise _Unusable(
            "Give the webhook secret, such as whsec_sandbox. It is not repeated here, so give it each time."
        )
    now = _time(given["time"].strip())
    views = [
        taken_apart(body, header, (("the secret", secret),), (("", now),))
        for body in _bodies(given["body"], given["encoding"])
    ]
    return next((view for view in views if view.verdicts[0].diagnosis.verified), views[0])


def _bodies(text: str, encoding: str) -> Iterator[bytes]:
    """Yield what the pasted body may be: a browser sends every line end of a form as CRLF."""
    if encoding == "base64":
        try:
            yield base64.b64decode("".join(text.split()), validate=True)
        except (binascii.Error, ValueError):
            raise _Unusable("The body is not base64; choose text, or encode the body's bytes.") from None
        return
    with_lf = text.replace("\r\n", "\n")
    yield with_lf.encode("utf-8", "replace")
    if with_lf != text:
        yield text.encode("utf-8", "replace")


def _time(text: str) -> int:
    """Return a time in Unix seconds, given as such or as an instant; now for an empty text."""
    if not text:
        return wall_ms() // 1000
    if text.isascii() and text.isdecimal() and len(text) <= len(str(_LAST_SECOND)) and int(text) <= _LAST_SECOND:
        return int(text)
    try:
        return parse_instant(text) // 1000
    except ValueError:
        raise _Unusable(
            "The time cannot be read; give Unix seconds, or an instant such as 2026-01-31T12:00:00Z."
        ) from None


ROUTES: Final = (
    PageRoute("GET", "inspector/signature", show),
    PageRoute("POST", "inspector/signature", examine),
)
