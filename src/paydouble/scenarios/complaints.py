"""What is wrong with a file's data, by its place in the data; where that stands in the text, reading knows."""

from __future__ import annotations

from dataclasses import dataclass

from paydouble.scenarios.base import Place


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that is wrong with the data of a file, or in a warning: that may not be meant."""

    place: Place
    message: str
    """What is wrong."""
    expected: str = ""
    """What could stand there."""
    meant: str = ""
    """The nearest name or value that is valid."""
    advice: str = ""
    """How to mend it, where that is not plain."""
    of_key: bool = False
    """Whether it speaks of the key at its place rather than of the value."""
    absent: str = ""
    """The key that should stand in the mapping at its place."""
    warning: bool = False

    @property
    def member(self) -> str:
        """Return the path of the member that it speaks of."""
        return ".".join(map(str, (*self.place, self.absent) if self.absent else self.place))

    @property
    def notes(self) -> list[str]:
        """Return what helps to mend it, a sentence each."""
        notes = [f"expected {self.expected}"] if self.expected else []
        notes += [f"did you mean {self.meant!r}?"] if self.meant else []
        return notes + ([self.advice] if self.advice else [])

    @property
    def sentence(self) -> str:
        """Return all of it on one line, without the place."""
        return "; ".join([self.message, *self.notes])
