"""What has acted in one play, noted while it runs: the entries of the vocabulary, and how often their faults fired."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from paydouble.payments.lifecycle import PAY_IN, unfinished
from paydouble.sandbox import Sandbox
from paydouble.stateful import expected
from paydouble.stateful.coverage import Trial
from paydouble.stateful.expected import Order


class _Pending(NamedTuple):
    # A trouble whose faults are armed; whether it acts is known when they are removed.
    table: str
    name: str
    state: str
    fault_ids: Sequence[str]


class Trials:
    """The trials of one play."""

    def __init__(self, box: Sandbox, orders: Sequence[Order], dialect: str) -> None:
        """Start with the dialect, which acts in the whole play; `orders` are those of the play, which grow."""
        self._box = box
        self._orders = orders
        self.acted = [Trial("dialect", dialect, "none", "none")]
        """What has acted so far."""
        self.fired = 0
        """How often the faults of the latest click or refund fired."""
        self.followed = False
        """Whether the latest click or refund sent a request that met its `then`."""
        self.armed_fired: list[int] = []
        """At the end, how often those of each disturbance of reads, own refunds or webhooks fired."""
        self._pending: list[_Pending] = []

    def state(self) -> str:
        """Return the state of the newest order's payment, as a `Trial` names it."""
        if not self._orders:
            return "none"
        state = expected.expected_state(self._box, self._orders[-1])
        if state.disputes:
            return "disputed"
        if state.refunds:
            return "refunded"
        if state.paid:
            return "paid"
        if not state.pay_ins:
            return "none"
        return "open" if any(each.status in unfinished(PAY_IN) for each in state.pay_ins) else "ended"

    def note(self, table: str, name: str, state: str, verdict: str = "none") -> None:
        """Note that an entry has acted."""
        self.acted.append(Trial(table, name, state, verdict))

    def note_armed(self, table: str, name: str, fault_ids: Sequence[str]) -> None:
        """Note that the faults of an entry are armed to the end of the play."""
        self._pending.append(_Pending(table, name, self.state(), fault_ids))

    def has_fired(self, fault_ids: Iterable[str]) -> bool:
        """Return whether a fault of these has fired."""
        return self._times_fired(fault_ids) > 0

    def note_requests(self, table: str, name: str, state: str, fault_ids: Sequence[str], start: int) -> None:
        """Note an entry that has acted on requests, if it has; they begin at a position of the journal."""
        log = self._box.journal.requests
        sent = [entry for entry in log.since(start) if entry.method == "POST"]
        met = [entry for entry in sent if set(fault_ids) & set(entry.faults)] if fault_ids else sent
        fired = not fault_ids or self.has_fired(fault_ids)
        if fired and sent and (fault_ids or name == "none"):
            self.note(table, name, state, (met or sent)[0].verdict)

    def note_following(self, table: str, name: str, state: str, fault_ids: Sequence[str], start: int) -> None:
        """Note the same of what was armed for the requests after the first one.

        Of several only the first is noted: which of them fired is not known.
        """
        self.followed = self.has_fired(fault_ids)
        if self.followed:
            self.note_requests(table, name.partition(",")[0], state, fault_ids, start)

    def note_fired(self, fault_ids: Sequence[str]) -> None:
        """Note how often the faults of a click or refund fired, before they are removed."""
        self.fired = self._times_fired(fault_ids)

    def end(self) -> None:
        """Note what has acted of that which was armed to the end of the play, before its faults are removed."""
        for table, name, state, fault_ids in self._pending:
            fired = self._times_fired(fault_ids)
            self.armed_fired.append(fired)
            if fired:
                self.note(table, name, state)
        self._pending.clear()

    def _times_fired(self, fault_ids: Iterable[str]) -> int:
        return sum(self._box.faults.get(fault_id).fired for fault_id in fault_ids)
