"""Writes the bill of materials of what a release installs, as CycloneDX JSON: `python tools/sbom.py FILE`.

It is made from an environment with only the wheel and its locked dependencies, so it lists what is really installed,
with licences. uv fetches the tool for this temporarily.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import clean_room
from outcome import Outcome, Verdict, failed, ok
from paydouble.version import __version__

TOOL = "cyclonedx-bom==7.5.0"


def write(target: Path) -> Outcome:
    """Build the wheel, install it into an empty environment, and write its packages."""
    with tempfile.TemporaryDirectory(dir=".cache") as name:
        folder = Path(name)
        built = clean_room.build(folder)
        if built.verdict is Verdict.FAILED:
            return built
        environment = folder / "environment"
        installed = clean_room.install(clean_room.wheel_in(folder), environment)
        if installed.verdict is not Verdict.OK:
            return installed
        read = ["cyclonedx-py", "environment", "--pyproject=pyproject.toml", "--mc-type=library"]
        output = ["--output-reproducible", "--output-format=JSON", f"--output-file={target}"]
        python = str(clean_room.interpreter(environment))
        outcome = clean_room.run_uv("tool", "run", "--from", TOOL, *read, *output, python)
    if outcome.verdict is not Verdict.OK:
        return outcome
    bill = json.loads(target.read_text("utf-8"))
    # The version is not a literal in pyproject.toml, where the tool reads it.
    bill["metadata"]["component"]["version"] = __version__
    target.write_text(json.dumps(bill, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return compare(bill, Path(clean_room.RUNTIME_LOCK).read_text("utf-8"))


def compare(bill: dict[str, Any], lock: str) -> Outcome:
    """Return whether the bill lists what the lock installs here, each with a licence."""
    listed = {(normal(part["name"]), part["version"]) for part in bill["components"]}
    locked = {(normal(name), version) for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", lock, re.MULTILINE)}
    if strange := sorted(name for name, _ in listed - locked):
        return failed(f"the bill lists what the lock does not: {', '.join(strange)}")
    # The lock may have more packages, because it is for all platforms.
    unmarked = {(normal(name), version) for name, version in re.findall(r"^([\w.-]+)==(\S+) \\$", lock, re.MULTILINE)}
    if missing := sorted(name for name, _ in unmarked - listed):
        return failed(f"the bill lacks {', '.join(missing)}")
    if unlicensed := sorted(part["name"] for part in bill["components"] if not part.get("licenses")):
        return failed(f"no licence is known of {', '.join(unlicensed)}")
    return ok(f"{len(listed)} packages")


def normal(name: str) -> str:
    """Return the normalised name of a package."""
    return re.sub(r"[-_.]+", "-", name).lower()


def check_sbom() -> Outcome:
    """Write the bill to a temporary folder."""
    return write(Path(".cache/sbom.cdx.json"))


if __name__ == "__main__":
    outcome = write(Path(sys.argv[1]))
    print(outcome.output or outcome.reason, file=sys.stderr)
    sys.exit(outcome.verdict is not Verdict.OK)
