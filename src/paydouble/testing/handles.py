"""The handles with which a test controls a sandbox: clock, faults, rate limit, scenarios, webhook and objects."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlsplit

from paydouble.core.documents import Document, load
from paydouble.core.errors import UsageError
from paydouble.records import Advanced, ClockState, Event, Fault, Resource, Scenario, WebhookState
from paydouble.testing.calls import Call, Executor, Handle, M, Steps, ask, ask_all, ask_text, given, segment
from paydouble.testing.journals import Span, duration
from paydouble.testing.loops import is_this_machine

# Moving a clock over three days of retries takes long.
_ADVANCE_PATIENCE_SECONDS: Final = 600.0
_OF_A_FAULT: Final = frozenset(
    {"id", "name", "enabled", "skip", "times", "probability", "ttl", "compose", "on", "phase"}
)
_OF_A_MATCH: Final = frozenset(
    {
        "external_identifier",
        "object_id",
        "scenario",
        "operation",
        "method",
        "path",
        "idempotency_key",
        "event_type",
        "attempt",
    }
)


def declare(effect: str | Mapping[str, Any], members: Mapping[str, Any]) -> Document:
    """Return a fault's declaration from flat members.

    Each is put where its name belongs: in the fault (`times`), in its match (`operation`), or else in the effect
    (`status`). A trailing underscore is removed, for names that Python reserves (`for_`). An effect given as a mapping
    may have attributes whose names a match has too.
    """
    shaped = {"type": effect} if isinstance(effect, str) else dict(effect)
    document: Document = {"effect": shaped}
    match: Document = {}
    for name, value in members.items():
        plain = name.removesuffix("_")
        if plain == "match":
            match.update(value)
        elif plain in _OF_A_FAULT:
            document[plain] = value
        elif plain in _OF_A_MATCH:
            match[plain] = value
        else:
            shaped[plain] = value
    if match:
        document["match"] = match
    return document


class Clock(Handle[M]):
    """The time of a sandbox."""

    @Call
    def read(self) -> Steps[ClockState]:
        """Return the time, the mode, and what the clock waits for."""
        return load(ClockState, (yield from ask("GET", self._path)))

    @Call
    def set(self, mode: str, *, start: datetime | str | None = None, rate: float | None = None) -> Steps[ClockState]:
        """Replace the clock (`real`, `manual`, `auto`); without `start` it continues at the present time."""
        body = given(mode=mode, start=... if start is None else start, rate=... if rate is None else rate)
        return load(ClockState, (yield from ask("PUT", self._path, body)))

    @Call
    def advance(
        self,
        by: Span | None = None,
        *,
        to: datetime | str | None = None,
        until_idle: bool = False,
        limit: int | None = None,
    ) -> Steps[Advanced]:
        """Move the clock by a length of time (`72h`, seconds), to an instant, or until nothing is left to happen.

        Returns when everything due on the way has settled; at most `limit` timers fire. `UsageError`
        when the call would block the event loop in which the sandbox's receiver listens: nothing would ever settle.
        """
        yield from self._check_receiver()
        body = given(
            by=... if by is None else duration(by, "by"),
            to=... if to is None else to,
            until_idle=True if until_idle else ...,
            limit=... if limit is None else limit,
        )
        return load(
            Advanced, (yield from ask("POST", f"{self._path}/advance", body, patience=_ADVANCE_PATIENCE_SECONDS))
        )

    def _check_receiver(self) -> Steps[None]:
        ports = self._executor.blocked_ports()
        if not ports:
            return
        box = self._path.removesuffix("/clock")
        webhook = yield from ask("GET", f"{box}/webhook")
        waiting: list[Document] = yield from ask_all(f"{box}/deliveries", {"status": "waiting"})
        for url in (webhook["notification_url"], *(delivery["target"] for delivery in waiting)):
            target = urlsplit(url or "")
            if target.port in ports and is_this_machine(target.hostname or ""):
                raise UsageError(
                    f"clock.advance would wait for the receiver at {url}, which listens in the very event loop that it "
                    'blocks; await it (`await sandbox.asynchronous.clock.advance("72h")`), or make the call in a '
                    'thread (`await asyncio.to_thread(sandbox.clock.advance, "72h")`)'
                )


class Faults(Handle[M]):
    """What goes wrong on purpose."""

    @Call
    def add(self, /, effect: str | Mapping[str, Any], **members: Any) -> Steps[Fault]:  # noqa: ANN401 - JSON is any
        """Arm a fault: its effect, and flat members of the fault, of its match and of the effect.

        `add("connection_reset", operation="deposit-creation", phase="after_commit", times=1)`,
        `add("error", status=503, skip=2)`.
        """
        return load(Fault, (yield from ask("POST", self._path, declare(effect, members))))

    @Call
    def list(self) -> Steps[list[Fault]]:
        """Return all, in the order in which they are evaluated."""
        items = yield from ask_all(self._path)
        return [load(Fault, each) for each in items]

    @Call
    def get(self, fault_id: str) -> Steps[Fault]:
        """Return one, with its counts."""
        return load(Fault, (yield from ask("GET", f"{self._path}/{segment(fault_id)}")))

    @Call
    def change(self, /, fault_id: str, **members: Any) -> Steps[Fault]:  # noqa: ANN401 - JSON is any
        """Change members of a fault's declaration; its counts stay, and None resets a member to its default."""
        return load(Fault, (yield from ask("PATCH", f"{self._path}/{segment(fault_id)}", members)))

    @Call
    def remove(self, fault_id: str) -> Steps[int]:
        """Remove one; returns how often it has fired."""
        answer = yield from ask("DELETE", f"{self._path}/{segment(fault_id)}")
        fired: int = answer["times_fired"]
        return fired

    @Call
    def clear(self) -> Steps[int]:
        """Remove all; returns how many there were."""
        deleted: int = (yield from ask("DELETE", self._path))["deleted"]
        return deleted


class RateLimit(Handle[M]):
    """A real rate limit."""

    @Call
    def set(
        self,
        limit: int,
        window: Span = "1m",
        *,
        reset_unit: str | None = None,
        clock: str | None = None,
        headers: str | None = None,
    ) -> Steps[Document]:
        """Set a rate limit: so many requests per window; returns it as it is now."""
        body = given(
            limit=limit,
            window=duration(window, "window"),
            reset_unit=... if reset_unit is None else reset_unit,
            clock=... if clock is None else clock,
            headers=... if headers is None else headers,
        )
        return (yield from ask("PUT", self._path, body))

    @Call
    def clear(self) -> Steps[None]:
        """Remove the rate limit."""
        yield from ask("DELETE", self._path)


class Scenarios(Handle[M]):
    """The scenarios that pay-ins play."""

    @Call
    def list(self) -> Steps[list[Scenario]]:
        """Return all, by name."""
        items = yield from ask_all(self._path)
        return [load(Scenario, each) for each in items]

    @Call
    def get(self, name: str) -> Steps[dict[str, Any]]:
        """Return one, with every member of its file that is given."""
        shown: dict[str, Any] = yield from ask("GET", f"{self._path}/{segment(name)}")
        return shown

    @Call
    def active(self) -> Steps[str | None]:
        """Return the name of the one that every new pay-in plays, if there is one."""
        name: str | None = (yield from ask("GET", f"{self._path}/active"))["name"]
        return name

    @Call
    def upload(self, scenario: str | Mapping[str, Any]) -> Steps[Scenario]:
        """Upload a scenario, as a mapping or as the text of a YAML file; it replaces another of its name."""
        body = {"yaml": scenario} if isinstance(scenario, str) else scenario
        return load(Scenario, (yield from ask("POST", self._path, body)))

    @Call
    def activate(self, name: str) -> Steps[Scenario]:
        """Make it active: every new pay-in plays it."""
        return load(Scenario, (yield from ask("PUT", f"{self._path}/active", {"name": name})))

    @Call
    def deactivate(self) -> Steps[str | None]:
        """Deactivate the active scenario; returns its name."""
        name: str | None = (yield from ask("DELETE", f"{self._path}/active"))["deleted"]
        return name

    @Call
    def play(self, /, name: str, **deposit: Any) -> Steps[Resource]:  # noqa: ANN401 - JSON is any
        """Make a pay-in that plays it; `amount=…`, `external_identifier=…` and so on are members of the deposit."""
        body = {"deposit": deposit} if deposit else {}
        return load(Resource, (yield from ask("POST", f"{self._path}/{segment(name)}/play", body)))


class Webhook(Handle[M]):
    """The target of events, and the secrets that sign them."""

    @Call
    def read(self) -> Steps[WebhookState]:
        """Return target and secret."""
        return load(WebhookState, (yield from ask("GET", self._path)))

    @Call
    def change(self, *, notification_url: Any = ..., secret: Any = ...) -> Steps[WebhookState]:  # noqa: ANN401
        """Change the target of events (None: they are not sent), or replace the secret at once."""
        body = given(notification_url=notification_url, secret=secret)
        return load(WebhookState, (yield from ask("PATCH", self._path, body)))

    @Call
    def rotate_secret(self, grace: Span = "0s") -> Steps[WebhookState]:
        """Make a new secret; during the grace the old one signs too."""
        body = {"grace": duration(grace, "grace")}
        return load(WebhookState, (yield from ask("POST", f"{self._path}/rotate-secret", body)))

    @Call
    def test(self, type: str = "pay-in.succeeded") -> Steps[Event]:  # noqa: A002 - as the control API calls it
        """Send a sample event of a documented type; its object exists in the event alone."""
        return load(Event, (yield from ask("POST", f"{self._path}/test", {"type": type})))


class Objects(Handle[M]):
    """Pay-ins, refunds, disputes or payouts, whose outcome a test forces."""

    @Call
    def transition(
        self, object_id: str, to: str, *, failure: Mapping[str, str] | None = None, force: bool = False
    ) -> Steps[Resource]:
        """Move one to a state now; `failure` has `code` and `message`; `force` allows any state."""
        body = given(to=to, failure=... if failure is None else failure, force=True if force else ...)
        return load(Resource, (yield from ask("POST", f"{self._path}/{segment(object_id)}/transition", body)))


class Payer(Handle[M]):
    """The payer of one pay-in, whose script waits for the payer (`await: payer`).

    Each call returns the pay-in as it is after the steps without a delay. `ControlRefused` with 404 for an unknown
    pay-in, and with 409 when its script does not wait for the payer now, or it is final.
    """

    def __init__(self, executor: Executor, sandbox_path: str, pay_in: str | Resource) -> None:
        """Act as the payer of a pay-in of a sandbox, which is given by its id or as another call has returned it."""
        pay_in_id = pay_in if isinstance(pay_in, str) else pay_in.id
        super().__init__(executor, f"{sandbox_path}/pay-ins/{segment(pay_in_id)}/payer")

    @Call
    def pay(self) -> Steps[Resource]:
        """Pay."""
        return (yield from self._act({"action": "pay"}))

    @Call
    def decline(self, code: str | None = None) -> Steps[Resource]:
        """Have the payment declined, with the code of the failure; without one the script decides."""
        return (yield from self._act(given(action="decline", code=... if code is None else code)))

    @Call
    def abandon(self) -> Steps[Resource]:
        """Give up."""
        return (yield from self._act({"action": "abandon"}))

    def _act(self, body: Mapping[str, Any]) -> Steps[Resource]:
        return load(Resource, (yield from ask("POST", self._path, body)))


class PayIns(Objects[M]):
    """Pay-ins, which can have refunds and disputes."""

    @Call
    def list(self) -> Steps[list[Resource]]:
        """Return all, oldest first; each `document` has what was refunded and disputed."""
        items = yield from ask_all(self._path)
        return [load(Resource, each) for each in items]

    @Call
    def get(self, pay_in_id: str) -> Steps[Resource]:
        """Return one; its `document` has `refunded_amount`, `refund_pending_amount` and so on."""
        return load(Resource, (yield from ask("GET", f"{self._path}/{segment(pay_in_id)}")))

    @Call
    def timeline_html(self, pay_in_id: str) -> Steps[str]:
        """Return what happened to one as an HTML page, in one file that needs no server and no script."""
        return (yield from ask_text(f"{self._path}/{segment(pay_in_id)}/timeline.html"))

    @Call
    def refund(
        self, pay_in_id: str, *, amount: Decimal | int | None = None, reason: str | None = None
    ) -> Steps[Resource]:
        """Make a refund, as the merchant's staff does on the provider's own pages; no code of the merchant has asked.

        Without an amount it is about all that is left. `UsageError` for an amount that is a float, `ControlRefused`
        when the pay-in cannot be refunded, or not by this amount.
        """
        body = given(amount=_exact(amount), reason=... if reason is None else reason)
        return load(Resource, (yield from ask("POST", f"{self._path}/{segment(pay_in_id)}/refunds", body)))

    @Call
    def dispute(
        self, pay_in_id: str, *, amount: Decimal | int | None = None, reason: str | None = None, force: bool = False
    ) -> Steps[Resource]:
        """Open a dispute, as the provider does; without an amount, about all that is not disputed yet.

        `force` allows amounts that are disputed or charged back already. `UsageError` for an amount that is a float.
        """
        body = given(
            amount=_exact(amount),
            reason=... if reason is None else reason,
            force=True if force else ...,
        )
        return load(Resource, (yield from ask("POST", f"{self._path}/{segment(pay_in_id)}/disputes", body)))


def _exact(amount: Decimal | int | None) -> Any:  # noqa: ANN401 - as `given` takes it
    """Return an amount as a member of a body; `UsageError` when it is not exact."""
    if isinstance(amount, float):
        raise UsageError("money is never a float; give a Decimal or an int", member="amount")
    return ... if amount is None else amount
