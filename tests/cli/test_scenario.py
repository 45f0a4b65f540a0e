"""`paydouble scenario`, as a person, an editor or a build calls it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from paydouble.cli.main import run
from paydouble.scenarios.library import shipped, shipped_files, shipped_folder
from paydouble.scenarios.model import Scenario
from paydouble.scenarios.schema import PATH

GOOD = (
    "summary: My own.\nlifecycle:\n  pay_in:\n    - {after: 2s, to: failed}\nexpect: [pay-in.created, pay-in.failed]\n"
)
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a scenario of its own, and one that replaces a shipped one."""
    for name in ("mine", "happy-path"):
        (tmp_path / f"{name}.yaml").write_text(f"name: {name}\n{GOOD}", "utf-8")
    return tmp_path


def _out(capsys: Captured, *arguments: object) -> str:
    """Run a command that must succeed, and return what it printed."""
    assert run(["scenario", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_the_list_has_each_scenario_in_its_folder(capsys: Captured) -> None:
    """With its summary, so that a person finds what to play."""
    listed = _out(capsys, "list")

    groups = [line.rstrip(":") for line in listed.splitlines() if line and not line.startswith(" ")]
    assert groups == sorted({path.parent.name for path in shipped_files().values()})
    assert all(f"  {name} " in listed for name in shipped_files())
    assert listed.count("\n  happy-path") == 1


def test_a_folder_of_ones_own_is_listed_last(capsys: Captured, folder: Path) -> None:
    """Also where its scenario replaces a shipped one."""
    listed: list[dict[str, str]] = orjson.loads(_out(capsys, "list", "--scenarios", folder, "--format", "json"))

    assert [(each["group"], each["name"]) for each in listed[-2:]] == [
        (str(folder), "happy-path"),
        (str(folder), "mine"),
    ]
    assert len(listed) == len(shipped_files()) + 1
    assert listed[-1] == {
        "group": str(folder),
        "name": "mine",
        "summary": "My own.",
        "path": str(folder / "mine.yaml"),
    }


def test_a_file_is_shown_as_it_is(capsys: Captured, folder: Path) -> None:
    """The text of the file, as a start for another."""
    assert _out(capsys, "show", "happy-path") == shipped_files()["happy-path"].read_text("utf-8")
    assert _out(capsys, "show", "happy-path", "--scenarios", folder) == f"name: happy-path\n{GOOD}"


def test_a_scenario_is_shown_as_json(capsys: Captured) -> None:
    """For programs; as the control API takes it."""
    shown = orjson.loads(_out(capsys, "show", "happy-path", "--format", "json"))

    assert Scenario.model_validate(shown) == shipped("happy-path")


@pytest.mark.parametrize("command", ["show", "graph"])
def test_an_unknown_name_is_shown_the_nearest(capsys: Captured, command: str) -> None:
    """One line, and exit status 2."""
    assert run(["scenario", command, "hapy-path"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        f"paydouble scenario {command}: there is no scenario 'hapy-path'; did you mean 'happy-path'?"
    )
    assert said.count("\n") == 1


def test_a_name_like_no_other_is_shown_where_to_look(capsys: Captured) -> None:
    """Without a guess."""
    assert run(["scenario", "show", "xyzzy"]) == 2
    assert "there is no scenario 'xyzzy'; 'paydouble scenario list' has them all." in capsys.readouterr().err


def test_the_schema_is_that_of_the_package(capsys: Captured) -> None:
    """As it is committed."""
    assert _out(capsys, "schema") == PATH.read_text("utf-8")


@pytest.mark.parametrize("style", ["text", "mermaid"])
def test_a_scenario_is_drawn_by_name_and_by_path(capsys: Captured, folder: Path, style: str) -> None:
    """The same drawing."""
    drawn = _out(capsys, "graph", "mine", "--scenarios", folder, "--format", style)

    assert drawn == _out(capsys, "graph", folder / "mine.yaml", "--format", style)
    assert "failed" in drawn


@pytest.mark.parametrize("style", ["yaml", "json"])
def test_a_scenario_is_shown_by_name_and_by_path(
    capsys: Captured, folder: Path, monkeypatch: pytest.MonkeyPatch, style: str
) -> None:
    """The same, also from beside the file."""
    shown = _out(capsys, "show", "mine", "--scenarios", folder, "--format", style)
    monkeypatch.chdir(folder)

    assert "My own." in shown
    assert shown == _out(capsys, "show", folder / "mine.yaml", "--format", style)
    assert shown == _out(capsys, "show", "mine.yaml", "--format", style)
    (folder / "plain").write_bytes((folder / "mine.yaml").read_bytes())
    monkeypatch.chdir(folder.parent)
    assert shown == _out(capsys, "show", f"{folder.name}/plain", "--format", style)


@pytest.mark.parametrize("style", ["yaml", "json"])
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "1:1: this cannot be read (no such file or directory)"),
        (b"name: \xff\n", "1:7: byte 7 of this file, 0xff"),
    ],
)
def test_a_file_that_cannot_be_shown_is_one_line(
    capsys: Captured, tmp_path: Path, style: str, content: bytes | None, says: str
) -> None:
    """With its place, and exit status 2; also where a folder of scenarios holds it."""
    path = tmp_path / "x.yaml"
    if content is not None:
        path.write_bytes(content)
        assert run(["scenario", "show", "x", "--scenarios", str(tmp_path), "--format", style]) == 2
        assert capsys.readouterr().err.startswith(f"paydouble scenario show: {path}:{says}")

    assert run(["scenario", "show", str(path), "--format", style]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith(f"paydouble scenario show: {path}:{says}")


def test_a_broken_file_is_shown_all_the_same(capsys: Captured, tmp_path: Path) -> None:
    """Unchanged, so that it can be fixed."""
    path = tmp_path / "x.yaml"
    path.write_text("name: [\n", "utf-8")

    assert _out(capsys, "show", path) == "name: [\n"


def test_a_broken_file_is_not_drawn(capsys: Captured, tmp_path: Path) -> None:
    """The output says what is wrong with it."""
    path = tmp_path / "x.yaml"
    path.write_text("name: [", "utf-8")

    assert run(["scenario", "graph", str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"paydouble scenario graph: {path}:1:8: the text ends inside a list")


def test_files_that_are_right_are_counted(capsys: Captured, folder: Path) -> None:
    """Each once, however often it is named."""
    assert _out(capsys, "check", folder, folder / "mine.yaml") == "✓ 2 files: no errors.\n"


def test_everything_that_is_wrong_is_shown(capsys: Captured, folder: Path) -> None:
    """With place, line and mark; the exit status is 1."""
    path = folder / "mine.yaml"
    path.write_text(f"name: mine\n{GOOD}expct: []\nmatch: {{}}\n", "utf-8")

    status = run(["scenario", "check", str(folder)])

    assert (status, capsys.readouterr().out.splitlines()) == (
        1,
        [
            f"{path}:7:1: error: the key 'expct' is not known here",
            "  7 | expct: []",
            "    | ^^^^^",
            "    = expected settings, deposit, faults, merchant, answers or cases",
            "    = did you mean 'expect'?",
            f"{path}:8:8: error: this matches every pay-in",
            "  8 | match: {}",
            "    |        ^^",
            "    = add a condition, or leave match out",
            "✗ 2 files: 2 errors in 1.",
        ],
    )


def test_files_are_checked_beside_each_other(capsys: Captured, folder: Path) -> None:
    """Two of one name hide each other, and no server reads one that ends in .yml."""
    (folder / "group").mkdir()
    (folder / "zoo.yml").write_text(f"name: zoo\n{GOOD}", "utf-8")
    (folder / "group" / "mine.yaml").write_text(f"name: mine\n{GOOD}", "utf-8")

    status = run(["scenario", "check", str(folder)])

    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert (status, lines) == (
        1,
        [
            f"{folder}/mine.yaml:1:7: error: {folder}/group/mine.yaml has the same name",
            f"{folder}/zoo.yml:1:1: warning: no server looks for files that end in .yml",
            "✗ 4 files: 1 error in 1, 1 warning.",
        ],
    )


def test_a_warning_leaves_a_file_right(capsys: Captured, tmp_path: Path) -> None:
    """It is printed, and the exit status is 0."""
    (tmp_path / "x.yaml").write_text("name: x\nsummary: x\n", "utf-8")

    said = _out(capsys, "check", tmp_path)

    assert said.splitlines()[0].endswith("x.yaml:1:1: warning: nothing is expected")
    assert said.endswith("✓ 1 file: no errors, 1 warning.\n")


def test_an_editor_gets_json(capsys: Captured, tmp_path: Path) -> None:
    """Lines and columns count from one."""
    path = tmp_path / "x.yaml"
    path.write_text(f"name: x\n{GOOD}colour: red\n", "utf-8")

    status = run(["scenario", "check", str(path), "--format", "json"])

    found: list[dict[str, Any]] = orjson.loads(capsys.readouterr().out)
    assert (status, found) == (
        1,
        [
            {
                "path": str(path),
                "line": 7,
                "column": 1,
                "length": 6,
                "severity": "error",
                "member": "colour",
                "message": "the key 'colour' is not known here",
                "notes": ["expected match, settings, deposit, faults, merchant, answers or cases"],
            }
        ],
    )


def test_more_errors_than_anybody_reads_are_shown_in_part(capsys: Captured, tmp_path: Path) -> None:
    """And that they are."""
    path = tmp_path / "x.yaml"
    path.write_text(f"name: x\n{GOOD}" + "".join(f"k{number}: 1\n" for number in range(60)), "utf-8")

    run(["scenario", "check", str(path)])

    said = capsys.readouterr().out.splitlines()
    assert said[-2:] == [f"{path}: there may be more; these are the first 50", "✗ 1 file: 50 errors in 1."]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nothing.yaml"], "Path 'nothing.yaml' does not exist."),
        ([], "Missing argument 'PATH…'."),
        (["--play", "--format", "json", "."], "--play prints text; leave --format out."),
    ],
)
def test_what_cannot_be_checked_is_one_line(capsys: Captured, arguments: list[str], says: str) -> None:
    """The exit status is 2."""
    assert run(["scenario", "check", *arguments]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert says in said.err


def test_a_folder_without_files_is_refused(capsys: Captured, tmp_path: Path) -> None:
    """It is most likely a mistyped path."""
    assert run(["scenario", "check", str(tmp_path)]) == 2
    assert f"there is no file *.yaml in {tmp_path}." in capsys.readouterr().err


def test_what_is_right_is_played(capsys: Captured, folder: Path) -> None:
    """The result is compared with what is expected; a wrong file is not played."""
    played = _out(capsys, "check", "--play", folder)
    (folder / "mine.yaml").write_text(f"name: mine\n{GOOD.replace('pay-in.created, ', '')}", "utf-8")
    (folder / "happy-path.yaml").write_text("name: happy\n", "utf-8")

    status = run(["scenario", "check", "--play", str(folder)])

    assert "✓ 2 scenarios and 0 cases played twice: all came out as their files say." in played
    said = capsys.readouterr().out
    assert (status, said.count("played twice")) == (1, 1)
    assert "1 scenario and 0 cases played twice: 1 wrong." in said


def test_nothing_is_played_when_all_is_wrong(capsys: Captured, tmp_path: Path) -> None:
    """The errors are enough."""
    (tmp_path / "x.yaml").write_text("name: x\n", "utf-8")

    assert run(["scenario", "check", "--play", str(tmp_path)]) == 1
    assert "played twice" not in capsys.readouterr().out


def _children_seconds() -> float:
    """Return the CPU seconds of the child processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def test_the_whole_library_is_checked_quickly() -> None:
    """As a process of its own, which imports neither the HTTP server nor the API.

    It takes six times as long at most as a process that only imports what it stands on, in the same run.
    """
    program = (
        "import sys; from paydouble.cli.main import run; status = run(sys.argv[1:]); "
        "print(sorted({'aiohttp', 'asyncio', 'paydouble.api', 'paydouble.sandbox'} & set(sys.modules))); "
        "sys.exit(status)"
    )
    call = [sys.executable, "-c", program, "scenario", "check", str(shipped_folder())]
    # As a user runs it: tracing a child for the coverage of this suite would be timed along.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    bare = [sys.executable, "-c", "import click, pydantic, yaml"]
    took, outputs, least = [], [], []
    for _ in range(3):  # the quickest counts, and its own time alone: other programs run at the same time
        began = _children_seconds()
        outputs.append(subprocess.run(call, capture_output=True, text=True, check=True, env=plain).stdout)
        took.append(_children_seconds() - began)
        began = _children_seconds()
        subprocess.run(bare, check=True, env=plain)
        least.append(_children_seconds() - began)

    told, imported = outputs[0].splitlines()
    assert told.endswith(f" {len(shipped_files())} files: no errors.")
    assert imported == "[]"
    assert min(took) < 6 * min(least)
