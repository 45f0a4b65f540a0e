"""The pytest plugin: a server for the session, a fresh sandbox for each test, and what happened when one fails.

It is loaded in every test run of an environment with paydouble, so it imports the rest only when a test uses it.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from paydouble.testing import Paydouble, SandboxHandle, Sync, WebhookReceiver

_OPTIONS = (
    ("url", "use the paydouble server at this URL instead of starting one"),
    ("token", "control token of that server"),
    ("seed", "seed of each test's sandbox (default 0)"),
)
_ARTIFACTS = "write what happened in each failed test into this folder, as HTML files and run files"
_STRICT = "fail a test that has armed a fault which never fired"
_MARKER = (
    "paydouble(scenario=…, clock=…, seed=…, settings=…): what the test's sandbox is to be. The clock is manual unless "
    "it says otherwise. strict_faults=… overrides paydouble_strict_faults."
)
config: pytest.Config | None = None
"""That of the run which is going on."""
_SUMMARIES = "paydouble_summaries"
"""Under which a worker of pytest-xdist tells its controller what its machines have tried."""
_OF_WORKERS = pytest.StashKey[list[bytes]]()
_SOCKETLESS = "paydouble.testing.socketless"
_MACHINE = "paydouble.stateful.verdicts"
_RAN = "paydouble.stateful.ran"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--paydouble-url` and the other options, and an ini key for each."""
    group = parser.getgroup("paydouble", "paydouble, the payment service's double")
    for name, text in _OPTIONS:
        group.addoption(f"--paydouble-{name}", metavar=name.upper(), help=text)
        parser.addini(f"paydouble_{name}", f"{text}; the option goes before")
    group.addoption("--paydouble-artifacts", metavar="DIR", help=_ARTIFACTS)
    parser.addini("paydouble_artifacts", f"{_ARTIFACTS}; the option goes before")
    group.addoption("--paydouble-strict", action="store_true", help=_STRICT)
    parser.addini("paydouble_strict_faults", f"{_STRICT}, as --paydouble-strict does", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and keep the configuration for the progress line of a merchant machine."""
    globals()["config"] = config
    config.addinivalue_line("markers", _MARKER)


def pytest_unconfigure() -> None:
    """Forget the configuration."""
    globals()["config"] = None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the controller of pytest-xdist what the merchant machines of this worker have tried."""
    output: dict[str, object] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_SUMMARIES] = [pickle.dumps(_ran())]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:  # noqa: ANN401 - a WorkerController of pytest-xdist, which is optional
    """Keep what a worker has told; one that has crashed told nothing."""
    told = getattr(node, "workeroutput", {}).get(_SUMMARIES, [])
    node.config.stash.setdefault(_OF_WORKERS, []).extend(told)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write what each merchant machine of the run has tried, and what it has not."""
    told = terminalreporter.config.stash.get(_OF_WORKERS, [])
    # What this process's own workers have written.
    ran = [*_ran(), *(each for worker in told for each in pickle.loads(worker))]  # noqa: S301
    # A module of a layer above, which whatever has run, or was unpickled, has loaded.
    for text in sys.modules[_RAN].texts(ran) if ran else ():
        terminalreporter.write_line(text)


def _ran() -> list[Any]:
    machine = sys.modules.get("paydouble.stateful.machine")
    return list(machine.summaries) if machine is not None else []


@pytest.fixture(scope="session")
def paydouble_server(request: pytest.FixtureRequest) -> Iterator[Paydouble]:
    """A paydouble server: one in a thread, or with `--paydouble-url` the one that runs there."""
    from paydouble.testing import fixtures

    yield from fixtures.server(request.config)


@pytest.fixture
def paydouble(request: pytest.FixtureRequest, paydouble_server: Paydouble) -> Iterator[SandboxHandle[Sync]]:
    """A fresh sandbox on a manual clock, or as `@pytest.mark.paydouble(…)` wants it; deleted after the test."""
    from paydouble.testing import fixtures

    yield from fixtures.sandbox(request.node, request.config, paydouble_server)


@pytest.fixture
def webhook_receiver(request: pytest.FixtureRequest, paydouble: SandboxHandle[Sync]) -> Iterator[WebhookReceiver]:
    """A verifying receiver, to which the test's sandbox sends its events."""
    from paydouble.testing import fixtures

    yield from fixtures.receiver(request.node, paydouble)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to the report of a failed test what its sandbox has seen."""
    report = yield
    if report.failed and (_concerns(item) or _MACHINE in sys.modules):
        from paydouble.testing import fixtures

        try:
            fixtures.explain(item, report)
            if item.config.getoption("paydouble_artifacts") or item.config.getini("paydouble_artifacts"):
                from paydouble.testing import artifacts

                error = None if call.excinfo is None else call.excinfo.value
                report.sections += artifacts.keep(item, fixtures.sandboxes_of(item), error)
        except Exception as error:  # noqa: BLE001 - an exception here would end the whole run, not this test
            report.sections.append(("paydouble", f"what happened cannot be shown: {error!a}"))
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note which sandboxes without sockets exist, so that a report shows only those that its test has used."""
    if _SOCKETLESS in sys.modules or _is_strict(item):
        from paydouble.testing import fixtures

        fixtures.begin(item)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test whose fault never fired, where strict faults are on."""
    if not _is_strict(item):
        return (yield)
    from paydouble.testing import fixtures

    return (yield from fixtures.check_faults(item))


def _is_strict(item: pytest.Item) -> bool:
    for marker in item.iter_markers("paydouble"):  # the closest first
        if "strict_faults" in marker.kwargs:
            return bool(marker.kwargs["strict_faults"])
    return bool(item.config.getoption("paydouble_strict") or item.config.getini("paydouble_strict_faults"))


def _concerns(item: pytest.Item) -> bool:
    # For a test that does not use paydouble nothing is loaded.
    return (
        bool({"paydouble", "webhook_receiver"} & set(getattr(item, "fixturenames", ()))) or _SOCKETLESS in sys.modules
    )
