"""Timers compared with a simple model: a sorted list."""

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from paydouble.core.timers import Timer, Timers


@dataclass
class Entry:
    """A timer in the model."""

    due: int
    order: int
    subject: str
    timer: Timer[int]


class TimersAgainstAList(RuleBasedStateMachine):
    """Applies every operation to the timers and to a list that is sorted when it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.timers: Timers[int] = Timers()
        self.model: list[Entry] = []
        self.gone: list[Timer[int]] = []
        self.made = 0

    def next(self) -> Entry:
        """Return the model's next timer."""
        return min(self.model, key=lambda entry: (entry.due, entry.order))

    def drop(self, entry: Entry) -> None:
        """Remove a timer from the model."""
        self.model.remove(entry)
        self.gone.append(entry.timer)

    @rule(due=st.integers(0, 20), subject=st.sampled_from("abc"), count=st.sampled_from([1, 1, 1, 40]))
    def schedule(self, due: int, subject: str, count: int) -> None:
        """Set one timer, or enough for the heap to be rebuilt."""
        for _ in range(count):
            self.made += 1
            self.model.append(Entry(due, self.made, subject, self.timers.schedule(due, self.made, subject)))

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        """A pending timer can be cancelled."""
        entry = data.draw(st.sampled_from(self.model))
        assert self.timers.cancel(entry.timer)
        self.drop(entry)

    @precondition(lambda self: self.gone)
    @rule(data=st.data())
    def cancel_what_is_gone(self, data: st.DataObject) -> None:
        """A timer can only be cancelled once."""
        assert not self.timers.cancel(data.draw(st.sampled_from(self.gone)))

    @rule(subject=st.sampled_from("abcd"))
    def cancel_subject(self, subject: str) -> None:
        """All timers of a subject are cancelled and counted."""
        entries = [entry for entry in self.model if entry.subject == subject]
        assert self.timers.cancel_subject(subject) == len(entries)
        for entry in entries:
            self.drop(entry)

    @rule(now=st.integers(0, 20))
    def pop_due(self, now: int) -> None:
        """Due timers are returned one at a time, the earliest first."""
        timer = self.timers.pop_due(now)
        if not self.model or self.next().due > now:
            assert timer is None
        else:
            entry = self.next()
            assert timer is entry.timer
            self.drop(entry)

    @invariant()
    def they_agree(self) -> None:
        """Every query of the timers agrees with the list."""
        ordered = sorted(self.model, key=lambda entry: (entry.due, entry.order))
        assert len(self.timers) == len(self.model)
        assert [timer.command for timer in self.timers.pending()] == [entry.order for entry in ordered]
        assert self.timers.next_due() == (ordered[0].due if ordered else None)
        for subject in "abc":
            expected = [entry.timer for entry in self.model if entry.subject == subject]
            assert list(self.timers.of(subject)) == expected


test_timers_behave_like_a_list = TimersAgainstAList.TestCase
TimersAgainstAList.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_timers_of_one_instant_go_off_in_the_order_in_which_they_were_set() -> None:
    """The sequence number breaks ties, also between subjects."""
    timers: Timers[str] = Timers()
    for name in ("first", "second", "third"):
        timers.schedule(5, name, name)

    fired = [timer.command for timer in iter(lambda: timers.pop_due(5), None)]

    assert fired == ["first", "second", "third"]


def test_a_timer_is_not_due_a_moment_before() -> None:
    """One millisecond before its instant a timer is not returned."""
    timers: Timers[str] = Timers()
    timer = timers.schedule(5, "x", "x")

    assert (timers.pop_due(4), timers.pop_due(5)) == (None, timer)


def test_cancelling_most_timers_frees_their_memory() -> None:
    """Ten thousand cancelled timers do not stay in the heap because of a pending one."""
    timers: Timers[int] = Timers()
    kept = timers.schedule(10**9, 0, "kept")
    for number in range(10_000):
        timers.cancel(timers.schedule(number, number, "gone"))

    assert timers.pending() == [kept]
    assert len(timers._heap) <= 65  # noqa: SLF001 - nothing public shows what is held in memory
