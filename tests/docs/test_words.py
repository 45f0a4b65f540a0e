"""The project uses the usual technical words: code, pages and messages have none of its former private ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import pytest

ROOT = Path(__file__).parents[2]
# A former word -> what to write instead. CONTRIBUTING.md explains the words that remain.
INSTEAD = MappingProxyType(
    {
        r"mischief": "webhook fault plan",
        r"repertoire": "scenario selector",
        r"rungs?": "attempt",
        r"ladders?": "retry schedule",
        r"Living": "Resource",
        r"unstruck": "did not fire",
        r"(?:struck|strikes?) by": "fired",
        r"emissions?": "publish, event",
        r"raises? the curtain": "start",
        r"whoever": "anyone who",
        r"likewise": "also",
        r"beforehand": "before",
        r"for ever": "always",
        r"anew": "again",
        r"(?:is|are|be|been) told of": "is reported, learns",
        r"(?:let|lets|letting) go": "evict, delete, release",
        r"mends?|mended|mending": "fix",
        r"lanes?": "injection point, queue, section",
        r"perceives?|perceived": "client outcome",
    }
)
FORMER = re.compile(r"\b(?:" + "|".join(f"(?:{word})" for word in INSTEAD) + r")\b", re.IGNORECASE)
# The one former word that is usual in another case.
CAPITAL_ONLY = frozenset({"living"})
FILES = sorted(
    [
        *(path for kind in ("py", "yaml") for path in (ROOT / "src").rglob(f"*.{kind}")),
        *(ROOT / "scenarios").rglob("*.yaml"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    ]
)


def _found(text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        for word in FORMER.findall(line):
            if word not in CAPITAL_ONLY:
                instead = next(usual for former, usual in INSTEAD.items() if re.fullmatch(former, word, re.IGNORECASE))
                yield f"line {number}: write {instead!r} for {word!r}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_former_word_is_used(path: Path) -> None:
    """Each file uses the usual words."""
    assert list(_found(path.read_text("utf-8"))) == []


@pytest.mark.parametrize("text", ["the next rung of the ladder", "Whoever waits for ever", "a Living thing", "let go"])
def test_a_former_word_is_found(text: str) -> None:
    """In any letter case, and with what to write instead."""
    assert list(_found(text))


@pytest.mark.parametrize("text", ["a living sandbox", "recommended", "wrung", "a plane", "forever", "let good ones"])
def test_a_usual_word_is_none(text: str) -> None:
    """Only whole words count."""
    assert list(_found(text)) == []


def test_the_files_are_there() -> None:
    """The test reads the sources, the pages and the scenarios."""
    assert len(FILES) > 250
