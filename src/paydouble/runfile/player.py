"""A fresh sandbox to which written commands are applied."""

from __future__ import annotations

from collections.abc import Callable

from multidict import CIMultiDict

from paydouble.api.execution import Delayed, Joined, Step
from paydouble.api.operations import operations
from paydouble.api.pipeline import Pipeline
from paydouble.api.values import Reply, Request
from paydouble.core.errors import ApiError, IllegalTransition, UnknownThing, UsageError
from paydouble.journal import Unclaimed
from paydouble.runfile.commands import COMMANDS, wall_of
from paydouble.runfile.headers import Start
from paydouble.runfile.lines import Line, RunFileError, read_block, read_bytes, read_instant, read_pairs, read_text
from paydouble.sandbox import Registry
from paydouble.webhooks.deliveries import Attempt, AttemptError, Delivery, Outcome

_CUT_OFF = AttemptError("reset", "the run ended before the receiver answered")
# A sandbox refuses a command in the same way each time: what was refused when it was recorded is refused here too.
_REFUSALS = (UsageError, UnknownThing, IllegalTransition, ApiError)


class Player:
    """Applies the commands of one run. Its sandbox has a clock that stands still, and records."""

    def __init__(self, header: Line) -> None:
        """Make the sandbox of a header; `RunFileError` when the header cannot be used."""
        start = Start(header)
        self.start = start
        """How the sandbox began; its mode and rate are those of clocks that resets make."""
        self._next_start = start.start
        self.sandbox = start.sandbox(lambda: start.clock(self._next_start))
        self._checkout = start.checkout_base
        self._checkouts: dict[str, str] = {}
        """By request id: the base URL of the payers' pages for a request that waits."""
        self.waiting: dict[str, Delayed | Joined] = {}
        """By request id: the requests that have to wait."""
        self.in_flight: dict[tuple[str, int], tuple[Delivery, Attempt]] = {}
        """By delivery and number: the attempts without an outcome."""
        self._wall_ms = 0
        self._own: dict[str, Callable[[Line], object]] = {
            "request": self._come,
            "continue": self._continue,
            "attempt": self._take,
            "outcome": self._settle,
            "sandbox-fork": self._fork,
            "sandbox-reset": self._reset,
            "restart": self._restart,
        }
        self._registry = registry = Registry()
        registry.add(self.sandbox)
        try:
            table = operations(start.paths)
        except UsageError as error:
            raise RunFileError(f"line 1: {error}") from None
        self.pipeline = Pipeline(
            registry,
            table,
            defaults=start.settings,
            seed=start.identity.seed,
            unclaimed=Unclaimed(lambda: 0),
            wall=(lambda: self._wall_ms) if start.has_wall else None,
            checkout_for=lambda _: self._checkout,
        )

    def apply(self, line: Line, number: int = 0) -> None:
        """Apply one command; `RunFileError` when the line, which has a `number`, is not one that can be applied."""
        try:
            name = line["do"]
            self._wall_ms = wall_of(line)
            self._reach(read_instant(line["at"]))
            if name in self._own:
                self._own[name](line)
            else:
                COMMANDS[name](self.sandbox, line)
        except _REFUSALS:
            pass
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = str(line.get("do"))[:40]
            why = f"{error} is missing or unknown" if isinstance(error, KeyError) else str(error).partition("\n")[0]
            raise RunFileError(f"line {number}: the command {what!r} cannot be applied ({why[:200]})") from None

    def _come(self, line: Line) -> None:
        raw = read_block(line.get("headers", []))
        self._checkout = line.get("checkout") or self.sandbox.checkout_base
        request = Request(
            line["method"],
            read_text(line["target"]),
            CIMultiDict((_header(name), _header(value)) for name, value in raw),
            read_bytes(line.get("body", "")),
            raw,
            line.get("remote"),
            line.get("body_error"),
        )
        self._keep(self.pipeline.handle(request))

    def cut_off(self) -> None:
        """Let everything in flight fail: an attempt is sent again by its schedule, and the key of a request is free."""
        self._abandon()
        box = self.sandbox
        for delivery, attempt in self.in_flight.values():
            if box.outbox.deliveries.get(delivery.id) is delivery:  # a reset may have removed it
                box.settle(delivery, attempt, Outcome(box.now, 0.0, error=_CUT_OFF))
        self.in_flight.clear()

    def _abandon(self) -> None:
        for step in self.waiting.values():
            self.pipeline.abandon(step.call)
        self.waiting.clear()
        self.sandbox.recording.waiting = 0

    def _restart(self, line: Line) -> None:
        # The attempts in flight have outcomes of their own before this line, unless a reset has removed them.
        self._abandon()
        self.in_flight.clear()
        self.start.mode, self.start.rate = line["mode"], float(line["rate"])
        self.sandbox.note_restart(self.start.mode, self.start.rate, line["checkout_base"])

    def _continue(self, line: Line) -> None:
        step = self.waiting.pop(line["request"])
        self._checkout = self._checkouts.pop(line["request"])
        self._keep(self.pipeline.rejoin(step) if isinstance(step, Joined) else self.pipeline.execute(step.call))

    def _keep(self, step: Step) -> None:
        if not isinstance(step, Reply):
            self.waiting[step.call.entry.id] = step
            self._checkouts[step.call.entry.id] = self._checkout

    def _take(self, line: Line) -> None:
        taken = self.sandbox.next_attempt(read_text(line["endpoint"]), wall_of(line))
        if taken is not None:
            delivery, attempt = taken
            self.in_flight[delivery.id, attempt.number] = taken

    def _settle(self, line: Line) -> None:
        delivery, attempt = self.in_flight.pop((line["delivery"], line["number"]))
        error = line.get("error")
        outcome = Outcome(
            wall_of(line),
            float(line.get("latency_ms", 0.0)),
            line.get("status"),
            None if error is None else AttemptError(error["kind"], read_text(error["message"])),
            read_bytes(line.get("body", "")),
            read_pairs(line.get("headers", [])),
        )
        self.sandbox.settle(delivery, attempt, outcome)

    def _fork(self, line: Line) -> None:
        # What was in flight is in flight in the original only.
        self.waiting.clear()
        self.in_flight.clear()
        self._registry.remove(self.sandbox)
        self.sandbox.become(
            **{name: line[name] for name in ("id", "business_key", "business_secret", "webhook_secret")}
        )
        self._registry.add(self.sandbox)

    def _reset(self, line: Line) -> None:
        self._next_start = read_instant(line["start"])
        self.sandbox.reset(frozenset(line["scope"]), same_ids=line["same_ids"])

    def _reach(self, at: int) -> None:
        box = self.sandbox
        box.clock.jump(at)
        # The original has looked at its clock at this instant; timers that fired then have a command of their own.
        if at > box.now:
            box.tick()


def _header(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
