"""What a page points at is there: other pages, their headings, and files of the code."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from pages import DOCS, ROOT, blocks, pages, prose

PAGES = [*pages(), *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md"))]
INDEX = DOCS / "README.md"
# Where a path in the text may begin: the repository, or the package.
HOMES = (ROOT, ROOT / "src" / "paydouble", ROOT / "tools")


class Link(NamedTuple):
    """One link of a page."""

    page: Path
    target: str


def _links(page: Path) -> list[Link]:
    text = re.sub(r"`[^`\n]*`", "", prose(page))
    return [Link(page, target) for target in re.findall(r"\]\(([^)\s]+)\)", text)]


def _slug(heading: str) -> str:
    """Return a heading's anchor, as GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@cache
def _anchors(page: Path) -> set[str]:
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        slug = _slug(heading)
        # A heading that stands twice gets a number.
        number = next(n for n in range(100) if (f"{slug}-{n}" if n else slug) not in found)
        found.add(f"{slug}-{number}" if number else slug)
    return found


def _inside(link: Link) -> bool:
    return not re.match(r"[a-z]+:", link.target)


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_internal_link_resolves(page: Path) -> None:
    """Its file exists, and so does the heading that it names."""
    broken = []
    for link in filter(_inside, _links(page)):
        path, _, anchor = link.target.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link.target)

    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_path_of_the_code_exists(page: Path) -> None:
    """A path in the text with a folder in it leads to a file of the repository, or to one that the page makes."""
    made = {block.argument for block in blocks(page) if block.mark == "file"}
    paths = re.findall(r"`([\w.-]+/[\w./*-]+\.(?:py|md|toml|json|yaml|lock|sh))`", prose(page))

    missing = [path for path in paths if path not in made and not any(any(home.glob(path)) for home in HOMES)]

    assert missing == []


@pytest.mark.parametrize("page", pages(), ids=_name)
def test_the_index_leads_to_every_page(page: Path) -> None:
    """From `docs/README.md` each page is one click away; decisions are listed by their folder."""
    listed = {(INDEX.parent / link.target.partition("#")[0]).resolve() for link in _links(INDEX)}

    assert page in listed or page == INDEX or page.parent.name == "decisions"


def test_a_broken_link_would_be_noticed() -> None:
    """The tests above find links and headings at all."""
    assert len(_links(INDEX)) > 20
    assert _slug("What is `documented`, what is [assumed](x.md)") == "what-is-documented-what-is-assumed"
    assert "deliveries" not in _anchors(INDEX)
    assert "do-how-to-guides" in _anchors(INDEX)
