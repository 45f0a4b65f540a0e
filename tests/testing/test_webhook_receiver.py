"""The receiver that a test programs: what it answers, what it keeps, and how it explains what did not come."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from bounds import AT_MOST_SECONDS
from threads import no_thread_left

from paydouble import SignatureMismatch, sign
from paydouble.testing import (
    Answer,
    NotAsExpected,
    Paydouble,
    Received,
    SandboxHandle,
    Sync,
    UsageError,
    WebhookReceiver,
    crash,
    hang,
    slow,
)

BODY = b'{"id":"evt_1","type":"pay-in.created"}'


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    """Give a receiver that listens."""
    with WebhookReceiver() as listening:
        yield listening


def post(
    receiver: WebhookReceiver, body: bytes = BODY, secret: str = "whsec_sandbox", timeout: float = AT_MOST_SECONDS
) -> int:
    """Post a signed body; returns the status."""
    parts = urlsplit(receiver.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
    try:
        connection.request("POST", parts.path, body, {"X-Service-Signature": sign(body, secret)})
        return connection.getresponse().status
    finally:
        connection.close()


def test_answers_come_in_order_and_then_the_usual_one() -> None:
    """A status sequence, each once; after it 200, or what `status` says."""
    with WebhookReceiver(answers=[500, Answer(503)]) as receiver:
        statuses = [post(receiver) for _ in range(3)]
        receiver.status = 204
        statuses.append(post(receiver))

        received = receiver.wait(4, timeout=AT_MOST_SECONDS)

    assert statuses == [500, 503, 200, 204]
    assert receiver.status == 204
    assert [(each.answered, each.attempt, each.duplicate) for each in received] == [
        (500, 1, False),
        (503, 2, False),
        (200, 3, False),
        (204, 4, True),
    ]


def test_bytes_and_verdicts_are_kept(receiver: WebhookReceiver) -> None:
    """What does not verify is refused, kept, and uses no answer up."""
    receiver.answer_next(202)

    statuses = [post(receiver, secret="whsec_other"), post(receiver)]

    refused, taken = receiver.received
    assert statuses == [401, 202]
    assert isinstance(refused.error, SignatureMismatch)
    assert (taken.verified, taken.body, taken.event["id"]) == (True, BODY, "evt_1")


def test_a_slow_answer_is_late(receiver: WebhookReceiver) -> None:
    """A sender with less patience hears nothing; the delivery is known before the answer leaves."""
    receiver.answer_next(slow(30, 200))

    with pytest.raises(TimeoutError):
        post(receiver, timeout=0.05)

    assert receiver.wait(timeout=AT_MOST_SECONDS)[0].answered == 200


def test_a_hanging_answer_ends_with_the_receiver(receiver: WebhookReceiver) -> None:
    """It never comes, and stopping does not wait for it."""
    receiver.answer_next(hang())
    outcomes: list[object] = []

    def send() -> None:
        try:
            outcomes.append(post(receiver))
        except OSError as error:
            outcomes.append(type(error))

    sender = threading.Thread(target=send)
    sender.start()
    received = receiver.wait(timeout=AT_MOST_SECONDS)
    receiver.stop()
    sender.join()

    assert received[0].answered == 0
    assert outcomes[0] in {ConnectionResetError, http.client.RemoteDisconnected}


def test_a_crash_comes_after_the_work(receiver: WebhookReceiver) -> None:
    """As when a process dies between its commit and its answer: the sender cannot know that it was done."""
    done: list[str] = []
    receiver.answer_next(crash(lambda received: done.append(received.event["id"])), crash())

    for _ in range(2):
        with pytest.raises(ConnectionError):
            post(receiver)
    status = post(receiver)

    assert (done, status) == (["evt_1"], 200)
    assert [(each.answered, each.duplicate) for each in receiver.received] == [(0, False), (0, False), (200, False)]


def test_a_function_answers(receiver: WebhookReceiver) -> None:
    """It is given the delivery and decides; None is 200."""
    seen: list[Received] = []

    def decide(received: Received) -> int:
        seen.append(received)
        return 409

    receiver.answer_next(decide, lambda _: None, lambda _: slow(0, 201), Answer(503, work=seen.append))

    assert [post(receiver) for _ in range(4)] == [409, 200, 201, 503]
    assert len(seen) == 2
    assert (seen[0].body, seen[0].attempt, seen[0].answered) == (BODY, 1, 0)


@pytest.mark.parametrize(
    "answer", [lambda _: 1 / 0, lambda _: "yes", lambda _: crash(print)], ids=["raises", "no answer", "more"]
)
def test_a_function_that_fails_answers_500(receiver: WebhookReceiver, answer: object) -> None:
    """As a web framework would; the failure is kept, and told when something is missing."""
    receiver.answer_next(answer)  # type: ignore[arg-type]  # the second is what a careless test writes

    status = post(receiver)

    assert (status, len(receiver.failures)) == (500, 1)
    with pytest.raises(NotAsExpected, match="a function that answers has raised"):
        receiver.wait(2, timeout=0)


@pytest.mark.parametrize("answer", [99, 600, "200", True])
def test_what_is_no_answer_is_refused_at_once(receiver: WebhookReceiver, answer: object) -> None:
    """Not when the first delivery comes."""
    with pytest.raises(UsageError, match=r"answers: .* is no answer"):
        receiver.answer_next(answer)  # type: ignore[arg-type]


def test_a_wait_explains_what_came_instead(receiver: WebhookReceiver) -> None:
    """What was received, and how it was answered; nothing at all has its own hint."""
    with pytest.raises(NotAsExpected, match="is the sandbox's notification_url this receiver's"):
        receiver.wait(timeout=0)
    receiver.answer_next(crash())
    with pytest.raises(ConnectionError):
        post(receiver)
    post(receiver, b"no json")
    post(receiver, secret="whsec_other")

    with pytest.raises(NotAsExpected) as missed:
        receiver.wait(lambda each: each.event.get("type") == "refund.created", timeout=0.01)

    text = str(missed.value)
    assert f"expected a delivery that the predicate accepts at {receiver.url} within 0.01 s, received 3" in text
    assert "pay-in.created, attempt 1: answered nothing" in text
    assert "7 bytes that are no event, attempt 1: answered 200" in text
    assert "(answered 401)" in text


def test_an_outage_refuses_and_ends(receiver: WebhookReceiver) -> None:
    """The port stays the same."""
    receiver.down()
    with pytest.raises(ConnectionRefusedError):
        post(receiver)
    receiver.up()

    assert post(receiver) == 200


def test_it_forgets_what_it_is_told_to(receiver: WebhookReceiver) -> None:
    """But not which events it has taken: a second time is a duplicate still."""
    post(receiver)
    receiver.clear()
    post(receiver)

    [again] = receiver.received
    assert again.duplicate


def test_a_stopped_receiver_says_so(receiver: WebhookReceiver) -> None:
    """Stopping twice is no mistake, going on is."""
    receiver.stop()
    receiver.stop()

    with pytest.raises(RuntimeError, match="has been stopped"):
        receiver.up()


def test_a_port_that_cannot_be_had_leaves_no_thread() -> None:
    """The error is raised where the receiver is made."""
    with no_thread_left(), pytest.raises(UsageError, match="cannot be used"):
        WebhookReceiver(host="192.0.2.1")


@pytest.fixture
def box() -> Iterator[SandboxHandle[Sync]]:
    """Give a sandbox of a server."""
    with Paydouble.start() as server, server.sandbox(clock="manual") as made:
        yield made


def test_a_sandbox_retries_until_it_is_taken(box: SandboxHandle[Sync]) -> None:
    """The whole way: a crash after the work makes a duplicate, as in life; a rotated secret is followed."""
    with WebhookReceiver(box.webhook_secret, answers=[crash(), 500]) as receiver:
        box.change(notification_url=receiver.url)
        box.scenarios.play("abandoned")
        box.clock.advance("6m")
        receiver.secret = box.webhook.rotate_secret().secret
        box.webhook.test()
        received = receiver.wait(lambda each: each.event["type"] == "pay-in.succeeded", timeout=AT_MOST_SECONDS)

    assert [(each.answered, each.attempt) for each in received] == [(0, 1), (500, 2), (200, 3), (200, 1)]
    assert receiver.secret != box.webhook_secret
