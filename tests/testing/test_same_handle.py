"""A sandbox of a server and one in the test's own process: each test runs against both, by its fixture alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from inspect import Parameter, signature, unwrap
from typing import Any, Final, cast

import httpx
import pytest
from drive import DEPOSITS, deposit_body, key

from paydouble import Sandbox
from paydouble.testing import ControlRefused, NotAsExpected, Paydouble, SandboxHandle, WebhookReceiver
from paydouble.testing.calls import Call, ask
from paydouble.testing.handles import Payer
from paydouble.testing.transports import HttpxTransport

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
Shop = Callable[..., httpx.Response]


@pytest.fixture(scope="module")
def served() -> Iterator[Paydouble]:
    """Give a server for all tests."""
    with Paydouble.start() as running:
        yield running


@pytest.fixture(params=["of a server", "in this process"])
def sandbox(request: pytest.FixtureRequest, served: Paydouble) -> Iterator[Any]:
    """Give a sandbox of either kind, whose receiver answers 200."""
    if request.param == "in this process":
        yield Sandbox(seed=7, receiver=lambda _: 200)
        return
    clock = {"mode": "manual", "start": START}
    with served.sandbox(clock=clock, seed=7) as box, WebhookReceiver(box.webhook_secret) as receiver:
        box.change(notification_url=receiver.url)
        yield box


@pytest.fixture
def shop(sandbox: Any) -> Iterator[Shop]:  # noqa: ANN401 - of either kind
    """Give the code under test: it makes deposits as a merchant does."""
    transport = HttpxTransport(sandbox) if isinstance(sandbox, Sandbox) else None
    with httpx.Client(transport=transport, base_url=sandbox.base_url, auth=sandbox.auth) as client:

        def pay(number: int = 1, **changes: Any) -> httpx.Response:  # noqa: ANN401 - JSON is any
            body = deposit_body(**changes)
            return client.post(DEPOSITS.removeprefix("/"), json=body, headers={"Idempotency-Key": key(number)})

        yield pay


def test_requests_are_verified_waited_for_and_forgotten(sandbox: Any, shop: Shop) -> None:  # noqa: ANN401
    """A miss says what came close."""
    shop(1)
    shop(1)

    assert sandbox.requests.verify(operation="deposit-creation", count=2) == 2
    assert sandbox.requests.wait(verdict="replay", timeout=2) == 1
    with pytest.raises(NotAsExpected, match="status: wanted 418, got 200"):
        sandbox.requests.verify(status=418)
    with pytest.raises(NotAsExpected, match="within 100ms"):
        sandbox.requests.wait(operation="refund-creation", timeout="100ms")
    assert [each.verdict for each in sandbox.requests] == ["new", "replay"]
    assert (sandbox.requests.last, len(sandbox.requests)) == (sandbox.requests[1], 2)
    assert sandbox.requests.list() == list(sandbox.requests)
    assert (sandbox.requests.clear(), len(sandbox.requests)) == (2, 0)


def test_the_clock_moves_and_deliveries_arrive(sandbox: Any, shop: Shop) -> None:  # noqa: ANN401
    """Each attempt has what it had."""
    shop()

    assert sandbox.deliveries.wait(type="pay-in.created", status="delivered", timeout=30) == 1
    moved = sandbox.clock.advance("72h")

    assert (moved.now, moved.idle) == (START + timedelta(hours=72), True)
    assert sandbox.clock.read().now == moved.now
    assert sandbox.deliveries.verify(status="delivered") == len(sandbox.events) == 4
    assert [each.type for each in sandbox.events][-1] == "pay-in.succeeded"
    delivery = sandbox.deliveries.last
    assert (sandbox.deliveries.get(delivery.id), delivery.attempts[0].status) == (delivery, 200)
    again = sandbox.deliveries.redeliver(delivery.id)
    assert sandbox.deliveries.wait(attempt_count=2, timeout=30) == 1
    assert again.event_id == sandbox.events.last.id
    assert sandbox.deliveries.redeliver_failed() == ()


def test_faults_are_added_changed_and_counted(sandbox: Any, shop: Shop) -> None:  # noqa: ANN401
    """A request shows the faults that fired on it."""
    fault = sandbox.faults.add("error", status=503, operation="deposit-creation", times=1)

    changed = sandbox.faults.change(fault.id, times=2)
    statuses = [shop(number).status_code for number in (1, 2, 3)]

    assert (changed.document["times"], statuses) == (2, [503, 503, 200])
    assert sandbox.faults.get(fault.id).times_fired == 2
    assert sandbox.requests[0].faults == (fault.id,)
    assert [each.effect for each in sandbox.faults.list()] == ["error"]
    assert (sandbox.faults.remove(fault.id), sandbox.faults.clear()) == (2, 0)


def test_quota_scenarios_and_webhook(sandbox: Any, shop: Shop) -> None:  # noqa: ANN401
    """All that shapes what comes."""
    assert sandbox.rate_limit.set(1, "60s")["limit"] == 1
    assert [shop(number).status_code for number in (1, 2)] == [200, 429]
    sandbox.rate_limit.clear()

    assert sandbox.scenarios.activate("card-declined").active
    assert sandbox.scenarios.active() == "card-declined"
    shop(3, external_identifier="order-3")
    sandbox.clock.advance("1h")
    assert [each.status for each in sandbox.pay_ins.list()] == ["succeeded", "failed"]
    assert sandbox.scenarios.deactivate() == "card-declined"
    assert sandbox.scenarios.play("happy-path", amount=Decimal("12.50")).document["amount"] == Decimal("12.50")

    rotated = sandbox.webhook.rotate_secret("1h")
    assert rotated.previous_valid_until == START + timedelta(hours=2)
    assert sandbox.webhook.read() == rotated
    assert sandbox.webhook.test("refund.failed").type == "refund.failed"
    assert sandbox.webhook.change(secret="whsec_mine").secret == "whsec_mine"


def test_outcomes_are_forced(sandbox: Any, shop: Shop) -> None:  # noqa: ANN401
    """A pay-in goes where the test says, and a dispute arrives."""
    pay_in = shop().json()["data"]["id"]

    assert sandbox.pay_ins.transition(pay_in, "succeeded", force=True).status == "succeeded"
    refund = sandbox.pay_ins.refund(pay_in, amount=Decimal("1.50"))
    assert sandbox.events.list(object_id=refund.id)[0].type == "refund.created"
    assert sandbox.pay_ins.get(pay_in).document["refund_pending_amount"] == Decimal("1.50")
    dispute = sandbox.pay_ins.dispute(pay_in, amount=Decimal("9.90"), reason="fraudulent")
    assert sandbox.disputes.transition(dispute.id, "lost", force=True).status == "lost"
    assert sandbox.pay_ins.get(pay_in).document["charged_back_amount"] == Decimal("9.90")
    assert sandbox.events.list(object_id=dispute.id)[0].type == "dispute.created"
    assert sandbox.events.emit("dispute.updated", dispute.id).object_id == dispute.id


def test_a_payer_acts(sandbox: Any, shop: Shop) -> None:  # noqa: ANN401
    """The pay-in waits until the test pays, has it declined, or gives up; then it refuses."""
    pay_ins = []
    for number in (1, 2, 3, 4):
        body = {"external_identifier": f"order-{number}", "customer": payer_of("payer-decides")}
        pay_ins.append(shop(number, **body).json()["data"]["id"])
    sandbox.clock.advance("1h")

    assert sandbox.payer(pay_ins[0]).pay().status == "pending"
    declined = sandbox.payer(sandbox.pay_ins.get(pay_ins[1])).decline("expired_card")
    assert (declined.status, declined.document["failure"]["code"]) == ("failed", "expired_card")
    assert sandbox.payer(pay_ins[2]).decline().document["failure"]["code"] == "declined"
    assert sandbox.payer(pay_ins[3]).abandon().status == "cancelled"
    sandbox.clock.advance("3s")
    assert [each.status for each in sandbox.pay_ins.list()] == ["succeeded", "failed", "failed", "cancelled"]

    for call in (sandbox.payer(pay_ins[0]).pay, sandbox.payer(pay_ins[3]).decline, sandbox.payer(pay_ins[1]).abandon):
        with pytest.raises(ControlRefused, match="the payer can do nothing any more") as refused:
            call()
        assert (refused.value.status, refused.value.code) == (409, "validation_error")
    with pytest.raises(ControlRefused) as unknown:
        sandbox.payer("payin_nobody").pay()
    assert unknown.value.status == 404
    with pytest.raises(ControlRefused) as empty:
        sandbox.payer(pay_ins[0]).decline("")
    assert (empty.value.status, empty.value.member) == (400, "code")


def payer_of(scenario: str) -> dict[str, str]:
    """Return a customer whose e-mail chooses a scenario."""
    return {"first_name": "Ada", "last_name": "Lovelace", "email": f"{scenario}@scenario.test"}


def test_it_is_read_changed_and_reset(sandbox: Any, shop: Shop) -> None:  # noqa: ANN401
    """What a reset removes is counted alike."""
    shop()
    assert sandbox.deliveries.wait(status="delivered", timeout=30) == 1

    changed = sandbox.change(settings={"created_status": 201}, scenario="abandoned")
    state = sandbox.read()
    removed = sandbox.reset()

    assert (changed.scenario, changed.settings["created_status"]) == ("abandoned", 201)
    assert state == changed
    assert (removed["pay_ins"], removed["requests"], removed["deliveries"], removed["attempts_broken_off"]) == (
        1,
        1,
        1,
        0,
    )
    assert (list(sandbox.requests), list(sandbox.events), list(sandbox.deliveries)) == ([], [], [])


@pytest.mark.parametrize(
    ("call", "status", "member"),
    [
        (lambda box: box.faults.add("nope"), 400, "effect.type"),
        (lambda box: box.faults.get("nope"), 404, ""),
        (lambda box: box.clock.advance("1h", until_idle=True), 400, "by"),
        (lambda box: box.requests.verify(operation="nope"), 400, "match.operation"),
        (lambda box: box.deliveries.list(status="nope"), 400, "status"),
        (lambda box: box.pay_ins.get("nope"), 404, ""),
        (lambda box: box.change(settings={"nope": 1}), 400, "settings.nope"),
        (lambda box: box.reset("books"), 400, "scope.0"),
        (lambda box: box.faults.add("error", details=nested(101)), 400, ""),
        (lambda box: box.faults.add("error", details=[0] * 50_001), 400, ""),
        (lambda box: box.faults.add("error", details="x", status=1.5), 400, "effect.status"),
        (lambda box: box._executor.run(ask("GET", f"{box._path}/clock", {})), 400, ""),  # noqa: SLF001
        (lambda box: box._executor.run(ask("GET", f"{box._path}/nope")), 404, ""),  # noqa: SLF001
    ],
    ids=[
        *("fault", "no fault", "advance", "verify", "list", "no pay-in", "settings", "reset"),
        *("deep", "large", "fraction", "body", "no call"),
    ],
)
def test_the_same_is_refused(sandbox: Any, call: Callable[[Any], object], status: int, member: str) -> None:  # noqa: ANN401
    """With the same status and member."""
    with pytest.raises(ControlRefused) as refused:
        call(sandbox)

    assert (refused.value.status, refused.value.member) == (status, member)


def nested(depth: int) -> list[Any]:
    """Return lists in one another."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_a_world_is_built_once_and_forked(sandbox: Any, shop: Shop) -> None:  # noqa: ANN401
    """Both go on by themselves, in the same way; a fork of a checkpoint starts from there."""
    shop(1)
    sandbox.deliveries.wait(status="delivered", timeout=30)
    checkpoint = sandbox.checkpoint()
    sandbox.clock.advance("10s")

    with sandbox.fork() as now, sandbox.fork(checkpoint, id="early", notification_url=None) as early:
        moved = now.clock.advance("1h")

        assert [each.type for each in now.events] == [each.type for each in sandbox.events]
        assert (moved.now, sandbox.clock.read().now) == (START + timedelta(seconds=3610), START + timedelta(seconds=10))
        assert (early.id, early.read().notification_url, early.clock.read().now) == ("early", None, START)
        assert (len(early.events), len(early.deliveries), len(now.deliveries)) == (1, 1, 4)
        assert sandbox.auth not in {now.auth, early.auth}
        assert (now.seed, now.webhook_secret) == (sandbox.seed, sandbox.webhook_secret)
        with now.fork(webhook_secret="whsec_mine") as other:
            assert other.webhook_secret == "whsec_mine"
        with pytest.raises(ControlRefused, match="no checkpoint 'other'"):
            early.fork("other")


def test_the_code_under_test_uses_a_fork(sandbox: Any, shop: Shop) -> None:  # noqa: ANN401
    """With the credentials of the fork; the same request has the same ids in both, and a stored answer is there."""
    shop(1)
    with sandbox.fork() as fork:
        transport = HttpxTransport(fork) if isinstance(fork, Sandbox) else None
        with httpx.Client(transport=transport, base_url=fork.base_url, auth=fork.auth) as client:
            forked = [
                client.post(DEPOSITS.removeprefix("/"), json=deposit_body(), headers={"Idempotency-Key": key(number)})
                for number in (1, 2)
            ]

        answers = [shop(1), shop(2)]

        assert [each.content for each in forked] == [each.content for each in answers]
        assert [each.headers["x-request-id"] for each in forked] == [each.headers["x-request-id"] for each in answers]
        assert [each.verdict for each in fork.requests] == ["new", "replay", "new"]


PARTS = [
    "clock", "faults", "rate_limit", "requests", "events", "deliveries", "scenarios",
    "webhook", "pay_ins", "refunds", "disputes", "payouts",
]  # fmt: skip


def test_each_call_of_the_handle_is_there(sandbox: Any) -> None:  # noqa: ANN401
    """By name, with the same arguments."""
    assert missing_calls(Payer, sandbox.payer("payin_x")) == []
    assert missing_calls(SandboxHandle, sandbox) == []
    for part in PARTS:
        model = type(getattr(Sandbox(), part))
        assert missing_calls(model, getattr(sandbox, part)) == [], part


def missing_calls(handle: type[Any], box: object) -> list[str]:
    """Return the calls of a handle that something has not, or has without one of their arguments."""
    missing = []
    for name in dir(handle):
        described = getattr(handle, name, None)
        if isinstance(described, Call):
            there = getattr(box, name, None)
            wanted = {
                each
                for each, kind in signature(unwrap(cast("Any", described))).parameters.items()
                if kind.kind is not Parameter.VAR_KEYWORD
            }
            if there is None or not wanted - {"self"} <= set(signature(there).parameters) | {"self"}:
                missing.append(name)
    return missing


def test_a_lease_has_no_effect_here() -> None:
    """A test that gives one moves here without a change; nothing is deleted, and nothing lists the labels."""
    with Sandbox() as box:
        box.change(ttl="10m", labels={"job": "1"})
        fork = box.fork(ttl="10m", labels={"job": "1"})

        assert [(each.read().ttl, each.read().expires_at, each.read().labels) for each in (box, fork)] == [
            (None, None, {})
        ] * 2


def test_a_wait_here_sees_what_an_auto_clock_brings() -> None:
    """It jumps while the test waits, as it does on a server."""
    box = Sandbox(receiver=lambda _: 200)
    box.clock.set("auto")
    box.handle("POST", DEPOSITS, deposit_body())

    assert box.deliveries.wait(type="pay-in.succeeded", status="delivered", timeout=30) == 1


def test_a_wait_here_sees_what_a_real_clock_brings() -> None:
    """It waits for the next instant at which something is due, and no longer than it was told."""
    box = Sandbox(receiver=lambda _: 200)
    box.clock.set("real", rate=10_000)
    box.handle("POST", DEPOSITS, deposit_body())

    assert box.deliveries.wait(type="pay-in.succeeded", status="delivered", timeout=30) == 1
    with pytest.raises(NotAsExpected, match="within 10ms"):
        box.deliveries.wait(type="pay-in.failed", timeout="10ms")


def test_a_sandbox_here_can_be_deleted() -> None:
    """As a context manager it is at the end; its key is then no longer known."""
    with Sandbox() as box:
        assert box.handle("GET", "/pay-in").status == 200

    assert box.handle("GET", "/pay-in").status == 401
