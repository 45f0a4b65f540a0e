"""What happened to a payment as one HTML file: it needs no server and no script, and loads nothing.

It has the same templates as the page of the payment, without its links and actions, and without credentials.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from typing import Final

from aiohttp import web
from markupsafe import Markup

from paydouble.payments.resources import PayIn
from paydouble.version import __version__
from paydouble.web.control.calls import TimelineOf
from paydouble.web.inspector.content import file_headers
from paydouble.web.inspector.payment import payment_view
from paydouble.web.inspector.rendering import HEADERS, render, stylesheet
from paydouble.web.inspector.visits import PageRoute, Visit

_STYLE: Final = "Content-Security-Policy"


def timeline_html(wanted: TimelineOf) -> str:
    """Return the file's text."""
    view = payment_view(wanted.sandbox, wanted.pay_in, wanted.reached, masked=True)
    values = {
        "title": f"{view.order} · {view.amount}",
        "heading": f"sandbox {view.sandbox}, seed {wanted.sandbox.identity.seed}",
        "view": view,
        "css": Markup(stylesheet()),  # noqa: S704 - a file of this package
        "policy": _policy(),
        "version": __version__,
        "offline": True,
    }
    return render("timeline.html", values)


def timeline_response(wanted: TimelineOf) -> web.Response:
    """Return the file as an answer; the policy of the other pages would stop its style."""
    headers = {**HEADERS, _STYLE: _policy(), "Content-Type": "text/html; charset=utf-8"}
    return web.Response(body=timeline_html(wanted).encode("utf-8", "replace"), headers=headers)


def save(visit: Visit) -> web.Response:
    """Give the file of a payment."""
    box = visit.sandbox
    box.tick()
    pay_in = box.ledger.get(PayIn, visit.params["id"])
    response = timeline_response(TimelineOf(box, pay_in, visit.reached))
    response.headers.update(file_headers(f"{pay_in.external_identifier}.html"))
    return response


@cache
def _policy() -> str:
    digest = b64encode(sha256(stylesheet().encode()).digest()).decode()
    return f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


ROUTES: Final = (PageRoute("GET", "inspector/sandboxes/{s}/payments/{id}/timeline.html", save),)
