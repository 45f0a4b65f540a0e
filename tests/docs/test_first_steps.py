"""What a newcomer meets first: pages that can be told apart, and packages that can be had."""

from __future__ import annotations

import re
import tomllib
from itertools import permutations
from pathlib import Path

import pytest
from pages import DOCS, ROOT, pages

GUIDES = sorted((ROOT / "guides").rglob("README.md"))
README = ROOT / "README.md"
TUTORIAL, FIRST_GUIDE = DOCS / "tutorial" / "first-bug.md", ROOT / "guides" / "first-bug" / "README.md"
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"])
# Its sample is for a repository of somebody else, and the page says what to do without a release.
SAMPLE = "paydouble[pytest]~=0.1.0"
# Our package, by its name or as a folder, with extras.
INSTALLED = re.compile(r"""pip install [^\n]*?(?<![\w/])['"]?((?:paydouble\b|\.)[^\s'"`]*)""")


def _title(page: Path) -> str:
    return page.read_text("utf-8").partition("\n")[0].removeprefix("# ")


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def test_no_page_begins_like_another() -> None:
    """No title is another one, nor its beginning."""
    titles = {_name(page): _title(page).casefold() for page in [*pages(), *GUIDES, README]}

    alike = [(one, other) for one, other in permutations(titles, 2) if titles[one].startswith(titles[other])]
    assert alike == []


@pytest.mark.parametrize(("page", "other"), list(permutations((TUTORIAL, FIRST_GUIDE))), ids=["tutorial", "guide"])
def test_both_beginnings_name_each_other(page: Path, other: Path) -> None:
    """In the first paragraph, so that who has opened the wrong one finds the right one."""
    first = page.read_text("utf-8").split("\n\n")[1]

    linked = [(page.parent / target).resolve() for target in re.findall(r"\]\(([^)]+)\)", first)]
    assert linked == [other]


@pytest.mark.parametrize("page", [README, *pages(), *GUIDES], ids=_name)
def test_what_is_to_be_installed_is_there(page: Path) -> None:
    """A folder and not a release, with extras that it has; the way to it leads there from a guide."""
    for wanted in set(INSTALLED.findall(page.read_text("utf-8"))) - {SAMPLE}:
        path, _, extras = wanted.rstrip("]").partition("[")

        assert path == "./paydouble" or (page.parent / path).resolve() == ROOT, wanted
        assert "/" in path
        assert set(filter(None, extras.split(","))) <= EXTRAS


def test_installing_is_found_at_all() -> None:
    """In all of its shapes; and each guide in Python has one."""
    text = (
        "pip install 'paydouble[pytest]' httpx\npip install ../..\npip install -r x.txt \"paydouble[pytest]~=0.1.0\"\n"
    )

    assert INSTALLED.findall(text) == ["paydouble[pytest]", "../..", SAMPLE]
    assert [_name(page) for page in GUIDES if not INSTALLED.search(page.read_text("utf-8"))] == ["guides/README.md"]
    assert SAMPLE in (DOCS / "how-to" / "run-in-ci.md").read_text("utf-8")
