"""What a release asks of its tools: notes of the right version, and a bill of materials that is whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import check
import environment
import steps
from outcome import Outcome
from paydouble.version import __version__

TOOLS = Path(__file__).parents[2] / "tools"
TAG = f"v{__version__}"
WRITTEN = (
    f"# Changelog\n\n## {__version__} (2026-01-01)\n\n### Added\n\n- A thing.\n\n## 0.0.1 (2025-01-01)\n\n- Old.\n"
)


def notes(folder: Path, tag: str) -> subprocess.CompletedProcess[str]:
    """Ask for a tag's notes, in a folder of the test's own."""
    command = [sys.executable, str(TOOLS / "release_notes.py"), tag]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env={"PATH": os.defpath})


def test_the_notes_of_a_release_are_its_section(tmp_path: Path) -> None:
    """The notes are what the changelog says under the version, and nothing of older ones."""
    (tmp_path / "CHANGELOG.md").write_text(WRITTEN)

    done = notes(tmp_path, TAG)

    assert (done.returncode, done.stdout) == (0, "### Added\n\n- A thing.\n")


@pytest.mark.parametrize(
    ("tag", "changelog", "fragment", "said"),
    [
        ("v99.0.0", WRITTEN, None, f"the tag v99.0.0 is not {TAG}"),
        (TAG, "# Changelog\n", None, f"CHANGELOG.md says nothing of {__version__}"),
        (TAG, WRITTEN, "+retries.fixed.md", "changelog.d still holds +retries.fixed.md"),
    ],
    ids=["another version", "no section", "not gathered"],
)
def test_a_release_that_is_not_ready_is_refused(
    tmp_path: Path, tag: str, changelog: str, fragment: str | None, said: str
) -> None:
    """A wrong tag and a changelog that is not written are one line and status 1."""
    (tmp_path / "CHANGELOG.md").write_text(changelog)
    if fragment:
        (tmp_path / "changelog.d").mkdir()
        (tmp_path / "changelog.d" / fragment).write_text("A fix.\n")

    done = notes(tmp_path, tag)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"release notes: {said}")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("components", "verdict"),
    [
        ([("Some.Name", "1", True), ("other", "2", True)], "OK"),
        ([("some-name", "1", True)], "OK"),
        ([("other", "2", True)], "FAILED: the bill lacks some-name"),
        ([("some-name", "1", True), ("guest", "3", True)], "FAILED: the bill lists what the lock does not: guest"),
        ([("some-name", "2", True)], "FAILED: the bill lists what the lock does not: some-name"),
        ([("some-name", "1", False)], "FAILED: no licence is known of some-name"),
    ],
    ids=["whole", "not for this platform", "lacks one", "one too many", "another version", "no licence"],
)
def test_the_bill_of_materials_is_that_of_the_lock(components: list[tuple[str, str, bool]], verdict: str) -> None:
    """A bill must list what the lock installs here, no more and no less, each with a licence."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from sbom import compare\n"
        f"parts = [{{'name': n, 'version': v, 'licenses': [1] * l}} for n, v, l in {components!r}]\n"
        r"lock = 'some-name==1 \\\n    --hash=x\nother==2 ; sys_platform != \'none\' \\\n    --hash=y\n'"
        "\n"
        "outcome = compare({'components': parts}, lock)\n"
        "print(outcome.verdict.name + (': ' + outcome.reason if outcome.verdict.name == 'FAILED' else ''))\n"
    )

    done = subprocess.run([sys.executable, "-c", script, str(TOOLS)], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == verdict


def structure(root: Path) -> subprocess.CompletedProcess[str]:
    """Ask for the structure of a checkout."""
    command = [sys.executable, str(TOOLS / "structure.py"), str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_structure_counts_circles_and_names(tmp_path: Path) -> None:
    """An import inside a function, or for the type checker alone, closes a circle as any other does."""
    package = tmp_path / "src" / "paydouble"
    for name, text in {
        "__init__.py": "",
        "a/__init__.py": "",
        "a/one.py": "from paydouble.a.two import Thing\n\n\nclass Thing: ...\n",
        "a/two.py": "class Thing: ...\n\n\ndef f():\n    import paydouble.a.one\n",
        "b.py": "from paydouble.a import one\n",
    }.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)

    told = structure(tmp_path)

    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("5 files, 10 lines\n")
    assert "1 public class names are used by 2 classes\n  Thing 2\n" in told.stdout
    assert "1 circles of modules\n  paydouble.a.one, paydouble.a.two\n" in told.stdout
    assert "0 circles of packages" in told.stdout


def test_a_structure_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    """A folder without the package is named."""
    told = structure(tmp_path)

    assert (told.returncode, told.stderr) == (2, f"structure: there is no package paydouble in {tmp_path / 'src'}\n")


STEPS = """
import sys, threading
sys.path.insert(0, sys.argv[1])
import check
from outcome import failed, ok
from steps import Step

both = threading.Barrier(2)

def meet():
    both.wait(60)
    return ok()

steps = [
    Step("one", "", meet),
    Step("two", "", meet),
    Step("three", "its line", lambda: failed("a reason", "its output"), shows_itself=True),
    Step("four", "", ok),
]
sys.exit(check.summarise(check.run_all(steps), 0))
"""


def test_what_takes_long_is_run_when_it_is_named_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything else is run where nothing is named."""
    runs: list[list[str]] = []

    def run_none(chosen: list[steps.Step]) -> list[tuple[steps.Step, Outcome]]:
        runs.append([step.name for step in chosen])
        return []

    monkeypatch.chdir(TOOLS.parent)
    monkeypatch.setattr(environment, "prepare", lambda: None)
    monkeypatch.setattr(check, "run_all", run_none)

    assert check.main([]) == check.main(["long"]) == 0
    everything, alone = runs
    assert alone == ["long"]
    assert [*everything, "long"] == [step.name for step in steps.STEPS]


def test_checks_run_at_the_same_time() -> None:
    """Two steps that wait for each other end; one that shows itself has its place; the rest still run."""
    done = subprocess.run([sys.executable, "-c", STEPS, str(TOOLS)], capture_output=True, text=True, check=False)

    lines = [line.split() for line in done.stdout.splitlines()]
    assert sorted(line[1] for line in lines[:2]) == ["one", "two"], done.stderr
    assert lines[2] == ["three:", "its", "line"]
    assert lines[3][:2] + lines[3][4:] == ["[3/4]", "three", "FAILED:", "a", "reason"]
    assert lines[4] == ["its", "output"]
    assert lines[5][:2] + lines[5][4:] == ["[4/4]", "four", "ok"]
    assert lines[6] == ["checks:", "3", "ok,", "1", "FAILED", "in", "0", "s"]
    assert done.returncode == 1
