"""The signature doctor: paste a header, a body and a secret, and read why the signature does not verify.

Nothing that is pasted is stored or logged. It comes in the body of a POST, never in a URL, and no answer repeats the
secret: a script replaces only the result, so what was pasted stays in the form. A link from an attempt names the
attempt, and the form is filled with what it sent.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Final

from paydouble.core.instants import LATEST_MS, parse_instant, write_instant
from paydouble.runtime.wall import wall_ms
from paydouble.web.inspector.delivery import attempt_numbered, signature_header
from paydouble.web.inspector.known_secrets import recognised
from paydouble.web.inspector.rendering import is_visible
from paydouble.web.inspector.signatures import SignatureView, taken_apart
from paydouble.web.inspector.visits import Page, PageRoute, Visit, delivery_url, doctor_url

_FIELDS: Final = ("header", "body", "time", "encoding")
_LONGEST_HEADER: Final = 10_000
_LAST_SECOND: Final = LATEST_MS // 1000


class _Unusable(Exception):
    """A field cannot be used; the message says why, and what to give."""


def show(visit: Visit) -> Page:
    """Show the form: empty, or with what the attempt sent that the query names."""
    empty = dict.fromkeys(_FIELDS, "")
    if "delivery" not in visit.query:
        return _page(empty)
    box = visit.host.registry.get(visit.query.get("sandbox", ""))
    delivery = box.delivery(visit.query["delivery"])
    attempt = attempt_numbered(delivery, visit.query.get("attempt", ""))
    sent = attempt.signed_at * 1000 if attempt.outcome is None else attempt.outcome.sent_at
    body, encoding = _as_field(attempt.body)
    given = {
        "header": signature_header(box, attempt) or "",
        "body": body,
        "encoding": encoding,
        "time": write_instant(sent),
    }
    back = f"{delivery_url(box.identity.id, delivery.id)}#attempt-{attempt.number}"
    return _page(given, attempt=f"attempt {attempt.number} of {delivery.event.type}", back=back)


def _as_field(body: bytes) -> tuple[str, str]:
    """Return bytes as the form takes them, and their encoding: a browser would change other line ends than LF."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text = "\r"
    return (text, "") if _can_be_typed(text) else (base64.b64encode(body).decode(), "base64")


def _can_be_typed(text: str) -> bool:
    return is_visible(text.replace("\t", " "))


def examine(visit: Visit) -> Page:
    """Say whether the signature of the form verifies, or why not."""
    given = {name: visit.form.get(name, "") for name in _FIELDS}
    secret = visit.form.get("secret", "")
    try:
        body, found = _examined(given, secret)
    except _Unusable as error:
        return _page(given, problem=str(error), status=400)
    known = "" if found.diagnosis.verified else recognised(visit.host.registry, secret, found.header, body)
    return _page(given, found=found, known=known)


def _page(  # noqa: PLR0913 - what the page shows
    given: Mapping[str, str],
    *,
    found: SignatureView | None = None,
    known: str = "",
    problem: str = "",
    status: int = 200,
    attempt: str = "",
    back: str = "",
) -> Page:
    body = given["body"].replace("\r\n", "\n")
    # Escapes in the form would be taken for the body the next time.
    repeated = body if _can_be_typed(body) else ""
    values = {
        "title": "Signature doctor",
        "action": doctor_url(),
        "given": {**given, "body": repeated},
        "left_out": bool(body) and not repeated,
        "found": found,
        "known": known,
        "problem": problem,
        "attempt": attempt,
        "back": back,
    }
    return Page("doctor.html", values, status)


def _examined(given: Mapping[str, str], secret: str) -> tuple[bytes, SignatureView]:
    """Return the body that the form has, and its signature taken apart."""
    header = given["header"].strip()
    if not header:
        raise _Unusable("Paste the header: the value of X-Service-Signature, or the whole line.")
    if len(header) > _LONGEST_HEADER:
        raise _Unusable(f"The header has {len(header):,} characters; a signature has less than {_LONGEST_HEADER:,}.")
    if not secret.strip():
        raise _Unusable("Give the webhook secret, such as whsec_sandbox.")
    now = _time(given["time"].strip())
    views = [
        (body, taken_apart(body, header, (("the secret", secret),), now))
        for body in _bodies(given["body"], given["encoding"])
    ]
    return next((each for each in views if each[1].diagnosis.verified), views[0])


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
