"""What the import contracts cannot say of themselves: that they forget no module, and that no circle passes them by."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LOWEST_ABOVE_THE_LINE = "runtime"


def contract(name: str) -> dict[str, Any]:
    """Return a contract of import-linter by its id."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    found: list[dict[str, Any]] = [each for each in contracts if each["id"] == name]
    assert len(found) == 1
    return found[0]


def test_every_module_below_the_line_is_of_the_pure_core() -> None:
    """The layers name every module (`exhaustive`), so a new one below the line has to be added to the core as well."""
    layers = [re.findall(r"\w+", layer) for layer in contract("layers")["layers"]]
    below = layers[layers.index([LOWEST_ABOVE_THE_LINE]) + 1 :]

    assert sorted(f"paydouble.{name}" for layer in below for name in layer) == contract("pure-core")["source_modules"]


def test_there_is_no_circle() -> None:
    """Neither between modules, a package's own `__init__` included, nor between packages.

    The contract compares modules of one package with each other; it does not see one that imports its own package.
    """
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "structure.py")], capture_output=True, text=True, check=True
    )

    assert re.findall(r"^\d+ circles of .*", done.stdout, re.MULTILINE) == [
        "0 circles of modules",
        "0 circles of packages",
    ]


def test_a_circle_is_seen(tmp_path: Path) -> None:
    """Through an import for the type checker alone, and through a package's `__init__`."""
    package = tmp_path / "src" / "paydouble"
    (package / "below").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("import paydouble.two\n")
    (package / "two.py").write_text("if TYPE_CHECKING:\n    from paydouble.one import One\n")
    (package / "below" / "__init__.py").write_text("from paydouble.below.part import Part\n")
    (package / "below" / "part.py").write_text("from paydouble.below import Part\n")
    # As many modules as the report lists.
    for number in range(10):
        (package / f"m{number}.py").write_text("import paydouble.one\n")

    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "structure.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert "  paydouble.one, paydouble.two\n" in done.stdout, done.stderr
    assert "  paydouble.below, paydouble.below.part\n" in done.stdout, done.stderr
