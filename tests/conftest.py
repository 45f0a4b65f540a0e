"""Settings of all tests."""

from __future__ import annotations

import sys
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

import environment

# Where the machine plays merchants.
_HUNTS: Final = (
    "tests/machine/",
    "tests/served/",
    "tests/zoo/",
    "tests/guides/test_machine_guides.py",
    "tests/cli/test_explore.py",
)

environment.prepare()

# Workers share the cores, so a slow example says nothing about the code, nor do slow draws.
settings.register_profile("paydouble", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("paydouble")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests in which the machine plays, and let those with a long timeout come first.

    A long test that came last would leave the other worker idle.
    """
    for item in items:
        if item.nodeid.startswith(_HUNTS):
            item.add_marker(pytest.mark.hunt)
    items.sort(key=_timeout_seconds, reverse=True)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    """Forget what the machines of these tests have tried: a reader of this run asks for none of it."""
    machine = sys.modules.get("paydouble.stateful.machine")
    if machine is not None:
        machine.summaries.clear()


def _timeout_seconds(item: pytest.Item) -> float:
    marker = item.get_closest_marker("timeout")
    return marker.args[0] if marker else 0
