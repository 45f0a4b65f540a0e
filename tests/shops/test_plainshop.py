"""The plain shop: one order through its own pages, and its list of mistakes."""

import hashlib
import hmac
import io
import json
import re
import time
import urllib.request
import urllib.response
from collections.abc import Callable, Iterator
from email.message import Message
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest
from plainshop import db
from plainshop.app import Shop
from plainshop.conf import Conf
from plainshop.mistakes import COURSES, MISTAKES

SECRET = "whsec_plain"
NOW = "2026-01-01T00:00:{:02}.000Z"
PAYIN = {"id": "pi_1", "object": "payin", "external_identifier": "A1", "amount": 49.9, "currency": "EUR",
         "created_at": "2999-01-01T00:00:00.000Z", "updated_at": NOW.format(0), "status": "created",
         "payment_url": "https://pay.example/pi_1"}  # fmt: skip
REFUND = {"id": "re_1", "object": "refund", "payin_id": "pi_1", "amount": 24.95, "currency": "EUR",
          "created_at": NOW.format(10), "updated_at": NOW.format(10), "status": "created"}  # fmt: skip


class Service(urllib.request.BaseHandler):
    """Answers what the shop posts."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []

    def http_open(self, request: urllib.request.Request) -> urllib.response.addinfourl:
        assert isinstance(request.data, bytes)
        self.bodies.append(json.loads(request.data))
        made = PAYIN if request.selector.endswith("/deposit-creation") else REFUND
        made = made | {"external_identifier": self.bodies[-1]["external_identifier"]}
        raw = json.dumps({"success": True, "data": made}).encode()
        response = urllib.response.addinfourl(io.BytesIO(raw), Message(), request.full_url, 200)
        response.msg = ""  # type: ignore[attr-defined]  # urllib reads it of each response
        return response


Visit = Callable[..., tuple[int, Any]]


@pytest.fixture
def service() -> Service:
    """Return the service that the shop talks to."""
    return Service()


@pytest.fixture
def visit(service: Service) -> Iterator[Visit]:
    """Return a function that makes one request to a new shop."""
    connection = db.connect()
    shop = Shop(connection, Conf("http://pay.example/api/v1", "key", "secret", SECRET), [service])

    def visit(method: str, path: str, form: Any = None, signature: str = "") -> tuple[int, Any]:
        body = json.dumps(form).encode() if form is not None else b""
        environ: dict[str, Any] = {"REQUEST_METHOD": method, "PATH_INFO": path, "CONTENT_LENGTH": str(len(body)),
                                   "wsgi.input": io.BytesIO(body)}  # fmt: skip
        setup_testing_defaults(environ)
        if path == "/webhooks":
            stamp = str(int(time.time()))
            digest = hmac.new(SECRET.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
            environ["HTTP_X_SERVICE_SIGNATURE"] = f"t={stamp},v1={signature or digest}"
        statuses: list[int] = []
        raw = b"".join(shop(environ, lambda status, _: statuses.append(int(status[:3]))))
        return statuses[0], json.loads(raw)

    yield visit
    connection.close()


def event(number: int, kind: str, thing: dict[str, Any]) -> dict[str, Any]:
    """Make the body of a webhook."""
    return {"id": f"evt_{number}", "object": "event", "type": kind, "created_at": NOW.format(number),
            "livemode": False, "data": {"object": thing | {"updated_at": NOW.format(number)}}}  # fmt: skip


def test_an_order_is_paid_shipped_and_half_refunded(visit: Visit, service: Service) -> None:
    """An order is paid by a webhook, shipped once, and refunded in part."""
    assert visit("POST", "/orders", {"id": "A1", "amount": "49.90", "currency": "EUR"})[0] == 201
    assert visit("POST", "/orders/A1/pay")[0] == 303
    assert service.bodies[0]["amount"] == 49.9
    succeeded = event(20, "pay-in.succeeded", PAYIN | {"status": "succeeded"})
    for _ in range(2):
        assert visit("POST", "/webhooks", succeeded)[0] == 200
    page = visit("GET", "/orders/A1")[1]
    assert (page["status"], page["balance"], page["shipments"]) == ("paid", "49.90", 1)
    assert visit("POST", "/orders/A1/refunds", {"id": "R1", "amount": "24.95"})[0] == 202
    assert service.bodies[1]["amount"] == 24.95
    refunded = event(30, "refund.succeeded", REFUND | {"external_identifier": "R1", "status": "succeeded"})
    assert visit("POST", "/webhooks", refunded)[0] == 200
    page = visit("GET", "/orders/A1")[1]
    assert (page["status"], page["balance"], page["shipments"]) == ("partly_refunded", "24.95", 1)


def test_a_bad_signature_is_refused(visit: Visit) -> None:
    """A webhook with a wrong digest is answered 401 and changes nothing."""
    visit("POST", "/orders", {"id": "A1", "amount": "49.90", "currency": "EUR"})
    visit("POST", "/orders/A1/pay")
    forged = event(20, "pay-in.succeeded", PAYIN | {"status": "succeeded"})
    assert visit("POST", "/webhooks", forged, signature="0" * 64)[0] == 401
    assert visit("GET", "/orders/A1")[1]["status"] == "pending"


def test_each_mistake_is_in_the_code() -> None:
    """The mistakes that the code asks for are those of the list, and each has its course of events."""
    folder = Path(db.__file__).parent
    code = "".join(path.read_text() for path in folder.glob("*.py"))
    assert set(re.findall(r'"(\w+)" (?:not )?in bugs', code)) == set(MISTAKES) == set(COURSES)
