"""Child pytest runs: a test file of a merchant's, in a folder of its own, with the plugin as it is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from children import Child, Run

# What the child runs need of the many plugins here: the others cost each of them a second.
_PLUGINS = ("xdist", "asyncio", "anyio", "aiohttp")
_UNWANTED = ("schemathesis", "hypothesispytest", "pytest_cov", "timeout", "cacheprovider", "xdist.looponfail")
_ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PAYDOUBLE_"))}
_HEAD = """
import json
import urllib.request

import pytest


def pay(box, number=1):
    body = {
        "amount": 10, "currency": "EUR", "external_identifier": "order-1", "payment_method": {"type": "CREDIT_CARD"},
        "customer": {"first_name": "Ada", "last_name": "Byron", "email": "ada@example.test"},
    }
    headers = {
        "Authorization": box.auth.header,
        "Content-Type": "application/json",
        "Idempotency-Key": f"00000000-0000-4000-8000-{number:012x}",
    }
    url = f"{box.base_url}/pay-in/deposit-creation"
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as response:
        return json.load(response)["data"]["id"]
"""


@pytest.fixture
def child(tmp_path: Path) -> Child:
    """Give what runs a test file: `child(source, *arguments, ini=…, conftest=…)`."""

    def run(source: str, *arguments: str, ini: str = "", conftest: str = "", plugins: tuple[str, ...] = ()) -> Run:
        (tmp_path / "test_shop.py").write_text(_HEAD + textwrap.dedent(source), "utf-8")
        (tmp_path / "conftest.py").write_text(textwrap.dedent(conftest), "utf-8")
        (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n" + textwrap.dedent(ini), "utf-8")
        off = [f"-pno:{name}" for name in _PLUGINS if name not in plugins]
        off += [f"-pno:{name}" for name in _UNWANTED]
        if "random" not in plugins:
            off.append("-pno:randomly")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *off, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=150,
            env=_ENVIRONMENT,
        )
        last = done.stdout.rstrip().rpartition("\n")[2]
        counts = {name.rstrip("s"): int(count) for count, name in re.findall(r"(\d+) (passed|failed|errors?)", last)}
        return Run(done.stdout + done.stderr, counts)

    return run
