"""Settings of all tests."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import settings

# Where the machine plays merchants.
_HUNTS: Final = (
    "tests/machine/",
    "tests/served/",
    "tests/zoo/",
    "tests/guides/test_machine_guides.py",
    "tests/cli/test_explore.py",
)

# Workers share the cores, so a slow example says nothing about the code.
settings.register_profile("paydouble", deadline=None, print_blob=True)
settings.load_profile("paydouble")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that can be long because the machine plays in them."""
    for item in items:
        if item.nodeid.startswith(_HUNTS):
            item.add_marker(pytest.mark.hunt)
