"""The handle: each control call has a name, the same for callers that block and for those that await."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import assert_type

import pytest
from bounds import AT_MOST_SECONDS
from kit import Either, deposit, deposited, settle

from paydouble.testing import (
    Async,
    AsyncPaydouble,
    ClockState,
    ControlRefused,
    NotAsExpected,
    Paydouble,
    Request,
    SandboxHandle,
    Sync,
    UsageError,
)

START = "2026-01-01T00:00:00Z"


async def _sandbox(server: Either, **members: object) -> Either:
    return await settle(server.sandbox(**{"clock": {"mode": "manual", "start": START}, **members}))


async def test_a_sandbox_is_what_was_asked_for(either: Either) -> None:
    """Members given are members kept, and what code under test needs is at hand."""
    box = await _sandbox(
        either,
        id="shop",
        seed=7,
        scenario="card-declined",
        settings={"created_status": 201},
        notification_url="http://127.0.0.1:9/hooks",
        business_key="k",
        business_secret="s",
        webhook_secret="whsec_x",
    )
    state = await settle(box.read())

    assert (box.id, box.seed, box.auth, box.webhook_secret) == ("shop", 7, ("k", "s"), "whsec_x")
    assert (box.business_key, box.business_secret) == box.auth
    assert box.base_url == f"{either.url}/api/v1"
    assert (state.id, state.seed, state.scenario) == ("shop", 7, "card-declined")
    assert (state.settings["created_status"], state.notification_url) == (201, "http://127.0.0.1:9/hooks")
    assert state.clock.now == datetime(2026, 1, 1, tzinfo=UTC)
    assert "shop" in repr(box)
    assert either.url in repr(either)


async def test_a_sandbox_has_a_lease_and_labels(either: Either) -> None:
    """They are given, changed, taken away and searched for."""
    box = await _sandbox(either, ttl=timedelta(minutes=10), labels={"job": "1234", "shard": "7"})
    await _sandbox(either, ttl=90, labels={"job": "1234"})
    state = await settle(box.read())
    assert (state.ttl, state.labels) == ("10m", {"job": "1234", "shard": "7"})
    assert state.expires_at > datetime.now(UTC)

    assert len(await settle(either.sandboxes(labels={"job": "1234"}))) == 2
    assert [each.id for each in await settle(either.sandboxes({"job": "1234", "shard": "7"}))] == [box.id]
    fork = await settle(box.fork(ttl="1h", labels={}))
    assert ((await settle(fork.read())).ttl, (await settle(fork.read())).labels) == ("1h", {})

    changed = await settle(box.change(ttl=None, labels={"job": "1235"}))
    assert (changed.ttl, changed.expires_at, changed.labels) == (None, None, {"job": "1235"})
    assert (await settle(box.change(ttl="2m"))).ttl == "2m"
    with pytest.raises(UsageError, match=r"^ttl: "):
        await settle(either.sandbox(ttl="soon"))


def test_a_server_has_room_for_so_many_sandboxes() -> None:
    """One too many is refused with 429."""
    with Paydouble.start(max_sandboxes=2) as server, server.sandbox():
        with pytest.raises(ControlRefused, match="--max-sandboxes") as refused:
            server.sandbox()
        assert (refused.value.status, refused.value.code) == (429, "too_many_sandboxes")


async def test_the_newest_of_a_kind(either: Either) -> None:
    """By one short name; when there is none, the test's own expectation does not hold."""
    box = await _sandbox(either)
    for journal in (box.requests, box.events, box.deliveries):
        with pytest.raises(NotAsExpected, match=r"there are no (requests|events|deliveries) at all"):
            await settle(journal.last)
    await deposited(box)
    await deposited(box, 2)

    request, event, delivery = [await settle(journal.last) for journal in (box.requests, box.events, box.deliveries)]
    assert request == (await settle(box.requests.list()))[1]
    assert (event.request_id, delivery.event_id) == (request.id, event.id)


def test_a_journal_is_like_a_list(server: Paydouble) -> None:
    """Where calls block; it is read anew each time."""
    with server.sandbox(clock="manual") as box:
        assert (len(box.requests), bool(box.requests), list(box.events)) == (0, False, [])
        deposit(box)
        deposit(box, 2)

        assert (len(box.requests), len(box.events), len(box.deliveries)) == (2, 2, 2)
        assert box.requests[-1] == box.requests[1] == box.requests.last
        assert [each.status for each in box.requests[:2]] == [200, 200]
        assert [each.object_id for each in box.deliveries] == [each.object_id for each in box.events]
        with pytest.raises(IndexError, match=r"there is no events\[2\]: there are 2 events"):
            _ = box.events[2]


async def test_an_awaited_journal_is_no_list() -> None:
    """It says how to get one."""
    async with AsyncPaydouble.start() as server, server.sandbox() as box:
        for wrong in (len, list, lambda journal: journal[0]):
            with pytest.raises(TypeError, match=r"are awaited: write `await ….requests.last`"):
                wrong(box.requests)


async def test_requests_that_no_sandbox_claims(either: Either) -> None:
    """Code that uses another key than its test's sandbox has is found here."""
    box = await _sandbox(either)
    await deposited(box)
    before = await settle(either.unclaimed_requests())
    await settle(box.delete())
    await deposited(box)

    [stranger] = await settle(either.unclaimed_requests())
    assert before == []
    assert (stranger.business_key, stranger.status, stranger.sequence) == (box.business_key, 401, 1)
    assert (stranger.method, stranger.path, stranger.operation) == ("POST", "/api/v1/pay-in/deposit-creation", None)
    assert stranger.json()["external_identifier"]
    assert isinstance(stranger, Request)


async def test_sandboxes_are_found_listed_changed_and_let_go(either: Either) -> None:
    """The life of a sandbox, by its names."""
    box = await _sandbox(either)
    changed = await settle(box.change(scenario="abandoned", notification_url=None, settings={"retry_after": True}))
    found = await settle(either.find(box.id))
    ids = [each.id for each in await settle(either.sandboxes())]
    await settle(box.delete())

    with pytest.raises(ControlRefused, match="There is no sandbox") as refused:
        await settle(found.read())

    assert (changed.scenario, changed.settings["retry_after"]) == ("abandoned", True)
    assert ids == ["default", box.id]
    assert (refused.value.status, refused.value.code) == (404, "not_found")
    assert (await settle(either.health())).sandboxes == 1
    assert (await settle(either.find())).id == "default"


async def test_a_clock_is_read_moved_and_exchanged(either: Either) -> None:
    """Lengths of time are texts, seconds or timedeltas."""
    box = await _sandbox(either)
    resource = await settle(box.scenarios.play("happy-path"))

    steps = [await settle(box.clock.advance(span)) for span in ("1s", 1, timedelta(seconds=4))]
    later = await settle(box.clock.advance(to="2026-01-02T00:00:00Z", limit=10))
    idle = await settle(box.clock.advance(until_idle=True))
    clock = await settle(box.clock.set("auto", start=datetime(2026, 2, 1, tzinfo=UTC)))

    assert [step.fired for step in steps] == [0, 1, 2]
    assert (later.now, idle.idle, idle.attempts) == (datetime(2026, 1, 2, tzinfo=UTC), True, 0)
    assert (clock.mode, clock.now, clock.pending) == ("auto", datetime(2026, 2, 1, tzinfo=UTC), 0)
    assert (await settle(box.clock.read())).next_due_at is None
    assert (resource.status, resource.document["amount"]) == ("created", Decimal("49.90"))


async def test_faults_are_declared_flat(either: Either) -> None:
    """Each member goes where its name belongs, and counts come back."""
    box = await _sandbox(either)
    fault = await settle(
        box.faults.add("error", status=503, operation="deposit-creation", match={"method": "POST"}, times=1, id="one")
    )
    effect = await settle(box.faults.add({"type": "remove_method", "method": "card"}, enabled=False))
    answers = [(await deposited(box))[0] for _ in range(2)]
    seen = await settle(box.faults.get("one"))
    changed = await settle(box.faults.change("one", times=None))

    assert answers == [503, 200]
    assert fault.document["match"] == {"operation": "deposit-creation", "method": "POST"}
    assert (fault.effect, effect.document["effect"]) == ("error", {"type": "remove_method", "method": "card"})
    assert (seen.times_matched, seen.times_fired, seen.active, changed.active) == (1, 1, False, True)
    assert [each.id for each in await settle(box.faults.list())] == ["one", effect.id]
    assert (await settle(box.faults.remove("one")), await settle(box.faults.clear())) == (1, 1)


async def test_a_name_that_python_keeps_for_itself_takes_an_underscore(either: Either) -> None:
    """`for_` is the member `for`, `as_` is `as`."""
    box = await _sandbox(either)

    fault = await settle(box.faults.add("stale_read", for_="2s"))

    assert fault.document["effect"] == {"type": "stale_read", "for": "2s"}


async def test_a_quota_is_real(either: Either) -> None:
    """It holds until it is taken away."""
    box = await _sandbox(either)
    rule = await settle(box.rate_limit.set(1, window="1m", reset_unit="delta_seconds", headers="always"))
    limited = [(await deposited(box, number))[0] for number in (1, 2)]
    await settle(box.rate_limit.clear())

    assert (rule["limit"], rule["window"]) == (1, "1m")
    assert (limited, (await deposited(box, 3))[0]) == ([200, 429], 200)


async def test_requests_are_kept_asked_about_and_forgotten(either: Either) -> None:
    """A request is shown with its exact bytes and its verdict."""
    box = await _sandbox(either)
    await deposited(box)
    await deposited(box)
    first, second = await settle(box.requests.list())

    assert await settle(box.requests.verify(operation="deposit-creation", body={"amount": Decimal("49.90")})) == 2
    assert await settle(box.requests.wait(sequence=[{"verdict": "new"}, {"verdict": "replay"}], timeout=1)) == 2
    assert (first.verdict, second.verdict, first.json()["amount"]) == ("new", "replay", Decimal("49.9"))
    assert (first.status, first.operation, first.path) == (200, "deposit-creation", "/api/v1/pay-in/deposit-creation")
    assert ("Content-Type", "application/json") in first.headers
    assert first.response_body == second.response_body
    assert dict(first.response_headers)["Content-Type"] == "application/json"
    assert ("X-Request-Id", first.id) in first.response_headers
    assert first.idempotency_key is not None
    assert await settle(box.requests.clear()) == 2
    assert await settle(box.requests.verify(count=0)) == 0


async def test_what_is_not_as_expected_says_what_came_closest(either: Either) -> None:
    """The assertion names the near miss, member by member."""
    box = await _sandbox(either)
    await deposited(box)

    with pytest.raises(NotAsExpected) as missed:
        await settle(box.requests.verify(count=1, operation="deposit-creation", status=201))
    with pytest.raises(NotAsExpected, match="within 10ms"):
        await settle(box.deliveries.wait(type="pay-in.succeeded", at_least=1, timeout=timedelta(milliseconds=10)))
    with pytest.raises(NotAsExpected, match="number 1 is missing"):
        await settle(box.requests.verify(sequence=[{"status": 500}]))

    text = str(missed.value)
    assert 'expected exactly 1 of the requests with operation "deposit-creation", status 201, found 0' in text
    assert "status: wanted 201, got 200" in text


async def test_an_evicting_journal_says_so(either: Either) -> None:
    """The entry in question may have been evicted."""
    box = await _sandbox(either, settings={"journal_limit": 1})
    await deposited(box, 1)
    await deposited(box, 2)

    with pytest.raises(NotAsExpected, match="has evicted 1 older entries"):
        await settle(box.requests.verify(count=2))


async def test_nothing_at_all_is_told_from_near_misses(either: Either) -> None:
    """An empty journal has no near misses."""
    box = await _sandbox(either)

    with pytest.raises(NotAsExpected, match="there are no requests at all"):
        await settle(box.requests.verify())


async def test_a_sequence_stands_alone(either: Either) -> None:
    """A match beside it would be left out in silence."""
    box = await _sandbox(either)

    with pytest.raises(UsageError, match="sequence"):
        await settle(box.requests.verify(sequence=[{"status": 200}], operation="deposit-creation"))


async def test_events_and_deliveries_are_shown_and_steered(either: Either) -> None:
    """Emit, hold, release and redeliver, with every attempt on record."""
    box = await _sandbox(either, notification_url="http://127.0.0.1:9/hooks")
    pay_in = (await settle(box.scenarios.play("happy-path"))).id
    await settle(box.clock.advance("6s"))
    events = await settle(box.events.list(type="pay-in.created", object_id=pay_in))
    emitted = await settle(box.events.emit("pay-in.failed", pay_in))
    await settle(box.deliveries.wait(type="pay-in.failed", attempt_count=1, timeout=AT_MOST_SECONDS))
    await settle(box.clock.advance("0s"))  # settles what is on its way
    [delivery] = await settle(box.deliveries.list(type="pay-in.created", object_id=pay_in, status="waiting"))
    held = await settle(box.deliveries.hold(delivery.id))
    released = await settle(box.deliveries.release(delivery.id))
    await settle(box.clock.advance("0s"))  # settles what is on its way
    again = await settle(box.deliveries.redeliver(delivery.id))
    await settle(box.clock.advance("0s"))  # settles what is on its way
    shown = await settle(box.deliveries.get(delivery.id))

    assert (await settle(box.events.get(events[0].id))).json()["type"] == "pay-in.created"
    assert (emitted.type, emitted.object_id) == ("pay-in.failed", pay_in)
    assert (delivery.target, delivery.event_id) == ("http://127.0.0.1:9/hooks", events[0].id)
    assert (held.status, released.status, again.status) == ("held", "waiting", "waiting")
    assert [attempt.number for attempt in shown.attempts] == [1, 2, 3]
    attempt = shown.attempts[0]
    assert (attempt.status, attempt.error_kind, attempt.body) == (None, "refused", events[0].body)
    assert attempt.sent_at is not None
    assert attempt.error is not None
    assert len(await settle(box.deliveries.redeliver_failed(since=START))) == 5


async def test_outcomes_are_forced(either: Either) -> None:
    """A test decides what becomes of a pay-in, and lets disputes arrive."""
    box = await _sandbox(either)
    pay_in = (await deposited(box))[1]["data"]["id"]
    for state in ("pending", "processing", "succeeded"):
        await settle(box.pay_ins.transition(pay_in, state))
    dispute = await settle(box.pay_ins.dispute(pay_in, amount=Decimal("10.00"), reason="unknown"))
    lost = await settle(box.disputes.transition(dispute.id, "lost", force=True))
    other = (await deposited(box, 2))[1]["data"]["id"]
    failed = await settle(
        box.pay_ins.transition(other, "failed", failure={"code": "card_declined", "message": "No."}, force=True)
    )

    refund = await settle(box.pay_ins.refund(pay_in, amount=Decimal("2.50"), reason="damaged"))

    assert (dispute.document["amount"], lost.status) == (Decimal("10.00"), "lost")
    shown = {name: refund.document[name] for name in ("payin_id", "amount", "reason", "status")}
    assert shown == {"payin_id": pay_in, "amount": Decimal("2.50"), "reason": "damaged", "status": "created"}
    assert "external_identifier" not in refund.document
    assert failed.document["failure"]["code"] == "card_declined"
    for opens in (box.pay_ins.dispute, box.pay_ins.refund):
        with pytest.raises(UsageError, match="never a float"):
            await settle(opens(pay_in, amount=1.5))


async def test_scenarios_are_uploaded_chosen_and_played(either: Either) -> None:
    """As a mapping or as the text of a file."""
    box = await _sandbox(either)
    mapping = {"name": "slow", "summary": "Slow.", "lifecycle": {"pay_in": [{"after": "1h", "to": "pending"}]}}
    text = "name: quick\nsummary: Quick.\nlifecycle:\n  pay_in:\n    - {after: 1ms, to: pending}\n"

    uploaded = [(await settle(box.scenarios.upload(each))).name for each in (mapping, text)]
    active = await settle(box.scenarios.activate("slow"))
    played = await settle(box.scenarios.play("quick", external_identifier="order-9", amount=Decimal("1.50")))

    assert (uploaded, active.active, active.source) == (["slow", "quick"], True, "uploaded")
    assert (played.document["external_identifier"], played.document["amount"]) == ("order-9", Decimal("1.50"))
    assert "happy-path" in [each.name for each in await settle(box.scenarios.list())]
    assert (await settle(box.scenarios.get("slow")))["summary"]
    assert await settle(box.scenarios.active()) == "slow"
    assert await settle(box.scenarios.deactivate()) == "slow"


async def test_a_webhook_is_aimed_rotated_and_tested(either: Either) -> None:
    """During a rotation's grace the old secret signs along."""
    box = await _sandbox(either)
    changed = await settle(box.webhook.change(notification_url="http://127.0.0.1:9/", secret="whsec_new"))
    rotated = await settle(box.webhook.rotate_secret("1h"))
    sample = await settle(box.webhook.test("refund.failed"))
    nowhere = await settle(box.webhook.change(notification_url=None))

    assert (changed.secret, changed.notification_url) == ("whsec_new", "http://127.0.0.1:9/")
    assert (rotated.previous_secret, rotated.previous_valid_until) == (
        "whsec_new",
        datetime(2026, 1, 1, 1, tzinfo=UTC),
    )
    assert (sample.type, nowhere.notification_url) == ("refund.failed", None)
    assert (await settle(box.webhook.read())).signature_header == "X-Service-Signature"


async def test_the_money_of_a_pay_in_is_shown(either: Either) -> None:
    """The control API shows the refunded and disputed amounts; the API does not."""
    box = await _sandbox(either)
    pay_in = (await settle(box.scenarios.play("instant-success", amount=10))).id
    await settle(box.clock.advance(until_idle=True))
    first = await settle(box.pay_ins.dispute(pay_in, amount=4))
    rest = await settle(box.pay_ins.dispute(pay_in))
    forced = await settle(box.pay_ins.dispute(pay_in, force=True))
    with pytest.raises(ControlRefused, match="force: true"):
        await settle(box.pay_ins.dispute(pay_in))
    await settle(box.disputes.transition(first.id, "lost"))

    shown = await settle(box.pay_ins.get(pay_in))
    assert [each.document for each in await settle(box.pay_ins.list())] == [shown.document]
    assert [each.document["amount"] for each in (rest, forced)] == [6, 10]
    money = ("refunded_amount", "refund_pending_amount", "disputed_amount", "charged_back_amount")
    assert [shown.document[name] for name in money] == [0, 0, 16, 4]


async def test_a_reset_forgets_what_it_is_told(either: Either) -> None:
    """Everything, or what is named."""
    box = await _sandbox(either)
    await deposited(box)

    assert (await settle(box.reset("requests")))["requests"] == 1
    assert (await settle(box.reset()))["pay_ins"] == 1
    first = (await settle(box.scenarios.play("happy-path"))).id
    await settle(box.reset("state", same_ids=True))
    again = (await settle(box.scenarios.play("happy-path"))).id
    await settle(box.reset("state"))
    assert (again, (await settle(box.scenarios.play("happy-path"))).id == first) == (first, False)


async def test_a_refused_call_names_its_member(either: Either) -> None:
    """One exception for all of them, with what the control API says."""
    box = await _sandbox(either)

    with pytest.raises(ControlRefused) as refused:
        await settle(box.faults.add("error", status=200))
    with pytest.raises(ControlRefused, match=r"did you mean 'pay-in\.succeeded'") as misspelt:
        await settle(box.deliveries.wait(type="pay-in.success"))
    with pytest.raises(UsageError, match="timeout"):
        await settle(box.requests.wait(timeout="soon"))

    assert (refused.value.status, refused.value.member) == (400, "effect.status")
    assert "effect.status" in str(refused.value)
    assert misspelt.value.member == "match.type"


async def test_long_lists_come_whole(either: Either) -> None:
    """However many pages the control API makes of them."""
    box = await _sandbox(either)
    for number in range(3):
        await settle(box.faults.add("latency", fixed="1ms", id=f"f{number}", external_identifier=f"{number}"))
    for _ in range(1005):
        await settle(box.webhook.test())

    events = await settle(box.events.list())

    assert len(events) == len({event.id for event in events}) == 1005


async def test_types_follow_the_handle(server: Paydouble) -> None:
    """One description of a call has both types, which mypy sees here."""
    with server.sandbox() as box:
        awaited = box.asynchronous

        assert_type(box, SandboxHandle[Sync])
        assert_type(awaited, SandboxHandle[Async])
        assert_type(box.clock.read(), ClockState)
        assert_type(await awaited.clock.read(), ClockState)
        assert_type(box.requests.list(), list[Request])
        assert_type(await awaited.requests.list(), list[Request])
        await deposited(box)
        assert_type(box.requests[0], Request)
        assert_type(box.requests.last, Request)
        assert_type(await awaited.requests.last, Request)
        assert_type(server.find(box.id), SandboxHandle[Sync])
        assert_type(await AsyncPaydouble.connect(server.url).find(box.id), SandboxHandle[Async])


def test_a_sandbox_is_a_context(server: Paydouble) -> None:
    """It is deleted at the end."""
    with server.sandbox() as box:
        assert [each.id for each in server.sandboxes()] == ["default", box.id]

    assert [each.id for each in server.sandboxes()] == ["default"]


async def test_an_awaited_sandbox_is_a_context() -> None:
    """`async with` awaits the call and enters what it gives."""
    server = await AsyncPaydouble.start()
    async with server, server.sandbox() as box:
        assert [each.id for each in await server.sandboxes()] == ["default", box.id]
        await box.read()


async def test_a_sync_handle_has_an_awaited_side(server: Paydouble) -> None:
    """An async test waits without standing in the way of what it waits for."""
    with server.sandbox(clock="manual") as box:
        waiting = asyncio.create_task(box.asynchronous.requests.wait(count=1, timeout=AT_MOST_SECONDS))
        status, _ = await deposited(box)

        assert (await waiting, status) == (1, 200)


async def test_a_call_that_is_given_up_ends(server: Paydouble) -> None:
    """It is a coroutine like any other: it can be a task, and be cancelled."""
    with server.sandbox(clock="manual") as box:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(box.asynchronous.requests.wait(count=1), 0.01)

        assert box.requests.list() == []


async def test_a_call_that_is_closed_is_not_made(server: Paydouble) -> None:
    """Nobody is warned of what was put away on purpose."""
    with server.sandbox() as box:
        box.asynchronous.delete().close()

        assert box.read().id == box.id
