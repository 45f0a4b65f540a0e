"""The step that generates clients from both OpenAPI documents: pinned, and skipped with a reason where it cannot run.

That the clients compile and arm a fault is the step itself, in `make test`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / "tools" / "clients"


def step(tmp_path: Path, code: str) -> str:
    """Run some code beside the step's module, on a machine without any of its toolchains."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'tools')!r})\n{code}"],
        cwd=tmp_path,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_a_missing_toolchain_is_a_skip_that_names_it(tmp_path: Path) -> None:
    """Nothing is fetched, and each part says what is not there."""
    said = step(
        tmp_path,
        "from generators import check_generators as check\ndone = check()\nprint(done.verdict.name, done.reason)",
    )

    assert said == (
        "SKIPPED node: node and npm not installed here; go: go not installed here; "
        "java: mvn and javac not installed here"
    )


@pytest.mark.parametrize(
    ("program", "fetches", "verdict"),
    [
        ("print('ok')", True, "OK"),
        ("raise SystemExit('dial tcp: connection refused')", True, "SKIPPED"),
        ("raise SystemExit('dial tcp: connection refused')", False, "FAILED"),
        ("raise SystemExit('does not compile')", True, "FAILED"),
    ],
)
def test_only_an_unreachable_registry_is_a_skip(tmp_path: Path, program: str, fetches: bool, verdict: str) -> None:
    """What does not compile has failed, whatever it could fetch."""
    said = step(
        tmp_path,
        "import asyncio, pathlib; from generators import run\n"
        f"coroutine = run(pathlib.Path('.'), sys.executable, '-c', {program!r}, fetches={fetches})\n"
        "print(asyncio.run(coroutine).verdict.name)",
    )

    assert said == verdict


def test_every_version_is_pinned() -> None:
    """A client is compiled with the same tools until somebody changes them; no lock names a registry."""
    package = json.loads((CLIENTS / "node" / "package.json").read_text("utf-8"))
    lock = (CLIENTS / "node" / "package-lock.json").read_text("utf-8")
    locked = json.loads(lock)["packages"]

    assert {name: locked[f"node_modules/{name}"]["version"] for name in package["dependencies"]} == package[
        "dependencies"
    ]
    assert "resolved" not in lock
    assert all("integrity" in entry for place, entry in locked.items() if place)
    assert "github.com/oapi-codegen/oapi-codegen/v2 v2" in (CLIENTS / "go" / "go.sum").read_text("utf-8")
    assert "SNAPSHOT" not in (CLIENTS / "java" / "pom.xml").read_text("utf-8")
