"""The pages of the guides say what their files say."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from guide_copies import GUIDES, Guide

FOLDERS = sorted(path.name for path in GUIDES.iterdir() if path.is_dir())
SHOPS = ("aiohttp-shop", "fastapi-shop", "flask-shop")
HOW_TO = GUIDES.parent / "docs" / "how-to"
FRAMEWORKS = ("flask", "fastapi", "django")
# The same file in each of the guides for the machine.
SAME = {
    "database.py": ("flask-machine", "fastapi-machine"),
    "models.py": ("flask-machine", "fastapi-machine"),
    "signature.py": ("flask-shop", "flask-machine", "fastapi-machine", "django-machine/shop"),
    "service.py": ("flask-machine", "django-machine/shop"),
    "test_machine.py": ("flask-machine", "fastapi-machine", "django-machine"),
}

_CALL = '"/api/v1/pay-in/deposit-creation", headers'
NEW_KEY_FOR_EACH_ATTEMPT = (_CALL, f'{_CALL} | {{"Idempotency-Key": str(__import__("uuid").uuid4())}}')


def _page(folder: str) -> str:
    return (GUIDES / folder / "README.md").read_text("utf-8")


def _blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def _lines(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _files(folder: str) -> list[str]:
    skipped = {"node_modules", "__pycache__"}
    paths = [path for path in (GUIDES / folder).rglob("*") if path.suffix in {".py", ".js"}]
    return [_lines(path.read_text("utf-8")) for path in paths if not skipped & set(path.parts)]


@pytest.mark.parametrize("folder", FOLDERS)
def test_code_on_a_page_stands_in_a_file(folder: str) -> None:
    """Line by line, so that what is read is what is run; a page may stand further to the left."""
    files = _files(folder)

    for block in _blocks(_page(folder), "(?:python|js)"):
        assert any(_lines(block) in text for text in files), block


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_code_on_a_page_about_the_machine_stands_in_its_guide(framework: str) -> None:
    """As above."""
    page = (HOW_TO / f"machine-with-{framework}.md").read_text("utf-8")
    files = _files(f"{framework}-machine")

    assert [block for block in _blocks(page, "python") if not any(_lines(block) in text for text in files)] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_a_page_names_is_there(folder: str) -> None:
    """Files in the folder, and links beyond it."""
    page = _page(folder)
    named = set(re.findall(r"`([\w.-]+\.(?:py|js|ini))`", page)) | set(re.findall(r"\]\(([^)#:]+)\)", page))

    missing = [name for name in sorted(named) if not (GUIDES / folder / name).exists()]
    assert missing == []


def test_every_guide_is_in_the_table() -> None:
    """And nothing else is."""
    table = (GUIDES / "README.md").read_text("utf-8")

    assert sorted(re.findall(r"^\| \[([\w-]+)\]\(\1/\)", table, re.MULTILINE)) == FOLDERS


def test_the_tutorial_shows_the_report_that_comes(guide: Callable[[str], Guide]) -> None:
    """In this order, whatever the identifiers are."""
    [shown] = _blocks(_page("first-bug"), "text")

    report = guide("first-bug").pytest("-k", "lost_reply").text.partition("paydouble timeline")[2]

    at = 0
    for line in shown.splitlines():
        assert line in report[at:], line
        at = report.index(line, at) + len(line)


def test_the_machine_says_what_its_page_shows(guide: Callable[[str], Guide]) -> None:
    """Its verdict and its headings; which of several short stories it tells is its own choice."""
    [shown] = _blocks(_page("machine"), "text")
    machine = guide("machine")
    machine.change("service.py", *NEW_KEY_FOR_EACH_ATTEMPT)

    run = machine.pytest(plugins=("hypothesispytest",))

    assert run.counts == {"failed": 1}, run.text
    for line in shown.splitlines():
        assert line in run.text or line.startswith("  "), run.text


@pytest.mark.parametrize("file", SAME)
def test_the_guides_for_the_machine_share_their_files(file: str) -> None:
    """A repair in one is a repair in all."""
    texts = {(GUIDES / folder / file).read_text("utf-8") for folder in SAME[file]}

    assert len(texts) == 1


@pytest.mark.parametrize("file", ["signature.py", "orders.py"])
def test_the_shops_have_the_same_core(file: str) -> None:
    """Each guide can be copied alone, and a repair in one is a repair in all."""
    texts = {Path(GUIDES / shop / file).read_text("utf-8") for shop in SHOPS}

    assert len(texts) == 1
