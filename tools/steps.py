"""The steps of `check.py`: each is a command or a function that returns an Outcome.

The first ones are quick. The longest of the others start before the shorter ones, so that no core is idle at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from audit import audit_locks
from bruno import check_bruno
from generators import check_generators
from outcome import Outcome, Verdict, failed, ok, run_command
from package import check_image, check_wheel
from sbom import check_sbom

# The synchronous core: it can be tested without sockets, so every branch of it must be.
CORE = (
    "core",
    "config",
    "payments",
    "webhooks",
    "guards",
    "journal",
    "scenarios",
    "sandbox",
    "api",
    "inprocess",
    "rehearsal",
    "openapi",
    "runfile",
    "timeline",
    "yamlfile",
)
CORE_PERCENT = 100
WHOLE_PERCENT = 95
# What takes long has a shorter test beside it, and a step of its own. A run names its slowest tests.
PYTEST = ("pytest", "--dist", "worksteal", "-m", "not long", "--durations=20", "--durations-min=5", "-n")
# These run other programs, or make thousands of requests or plays. Tracing makes them two to three times as long, and
# what they reach in the package is reached by its own tests as well.
UNTRACED = (
    "tests/browser",
    "tests/guides",
    "tests/clients/test_go.py",
    "tests/clients/test_java.py",
    "tests/clients/test_node.py",
    "tests/docs",
    "tests/oracles",
    "tests/release",
    "tests/zoo",
    "tests/shops",
    "tests/simulation",
    "tests/fuzz",
    "tests/plugin",
    "tests/catalogue",
    "tests/served",
    "tests/cli/test_explore.py",
    "tests/machine/test_reports.py",
    "tests/unit/complexity",
    "tests/server/test_deleted_sandboxes.py",
    "tests/stateful",
    "tests/api/test_schemathesis.py",
    "tests/control/test_schemathesis_control.py",
    "tests/control/test_large_bodies.py",
    "tests/control/test_stateful_control.py",
    "tests/conformance_shops",
    "tests/machine/test_adapters.py",
    "tests/faults/api/test_one_wire.py",
    "tests/server/test_life.py",
    "tests/scenarios/test_generated.py",
)


@dataclass(frozen=True)
class Step:
    """A check and its name; `shows_itself` if it prints while it runs, and needs both cores.

    One that is `only_named` is not run where no steps are named.
    """

    name: str
    what: str
    run: Callable[[], Outcome]
    shows_itself: bool = False
    only_named: bool = False


def command(line: str) -> Callable[[], Outcome]:
    """Return a step's function that runs a program; its arguments have no spaces."""
    return partial(run_command, line.split())


def check_types() -> Outcome:
    """Run mypy on the folders that exist; a missing one would be an error."""
    return run_command(
        ["mypy", *(folder for folder in ("src", "tests", "benchmarks", "tools") if Path(folder).is_dir())]
    )


def run_tests() -> Outcome:
    """Run the tests of the package in random order and measure branch coverage of this run only.

    Three at a time, though there are two cores: some wait for a program that they have started, or for a socket.
    """
    for old in Path(".cache").glob("coverage*"):
        old.unlink()
    others = [f"--ignore={path}" for path in UNTRACED]
    return run_command([*PYTEST, "3", "--cov", "--cov-report=", *others, "tests"], captured=False)


def run_outer_tests() -> Outcome:
    """Run the tests of the outside, in random order, without tracing.

    Four at a time: many of them wait for a browser, a container or real time.
    """
    return run_command([*PYTEST, "4", *UNTRACED], captured=False)


def run_long_tests() -> Outcome:
    """Run what the two others leave out."""
    return run_command(["pytest", "--dist", "worksteal", "-m", "long", "-n", "4", "tests"], captured=False)


def check_coverage(percent: int, packages: tuple[str, ...] = ()) -> Outcome:
    """Compare the branch coverage of some packages, or all, with a minimum."""
    if not Path(".cache/coverage").is_file():
        return failed("no coverage data; run the step pytest first")
    files = [f"src/paydouble/{name}{end}" for name in packages for end in (".py", "/*")]
    included = [f"--include={','.join(files)}"] if files else []
    outcome = run_command(["coverage", "report", f"--fail-under={percent}", *included])
    if outcome.verdict is Verdict.FAILED:
        return failed(f"below {percent} % of branches", outcome.output)
    return ok(f"at least {percent} %")


STEPS = (
    Step("format", "ruff's formatting", command("ruff format --check .")),
    Step("ruff", "ruff with every rule", command("ruff check .")),
    Step("imports", "the layers", command("lint-imports --no-logo --cache-dir .cache/import-linter")),
    Step("mypy", "strict types", check_types),
    Step("generators", "clients made from both OpenAPI documents, in Node, Go and Java", check_generators),
    Step("image", "the image builds, runs read-only, turns healthy and stops", check_image),
    Step("sbom", "the bill of materials of what a release installs", check_sbom),
    Step("audit", "known vulnerabilities in the locks", audit_locks),
    Step("bruno", "the Bruno collection against a running server", check_bruno),
    Step("wheel", "what the wheel holds, and that it works alone", check_wheel),
    Step("picture", "the picture of the README shows what the demo prints", command("python tools/picture.py --check")),
    Step("reference", "reference pages are those of the code", command("python tools/reference.py --check")),
    Step(
        "scenarios",
        "every shipped scenario is right, and plays as it says",
        command("paydouble scenario check --play scenarios"),
    ),
    Step("pytest", "tests of the package, with branch coverage", run_tests, shows_itself=True),
    Step(
        "outside",
        "guides, documentation, the plugin, the zoo, the simulations, independent oracles",
        run_outer_tests,
        shows_itself=True,
    ),
    Step("coverage-core", "branches of the core", partial(check_coverage, CORE_PERCENT, CORE)),
    Step("coverage-whole", "branches of everything", partial(check_coverage, WHOLE_PERCENT)),
    Step("long", "tests that take long", run_long_tests, shows_itself=True, only_named=True),
)
