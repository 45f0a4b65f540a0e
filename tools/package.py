"""Checks of the release: the wheel is complete and works alone; the image builds, runs, becomes healthy and stops."""

from __future__ import annotations

import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

import clean_room
import self_contained
from outcome import Outcome, Verdict, failed, ok, run_command, skipped
from paydouble.version import __version__
from paydouble.web.pages import shipped_pages

IMAGE = "paydouble:proof"
# Builds and runs the image without a daemon, if the repository is checked out beside it.
PROOF = Path("../shared/tools/prove-image")
# With a user's type checker, this is an error unless the installed package is typed.
TYPED = "import paydouble\nheader: str = paydouble.sign(b'', 'whsec')\nwrong: int = paydouble.sign(b'', 'whsec')\n"


def check_wheel() -> Outcome:
    """Build the release, check its contents, and use the wheel in an empty environment, and as one file."""
    with tempfile.TemporaryDirectory(dir=".cache") as name:
        folder = Path(name)
        if (built := clean_room.build(folder)).verdict is Verdict.FAILED:
            return built
        wheel = clean_room.wheel_in(folder)
        held = check_contents(wheel)
        if held.verdict is Verdict.FAILED:
            return held
        environment = folder / "environment"
        used = check_alone(wheel, environment)
        if used.verdict is not Verdict.OK:
            return used
        file = folder / "paydouble.pyz"
        for outcome in (self_contained.make(environment, file), self_contained.check(file, folder)):
            if outcome.verdict is not Verdict.OK:
                return outcome
        return ok(f"{held.reason}; {outcome.reason}")


def check_contents(wheel: Path) -> Outcome:
    """Compare the wheel's files with what must be in it."""
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    library = {
        f"paydouble/scenarios/library/{path.relative_to('scenarios')}" for path in Path("scenarios").rglob("*.yaml")
    }
    pages = {f"paydouble/web/docs/{name}" for name in shipped_pages()}
    wanted = {"paydouble/__init__.py", "paydouble/py.typed"} | library | pages
    if missing := sorted(wanted - held):
        return failed("the wheel lacks files; see [tool.hatch.build] in pyproject.toml", "\n".join(missing))
    if not library:
        return failed("there is no scenario in scenarios/ to ship")
    if not wheel.name.startswith(f"paydouble-{__version__}-"):
        return failed(f"{wheel.name} is not of version {__version__}, which src/paydouble/version.py says")
    return ok(f"{len(held)} files, {len(library)} scenarios")


def check_alone(wheel: Path, environment: Path) -> Outcome:
    """Install the wheel into an empty environment, and check its version, demo, scenarios and types."""
    if (installed := clean_room.install(wheel, environment)).verdict is not Verdict.OK:
        return installed
    version = clean_room.run_in(environment, "version")
    if version.verdict is Verdict.OK and __version__ not in version.output:
        return failed(f"the installed wheel says it is {version.output.strip()!r}, not {__version__}")
    for outcome in (version, clean_room.run_in(environment, "demo"), check_typed(environment)):
        if outcome.verdict is Verdict.FAILED:
            return outcome
    return ok()


def check_typed(environment: Path) -> Outcome:
    """A type checker knows the installed package: it accepts correct code and finds an error."""
    source = environment / "typed.py"
    source.write_text(TYPED)
    python = clean_room.interpreter(environment)
    options = ["--strict", "--config-file=", f"--python-executable={python}", "--cache-dir=.cache/mypy-wheel"]
    done = run_command([sys.executable, "-m", "mypy", *options, str(source)])
    if done.output.count("error:") == 1 and "typed.py:3: error:" in done.output:
        return ok()
    return failed("a type checker does not find its way in the installed wheel", done.output)


def check_image() -> Outcome:
    """Test the image with its tool, or build it with a container daemon, or say why neither is possible."""
    if PROOF.is_file():
        # The tool has podman and its own storage, which the processes inside inherit.
        proof = f"{sys.executable} tools/image_proof.py podman localhost/{IMAGE}"
        return run_command(["env", f"PROVE_RUN={proof}", "bash", str(PROOF), ".", IMAGE])
    if not shutil.which("docker"):
        return skipped("no docker here")
    if run_command(["docker", "info"]).verdict is Verdict.FAILED:
        return skipped("docker is installed, but its daemon does not answer")
    if (built := run_command(["docker", "build", "--quiet", "--tag", IMAGE, "."])).verdict is Verdict.FAILED:
        return built
    return run_command([sys.executable, "tools/image_proof.py", "docker", IMAGE])
