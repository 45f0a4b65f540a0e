"""`Sandbox`: the double as a value, for tests that make tens of thousands of requests a minute."""

from __future__ import annotations

import ast
import inspect
import re
import time
from dataclasses import is_dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from drive import deposit_body, key

import paydouble
from paydouble import Sandbox, records, verify
from paydouble.api.values import Request
from paydouble.config import Settings
from paydouble.core.errors import PaydoubleError, UnknownThing
from paydouble.guards.credentials import basic_header
from paydouble.testing import NotAsExpected, ReplyLost, ReplyTimeout, ServiceDown, UsageError
from paydouble.testing.calls import Call, Get, Handle
from paydouble.testing.executors import Address
from paydouble.testing.handles import Clock, Faults, Objects, PayIns, RateLimit, Scenarios
from paydouble.testing.handles import Webhook as WebhookHandle
from paydouble.testing.in_process import LocalExecutor
from paydouble.testing.journals import Deliveries, Events, Requests
from paydouble.testing.sandboxes import SandboxHandle, ServerHandle
from paydouble.testing.socketless import Unreachable, Webhook

HANDLES: tuple[type[Handle[Any]], ...] = (
    *(ServerHandle, SandboxHandle, Clock, Faults, RateLimit, Requests, Events, Deliveries),
    *(Scenarios, WebhookHandle, PayIns, Objects),
)
RECORDS = {name for name, value in vars(records).items() if is_dataclass(value)}
DEPOSITS = "/pay-in/deposit-creation"


def _deposit(box: Sandbox, *, key: str | None = None) -> str:
    pay_in: str = box.handle("POST", DEPOSITS, deposit_body(), key=key).json()["data"]["id"]
    return pay_in


def test_a_request_is_answered_at_once() -> None:
    """With the business's credentials, and to a POST a fresh key."""
    box = Sandbox(seed=3)

    first = box.handle("POST", DEPOSITS, deposit_body())
    second = box.handle("POST", f"/api/v1{DEPOSITS}", deposit_body())
    read = box.handle("GET", f"pay-in/{first.json()['data']['id']}")

    assert (first.status, second.status, read.status) == (200, 200, 200)
    assert first.json()["data"]["id"] != second.json()["data"]["id"]
    assert [each.idempotency_key for each in box.requests] == [key(1), key(2), None]
    assert (box.requests[0].path, box.requests[0].json()["currency"]) == (f"/api/v1{DEPOSITS}", "EUR")
    assert [name for name, _ in box.requests[0].headers] == ["Authorization", "Content-Type", "Idempotency-Key"]


def test_the_newest_of_a_kind() -> None:
    """By the same name as of a server's sandbox; what no business has sent is apart."""
    box = Sandbox()
    with pytest.raises(NotAsExpected, match="there are no requests at all"):
        _ = box.requests.last
    _deposit(box)
    _deposit(box)
    box.handle("GET", "/pay-in", headers={"Authorization": basic_header("other", "secret")})

    assert box.requests.last == box.requests[1]
    assert (box.events.last, box.deliveries.last) == (box.events[1], box.deliveries[1])
    assert (box.unclaimed_requests.last.business_key, len(box.unclaimed_requests)) == ("other", 1)


def test_everything_has_its_place_in_one_order() -> None:
    """Requests as they arrive, events as they are made, attempts as they are sent, faults as they are armed."""
    box = Sandbox(receiver=lambda _: 200)
    box.handle("GET", "/unknown")
    fault = box.faults.add("reorder", window=2, each="sandbox", times=2)
    for _ in range(2):
        _deposit(box)
    box.deliver()

    first, second = box.deliveries
    assert [each.sequence for each in box.requests] == [1, 3, 5]
    assert fault.document["sequence"] == 2
    assert [each.sequence for each in box.events] == [4, 6]
    assert [first.attempts[0].sequence, second.attempts[0].sequence] == [8, 7]


@pytest.mark.parametrize(("scope", "sequence"), [(("requests",), 4), (("requests", "deliveries", "faults"), 1)])
def test_the_order_begins_anew_when_nothing_of_it_is_left(scope: tuple[str, ...], sequence: int) -> None:
    """What is kept keeps its place, so nothing that comes later may get one before it."""
    box = Sandbox(receiver=lambda _: 200)
    _deposit(box)
    box.deliver()
    box.core.sandbox.reset(frozenset(scope))

    box.handle("GET", "/pay-in")

    assert box.requests[0].sequence == sequence


def test_what_is_given_is_not_added_to() -> None:
    """A key replays, headers of one's own hold, bytes go as they are, and a ready request is taken whole."""
    box = Sandbox()
    replayed = {_deposit(box, key=key(9)) for _ in range(2)}

    stranger = box.handle("GET", "/pay-in", headers={"Authorization": basic_header("other", "secret")})
    broken = box.handle("POST", DEPOSITS, body=b"{", key=key(10))
    ready = box.handle(Request("GET", "/api/v1/pay-in", _headers(box)))

    assert len(replayed) == 1
    assert (stranger.status, broken.status, ready.status) == (401, 400, 200)


def _headers(box: Sandbox) -> Any:  # noqa: ANN401 - a multidict
    from multidict import CIMultiDict

    return CIMultiDict({"Authorization": box.auth.header})


def test_webhooks_leave_when_the_test_says_so() -> None:
    """Never by themselves, so that a test decides what overtakes what; they verify by the machine's time."""
    seen: list[Webhook] = []
    box = Sandbox(receiver=seen.append)
    pay_in = _deposit(box)
    before = len(seen)
    made = box.deliver()
    moved = box.clock.advance("1h")

    assert (before, made, moved.attempts, moved.idle) == (0, 1, 3, True)
    assert [event.type for event in box.events] == [f"pay-in.{each}" for each in
        ("created", "pending", "processing", "succeeded")]  # fmt: skip
    signed_at = verify(seen[0].body, dict(seen[0].headers)["X-Service-Signature"], box.webhook_secret)
    assert abs(signed_at - time.time()) < 60
    assert (seen[0].body, seen[0].number) == (box.events[0].body, 1)
    [attempt] = box.deliveries[0].attempts
    assert (attempt.status, attempt.error, attempt.due_at) == (200, None, datetime(2026, 1, 1, tzinfo=UTC))
    assert {each.object_id for each in box.deliveries} == {pay_in}


def test_two_runs_can_be_the_same_to_the_byte() -> None:
    """With the sandbox's own clock signing."""

    def run() -> list[Any]:
        box = Sandbox({"webhooks": {"sign_with": "sandbox_clock"}}, seed=5, receiver=lambda _: None)
        _deposit(box)
        box.clock.advance(until_idle=True)
        return [(each.id, attempt.headers, attempt.body) for each in box.deliveries for attempt in each.attempts]

    assert run() == run()


def test_a_reset_forgets_what_it_is_told() -> None:
    """Everything, or what is named; new ids begin unless the same ones are asked for."""
    box = Sandbox()
    first = _deposit(box)

    assert box.reset("requests") == {"requests": 1}
    assert box.reset(same_ids=True)["pay_ins"] == 1
    assert _deposit(box) == first
    assert box.reset("state")["pay_ins"] == 1
    assert _deposit(box) != first


def test_a_receiver_fails_as_one_does() -> None:
    """A status, no answer at all, or an exception, which a framework answers with 500."""
    answers: list[Any] = [503, Unreachable("timeout", "no answer"), ZeroDivisionError(), 200]

    def take(_: Webhook) -> int:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        status: int = answer
        return status

    box = Sandbox(scenario="abandoned", receiver=take)
    _deposit(box)
    box.clock.advance("1h")

    attempts = box.deliveries[0].attempts
    assert [(each.status, each.error_kind) for each in attempts] == [
        (503, None),
        (None, "timeout"),
        (500, None),
        (200, None),
    ]
    assert [type(each) for each in box.failures] == [ZeroDivisionError]


def test_without_a_receiver_webhooks_wait() -> None:
    """And leave once there is one."""
    box = Sandbox()
    _deposit(box)
    waiting = box.deliver(), box.deliveries[0].status, box.receiver
    box.receiver = lambda _: 200

    assert (waiting, box.deliver(limit=1)) == ((0, "waiting", None), 1)


def test_faults_are_met_as_a_network_would_show_them() -> None:
    """After the commit the reply is lost and the deposit made; a retry finds it."""
    box = Sandbox()
    fault = box.faults.add("connection_reset", operation="deposit-creation", phase="after_commit", times=1)
    with pytest.raises(ReplyLost):
        _deposit(box, key=key(1))
    retried = _deposit(box, key=key(1))
    box.faults.add("latency", fixed="3s")
    with pytest.raises(ReplyTimeout):
        box.handle("GET", "/pay-in", patience=2)

    assert [each.object_id for each in box.events] == [retried]
    assert (box.faults.get(fault.id).times_fired, box.handle("GET", "/pay-in").seconds) == (1, 3.0)
    assert [each.effect for each in box.faults.list()] == ["connection_reset", "latency"]
    assert (box.faults.remove(fault.id), box.faults.clear()) == (1, 1)


def test_an_outage_reaches_nobody() -> None:
    """Nothing was sent, so nothing is journalled."""
    box = Sandbox()
    box.down()
    with pytest.raises(ServiceDown):
        _deposit(box)
    box.up()

    assert (box.is_down, box.requests) == (False, [])


def test_outcomes_are_forced() -> None:
    """A test decides what becomes of a pay-in, and lets disputes arrive."""
    box = Sandbox()
    pay_in = _deposit(box)
    box.transition(pay_in, "failed", failure={"code": "card_declined", "message": "No."}, force=True)
    other = _deposit(box)
    for state in ("pending", "processing", "succeeded"):
        box.transition(other, state)
    dispute = box.dispute(other, "unknown")

    assert box.handle("GET", f"/pay-in/{pay_in}").json()["data"]["failure"]["code"] == "card_declined"
    assert box.events[-1].object_id == dispute
    with pytest.raises(UsageError, match="is no pay-in, refund, dispute or payout"):
        box.transition("payin_none", "failed")
    with pytest.raises(UsageError, match="disputes are about pay-ins"):
        box.dispute(dispute)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sandbox({"envelop": "A"}), "settings.envelop: this member is not known"),
        (lambda: Sandbox(scenario="none"), "there is no scenario 'none'"),
        (lambda: Sandbox(seed=2**63), "seed: 9223372036854775808 is too large"),
        (lambda: Sandbox().reset("books"), "scope.0: is 'books'; send 'state'"),
        (lambda: Sandbox(start="now"), "start: 'now' is not an instant"),
        (lambda: Sandbox().faults.add("nope"), "effect.type: 'nope' is not known"),
        (lambda: Sandbox().faults.get("nope"), "There is no fault 'nope'"),
        (
            lambda: Sandbox().clock.advance("1h", until_idle=True),
            "by: by and until_idle contradict each other; give exactly one of by, to, until_idle",
        ),
        (lambda: Sandbox().clock.advance("soon"), "by: 'soon' is not"),
        (lambda: Sandbox().clock.advance(to="2025-01-01T00:00:00Z"), "to: 2025-01-01T00:00:00.000Z is in the past"),
    ],
)
def test_what_cannot_be_is_named(make: Any, message: str) -> None:  # noqa: ANN401 - any of the calls
    """With its member, as everywhere."""
    with pytest.raises(PaydoubleError) as refused:
        make()

    assert message in str(refused.value)
    assert isinstance(refused.value, UsageError | UnknownThing)


def test_settings_come_ready_or_as_a_mapping() -> None:
    """A start is a text or a datetime; the clock begins there."""
    ready = Sandbox(Settings(created_status=201), start=datetime(2026, 3, 1, tzinfo=UTC))
    plain = Sandbox({"created_status": 201}, scenario="abandoned", start="2026-03-01T00:00:00Z")
    later = ready.clock.advance(to=datetime(2026, 3, 2, tzinfo=UTC))

    assert ready.handle("POST", DEPOSITS, deposit_body()).status == 201
    assert plain.handle("POST", DEPOSITS, deposit_body()).status == 201
    assert (plain.clock.now, later.now) == (datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))
    assert plain.core.sandbox.settings.scenario == "abandoned"


def test_settings_change_while_it_lives() -> None:
    """Member by member; the rest stays as it is."""
    box = Sandbox({"created_status": 201})
    box.change({"retry_after": True, "rate_limit": {"limit": 1}})
    statuses = [box.handle("POST", DEPOSITS, deposit_body()).status for _ in range(2)]

    assert statuses == [201, 429]
    with pytest.raises(UsageError, match=r"settings\.envelop"):
        box.change({"envelop": "A"})


def test_a_sandbox_has_every_part_of_a_servers() -> None:
    """Every public attribute but `asynchronous`, since nothing here is awaited."""
    box = Sandbox()
    other = SandboxHandle(LocalExecutor(box.core), Address("http://double.test"), box.read())

    assert {name for name in dir(other) if not name.startswith("_")} - set(dir(box)) == {"asynchronous"}


@pytest.mark.parametrize("kind", HANDLES, ids=lambda kind: kind.__name__)
def test_the_records_that_a_call_returns_can_be_imported(kind: type) -> None:
    """From `paydouble.testing`, so that tests can name them in annotations."""
    calls = [each for each in vars(kind).values() if isinstance(each, Call | Get)]
    named = {name for call in calls for name in re.findall(r"\w+", vars(call)["_describe"].__annotations__["return"])}

    assert named & RECORDS - set(paydouble.testing.__all__) == set()


def test_public_names_have_types() -> None:
    """What is loaded late is imported for type checkers too, from the same modules."""
    source = ast.parse(inspect.getsource(paydouble.testing))
    (block,) = (node for node in source.body if isinstance(node, ast.If))
    home = vars(paydouble.testing)["_HOME"]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]

    assert {name.name: node.module for node in imports for name in node.names} == home
    assert sorted(home) == sorted(paydouble.testing.__all__)


def test_public_names_are_loaded_when_they_are_used() -> None:
    """A name that is none is an AttributeError, as of any module."""
    assert paydouble.testing.NotAsExpected is NotAsExpected
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = paydouble.nothing
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = paydouble.testing.nothing
