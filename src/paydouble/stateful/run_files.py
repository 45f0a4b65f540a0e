"""The run of a play as a file: played again against the shop as it is now, and made shorter.

A file of a play has the calls of its steps, besides what every run file has. To play it again is to take these steps
with the shop, and to record again. Three things can come out:

- FAILED: the same rule is broken again.
- FIXED: nothing is broken any more.
- DIVERGED: the shop does something else before the story's first trouble acts, or breaks another rule. Then the story
  is not told as it was recorded, and says nothing about the mistake.

To find the first difference, both runs are reduced to what the shop does: its requests, and its answers to webhooks.
Values that a shop draws (idempotency keys and other UUIDs) are compared by their order of appearance. Ids of the
service need no such care, since they follow from the seed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

from paydouble.core.errors import UsageError
from paydouble.runfile.files import Run
from paydouble.runfile.lines import Line, RunFileError, read_bytes
from paydouble.runfile.redaction import redacted
from paydouble.runfile.replaying import NOTHING, Divergence, difference
from paydouble.stateful.driver import MakeMerchant
from paydouble.stateful.findings import Rule
from paydouble.stateful.held_to import Shows, checked
from paydouble.stateful.play import Play
from paydouble.stateful.shortening import shortest
from paydouble.stateful.steps import CataloguePlay, Step, parsed
from paydouble.stateful.verdicts import MerchantBug

Verdict = Literal["FIXED", "FAILED", "DIVERGED"]
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_KEY: Final = "idempotency-key"
# Methods of `Play` that are no steps.
_NO_STEPS: Final = frozenset(
    {"end", "close", "status", "shipments", "balance", "is_as_expected", "taped", "failed", "answers", "points"}
)
_COMMANDS: Final = (
    frozenset(name for name, member in vars(Play).items() if callable(member) and not name.startswith("_")) - _NO_STEPS
)


class Told(NamedTuple):
    """A story told again."""

    verdict: Verdict
    finding: str
    """The rule that is broken now, as a sentence; empty when none is."""
    difference: Divergence | None
    """The first line of the file that is not the same; None when none differs."""
    run: Run


class Story(NamedTuple):
    """What a run file says about its play."""

    play: CataloguePlay
    seed: int
    shows: Shows
    rule: str
    """The rule that was broken."""


def story_of(run: Run) -> Story:
    """Return the story of a run file; `RunFileError` for a file that is not of a play."""
    try:
        found = run.header["play"]
        steps = tuple(map(_step, found["calls"]))
        Rule[run.end["rule"]]
        play, shows = CataloguePlay(steps, dialect=str(found["dialect"])), checked(found["shows"])
        return Story(play, int(found["seed"]), shows, run.end["rule"])
    except KeyError:
        raise RunFileError(
            "the file has no story of a shop; only a run of the state machine or of explore can be told to a shop, and "
            "any run can be replayed without one"
        ) from None
    except (TypeError, ValueError, SyntaxError, AttributeError) as error:
        raise RunFileError(f"line 1: the story cannot be used ({error})") from None


def _step(call: str) -> Step:
    step = parsed(call)
    if step.command not in _COMMANDS:
        message = f"{step.command[:40]!r} is no step"
        raise ValueError(message)
    return step


def tell(run: Run, merchant: MakeMerchant, patience_seconds: float = 10.0) -> Told:
    """Take the steps of a file with a shop as it is now; `RunFileError` for a file that cannot be told."""
    story = story_of(run)
    bug, now = _play(story, story.play, merchant, patience_seconds)
    # Values are replaced by the order in which they appear, so both runs have the same ones up to the first difference.
    found = first_difference(run, redacted(now) if run.header.get("redacted") else now)
    finding = "" if bug is None else bug.verdict
    if bug is not None:
        return Told("FAILED" if bug.rule.name == story.rule else "DIVERGED", finding, found, now)
    troubled = _first_trouble(run)
    diverged = found is not None and troubled is not None and found.line < troubled
    return Told("DIVERGED" if diverged else "FIXED", finding, found, now)


def shrunk(
    run: Run, merchant: MakeMerchant, progress: Callable[[int], object] = lambda _: None, patience_seconds: float = 10.0
) -> Run:
    """Return the run of a shorter story that breaks the same rule; `RunFileError` when the shop does not break it.

    `progress` is called with the number of steps of each shorter story that was found.
    """
    story = story_of(run)
    best = _failing(story, story.play, merchant, patience_seconds)
    if best is None:
        raise RunFileError(
            f"the shop does not break the rule of this story ({story.rule}) any more, so it is not shrunk"
        )

    def attempt(play: CataloguePlay) -> Run | None:
        found = _failing(story, play, merchant, patience_seconds)
        if found is not None:
            progress(len(story_of(found).play.steps))
        return found

    return shortest(story.play, best, attempt)[1]


def _failing(story: Story, play: CataloguePlay, merchant: MakeMerchant, patience: float) -> Run | None:
    bug, run = _play(story, play, merchant, patience)
    return run if bug is not None and bug.rule.name == story.rule else None


def _play(story: Story, play: CataloguePlay, merchant: MakeMerchant, patience: float) -> tuple[MerchantBug | None, Run]:
    running = Play(merchant, dialect=play.dialect, seed=story.seed, patience_seconds=patience, shows=story.shows)
    try:
        for each in play.steps:
            each.take(running)
        running.end()
        return None, _run(running.taped())
    except MerchantBug as bug:
        return bug, _run(bug.taped)
    except TypeError as error:
        raise RunFileError(f"line 1: the story cannot be used ({error})") from None
    finally:
        running.close()


def _run(taped: Any) -> Run:  # noqa: ANN401 - a `Taped` or None
    if taped is None:
        raise UsageError("the shop sends more than the journals keep, so the run cannot be compared")
    made: Run = taped.run()
    return made


# What the shop does


class _Seen(NamedTuple):
    number: int
    line: Line


def first_difference(run: Run, now: Run) -> Divergence | None:
    """Return the first thing that a shop did differently in a second run of the same story; None without one."""
    before, after = list(_of_shop(run.lines)), list(_of_shop(now.lines))
    for place, seen in enumerate(before):
        if place >= len(after):
            return Divergence(seen.number, "", _brief(seen.line), NOTHING)
        got = after[place].line
        if seen.line != got:
            if seen.line.get("do") != got.get("do"):
                return Divergence(seen.number, "", _brief(seen.line), _brief(got))
            return Divergence(seen.number, *difference(seen.line, got))
    if len(after) > len(before):
        return Divergence(len(run.lines) + 2, "", NOTHING, _brief(after[len(before)].line))
    return None


def _of_shop(lines: Sequence[Line]) -> Iterator[_Seen]:
    """Yield the requests and the answers of a shop with their line numbers, without what it draws."""
    drawn: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        return drawn.setdefault(found[0].lower(), f"(uuid {len(drawn) + 1})")

    for number, line in enumerate(lines, 2):
        if line.get("do") == "request":
            key = next((value for name, value in line.get("headers", []) if name.lower() == _KEY), None)
            yield _Seen(
                number,
                {
                    "do": "request",
                    "method": line["method"],
                    "target": line["target"],
                    "idempotency_key": None if key is None else _UUID.sub(named, key),
                    "body": _meaning(line.get("body", ""), named),
                },
            )
        elif line.get("do") == "outcome":
            error = line.get("error")
            answer = line.get("status") if error is None else error["kind"]
            yield _Seen(
                number,
                {"do": "answer to webhook", "delivery": line["delivery"], "number": line["number"], "answer": answer},
            )


def _meaning(body: Any, named: Callable[[re.Match[str]], str]) -> Any:  # noqa: ANN401 - JSON is any
    text = _UUID.sub(named, read_bytes(body).decode("utf-8", "replace"))
    try:
        return json.loads(text)
    except ValueError:
        return text


def _brief(line: Line) -> str:
    return ", ".join(f"{name} {value}" for name, value in line.items() if name != "do" and value not in (None, ""))


def _first_trouble(run: Run) -> int | None:
    """Return the number of the first line on which a fault has acted, or a webhook got no good answer."""
    for number, line in enumerate(run.lines, 2):
        if line.get("faults") or line.get("error"):
            return number
    return None
