"""The double in a container, from Python: pip install pytest testcontainers."""

from __future__ import annotations

import json
import os
import threading
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import uuid4

import pytest
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import HttpWaitStrategy

IMAGE = os.environ.get("PAYDOUBLE_IMAGE", "paydouble")
HEARD: list[str] = []


class Receiver(BaseHTTPRequestHandler):
    """Your own webhook endpoint; this one only remembers the types of events."""

    def do_POST(self) -> None:
        """Take an event."""
        HEARD.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["type"])
        self.send_response(204)
        self.end_headers()


@pytest.fixture(scope="session")
def service() -> Iterator[str]:
    """Return where the double is; its webhooks come to this machine."""
    receiver = ThreadingHTTPServer(("0.0.0.0", 0), Receiver)  # noqa: S104 - a container is another machine
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    container = (
        DockerContainer(IMAGE)
        .with_exposed_ports(8080)
        .with_kwargs(read_only=True, extra_hosts={"host.docker.internal": "host-gateway"})
        .with_env("PAYDOUBLE_CLOCK", "manual")
        .with_env("PAYDOUBLE_NOTIFICATION_URL", f"http://host.docker.internal:{receiver.server_port}/webhooks")
        .waiting_for(HttpWaitStrategy(8080, "/_paydouble/health"))
    )
    with container:
        yield f"http://{container.get_container_host_ip()}:{container.get_exposed_port(8080)}"
    receiver.shutdown()


def post(url: str, body: object, **headers: str) -> object:
    """Make a call and return its answer."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **named})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def test_a_minute_later_the_deposit_is_paid(service: str) -> None:
    """Four events arrive, and no test has waited for the six seconds that they took."""
    deposit = {
        "amount": 49.90,
        "currency": "EUR",
        "external_identifier": "order-1",
        "payment_method": {"type": "CREDIT_CARD"},
        "customer": {"first_name": "Ada", "last_name": "Byron", "email": "ada@example.test"},
    }
    basic = "Basic " + b64encode(b"sandbox_key:sandbox_secret").decode()
    post(f"{service}/api/v1/pay-in/deposit-creation", deposit, Authorization=basic, Idempotency_Key=str(uuid4()))

    post(f"{service}/_paydouble/sandboxes/default/clock/advance", {"by": "1m"})

    assert HEARD == ["pay-in.created", "pay-in.pending", "pay-in.processing", "pay-in.succeeded"]
