"""The numbers of everything that happens on a server, compared with a list."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from hypothesis import given
from hypothesis import strategies as st

from paydouble.feed import Feed
from paydouble.runtime.everything import Everything, Noticed

if TYPE_CHECKING:
    from paydouble.sandbox import Registry, Sandbox


@dataclass(frozen=True)
class Name:
    """The identity of a sandbox."""

    id: str


@dataclass(eq=False)
class Box:
    """As much of a sandbox as is numbered."""

    identity: Name
    feed: Feed = field(default_factory=lambda: Feed(5))

    def note(self, count: int) -> None:
        """Let something happen."""
        for _ in range(count):
            self.feed.note("clock", f"{self.identity.id}{self.feed.sequence + 1}")


def made(names: str, **options: int) -> tuple[dict[str, Box], Everything]:
    """Return sandboxes, and their numbers."""
    boxes = {name: Box(Name(name)) for name in names}
    return boxes, Everything(cast("Registry", boxes.values()), **options)


def shown(noticed: Noticed) -> list[tuple[int, Any]]:
    """Return numbers and what happened; deletions have the sandbox's name."""
    return [(each.number, each.note.record if each.note else each.sandbox) for each in noticed.happenings]


def delete(boxes: dict[str, Box], everything: Everything, name: str) -> None:
    """Delete a sandbox, as the host does."""
    everything.note_deletion(cast("Sandbox", boxes.pop(name)))


def test_happenings_are_numbered_as_they_are_noticed() -> None:
    """In each sandbox in order; of several sandboxes in the order of looking."""
    boxes, everything = made("ab")
    boxes["a"].note(2)
    assert everything.look() == 2
    boxes["b"].note(1)
    boxes["a"].note(1)

    assert shown(everything.since(0, 9)) == [(1, "a1"), (2, "a2"), (3, "a3"), (4, "b1")]
    assert shown(everything.since(2, 1)) == [(3, "a3")]
    assert everything.since(2, 1).reached == 3
    assert everything.since(99, 9) == ([], 0, 0, 4)


def test_what_was_evicted_is_counted() -> None:
    """The newest that are kept are shown."""
    boxes, everything = made("a")
    boxes["a"].note(8)

    assert shown(everything.since(1, 2)) == [(4, "a4"), (5, "a5")]
    assert everything.since(1, 2)[1:] == (2, 0, 5)


def test_a_deleted_sandbox_is_freed_and_counted() -> None:
    """Its notes are gone, the fact is not; what nobody had looked at counts too."""
    boxes, everything = made("ab")
    boxes["a"].note(2)
    everything.look()
    boxes["a"].note(1)
    boxes["b"].note(1)
    delete(boxes, everything, "a")
    gc.collect()
    noticed = everything.since(0, 9)

    assert shown(noticed) == [(4, "a"), (5, "b1")]
    assert (noticed.missed, noticed.deleted, noticed.reached) == (0, 3, 5)


def test_memory_does_not_grow_with_deleted_sandboxes() -> None:
    """Only the newest spans are kept, and what is before them is missed."""
    boxes, everything = made("", most_spans=10)
    for number in range(500):
        boxes["x"] = Box(Name(f"x{number}"))
        boxes["x"].note(3)
        everything.look()
        delete(boxes, everything, "x")
    noticed = everything.since(0, 1_000)

    assert noticed.reached == 2_000
    assert len(noticed.happenings) == 5
    assert len(noticed.happenings) + noticed.missed + noticed.deleted == 2_000


@given(
    st.lists(st.tuples(st.sampled_from(["note", "look", "delete", "read"]), st.sampled_from("abc"), st.integers(1, 7))),
    st.integers(1, 4),
)
def test_a_reader_gets_everything_or_its_count(steps: list[tuple[str, str, int]], most: int) -> None:
    """Whatever happens in between: numbers grow, nothing comes twice, and nothing is lost without being counted."""
    boxes, everything = made("abc")
    happened = reached = counted = 0
    last: dict[str, int] = {}
    for action, name, count in [*steps, ("drain", "a", 0)]:
        if action == "note" and name in boxes:
            boxes[name].note(count)
            happened += count
        elif action == "delete" and name in boxes:
            delete(boxes, everything, name)
            happened += 1
        elif action == "look":
            assert everything.look() == happened
        elif action in {"read", "drain"}:
            while True:
                noticed = everything.since(reached, most)
                numbers = [each.number for each in noticed.happenings]
                assert len(numbers) <= most
                assert numbers == sorted(set(numbers))
                assert all(reached < number <= noticed.reached for number in numbers)
                for each in noticed.happenings:
                    if each.note is not None:
                        assert each.note.sequence > last.get(each.sandbox, 0)
                        last[each.sandbox] = each.note.sequence
                counted += len(numbers) + noticed.missed + noticed.deleted
                reached = noticed.reached
                assert counted == reached
                if action == "read" or reached == happened:
                    break

    assert reached == happened
