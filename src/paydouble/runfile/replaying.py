"""A run played again without sockets, and compared line by line."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, Final, NamedTuple

from paydouble.core.instants import parse_instant
from paydouble.runfile.commands import write
from paydouble.runfile.files import Run
from paydouble.runfile.lines import Line, RunFileError, dump, load
from paydouble.runfile.player import Player

_LONGEST: Final = 300
_AROUND: Final = 40
NOTHING: Final = "nothing more"


class Divergence(NamedTuple):
    """The first line that is not the same: its number in the file, and what is there (`expected`) and now (`got`)."""

    line: int
    member: str
    """Path of the first member that differs; empty when the whole line does."""
    expected: str
    got: str

    @property
    def place(self) -> str:
        """Return the line and the member."""
        return f"line {self.line}, {self.member}" if self.member else f"line {self.line}"

    def __str__(self) -> str:
        """Return the place and both texts."""
        return f"{self.place}\n  expected: {self.expected}\n  got:      {self.got}"


def replay(run: Run) -> Divergence | None:
    """Play a run again, and return the first difference; None when all bytes are the same.

    `RunFileError` when the header or a command cannot be used.
    """
    player = Player(run.header)
    expected = [(number, line) for number, line in enumerate(run.lines, 2) if "note" not in line]
    compared = 0
    for number, line in expected:
        if "do" not in line:
            continue
        if compared < len(expected) and expected[compared][0] < number:
            return _differing(*expected[compared], None)  # a result that did not come again
        player.apply(line, number)
        found = _compare(player, expected, compared)
        if isinstance(found, Divergence):
            return found
        compared = found
        if compared < len(expected) and expected[compared][0] <= number:
            return _differing(number, line, None)
    if compared < len(expected):
        return _differing(*expected[compared], None)
    return _compare_end(player, run)


def _compare(player: Player, expected: list[tuple[int, Line]], compared: int) -> Divergence | int:
    """Compare what the player has recorded since; return a difference, or how many lines are compared now."""
    for entry in player.sandbox.recording.entries[compared:]:
        got = load(dump(write(entry)))
        number, line = expected[compared] if compared < len(expected) else (len(expected) + 2, None)
        if line != got:
            return _differing(number, line, got)
        compared += 1
    return compared


def _compare_end(player: Player, run: Run) -> Divergence | None:
    try:
        last = parse_instant(run.end.get("at"))
    except ValueError as error:
        raise RunFileError(f"line {len(run.lines) + 2}: {error}") from None
    before = len(player.sandbox.recording.entries)
    player.sandbox.clock.jump(last)
    player.sandbox.tick()
    for entry in player.sandbox.recording.entries[before:]:
        return _differing(len(run.lines) + 2, None, write(entry))
    return None


def _differing(number: int, expected: Line | None, got: Line | None) -> Divergence:
    if expected is None or got is None:
        return Divergence(number, "", _short(expected), _short(got))
    member, one, other = difference(expected, got)
    return Divergence(number, member, one, other)


def difference(expected: Any, got: Any, path: str = "") -> tuple[str, str, str]:  # noqa: ANN401 - JSON is any
    """Return the path of the first member that differs, and a short text of it on both sides."""
    if isinstance(expected, dict) and isinstance(got, dict) and _kind(expected) == _kind(got):
        for name in [*expected, *(name for name in got if name not in expected)]:
            if expected.get(name) != got.get(name):
                return difference(expected.get(name), got.get(name), f"{path}.{name}" if path else name)
    if isinstance(expected, list) and isinstance(got, list):
        for place, (one, other) in enumerate(zip_longest(expected, got)):
            if one != other:
                return difference(one, other, f"{path}[{place}]")
    if isinstance(expected, str) and isinstance(got, str) and max(len(expected), len(got)) > _LONGEST:
        return path, *_around(expected, got)
    return path, _short(expected), _short(got)


def _kind(line: Line) -> tuple[Any, Any]:
    return line.get("do"), line.get("is")


def _around(expected: str, got: str) -> tuple[str, str]:
    """Return the parts of two long texts around the first character that differs."""
    pairs = enumerate(zip_longest(expected, got))
    first = max(0, next(place for place, (one, other) in pairs if one != other) - _AROUND)
    return tuple(f"…{text[first : first + 3 * _AROUND]!r}… (from character {first})" for text in (expected, got))  # type: ignore[return-value]


def _short(value: Any) -> str:  # noqa: ANN401 - JSON is any
    if value is None:
        return NOTHING
    text = value if isinstance(value, str) else dump({"": value})[4:-1].decode()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
