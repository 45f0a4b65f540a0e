"""A sandbox of a running server, as a test holds it; and the calls about the server as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from paydouble.core.documents import load
from paydouble.core.ids import DEFAULT_ID
from paydouble.guards.credentials import basic_header
from paydouble.records import Health, Resource, SandboxState, UnclaimedRequest
from paydouble.testing.calls import (
    Async,
    Call,
    Executor,
    Handle,
    M,
    Steps,
    Sync,
    ask,
    ask_all,
    ask_text,
    given,
    segment,
)
from paydouble.testing.errors import ServerGone
from paydouble.testing.executors import Address, AsyncExecutor, SyncExecutor
from paydouble.testing.handles import Clock, Faults, Objects, Payer, PayIns, RateLimit, Scenarios, Webhook
from paydouble.testing.journals import Deliveries, Events, Requests, Span, duration


class Credentials(NamedTuple):
    """A business's key and secret: what clients take as `auth`."""

    key: str
    secret: str

    @property
    def header(self) -> str:
        """Return the value of the Authorization header."""
        return basic_header(self.key, self.secret)


class SandboxHandle(Handle[M]):
    """An isolated business of a server. As a context manager it is deleted at the end."""

    def __init__(self, executor: Executor, address: Address, state: SandboxState) -> None:
        """Hold a sandbox that the server has shown."""
        self.id = state.id
        super().__init__(executor, f"/sandboxes/{segment(self.id)}")
        self._address = address
        self._state = state
        self.base_url = f"{address.api_url}/api/v1"
        """The URL of the API, which ends with `/api/v1`, as this test reaches it; the server may see another."""
        self.auth = Credentials(state.business_key, state.business_secret)
        """What the code under test authenticates with; its key picks this sandbox."""
        self.business_key = self.auth.key
        self.business_secret = self.auth.secret
        self.webhook_secret = state.webhook_secret
        """What signs its events, unless a test has rotated it since."""
        self.seed = state.seed
        self.clock: Clock[M] = Clock(executor, f"{self._path}/clock")
        self.faults: Faults[M] = Faults(executor, f"{self._path}/faults")
        self.rate_limit: RateLimit[M] = RateLimit(executor, f"{self._path}/rate-limit")
        self.requests: Requests[M] = Requests(executor, f"{self._path}/requests")
        self.events: Events[M] = Events(executor, f"{self._path}/events")
        self.deliveries: Deliveries[M] = Deliveries(executor, f"{self._path}/deliveries")
        self.scenarios: Scenarios[M] = Scenarios(executor, f"{self._path}/scenarios")
        self.webhook: Webhook[M] = Webhook(executor, f"{self._path}/webhook")
        self.pay_ins: PayIns[M] = PayIns(executor, f"{self._path}/pay-ins")
        self.refunds: Objects[M] = Objects(executor, f"{self._path}/refunds")
        self.disputes: Objects[M] = Objects(executor, f"{self._path}/disputes")
        self.payouts: Objects[M] = Objects(executor, f"{self._path}/payouts")

    def __repr__(self) -> str:
        return f"<paydouble sandbox {self.id!r} at {self._address.url}>"

    def payer(self, pay_in: str | Resource) -> Payer[M]:
        """Return the payer of a pay-in, which is given by its id or as another call has returned it."""
        return Payer(self._executor, self._path, pay_in)

    @property
    def asynchronous(self) -> SandboxHandle[Async]:
        """Return a handle of the same sandbox whose calls are awaited; it needs no closing."""
        return SandboxHandle(AsyncExecutor(self._address), self._address, self._state)

    @Call
    def read(self) -> Steps[SandboxState]:
        """Return it as it is now."""
        return load(SandboxState, (yield from ask("GET", self._path)))

    @Call
    def change(
        self,
        *,
        notification_url: Any = ...,  # noqa: ANN401 - a text, None, or `...` for left out
        scenario: Any = ...,  # noqa: ANN401 - see above
        settings: Any = ...,  # noqa: ANN401 - see above
        ttl: Any = ...,  # noqa: ANN401 - a length of time, None, or `...` for left out
        labels: Any = ...,  # noqa: ANN401 - a mapping, or `...` for left out
    ) -> Steps[SandboxState]:
        """Change it: where events go (None: nowhere), the default scenario, settings laid over the present ones.

        A `ttl` begins now (None: it is not deleted when nobody uses it); labels replace the present ones.
        """
        body = given(notification_url=notification_url, scenario=scenario, settings=settings, **leased(ttl, labels))
        return load(SandboxState, (yield from ask("PATCH", self._path, body)))

    @Call
    def reset(self, *scope: str, same_ids: bool = False) -> Steps[dict[str, int]]:
        """Reset everything, or what is named (`state`, `faults`, `requests`, `deliveries`, `clock`, `scenarios`).

        Pending work is cancelled. After a reset of the state new ids are used, so that a receiver that remembers ids
        takes none for a duplicate; with `same_ids` the same ids are used again. Returns how much of each was removed.
        """
        body = given(scope=scope or ..., same_ids=True if same_ids else ...)
        answer = yield from ask("POST", f"{self._path}/reset", body)
        removed: dict[str, int] = answer["removed"]
        return removed

    @Call
    def checkpoint(self) -> Steps[str]:
        """Keep it as it is now, and return the id of the checkpoint, for `fork`.

        `ControlRefused` when it has 16 checkpoints. A reset removes none; they are deleted with the sandbox.
        """
        shown = yield from ask("POST", f"{self._path}/checkpoint", {})
        checkpoint_id: str = shown["id"]
        return checkpoint_id

    @Call
    def fork(  # noqa: PLR0913 - what a fork can be asked to have of its own
        self,
        checkpoint: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 - as the control API calls it
        business_key: str | None = None,
        business_secret: str | None = None,
        webhook_secret: str | None = None,
        notification_url: Any = ...,  # noqa: ANN401 - a text, None, or `...` for left out
        ttl: Any = ...,  # noqa: ANN401 - a length of time, None, or `...` for left out
        labels: Any = ...,  # noqa: ANN401 - a mapping, or `...` for left out
    ) -> Steps[SandboxHandle[M]]:
        """Return a sandbox that goes on from where this one is now, or was at a checkpoint.

        It has the same data, seed, clock, pending timers and deliveries; the same calls have the same answers, ids and
        events in both. It has its own id, key and secret, derived unless given. The webhook secret, the target of
        events, the `ttl` and the labels stay the same unless given. `with` deletes it at the end. `ControlRefused` when
        the id or the key is taken, when there is no such checkpoint, or when the server has too many sandboxes.
        """
        shown = yield from forked(
            self._path,
            {
                "checkpoint": checkpoint,
                "id": id,
                "business_key": business_key,
                "business_secret": business_secret,
                "webhook_secret": webhook_secret,
            },
            **given(notification_url=notification_url, **leased(ttl, labels)),
        )
        return SandboxHandle(self._executor, self._address, load(SandboxState, shown))

    @Call
    def export(self, path: str | Path, *, raw: bool = False) -> Steps[Path]:
        """Write its run to a file for `paydouble replay` and `show`, and return the path.

        The run begins where the sandbox was made or reset as a whole. Personal data is replaced unless it is `raw`.
        `ControlRefused` when the journals have evicted the beginning, `RunFileError` when the file cannot be written.
        """
        from paydouble.runfile.files import unpack, write_run

        text = yield from _exported(self._path, raw=raw)
        target = Path(path)
        write_run(unpack(text.encode()), target)
        return target

    @Call
    def export_text(self, *, raw: bool = False) -> Steps[str]:
        """Return the lines of the file that `export` writes."""
        return (yield from _exported(self._path, raw=raw))

    @Call
    def delete(self) -> Steps[None]:
        """Delete it, and cancel its pending work."""
        yield from ask("DELETE", self._path)

    def __enter__(self: SandboxHandle[Sync]) -> SandboxHandle[Sync]:
        """Return itself."""
        return self

    def __exit__(
        self: SandboxHandle[Sync],
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Delete it; a server that has ended is not reported a second time."""
        try:
            self.delete()
        except ServerGone:
            if error is None:
                raise

    async def __aenter__(self: SandboxHandle[Async]) -> SandboxHandle[Async]:
        """Return itself."""
        return self

    async def __aexit__(
        self: SandboxHandle[Async],
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Delete it; a server that has ended is not reported a second time."""
        try:
            await self.delete()
        except ServerGone:
            if error is None:
                raise


def leased(ttl: Any, labels: Any) -> dict[str, Any]:  # noqa: ANN401 - as in `change`
    """Return the members of a lease and of labels; `...` marks those that were left out."""
    return {"ttl": ttl if ttl is None or ttl is ... else duration(ttl, "ttl"), "labels": labels}


def forked(path: str, named: Mapping[str, str | None], **members: Any) -> Steps[Any]:  # noqa: ANN401 - as in `fork`
    """Fork the sandbox at a path, and return the document of the fork. In `named` None is for what is left out."""
    body = {name: value for name, value in named.items() if value is not None}
    return (yield from ask("POST", f"{path}/fork", {**body, **members}))


def _exported(path: str, *, raw: bool) -> Steps[str]:
    return (yield from ask_text(f"{path}/export", "POST", {"raw": raw}))


class ServerHandle(Handle[M]):
    """A server, here or elsewhere."""

    _executor: SyncExecutor | AsyncExecutor

    def __init__(self, executor: SyncExecutor | AsyncExecutor) -> None:
        """Make calls through an executor."""
        super().__init__(executor)
        self._address = executor.address

    @property
    def url(self) -> str:
        """Return where it is reached, without a path."""
        return self._address.url

    @Call
    def health(self) -> Steps[Health]:
        """Return its health; `ServerGone` when it does not answer."""
        return load(Health, (yield from ask("GET", "/health")))

    @Call
    def sandbox(  # noqa: PLR0913 - what a sandbox can be asked to be
        self,
        *,
        id: str | None = None,  # noqa: A002 - as the control API calls it
        seed: int | None = None,
        clock: str | Mapping[str, Any] | None = None,
        notification_url: str | None = None,
        scenario: str | None = None,
        settings: Mapping[str, Any] | None = None,
        business_key: str | None = None,
        business_secret: str | None = None,
        webhook_secret: str | None = None,
        ttl: Span | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Steps[SandboxHandle[M]]:
        """Make an isolated business; the server chooses what is left out. `with` deletes it at the end.

        With a `ttl` (`10m`, seconds, at least one) the server deletes it when nobody has used it for so long in real
        time: no request, no control call. Labels are found by `sandboxes`. `ControlRefused` with status 429 when the
        server has as many sandboxes as it may have.
        """
        members = {
            "id": id,
            "seed": seed,
            "clock": clock,
            "notification_url": notification_url,
            "scenario": scenario,
            "settings": settings,
            "business_key": business_key,
            "business_secret": business_secret,
            "webhook_secret": webhook_secret,
            "ttl": None if ttl is None else duration(ttl, "ttl"),
            "labels": labels,
        }
        body = {name: value for name, value in members.items() if value is not None}
        shown = yield from ask("POST", "/sandboxes", body)
        return SandboxHandle(self._executor, self._address, load(SandboxState, shown))

    @Call
    def unclaimed_requests(self) -> Steps[list[UnclaimedRequest]]:
        """Return the newest unclaimed requests: with an unknown business key, or with none."""
        items = yield from ask_all("/unclaimed-requests")
        return [load(UnclaimedRequest, each) for each in items]

    @Call
    def find(self, sandbox_id: str = DEFAULT_ID) -> Steps[SandboxHandle[M]]:
        """Return an existing sandbox; `ControlRefused` when no sandbox has the id."""
        shown = yield from ask("GET", f"/sandboxes/{segment(sandbox_id)}")
        return SandboxHandle(self._executor, self._address, load(SandboxState, shown))

    @Call
    def sandboxes(self, labels: Mapping[str, str] | None = None) -> Steps[list[SandboxHandle[M]]]:
        """Return all sandboxes, or those that have all of some labels, in the order in which they were made."""
        label = ",".join(f"{name}:{value}" for name, value in (labels or {}).items())
        items = yield from ask_all("/sandboxes", {"label": label or None})
        return [SandboxHandle(self._executor, self._address, load(SandboxState, each)) for each in items]

    def __repr__(self) -> str:
        return f"<paydouble at {self.url}>"
