"""A play in this process: requests and control calls to one sandbox, each answer checked against the journal."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from multidict import CIMultiDict

from paydouble import Sandbox
from paydouble.api.values import Reply, Request
from paydouble.core.errors import UsageError
from paydouble.inprocess import Unreachable, Webhook
from paydouble.testing.calls import PATIENCE_SECONDS, Exchange, Steps
from paydouble.testing.in_process import LocalExecutor
from requestfuzz.answers import check_answer, check_control, must
from requestfuzz.requests import Asked, Draw

REQUESTS: Final = 250
"""How many requests a play has."""
_CONTROL_SHARE: Final = 0.12
_SETTINGS: Final[tuple[dict[str, Any], ...]] = (
    *({},) * 4,
    {"envelope": "A"},
    {"envelope": "alternate"},
    {"created_status": 201, "idempotent_replayed": True},
    {"unknown_fields": "refuse", "timestamps": "seconds"},
    {"journal_limit": 20},
    {"rate_limit": {"limit": 60}, "retry_after": True},
    {"fingerprint": "raw", "list_order": "oldest_first", "page_limit": 2},
    {"body_limit": 400},
    {"duplicate_external_identifier": "refuse"},
    {"processing_time": "10ms"},
    {"journal_bytes": 100_000},
)
# These change nothing of what a repeated request is answered with.
_HARMLESS: Final = ("-list", "-read", "-verify", "-wait", "-timeline")


class Play:
    """One sandbox, what is asked of it, and what must hold."""

    def __init__(self, seed: int) -> None:
        """Make the sandbox of a seed."""
        self.random = Random(seed)
        self.box = Sandbox(self.random.choice(_SETTINGS), seed=seed, receiver=self._receive)
        core = self.box.core
        self.sandbox = core.sandbox
        self.draw = Draw(self.random, core.authorization, f"/sandboxes/{self.box.id}")
        self.answers: dict[Asked, bytes] = {}
        """The answers to requests that created something, while nothing has happened that may change a replay."""

    def _receive(self, webhook: Webhook) -> int:
        if self.random.random() < 0.1:
            raise Unreachable
        self.draw.know(webhook.delivery.id)
        self.draw.know(webhook.delivery.event.id)
        return self.random.choice((200, 200, 204, 404, 500))

    def run(self, requests: int = REQUESTS) -> None:
        """Make the requests, and check the end."""
        for _ in range(requests):
            if self.random.random() < _CONTROL_SHARE:
                self._control()
            else:
                self._ask(self.draw.asked())
        self._end()

    def _ask(self, asked: Asked) -> None:
        core, requests = self.box.core, self.sandbox.journal.requests
        before, unclaimed_before = requests.total, core.unclaimed.log.total
        headers = CIMultiDict(asked.headers)
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in asked.headers]
        reply = core.handle(Request(asked.method, asked.target, headers, asked.body, raw, "127.0.0.1"))
        claimed, unclaimed = requests.total - before, core.unclaimed.log.total - unclaimed_before
        must(claimed + unclaimed == 1, f"{claimed} entries in the journal, {unclaimed} unclaimed, for one request")
        entry = requests.entries[-1] if claimed and requests.entries else None
        if entry is not None and entry.faults:
            return  # a fault may give any answer
        must(reply.wire is None, "no fault has acted, and the answer is broken on the wire")
        if entry is not None:
            must((entry.status, entry.response_body) == (reply.status, reply.body), "the journal has another answer")
        data = check_answer(reply.status, reply.body, reply.request_id)
        if isinstance(data, dict):
            self.draw.know(data.get("id"))
        self._check_replay(asked, reply)

    def _check_replay(self, asked: Asked, reply: Reply) -> None:
        """Compare with the first answer: the same key, method, path and body were carried out once."""
        if asked.method != "POST" or reply.status >= 400:
            return
        first = self.answers.setdefault(asked, reply.body)
        must(first == reply.body, f"a replay of {asked.target} differs: {first[:300]!r}, then {reply.body[:300]!r}")

    def _control(self) -> None:
        call = self.draw.control()
        if not call.name.endswith(_HARMLESS):
            self.answers.clear()
        status, document = self._exchange(call.method, call.path, call.body)
        check_control(status, document)
        if status < 300 and isinstance(document, dict):
            self.draw.know(document.get("id"))

    def _exchange(self, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, Any]:
        def steps() -> Steps[tuple[int, Any]]:
            return (yield Exchange(method, path, body, PATIENCE_SECONDS))

        return LocalExecutor(self.box.core).run(steps())

    def _end(self) -> None:
        """Let everything happen, and compare the books."""
        path = f"/sandboxes/{self.box.id}"
        self._exchange("DELETE", f"{path}/faults", None)
        try:
            self.box.core.advance()
        except UsageError:
            return  # a call has moved the clock to its end
        sandbox = self.sandbox
        must(sandbox.timers.next_due() is None, "something is due, and the clock does not move to it")
        waiting = [each.id for each in sandbox.outbox.deliveries.values() if each.status == "waiting"]
        must(not waiting, f"deliveries wait for nothing: {waiting}")
        unanswered = [each for each in sandbox.journal.requests.entries if each.status is None and not each.faults]
        must(not unanswered, f"requests have no answer: {unanswered}")
        status, listed = self._exchange("GET", f"{path}/requests?limit=1000", None)
        kept = sandbox.journal.requests
        must(status == 200, f"the journal was answered {status}")
        must(len(listed["items"]) == min(1_000, len(kept.entries)), "the journal shows another number of requests")
        must(listed["evicted"] == kept.evicted, "the journal counts other evicted requests")


def play(seed: int, requests: int = REQUESTS) -> None:
    """Play a seed; `Violation` says what does not hold."""
    Play(seed).run(requests)
