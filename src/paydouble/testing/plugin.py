"""The pytest plugin: a server for the session, a fresh sandbox for each test, and what happened when one fails.

It is loaded in every test run of an environment that has paydouble, so it imports nothing of it before a test asks.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from paydouble.testing import Paydouble, SandboxHandle, Sync, WebhookReceiver

_OPTIONS = (
    ("url", "use the paydouble server at this URL instead of starting one"),
    ("token", "control token of that server"),
    ("seed", "seed of each test's sandbox (default 0)"),
)
_MARKER = (
    "paydouble(scenario=…, clock=…, seed=…, settings=…): what the test's sandbox is to be. The clock is manual unless "
    "it says otherwise."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--paydouble-url`, `--paydouble-token` and `--paydouble-seed`, and ini keys of the same names."""
    group = parser.getgroup("paydouble", "paydouble, the payment service's double")
    for name, text in _OPTIONS:
        group.addoption(f"--paydouble-{name}", metavar=name.upper(), help=text)
        parser.addini(f"paydouble_{name}", f"{text}; the option goes before")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture(scope="session")
def paydouble_server(request: pytest.FixtureRequest) -> Iterator[Paydouble]:
    """A paydouble server: one in a thread, or with `--paydouble-url` the one that runs there."""
    from paydouble.testing import fixtures

    yield from fixtures.server(request.config)


@pytest.fixture
def paydouble(request: pytest.FixtureRequest, paydouble_server: Paydouble) -> Iterator[SandboxHandle[Sync]]:
    """A fresh sandbox on a manual clock, or as `@pytest.mark.paydouble(…)` wants it; let go after the test."""
    from paydouble.testing import fixtures

    yield from fixtures.sandbox(request.node, request.config, paydouble_server)


@pytest.fixture
def webhook_receiver(request: pytest.FixtureRequest, paydouble: SandboxHandle[Sync]) -> Iterator[WebhookReceiver]:
    """A verifying receiver, to which the test's sandbox sends its events."""
    from paydouble.testing import fixtures

    yield from fixtures.receiver(request.node, paydouble)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to the report of a failed test what its sandbox has seen."""
    report = yield
    if report.failed and {"paydouble", "webhook_receiver"} & set(getattr(item, "fixturenames", ())):
        from paydouble.testing import fixtures

        fixtures.explain(item, report)
    return report
