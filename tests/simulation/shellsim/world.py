"""One play of the shell: a seed's worth of merchants, receivers, faults, clocks and accidents, and what must hold.

The host, its pumps, the sender, aiohttp's client and the whole service are the real ones. The event loop, the sockets,
the machine's clocks and the garbage collector are doubles that the seed decides about, so a play repeats to the byte.
"""

from __future__ import annotations

import asyncio
import gc
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any, Final
from unittest import mock

import aiohappyeyeballs
from aiohttp import connector
from multidict import CIMultiDict

from paydouble.api.values import Reply, Request
from paydouble.config import load_settings
from paydouble.core.clock import ClockMode
from paydouble.core.errors import UnknownThing, UsageError
from paydouble.faults.model import parse_fault
from paydouble.guards.credentials import basic_header
from paydouble.payments.resources import PayIn
from paydouble.runtime import connections, sender, wall
from paydouble.runtime.host import ClockSpec, Host, HostOptions, SandboxSpec
from paydouble.sandbox import Sandbox
from paydouble.webhooks.deliveries import Attempt, Delivery
from shellsim.loop import Loop, Transport
from shellsim.receivers import STRAY_STATUSES, Connection, Receiver, Seen

START: Final = 1_767_225_600_000
DAY: Final = 86_400_000
PORTS: Final = (9001, 9002)
# Of the loop's own time; a play that has not ended by then never will.
LONGEST_SECONDS: Final = 60 * 86_400
WALL_STEPS_MS: Final = (-10 * DAY, -3_600_000, -1_000, -1, 1, 1_000, 3_600_000, 10 * DAY)
DEPOSITS: Final = "/api/v1/pay-in/deposit-creation"


class Violation(AssertionError):
    """An invariant does not hold."""


def must(holds: object, what: str) -> None:
    """Raise `Violation` unless something holds."""
    if not holds:
        raise Violation(what)


@dataclass(eq=False)
class Shop:
    """A merchant, its sandbox, and the answers that it got."""

    box: Sandbox
    authorization: str
    keys: int = 0
    told: list[str] = field(default_factory=list)
    """The pay-ins whose creation was acknowledged."""
    again: list[bytes] = field(default_factory=list)
    """Requests that it may make once more."""
    forgotten: int = 0
    """How often it was reset. Some of what was sent is not in its records."""
    clock_resets: int = 0
    """How often its clock has been set back."""
    by_hand: set[str] = field(default_factory=set)
    """Deliveries that were held, released or sent once more by hand."""


class World:
    """The state of one play."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.loop = Loop(Random(self.random.random()), self._accept)
        self.wall_step_ms = 0
        self.trace: list[str] = []
        self.results: list[object] = []
        self.deleted: list[tuple[Sandbox, list[int]]] = []
        """What has been deleted, and how far its attempts were then."""
        kindness = self.random.choice((0.0, 0.3, 0.8, 1.0))
        self.receivers = {port: Receiver(self.loop, Random(self.random.random()), kindness) for port in PORTS}
        self.shops: list[Shop] = []
        self.calls: set[asyncio.Task[None]] = set()
        self.host = Host(HostOptions(seed=seed))

    def _accept(self, port: int) -> Connection:
        receiver = self.receivers[port]
        if receiver.down:
            raise ConnectionRefusedError(111, "Connection refused")
        return Connection(receiver)

    def wall_ns(self) -> int:
        """Return the time of the machine's wall clock."""
        return START * 1_000_000 + int((self.loop.time() - 1_000) * 1e9) + self.wall_step_ms * 1_000_000

    def record(self) -> list[object]:
        """Return what a second play of the seed must repeat."""
        return [*self.trace, *self.results]

    def say(self, what: str) -> None:
        """Add a line to what is shown of a play."""
        self.trace.append(f"{self.loop.time() - 1_000:12.4f}  {what}")

    # The play

    async def play(self) -> None:
        """Do what the seed says, then check all invariants."""
        async with asyncio.timeout(LONGEST_SECONDS):
            await self._play()

    async def _play(self) -> None:
        random = self.random
        for _ in range(random.choice((1, 1, 2))):
            self._open_shop()
        for _ in range(random.randrange(3, 13)):
            await asyncio.sleep(random.choice((0, 0, 0.001, 0.05, 0.5, 2.0, 30.0)))
            self._act()
        await self._come_to_rest()
        for shop in self.shops:
            self._check(shop)
        for shop in tuple(self.shops):
            self._start(self._delete(shop))
        await self._finish_calls()
        await asyncio.sleep(120)
        for box, traces in self.deleted:
            must(_traces(box) == traces, f"{box.identity.id}: its attempts go on after its end")
        await self.host.close()
        await self._clear_away()

    def _open_shop(self) -> None:
        random = self.random
        mode: ClockMode = random.choice(("real", "real", "manual", "auto"))
        webhooks = {"in_flight": random.choice((None, None, None, 1, 2)), **random.choice(SCHEDULES)}
        settings = {"scenario": random.choice(("happy-path", "abandoned")), "webhooks": webhooks}
        rate = random.choice((1.0, 1.0, 60.0)) if mode == "real" else 1.0
        box = self.host.create(
            SandboxSpec(
                clock=ClockSpec(mode, random.choice((None, START)), rate),
                notification_url=self._url(),
                settings=load_settings(settings),
            )
        )
        identity = box.identity
        self.shops.append(Shop(box, basic_header(identity.business_key, identity.business_secret)))
        self.say(f"{identity.id}: made, {mode} clock at rate {rate:g}, {settings}")

    def _url(self) -> str:
        return f"http://127.0.0.1:{self.random.choice(PORTS)}/hook"

    def _act(self) -> None:
        name, action = self.random.choice(ACTIONS)
        if not self.shops:
            self._open_shop()
        shop = self.random.choice(self.shops)
        try:
            said = action(self, shop)
        except (UsageError, UnknownThing) as refusal:
            said = f"refused: {refusal}"
        self.say(f"{shop.box.identity.id}: {name} {said or ''}")

    # What can happen

    def deposit(self, shop: Shop) -> str:
        """A merchant creates some deposits."""
        count = self.random.choice((1, 1, 1, 1, 1, 1, 1, 2, 2, 10))
        for _ in range(count):
            shop.keys += 1
            body = {
                "amount": 49.9,
                "currency": "EUR",
                "external_identifier": f"order-{shop.keys}",
                "payment_method": {"type": "CREDIT_CARD"},
                "customer": {"first_name": "Ada", "last_name": "Byron", "email": "ada@shop.test"},
                "expires_in": 2_592_000,
            }
            data = json.dumps(body).encode()
            shop.again.append(data)
            self._start(self._ask(shop, "POST", DEPOSITS, data, shop.keys))
        return str(count)

    def retry(self, shop: Shop) -> str:
        """A merchant repeats a request with its key."""
        if shop.again:
            number = self.random.randrange(len(shop.again))
            self._start(self._ask(shop, "POST", DEPOSITS, shop.again[number], number + 1))
        return ""

    def cancel(self, shop: Shop) -> str:
        """A merchant cancels a payment."""
        if shop.told:
            shop.keys += 1
            shop.again.append(b"{}")  # its key is taken
            path = f"/api/v1/pay-in/{self.random.choice(shop.told)}/cancellation"
            self._start(self._ask(shop, "POST", path, b"{}", 1_000 + shop.keys))
        return ""

    def fault(self, shop: Shop) -> str:
        """A test arms a fault."""
        wanted = self.random.choice(FAULTS)
        shop.box.faults.add(parse_fault({**wanted, "times": self.random.choice((1, 2))}), shop.box.tick())
        return str(wanted)

    def retarget(self, shop: Shop) -> str:
        """A test changes a sandbox's URL, or removes it."""
        url = self.random.choice((None, self._url(), self._url()))
        self.host.act(shop.box, lambda: shop.box.set_notification_url(url))
        return str(url)

    def by_hand(self, shop: Shop) -> str:
        """A test holds a delivery, releases it or sends it again."""
        deliveries = list(shop.box.outbox.deliveries.values())
        if not deliveries:
            return ""
        delivery = self.random.choice(deliveries)
        name = self.random.choice(("hold", "release", "redeliver"))
        shop.by_hand.add(delivery.id)
        self.host.act(shop.box, lambda: getattr(shop.box, name)(delivery))
        return f"{name} {delivery.id}"

    def advance(self, shop: Shop) -> str:
        """A test moves a clock."""
        by = self.random.choice((0, 1_000, 60_000, 3_600_000, DAY))
        self._start(self._advance(shop, by))
        return f"{by} ms"

    def other_clock(self, shop: Shop) -> str:
        """A test gives a sandbox another clock."""
        mode: ClockMode = self.random.choice(("real", "manual", "auto"))
        spec = ClockSpec(mode, shop.box.tick())
        self.host.act(shop.box, lambda: shop.box.set_clock(spec.make()))
        return mode

    def step_wall(self, _: Shop) -> str:
        """The machine's clock is corrected."""
        by = self.random.choice(WALL_STEPS_MS)
        self.wall_step_ms += by
        return f"{by} ms"

    def collect(self, _: Shop) -> str:
        """The garbage collector runs."""
        gc.collect(self.random.choice((0, 0, 1, 2)))
        return ""

    def outage(self, _: Shop) -> str:
        """A receiver becomes unreachable, or reachable again."""
        receiver = self.receivers[self.random.choice(PORTS)]
        receiver.down = not receiver.down
        return "down" if receiver.down else "up"

    def reset(self, shop: Shop) -> str:
        """A test resets its sandbox."""
        scope = self.random.choice((frozenset({"deliveries"}), frozenset({"state", "deliveries", "clock", "faults"})))
        shop.forgotten += 1
        self._start(self._reset(shop, scope))
        return ", ".join(sorted(scope))

    def delete(self, shop: Shop) -> str:
        """A test deletes its sandbox, whatever is in flight in it."""
        self.shops.remove(shop)
        self._start(self._delete(shop))
        return ""

    # What takes time

    def _start(self, call: Any) -> None:  # noqa: ANN401 - a coroutine
        task = self.loop.create_task(call)
        self.calls.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.calls.discard(task)
        failure = None if task.cancelled() else task.exception()
        if failure is not None and not isinstance(failure, UsageError):
            self.loop.failures.append(f"a call failed: {failure!r}")

    async def _ask(self, shop: Shop, method: str, path: str, body: bytes, key: int) -> None:
        headers = CIMultiDict({
            "Authorization": shop.authorization,
            "Idempotency-Key": f"00000000-0000-4000-8000-{key:012x}",
            "Content-Type": "application/json",
        })  # fmt: skip
        step = self.host.pipeline.handle(Request(method, path, headers, body))
        if isinstance(step, Reply) and self.host.sends(step):
            reply = step
        else:
            reply = await self.host.finish(step)
            if reply.wire is not None:
                with self.host.sending(reply):
                    await asyncio.sleep(0.01)
                return
        if reply.status == 200 and path == DEPOSITS:
            shop.told.append(json.loads(reply.body)["data"]["id"])

    async def _advance(self, shop: Shop, by: int) -> None:
        box = shop.box
        before, resets = box.now, shop.clock_resets
        done = await self.host.pump(box).advance(by=by)
        must(done.now >= before or shop.clock_resets > resets, "a clock has gone back")

    async def _reset(self, shop: Shop, scope: frozenset[str]) -> None:
        await self.host.reset(shop.box, scope)
        # Counted now, since it waits for attempts in flight, and another advance may begin meanwhile.
        shop.clock_resets += "clock" in scope
        shop.by_hand.clear()
        if "state" in scope:
            shop.told.clear()

    async def _delete(self, shop: Shop) -> None:
        await self.host.delete(shop.box)
        self.deleted.append((shop.box, _traces(shop.box)))

    async def _finish_calls(self) -> None:
        while self.calls:
            await asyncio.wait(self.calls)

    async def _come_to_rest(self) -> None:
        """Let everything happen that is due by itself."""
        await self._finish_calls()
        for receiver in self.receivers.values():
            receiver.down = False
        for shop in self.shops:
            if shop.box.clock.mode == "manual":
                self._start(self._advance(shop, 4 * DAY))
        await self._finish_calls()
        shown = [(shop.box, shop.box.clock, shop.box.clock.now(), self.loop.time()) for shop in self.shops]
        await asyncio.sleep(4 * 86_400)
        await asyncio.sleep(120)  # what was sent in the last moment is answered by then
        for box, clock, before, since in shown:
            if clock.mode == "real":
                lag = (self.loop.time() - since) * 1000 * clock.rate - (clock.now() - before)
                must(abs(lag) <= 2 * clock.rate, f"{box.identity.id}: its clock is {lag:g} ms behind")

    async def _clear_away(self) -> None:
        """Remove the receivers, and check that nothing stays."""
        for receiver in self.receivers.values():
            for task in tuple(receiver.tasks):
                task.cancel()
        for _ in range(10):
            await asyncio.sleep(0)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        must(not left, f"tasks stay behind: {left}")
        must(not self.loop.transports, f"{len(self.loop.transports)} connections stay open")

    async def give_up(self) -> None:
        """End what a failed play has left running."""
        await self.host.close()  # so that nothing new begins
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self.host.close()
        for transport in tuple(self.loop.transports):
            transport.abort()
        for _ in range(5):
            await asyncio.sleep(0)

    # What must hold

    def _check(self, shop: Shop) -> None:
        box = shop.box
        deliveries = tuple(box.outbox.deliveries.values())
        now = box.tick()
        for delivery in deliveries:
            self._check_end(shop, delivery, now)
            attempts = [(each.due_at, each.headers, each.outcome) for each in delivery.attempts]
            self.results.append((delivery.id, delivery.status, attempts))
        self._check_truth(shop, [(delivery, attempt) for delivery in deliveries for attempt in delivery.attempts])
        due = box.timers.next_due()
        must(due is None or due > now, f"{box.identity.id}: a timer of {due} has not gone off at {now}")
        must(box.outbox.quiet, f"{box.identity.id}: something is due and is not sent")
        if not shop.forgotten:
            events = {event.object_id for event in box.journal.events.entries if event.type == "pay-in.created"}
            delivered = {delivery.event.object_id for delivery in deliveries}
            for pay_in in shop.told:
                must(isinstance(box.ledger.find(pay_in), PayIn), f"{pay_in} was acknowledged and is not there")
                must(pay_in in events, f"{pay_in} was acknowledged and has no event")
                must(pay_in in delivered, f"{pay_in} was acknowledged and has no delivery")

    def _check_end(self, shop: Shop, delivery: Delivery, now: int) -> None:
        box, attempts = shop.box, delivery.attempts
        name = f"{delivery.id} ({delivery.status})"
        outcomes = [attempt.outcome for attempt in attempts]
        must(None not in outcomes, f"{name}: an attempt has not ended")
        taken = [outcome is not None and outcome.succeeded for outcome in outcomes]
        by_hand = delivery.id in shop.by_hand
        if not by_hand:
            must(True not in taken[:-1], f"{name}: it was sent again after it was taken")
        match delivery.status:
            case "delivered":
                must(True in taken, f"{name}: nobody has taken it")
            case "waiting":
                timers = box.timers.of(delivery.id)
                must(timers and timers[0].due > now, f"{name}: nothing will send it")
            case "exhausted":
                offsets = (delivery.offsets or box.settings.webhooks.offsets)[: delivery.most_attempts]
                must(True not in taken, f"{name}: somebody has taken it")
                must(by_hand or len(attempts) >= len(offsets), f"{name}: after {len(attempts)} attempts")
            case _:
                must(by_hand or not (taken and taken[-1]), f"{name}: somebody has taken it")

    def _check_truth(self, shop: Shop, made: list[tuple[Delivery, Attempt]]) -> None:
        """Compare the double's records of attempts with those of the receivers."""
        seen: dict[str, list[Seen]] = defaultdict(list)
        for receiver in self.receivers.values():
            for each in receiver.seen:
                seen[each.signature].append(each)
        ours: dict[str, list[Attempt]] = defaultdict(list)
        for _, attempt in made:
            ours[dict(attempt.headers)["X-Service-Signature"]].append(attempt)
        for signature, attempts in ours.items():
            theirs = seen[signature]
            statuses = Counter(each.outcome.status for each in attempts if each.outcome and each.outcome.status)
            meant = Counter(each.meant for each in theirs)
            name = f"{shop.box.identity.id}, {signature[:24]}"
            must(not set(statuses) & set(STRAY_STATUSES), f"{name}: a stray answer is a result: {dict(statuses)}")
            must(statuses <= meant, f"{name}: it says {dict(statuses)}, the receiver {dict(meant)}")
            must(
                {each.body for each in theirs if each.whole} <= {each.body for each in attempts}, f"{name}: other bytes"
            )
            if not shop.forgotten:
                must(len(theirs) <= len(attempts), f"{name}: {len(theirs)} requests for {len(attempts)} attempts")
                told = Counter(each.meant for each in theirs if each.told)
                must(told <= statuses, f"{name}: the receiver has said {dict(told)}, it heard {dict(statuses)}")


def _traces(box: Sandbox) -> list[int]:
    """Return, for each delivery that was tried, how many attempts were made and how many of them have ended."""
    attempts = [each.attempts for each in box.outbox.deliveries.values() if each.attempts]
    return [len(each) + sum(attempt.outcome is not None for attempt in each) for each in attempts]


ACTIONS: Final = tuple(
    (name, getattr(World, name))
    for name, weight in {
        "deposit": 8,
        "retry": 2,
        "cancel": 3,
        "fault": 3,
        "retarget": 1,
        "by_hand": 3,
        "advance": 3,
        "other_clock": 1,
        "step_wall": 3,
        "collect": 1,
        "outage": 1,
        "reset": 1,
        "delete": 1,
    }.items()
    for _ in range(weight)
)
_SHORT: Final = {"schedule": ["0s", "1m", "1h"], "repeat_last": False}
SCHEDULES: Final[tuple[dict[str, Any], ...]] = ({}, _SHORT, _SHORT, _SHORT, _SHORT)
FAULTS: Final[tuple[dict[str, Any], ...]] = (
    {"on": "webhooks", "effect": {"type": "slow_body", "over": "2s"}},
    {"on": "webhooks", "effect": {"type": "chunked"}},
    {"on": "webhooks", "effect": {"type": "connection_reset"}},
    {"on": "webhooks", "effect": {"type": "duplicate"}},
    {"on": "webhooks", "effect": {"type": "delay", "fixed": "3s"}},
    {"on": "webhooks", "effect": {"type": "reorder", "window": 3}},
    {"on": "webhooks", "effect": {"type": "before_response"}},
    {"on": "webhooks", "effect": {"type": "drop"}},
    {"on": "webhooks", "effect": {"type": "hold"}},
    {"on": "webhooks", "effect": {"type": "schedule", "attempts": 2}},
    {"on": "api", "phase": "after_commit", "effect": {"type": "connection_reset"}},
    {"on": "api", "effect": {"type": "latency", "fixed": "200ms"}},
)


@contextmanager
def doubles(world: World) -> Iterator[None]:
    """Replace the loop's time, its sockets and the wall clock."""
    loop = world.loop

    async def dial(addr_infos: list[Any], **_: object) -> Any:  # noqa: ANN401 - a socket
        return await loop.dial(addr_infos[0][4][1])

    def has_unread(transport: asyncio.Transport) -> bool:
        return isinstance(transport, Transport) and bool(transport.inbox)

    def elapsed_ns() -> int:
        return int(loop.time() * 1e9)

    with ExitStack() as stack:
        put = stack.enter_context
        put(mock.patch.object(wall, "time", SimpleNamespace(time_ns=world.wall_ns, monotonic_ns=elapsed_ns)))
        put(mock.patch.object(sender, "time", SimpleNamespace(perf_counter=loop.time)))
        put(mock.patch.object(connector, "monotonic", loop.time))
        put(mock.patch.object(aiohappyeyeballs, "start_connection", dial))
        put(mock.patch.object(connections, "has_unread", has_unread))
        yield


def run(seed: int) -> World:
    """Play one seed; `Violation` says what did not hold."""
    world = World(seed)
    loop = world.loop
    automatic = gc.isenabled()
    gc.disable()
    asyncio.set_event_loop(loop)
    try:
        with doubles(world):
            loop.run_until_complete(world.play())
        must(not loop.failures, "; ".join(loop.failures))
    except BaseException as failure:
        repeat = f"Repeat it with: python tests/simulation/play.py --first {seed} --seeds 1"
        failure.add_note("\n".join([*world.trace, repeat]))
        with doubles(world):
            loop.run_until_complete(world.give_up())
        raise
    finally:
        asyncio.set_event_loop(None)
        loop.close()
        if automatic:
            gc.enable()
    return world
