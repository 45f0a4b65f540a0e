"""What was expected of a scenario and what came, printed side by side."""

from __future__ import annotations

from paydouble.cli.terminal import Terminal
from paydouble.rehearsal.comparing import NOTHING, Difference

_INDENT = "    "


def print_difference(difference: Difference, place: str, out: Terminal) -> None:
    """Print a difference: the first thing that differs, both lists, and the reasons that are known."""
    member = f"{difference.member}: " if difference.member else ""
    out.say(out.red(f"{out.bad} {place}{member}{difference.message}"))
    wide = max([len("expected"), *(len(pair.expected) for pair in difference.pairs)])
    if difference.pairs:
        out.say(out.dim(f"{_INDENT}{'':{len(out.bad) + 5}}{'expected':<{wide}}  got"))
    for number, pair in enumerate(difference.pairs, start=1):
        mark = " " * len(out.bad) if pair.same else out.bad
        remark = f"  ({pair.remark})" if pair.remark else ""
        row = f"{_INDENT}{mark} {number:>2}  {pair.expected:<{wide}}  {pair.got}{remark}".replace(NOTHING, out.dash)
        out.say(row if pair.same else out.red(row))
    for reason in difference.why:
        out.say(f"{_INDENT}because {reason}")
