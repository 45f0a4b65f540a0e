"""The README is true: its commands work in their order, and its test finds what it says that it finds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT, Terminal, blocks

README = ROOT / "README.md"
# The shop that the README's test is about: as it should be, and with the mistake.
SHOP = """
import json
import urllib.error
import urllib.request


class Shop:
    def __init__(self, base_url, auth):
        self.base_url, self.auth = base_url, auth
        self.keys = {{}}

    def pay(self, order):
        while not self.try_to_pay(order):
            pass

    def try_to_pay(self, order):
        {key}
        headers = {{"Authorization": self.auth.header, "Idempotency-Key": key, "Content-Type": "application/json"}}
        body = {{
            "amount": 10, "currency": "EUR", "external_identifier": order, "payment_method": {{"type": "CREDIT_CARD"}},
            "customer": {{"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"}},
        }}
        url = f"{{self.base_url}}/pay-in/deposit-creation"
        try:
            urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).close()
        except (urllib.error.URLError, ConnectionError):
            return False
        return True
"""
RIGHT = "import uuid; key = self.keys.setdefault(order, str(uuid.uuid4()))"
WRONG = "import uuid; key = str(uuid.uuid4())"


@pytest.mark.timeout(480)
def test_its_commands_do_what_it_says_and_can_be_run_again(tmp_path: Path) -> None:
    """Each marked block, in order, in an empty folder; a second walk on the same server is refused nothing."""
    marked = [block for block in blocks(README) if block.mark]
    again = [block for block in marked if block.mark == "run" and not block.argument]
    printed = []
    with Terminal(tmp_path) as terminal:
        for block in marked:
            try:
                terminal.follow(block)
            except AssertionError as error:
                pytest.fail(f"README.md, line {block.line}: {error}", pytrace=False)
        for block in again:
            terminal.follow(block)
            printed.append(terminal.printed)

    assert [text for text in printed if '{"error"' in text] == []
    assert [text for text in printed if '"id":"mine"' in text]
    assert [text for text in printed if '"passed":true' in text]


@pytest.mark.parametrize(("key", "status"), [(RIGHT, 0), (WRONG, 1)])
def test_its_test_catches_a_lost_reply(key: str, status: int, tmp_path: Path) -> None:
    """A shop that keeps its key passes; one with a new key for each try fails, with the timeline in the report."""
    (test,) = (block.text for block in blocks(README) if block.language == "python")
    (tmp_path / "test_shop.py").write_text(SHOP.format(key=key) + "\n\n" + test)
    program = [sys.executable, "-m", "pytest", "-q", "-p", "paydouble.testing.plugin", "test_shop.py"]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PAYDOUBLE_", "COVERAGE_"))
    } | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # a reader has none of the plugins here

    done = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == status, done.stdout + done.stderr
    assert ("paydouble timeline" in done.stdout) == bool(status)


def test_no_command_of_it_is_left_untried() -> None:
    """Only what needs make in a clone, or an engine for containers, has no mark."""
    untried = [block.text for block in blocks(README) if not block.mark and block.language != "python"]

    assert [text.split()[0] for text in untried] == ["make", "docker"]
