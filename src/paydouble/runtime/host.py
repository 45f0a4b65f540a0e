"""Holds all sandboxes of a process, and waits where their requests must wait.

A sandbox is synchronous data. The host gives each a `Pump`, which moves its clock and sends its deliveries, and a
`Signal`, which wakes the tasks that wait for something to happen in it. After each request and command the host wakes
the pump, since there may be something new to send.

A request reaches its reply in steps. The pipeline never waits: where a real service would keep a request in flight, it
returns what to wait for, and `finish` waits and continues.

    handle ─┬─► Reply
            ├─► Delayed ── some real time passes ─────────────────────────► execute ─► Reply
            └─► Joined ─── the request that has claimed the key is done ──► rejoin ──► Reply or another step

A claim with a delayed request has a future in `_settling`, and the requests that have joined it await this future.
Meanwhile the pump counts each of them as in flight, so an auto clock does not move. A client that disconnects changes
nothing: its request is carried out. A claim is abandoned only when the server stops.

A reply can be sent at once (`sends`) unless a fault delays it, breaks it on the wire, or lets a webhook overtake it. In
the last case the host wakes the pump, and `_hold_reply` waits until the first attempt of the webhook has an outcome,
but no longer than the timeout of webhooks. `sending` and `lost` note that a client did not get its reply, so that an
auto clock waits for the repeated request.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from paydouble.api.execution import Delayed, Joined, Step
from paydouble.api.values import Reply, Request
from paydouble.config import Settings
from paydouble.core.clock import Clock, ClockMode
from paydouble.core.errors import PaydoubleError, ReapedSandbox, TooManySandboxes, UnknownThing, UsageError
from paydouble.core.seeded_random import MADE_UP_BELOW, SeededRandom, check_seed
from paydouble.guards.idempotency import Claim
from paydouble.journal import Unclaimed, UnclaimedEntry
from paydouble.runtime.bodies import DEFAULT_MOST, Bodies
from paydouble.runtime.everything import Everything
from paydouble.runtime.leases import LOOK_MS, Leases, RealTime, Reaped
from paydouble.runtime.pump import Pump
from paydouble.runtime.sender import Sender
from paydouble.runtime.signals import Signal
from paydouble.runtime.wall import elapsed_ms, wall_ms
from paydouble.sandbox import Registry, Sandbox
from paydouble.sandbox.business import check_scope
from paydouble.sandbox.identity import Identity
from paydouble.sandbox.tenancy import NO_TENANCY, Tenancy
from paydouble.scenarios.library import Library
from paydouble.webhooks.deliveries import Delivery

if TYPE_CHECKING:
    from paydouble.api.operations import Operation
    from paydouble.api.pipeline import Pipeline
    from paydouble.runfile.store import Store, Stored
    from paydouble.sandbox.forking import ForkSpec

T = TypeVar("T")
_LOG = logging.getLogger("paydouble.runtime")
MOST_SANDBOXES: Final = 10_000
"""The number of sandboxes that a server has at most, unless its options say otherwise."""
# For how many ids, those of deleted sandboxes included, the host remembers how many sandboxes have had the id.
_REMEMBERED_IDS: Final = 10_000


class ClockSpec(NamedTuple):
    """How a sandbox's clock runs; without `start` (in milliseconds) it begins at wall time."""

    mode: ClockMode = "real"
    start: int | None = None
    rate: float = 1.0

    def make(self) -> Clock:
        """Return a new clock."""
        start = wall_ms() if self.start is None else self.start
        return Clock(elapsed_ms, start=start, mode=self.mode, rate=self.rate)


def server_seed(given: int | None, clock: ClockMode) -> int:
    """Return the seed of a server: the given one, else a random one on a real clock, and 0 on any other clock.

    A run on a real clock cannot be repeated exactly. With the same seed a receiver that remembers event ids would take
    the events of a second run for duplicates of the first. `UsageError` for a seed outside the range of 64 bits.
    """
    if given is None:
        return secrets.randbelow(MADE_UP_BELOW) if clock == "real" else 0
    return check_seed(given)


class SandboxSpec(NamedTuple):
    """The properties of a new sandbox.

    Without a clock or settings, those of the host's options apply. A missing id is the next free one. A missing seed,
    key or secret is derived from the server's seed and the id; the seed also from how often the id was used.
    """

    id: str | None = None
    seed: int | None = None
    clock: ClockSpec | None = None
    notification_url: str | None = None
    settings: Settings | None = None
    business_key: str | None = None
    business_secret: str | None = None
    webhook_secret: str | None = None
    tenancy: Tenancy = NO_TENANCY


@dataclass(slots=True, frozen=True)
class HostOptions:
    """What all sandboxes of a process share."""

    settings: Settings = field(default_factory=Settings.model_construct)
    seed: int = 0
    clock: ClockSpec = field(default_factory=ClockSpec)
    paths: Mapping[str, str] = field(default_factory=dict)
    ca_file: Path | None = None
    insecure_targets: bool = False
    bodies_in_flight: int = DEFAULT_MOST
    """Limit in bytes for the bodies of all requests that are arriving or being answered."""
    max_sandboxes: int = MOST_SANDBOXES
    instance: str = ""
    """What this process is called among several behind a proxy; ids and keys of its sandboxes begin with it."""
    library: Library = field(default_factory=Library)
    on_sandbox: Callable[[Sandbox], None] | None = None
    """Called with each new sandbox."""
    on_unclaimed: Callable[[UnclaimedEntry], object] | None = None
    """Called with each request that belongs to no sandbox."""
    on_reaped: Callable[[Reaped], object] | None = None
    """Called with each sandbox that is deleted because nobody uses it."""
    real_time: RealTime = field(default_factory=RealTime)
    """The time that leases count."""
    store: Store | None = None
    """Where sandboxes are kept, so that another process can go on with them."""


class Host:
    """The sandboxes of a server. Its only sockets are those over which webhooks are sent."""

    def __init__(self, options: HostOptions) -> None:
        """Start without sandboxes."""
        self.options = options
        self.base_url = ""
        """The URL of the API, once its port is bound."""
        self.checkout_base = ""
        """The URL of the payer's page without the pay-in's id, where `checkout_for` gives no other."""
        self.checkout_for: Callable[[Request], str] | None = None
        """Returns that URL as the client of a request reaches it."""
        self.bodies = Bodies(options.bodies_in_flight)
        self.on_delete: Callable[[], None] | None = None
        """Called after each delete."""
        self.registry = Registry()
        if options.paths:
            _ = self.operations  # an impossible path is refused at start, not at the first request
        self.unclaimed = Unclaimed(wall_ms, options.on_unclaimed)
        """The requests that belong to no sandbox."""
        self.everything = Everything(self.registry)
        """What happens in all sandboxes, for those who watch."""
        self._sender = Sender(ca_file=options.ca_file, insecure_targets=options.insecure_targets)
        self._pumps: dict[Sandbox, Pump] = {}
        self._signals: dict[Sandbox, Signal] = {}
        self._created: dict[Sandbox, int] = {}
        self._labels: dict[Sandbox, Mapping[str, str]] = {}
        self.leases = Leases(options.real_time)
        self._reaper: asyncio.Task[None] | None = None
        self._made = 0
        self._times_made: dict[str, int] = {} if options.store is None else options.store.times()
        """How many sandboxes have had each id; the id that was used last is at the end."""
        self._settling: dict[Claim, asyncio.Future[None]] = {}

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """Return the table of operations. It and the pipeline are loaded with the first request, to start fast."""
        from paydouble.api.operations import operations  # noqa: PLC0415 - see above

        return operations(self.options.paths)

    @cached_property
    def pipeline(self) -> Pipeline:
        """Return the pipeline that answers the requests to all sandboxes."""
        from paydouble.api.pipeline import Pipeline  # noqa: PLC0415 - see `operations`

        options = self.options
        return Pipeline(
            self.registry,
            self.operations,
            defaults=options.settings,
            seed=options.seed,
            unclaimed=self.unclaimed,
            wall=wall_ms,
            checkout_for=self.checkout_for,
        )

    def create(self, spec: SandboxSpec) -> Sandbox:
        """Create a sandbox; `UsageError` when its id or key is taken or its scenario is unknown.

        `TooManySandboxes` when there are as many as the server may have.
        """
        self._check_room()
        self._check_instance(spec.id, spec.business_key)
        sandbox_id = spec.id or self._free_id()
        before = self._times_made.get(sandbox_id, 0)
        seed = SeededRandom(self.options.seed).made_up_seed(sandbox_id, before) if spec.seed is None else spec.seed
        derived = Identity.derived(self.options.seed, sandbox_id, seed)
        identity = derived._replace(
            business_key=spec.business_key or derived.business_key,
            business_secret=spec.business_secret or derived.business_secret,
            webhook_secret=spec.webhook_secret or derived.webhook_secret,
        )
        clock = spec.clock or self.options.clock
        sandbox = Sandbox(
            identity,
            spec.settings or self.options.settings,
            clock.make,
            notification_url=spec.notification_url,
            checkout_base=self.checkout_base,
            library=self.options.library,
        )
        created_at = wall_ms()
        self._hold(sandbox, before + 1, created_at, spec.tenancy)
        self._begin_to_store(sandbox, before + 1, created_at, clock, spec.tenancy)
        return sandbox

    def adopt(self, sandbox: Sandbox, sandbox_id: str) -> Sandbox:
        """Take a sandbox that was made elsewhere, under an id; its clock goes on from where it stands.

        `UsageError` when its id or key is taken.
        """
        clock = self.options.clock
        sandbox.identity = sandbox.identity._replace(id=sandbox_id)
        created_at = wall_ms()
        self._begin_to_store(sandbox, 1, created_at, clock)
        self._go_on(sandbox, clock, clock)
        self._hold(sandbox, 1, created_at)
        self._pumps[sandbox].wake()
        return sandbox

    def fork(self, sandbox: Sandbox, spec: ForkSpec, checkpoint_id: str | None) -> Sandbox:
        """Fork a sandbox as it is now, or as it was at a checkpoint; what was pending goes on in both.

        The fork has labels and ttl of its original. `UsageError` when the id or the key of the fork is taken,
        `UnknownThing` when there is no such checkpoint, `TooManySandboxes` as for `create`.
        """
        from paydouble.sandbox.forking import fork  # noqa: PLC0415 - most servers never fork a sandbox

        self._check_room()
        self._check_instance(spec.id, spec.business_key)
        made = fork(sandbox, spec, checkpoint_id, seed=self.options.seed, taken=self.registry)
        store = self.options.store
        if store is not None:
            store.check(made)
        times, created_at = self._times_made.get(made.identity.id, 0) + 1, wall_ms()
        self._hold(made, times, created_at, self.tenancy(sandbox))
        if store is not None:
            start = store.clock_start(sandbox)
            store.begin(made, times=times, clock_start=start, created_at=created_at, tenancy=self.tenancy(made))
        self.everything.skip(made)
        self._pumps[made].wake()
        return made

    def resume(self, stored: Stored) -> Sandbox:
        """Go on with a sandbox from the store, with its own clock; `UsageError` when its id or key is taken.

        Its lease begins again: the time in which no server ran does not count.
        """
        sandbox = stored.sandbox
        clock = ClockSpec(sandbox.clock.mode, None, sandbox.clock.rate)
        self._go_on(sandbox, clock, ClockSpec(stored.mode, stored.clock_start, stored.rate))
        self._hold(sandbox, stored.times, stored.created_at, stored.tenancy)
        self._pumps[sandbox].wake()
        return sandbox

    def _go_on(self, sandbox: Sandbox, clock: ClockSpec, resets: ClockSpec) -> None:
        if not sandbox.scenarios.library.own():
            sandbox.scenarios.library = self.options.library
        now = sandbox.tick()
        sandbox.note_restart(resets.mode, resets.rate, self.checkout_base)
        sandbox.go_on(ClockSpec(clock.mode, now, clock.rate).make(), resets.make)

    def _begin_to_store(
        self, sandbox: Sandbox, times: int, created_at: int, clock: ClockSpec, tenancy: Tenancy = NO_TENANCY
    ) -> None:
        store = self.options.store
        if store is not None:
            store.begin(sandbox, times=times, clock_start=clock.start, created_at=created_at, tenancy=tenancy)

    def _check_room(self) -> None:
        most = self.options.max_sandboxes
        if len(self.registry) >= most:
            raise TooManySandboxes(
                f"This server has {len(self.registry)} sandboxes, and makes no more than {most}. Delete those that are "
                'no longer needed, make them with a lease ("ttl": "10m") so that unused ones are deleted, or start the '
                "server with a higher --max-sandboxes."
            )

    def _check_instance(self, sandbox_id: str | None, key: str | None) -> None:
        instance = self.options.instance
        if not instance:
            return
        for member, chosen, beginning in (
            ("id", sandbox_id, f"{instance}-"),
            ("business_key", key, f"key_{instance}-"),
        ):
            if chosen is not None and not chosen.startswith(beginning):
                raise UsageError(
                    f"begins otherwise than {beginning!r}; this server is {instance} of several, and their proxy finds "
                    "a sandbox by that. Leave it out, and take it from the answer",
                    member=member,
                )

    def _hold(self, sandbox: Sandbox, times: int, created_at: int, tenancy: Tenancy = NO_TENANCY) -> None:
        self.registry.add(sandbox)
        self.leases.begin(sandbox.identity.id)
        self._let(sandbox, tenancy)
        self._count(sandbox.identity.id, times)
        self._pumps[sandbox] = Pump(sandbox, self._sender)
        self._signals[sandbox] = Signal(sandbox.feed)
        self._created[sandbox] = created_at
        if self.options.on_sandbox is not None:
            self.options.on_sandbox(sandbox)

    def pump(self, sandbox: Sandbox) -> Pump:
        """Return the pump of a sandbox."""
        return self._pumps[sandbox]

    def signal(self, sandbox: Sandbox) -> Signal:
        """Return the signal of a sandbox."""
        return self._signals[sandbox]

    def created_at(self, sandbox: Sandbox) -> int:
        """Return when a sandbox was created, in milliseconds of real time."""
        return self._created[sandbox]

    # Leases and labels

    def find(self, sandbox_id: str) -> Sandbox:
        """Return a sandbox by id, and renew its lease.

        `ReapedSandbox` when it was deleted because nobody used it, `UnknownThing` when there is none.
        """
        if sandbox_id not in self.registry:
            reaped = self.leases.reaped(sandbox_id)
            if reaped is not None:
                raise ReapedSandbox(reaped.explain())
            if self.options.instance:
                raise UnknownThing(
                    f"There is no sandbox {sandbox_id[:64]!r}. This server is {self.options.instance} of several; if "
                    "it was restarted, its sandboxes have ended with it. Make a new one."
                )
        sandbox = self.registry.get(sandbox_id)
        self.leases.renew(sandbox)
        return sandbox

    def tenancy(self, sandbox: Sandbox) -> Tenancy:
        """Return the lease and the labels of a sandbox."""
        return Tenancy(self.leases.ttl(sandbox), self._labels[sandbox])

    def expires_at(self, sandbox: Sandbox) -> int | None:
        """Return when a sandbox is deleted if nobody uses it from now on, in milliseconds of real time."""
        return self.leases.expires_at(sandbox)

    def change_tenancy(self, sandbox: Sandbox, tenancy: Tenancy) -> None:
        """Give a sandbox a lease, which begins now, and labels."""
        if self.options.store is not None:
            self.options.store.change_tenancy(sandbox, tenancy)
        self._let(sandbox, tenancy)

    def _let(self, sandbox: Sandbox, tenancy: Tenancy) -> None:
        self._labels[sandbox] = tenancy.labels
        self.leases.set(sandbox, tenancy.ttl)
        if len(self.leases) and self._reaper is None:
            self._reaper = asyncio.get_running_loop().create_task(self._reap())

    async def _reap(self) -> None:
        """Look for expired leases while there are leases."""
        while len(self.leases):
            await self.options.real_time.sleep(LOOK_MS)
            for sandbox in self.leases.all_expired():
                if self.leases.expired(sandbox):  # not used while others were deleted
                    await self._reap_one(sandbox)
        self._reaper = None

    async def _reap_one(self, sandbox: Sandbox) -> None:
        reaped = self.leases.reap(sandbox)
        if self.options.on_reaped is not None:
            self.options.on_reaped(reaped)
        try:
            await self.delete(sandbox)
        except PaydoubleError:  # such as a full disk; the others are reaped all the same
            _LOG.exception("sandbox %s could not be deleted", reaped.id)

    async def delete(self, sandbox: Sandbox) -> None:
        """Delete a sandbox and cancel what it has in flight."""
        self.registry.remove(sandbox)
        self.leases.set(sandbox, None)
        del self._labels[sandbox]
        if self.options.store is not None:
            self.options.store.remove(sandbox)
        self.everything.note_deletion(sandbox)
        del self._created[sandbox]
        self._signals.pop(sandbox).close()
        await self._pumps.pop(sandbox).close()
        sandbox.close()
        if self.on_delete is not None:
            self.on_delete()

    async def until(self, sandbox: Sandbox, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait until a condition holds, for at most some seconds of real time; returns whether it does.

        `UnknownThing` when the sandbox is deleted meanwhile.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        signal = self.signal(sandbox)
        while True:
            changed = signal.changed()
            held = holds()
            left = end - loop.time()
            if held or left <= 0:
                changed.cancel()
                return held
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await changed
            if signal.closed:
                raise UnknownThing(f"Sandbox {sandbox.identity.id!r} has gone meanwhile.")

    async def reset(self, sandbox: Sandbox, scope: frozenset[str], *, same_ids: bool = False) -> dict[str, int]:
        """Forget the parts that the scope names, pending work included; returns how much was removed and cancelled.

        With `same_ids` the same ids follow again; otherwise no id is used twice. `UsageError` for an unusable scope.
        """
        check_scope(scope, same_ids=same_ids)
        pump = self.pump(sandbox)
        if "clock" in scope:
            pump.abort_advance()
        if "deliveries" not in scope:
            removed = sandbox.reset(scope, same_ids=same_ids)
            pump.wake()
            return removed
        removed, broken_off = await pump.interrupt(lambda: sandbox.reset(scope, same_ids=same_ids))
        return {**removed, "attempts_broken_off": broken_off}

    def sends(self, reply: Reply) -> bool:
        """Return whether a reply can be sent now and unchanged, and then wake the pump for what its request started."""
        if reply.delay_ms or reply.overtaken or reply.wire is not None:
            return False
        pump = self._pumps.get(reply.sandbox) if reply.sandbox is not None else None
        if pump is not None:
            pump.wake()
            if len(self.leases):
                self.leases.renew(reply.sandbox)
        return True

    async def finish(self, step: Step) -> Reply:
        """Return the reply to a request, from any step on; waits where a real service would keep it in flight."""
        with self.leases.in_use(step.sandbox if isinstance(step, Reply) else step.call.sandbox):
            return await self._finish(step)

    async def _finish(self, step: Step) -> Reply:
        while not isinstance(step, Reply):
            pump = self._pumps.get(step.call.sandbox)
            if pump is not None:
                pump.enter()
                self._signals[
                    step.call.sandbox
                ].notify()  # it is in the journal now, and a caller may wait for it there
                if self.options.store is not None:
                    self.options.store.flush(step.call.sandbox)
            try:
                step = await self._delay(step) if isinstance(step, Delayed) else await self._join(step)
            finally:
                if pump is not None:
                    pump.leave()
        if step.sandbox is not None:
            pump = self._pumps.get(step.sandbox)
            if pump is not None:
                pump.wake()
                if step.delay_ms or step.overtaken:
                    await self._hold_reply(step, step.sandbox, pump)
        return step

    @contextlib.contextmanager
    def sending(self, reply: Reply) -> Iterator[None]:
        """Wrap the sending of a broken reply: an auto clock does not move meanwhile, and then waits for a retry."""
        pump = self._pumps.get(reply.sandbox) if reply.sandbox is not None else None
        if pump is None:
            yield
            return
        pump.enter()
        try:
            yield
        finally:
            self.lost(reply)
            pump.leave()

    def lost(self, reply: Reply) -> None:
        """Note that a client did not get its reply."""
        box = reply.sandbox
        if box is not None and box.clock.mode == "auto":
            entry = next((each for each in reversed(box.journal.requests.entries) if each.id == reply.request_id), None)
            pump = self._pumps.get(box)
            if entry is not None and pump is not None:
                box.note_loss(entry)
                pump.wake()

    async def close(self) -> None:
        """Cancel everything that is in flight, and close the connections."""
        self.everything.closed = True
        if self._reaper is not None:
            self._reaper.cancel()
            await asyncio.wait([self._reaper])
        for signal in self._signals.values():
            signal.close()
        for pump in tuple(self._pumps.values()):
            await pump.close()
        await self._sender.close()

    def act(self, sandbox: Sandbox, action: Callable[[], T]) -> T:
        """Run a command of a sandbox, and wake its pump for what it has started."""
        try:
            return action()
        finally:
            self._pumps[sandbox].wake()

    async def _delay(self, step: Delayed) -> Reply:
        claim = step.call.claim
        settled = asyncio.get_running_loop().create_future()
        if claim is not None:
            self._settling[claim] = settled
        try:
            await asyncio.sleep(step.seconds)
            return self.pipeline.execute(step.call)
        except asyncio.CancelledError:
            self.pipeline.abandon(step.call)
            raise
        finally:
            if claim is not None:
                del self._settling[claim]
            settled.set_result(None)

    async def _hold_reply(self, reply: Reply, sandbox: Sandbox, pump: Pump) -> None:
        """Wait until the webhooks that overtake a reply have arrived, and then for the reply's own delay."""
        pump.enter()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(sandbox.settings.webhooks.timeout / 1000):
                    await self._wait_until_overtaken(reply, sandbox, self._signals[sandbox])
            lead = max((milliseconds for _, milliseconds in reply.overtaken), default=0)
            await asyncio.sleep((lead + reply.delay_ms) / 1000)
        finally:
            pump.leave()

    async def _wait_until_overtaken(self, reply: Reply, sandbox: Sandbox, signal: Signal) -> None:
        # A delivery that is due later on the sandbox's clock is not waited for: the clock may stand still.
        def may_still_arrive(delivery: Delivery) -> bool:
            return (
                sandbox.outbox.deliveries.get(delivery.id) is delivery
                and delivery.status == "waiting"
                and (not delivery.attempts or delivery.attempts[0].outcome is None)
                and (delivery.next_due_at or 0) <= sandbox.now
            )

        while not signal.closed and any(may_still_arrive(delivery) for delivery, _ in reply.overtaken):
            await signal.changed()

    async def _join(self, step: Joined) -> Step:
        settled = self._settling.get(step.claim)
        if settled is not None:
            await asyncio.shield(settled)
        else:
            await asyncio.sleep(
                0
            )  # the request that it joins may be from the fast path, where `finish` has not begun yet
        return self.pipeline.rejoin(step)

    def _count(self, sandbox_id: str, times: int) -> None:
        self._times_made.pop(sandbox_id, None)
        self._times_made[sandbox_id] = times
        if len(self._times_made) > _REMEMBERED_IDS:
            del self._times_made[next(iter(self._times_made))]

    def _free_id(self) -> str:
        while True:
            self._made += 1
            sandbox_id = f"{self.options.instance}-sandbox-{self._made}".lstrip("-")
            if sandbox_id not in self.registry:
                return sandbox_id
