"""Each shipped scenario over real sockets: a server, a merchant that calls it, and a receiver that verifies.

The server's sandbox has the seed and the start of a rehearsal, so exactly the same bodies must arrive.
"""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest
from bounds import AT_MOST_SECONDS
from servers import CONTROL, Box, Client, running

from paydouble.api.operations import PREFIX
from paydouble.rehearsal import rehearse
from paydouble.rehearsal.calls import Answer, Call, Response
from paydouble.rehearsal.merchant import Merchant
from paydouble.scenarios.library import shipped, shipped_files
from paydouble.scenarios.play import PayerAction
from paydouble.testing.receiver import Receiver

NAMES = sorted(shipped_files())
CLOCK = {"mode": "manual", "start": "2026-01-01T00:00:00Z"}


class Wire:
    """The merchant's transport: blocking calls, each over its own connection."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.port = box.client.server.port

    def send(self, call: Call) -> Response:
        """Make a call; a connection that breaks, or ends too early, gives no answer."""
        headers = dict(self.box.credentials)
        if call.key is not None:
            headers |= {"Idempotency-Key": call.key, "Content-Type": "application/json"}
        try:
            return Response(*self._exchange(call.method, PREFIX + call.path, call.body, headers))
        except (http.client.HTTPException, ConnectionError) as error:
            return Response(None, why=type(error).__name__)

    def answered(self, answer: Answer) -> None:
        """Do nothing: the server delivers by itself."""

    def remark(self, text: str) -> None:
        """Ignore remarks: the merchant of a shipped scenario can do what its file says."""
        pytest.fail(text)

    def wait(self, milliseconds: int) -> None:
        """Move the sandbox's clock."""
        self.control("POST", "/clock/advance", {"by": f"{milliseconds}ms"})

    def latest_dispute(self, pay_in_id: str) -> str | None:
        """Return the latest dispute, by a control call, which makes no request id, as in a rehearsal."""
        events = self.control("GET", "/events?type=dispute.created")["items"]
        disputes = [json.loads(event["body"])["data"]["object"] for event in events]
        return next((each["id"] for each in reversed(disputes) if each["payin_id"] == pay_in_id), None)

    def payer(self, pay_in_id: str, done: PayerAction) -> None:
        """Act as the payer, by a control call."""
        self.control("POST", f"/pay-ins/{pay_in_id}/payer", done.model_dump(exclude_none=True))
        self.control("POST", "/clock/advance", {"by": "0s"})

    def control(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON is any
        """Make a control call."""
        data = b"" if body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} if data else {}
        status, content = self._exchange(method, f"{CONTROL}/sandboxes/{self.box.id}{path}", data, sent)
        assert status == 200, content
        return json.loads(content)

    def _exchange(self, method: str, target: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=AT_MOST_SECONDS)
        try:
            connection.request(method, target, body or None, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


@pytest.mark.parametrize("name", NAMES)
async def test_over_real_sockets_the_same_arrives(name: str) -> None:
    """The merchant gets the same answers as in the rehearsal, and the receiver the same bodies, correctly signed."""
    scenario = shipped(name)
    assert scenario is not None
    rehearsal = rehearse(scenario)
    keys = _keys_of(rehearsal.answers)
    async with running() as client, Receiver() as receiver:
        box = await _sandbox(client, receiver.url, name)
        receiver.secret = box.document["webhook_secret"]
        wire = Wire(box)
        merchant = Merchant(wire, scenario, make_key=lambda _: next(keys))

        await asyncio.to_thread(merchant.act)
        await box.advance(until_idle=True)

    assert [answer.status for answer in merchant.answers] == [answer.status for answer in rehearsal.answers]
    assert [each.body for each in receiver.received] == [each.body for each in rehearsal.arrivals]
    assert [each.error for each in receiver.received] == [None] * len(rehearsal.arrivals)


async def _sandbox(client: Client, url: str, scenario: str) -> Box:
    box = await client.sandbox(seed=0, clock=CLOCK, notification_url=url)
    answer = await box.control("PUT", "/scenarios/active", {"name": scenario})
    assert answer.status == 200, answer.document
    return box


def _keys_of(answers: tuple[Answer, ...]) -> Iterator[str]:
    """Return the idempotency keys of a rehearsal's operations, each once and in order."""
    return iter(dict.fromkeys(answer.call.key for answer in answers if answer.call.key is not None))
