"""Each client's module needs that client alone: an extra installs none of the others."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "others"),
    [
        ("paydouble.testing.aiohttp_connector", ("httpx", "requests")),
        ("paydouble.testing.transports", ("requests",)),
        ("paydouble.stateful.requests_adapter", ("httpx",)),
    ],
)
def test_a_client_needs_no_other(module: str, others: tuple[str, ...]) -> None:
    """It can be imported where the others are not installed."""
    program = f"import sys; sys.modules.update(dict.fromkeys({others!r})); import {module}"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
