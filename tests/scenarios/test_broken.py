"""Files with errors, and the first line of each error message.

`broken/expected.txt` has these lines for all files in the folder; files that no repository can hold are made here.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paydouble.scenarios.reading import check_file
from paydouble.yamlfile.diagnostics import render
from paydouble.yamlfile.tree import LARGEST_TEXT

FOLDER = Path(__file__).with_name("broken")
FILES = sorted(FOLDER.glob("*.yaml"))
EXPECTED = (FOLDER / "expected.txt").read_text("utf-8").splitlines()
GOOD = "name: made\nsummary: What happens.\n"


def _first_lines(path: Path) -> list[str]:
    found = [render(each)[0] for each in check_file(path).diagnostics]
    return [line.replace(f"{path.parent}/", "") for line in found]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_mistake_is_reported_at_its_place(path: Path) -> None:
    """All errors of a file are found, in order, each with line, column and message."""
    expected = [line for line in EXPECTED if line.startswith(f"{path.name}:")]

    assert _first_lines(path) == expected
    assert expected


def test_the_corpus_is_large_and_complete() -> None:
    """Each file has expected lines, and each expected line has a file."""
    assert len(FILES) >= 60
    assert {line.partition(":")[0] for line in EXPECTED} == {path.name for path in FILES}


MADE = {
    "nested-in-flow": ("[" * 200_000, "1:51: error: this is nested more than 50 deep"),
    "nested-mappings": ("{a: " * 200_000, "1:201: error: this is nested more than 50 deep"),
    "nested-dashes": ("- " * 200_000, "1:101: error: this is nested more than 50 deep"),
    "nested-blocks": (
        "\n".join(f"{' ' * depth}a:" for depth in range(100)),
        "51:51: error: this is nested more than 50 deep",
    ),
    "a-megabyte-and-a-byte": ("#" * (LARGEST_TEXT + 1), "1:1: error: this is larger than 1048576 bytes"),
    "a-megabyte-of-text": (GOOD + "x" * (LARGEST_TEXT - len(GOOD)), "3:1: error: there is a key without a colon"),
    "a-megabyte-as-summary": (
        f"name: a-megabyte-as-summary\nsummary: {'x' * 1_000_000}\n",
        "2:10: error: this is too long",
    ),
    "more-than-anybody-writes": (
        f"{GOOD}expect:\n" + "- pay-in.created\n" * 20_000,
        "20000:3: error: there are more than 20000 values",
    ),
    "bell": (GOOD.replace("happens", "\ahappens"), "2:15: error: the character U+0007 is not allowed in a YAML file"),
    "null": (GOOD + "a: \0", "3:4: error: the character U+0000 is not allowed in a YAML file"),
    "old-line-ends": (GOOD.replace("\n", "\r") + "colour: red\r", "3:1: error: the key 'colour' is not known here"),
    "rare-line-ends": (GOOD.replace("\n", "\u2028") + "a: @\u2028", "3:4: error: a value cannot begin with @"),
}


@pytest.mark.parametrize("name", MADE)
def test_an_oversized_text_is_refused(tmp_path: Path, name: str) -> None:
    """Too much depth or size ends the reading at once, and the messages stay short."""
    text, expected = MADE[name]
    path = tmp_path / f"{name}.yaml"
    path.write_bytes(text.encode())

    found = check_file(path).diagnostics

    assert render(found[0])[0] == f"{path}:{expected}"
    assert len("\n".join(render(found[0]))) < 1_500


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "1:1: error: byte 1 of this file, 0x89, is not UTF-8"),
        (GOOD.encode("utf-16"), "1:1: error: byte 1 of this file, 0xff, is not UTF-8"),
        (GOOD.encode("utf-16-le"), "1:2: error: the character U+0000 is not allowed in a YAML file"),
        (
            "name: latin\nsummary: Für alle.\n".encode("latin-1"),
            "2:11: error: byte 23 of this file, 0xfc, is not UTF-8",
        ),
        (b"\x7fELF\x02\x01\x01\0", "1:1: error: the character U+007F is not allowed in a YAML file"),
        (b"\xff" * (LARGEST_TEXT + 1), "1:1: error: this is larger than 1048576 bytes"),
    ],
)
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    """The error for a picture, a program or another encoding names the first byte that is not UTF-8."""
    path = tmp_path / "made.yaml"
    path.write_bytes(content)

    assert _first_lines(path) == [f"made.yaml:{expected}"]


def test_only_the_first_errors_are_reported(tmp_path: Path) -> None:
    """Of a file with very many errors only the first ones are reported."""
    path = tmp_path / "made.yaml"
    path.write_text(GOOD + "".join(f"k{number}: 1\n" for number in range(10_000)), "utf-8")

    lines = _first_lines(path)

    assert (len(lines), lines[-1]) == (50, "made.yaml:52:1: error: the key 'k49' is not known here")


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """A folder, a missing file, a loop of links, an invalid name and a pipe are refused with the reason."""
    loop = tmp_path / "loop.yaml"
    loop.symlink_to(loop)
    (tmp_path / "folder.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")

    lines = [_first_lines(tmp_path / f"{name}.yaml") for name in ("folder", "nothing", "loop", "nul\0", "pipe")]

    assert lines == [
        ["folder.yaml:1:1: error: this cannot be read (is a directory)"],
        ["nothing.yaml:1:1: error: this cannot be read (no such file or directory)"],
        ["loop.yaml:1:1: error: this cannot be read (too many levels of symbolic links)"],
        ["nul\0.yaml:1:1: error: this cannot be read (embedded null byte)"],
        ["pipe.yaml:1:1: error: this cannot be read (is a pipe, not a regular file)"],
    ]


def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without permission is refused with the reason."""

    def refuse(path: str, flags: int) -> int:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "x.yaml").touch()
    monkeypatch.setattr("paydouble.core.files.os.open", refuse)

    assert _first_lines(tmp_path / "x.yaml") == ["x.yaml:1:1: error: this cannot be read (permission denied)"]
