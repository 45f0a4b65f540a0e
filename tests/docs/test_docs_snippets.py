"""The pages are true: what they have a reader type works, in their order, and prints what they say."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pages import DOCS, Terminal, blocks, needs, pages, shape

TRIED = [page for page in pages() if any(block.mark for block in blocks(page))]
# Their commands need an engine for containers, the machines of a CI service, or packages of ours (tests/clients).
CLIENTS = {"use-from-go.md", "use-from-java.md", "use-from-node.md"}
ELSEWHERE = {"run-in-ci.md", "run-the-image.md", "testcontainers.md", *CLIENTS}
GUIDES = [page for page in pages() if page.parent.name in {"how-to", "tutorial"} and page.name not in ELSEWHERE]


def _name(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


@pytest.mark.timeout(480)  # a page may compile a program first
@pytest.mark.parametrize("page", TRIED, ids=_name)
def test_a_page_does_what_it_says(page: Path, tmp_path: Path) -> None:
    """Each marked block, in order, in an empty folder, comes out as the page says."""
    for program in needs(page):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed here")

    with Terminal(tmp_path) as terminal:
        for block in blocks(page):
            if block.mark:
                try:
                    terminal.follow(block)
                except AssertionError as error:
                    pytest.fail(f"{_name(page)}, line {block.line}: {error}", pytrace=False)


@pytest.mark.parametrize("page", GUIDES, ids=_name)
def test_every_command_of_a_guide_is_tried(page: Path) -> None:
    """A guide has no shell command that nobody types."""
    assert [block.line for block in blocks(page) if block.language in {"sh", "bash", ""} and not block.mark] == []


def test_what_a_page_shows_is_compared() -> None:
    """`…` stands for any text of one line, or for any lines; all else must be met."""
    pattern = shape("first …\n…\nlast\n")

    assert pattern.fullmatch("first one\nlast\n")
    assert pattern.fullmatch("first one\nsecond\nthird\nlast\n")
    assert not pattern.fullmatch("first\nlast\n")
    assert not pattern.fullmatch("first one\nlast two\n")


def test_a_command_that_fails_is_noticed(tmp_path: Path) -> None:
    """The wrong status, the wrong output and a mark that nobody knows fail a page; variables live on between blocks."""
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- run -->\n```sh\nname=Ada\n```\n<!-- run -->\n```sh\necho $name\n```\n<!-- prints -->\n```text\nAda\n```\n"
        "<!-- run -->\n```sh\nfalse\n```\n<!-- prints -->\n```text\nBob\n```\n<!-- walk -->\n```sh\n```\n"
    )
    assign, say, hear, fail, mishear, walk = blocks(page)

    with Terminal(tmp_path) as terminal:
        for block in (assign, say, hear):
            terminal.follow(block)
        for block, complaint in ((fail, "status 1, not 0"), (mishear, "should have printed"), (walk, "not known")):
            with pytest.raises(AssertionError, match=complaint):
                terminal.follow(block)
