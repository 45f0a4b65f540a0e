"""Each public name stands on the page of the Python interface, and the page names nothing that is not there."""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path

import pytest
from drive import deposit_body, key

import paydouble
from paydouble import testing
from paydouble.testing import AsyncPaydouble, Credentials, Paydouble, Sandbox, SandboxHandle, WebhookReceiver
from paydouble.testing.handles import Clock, Faults, Payer, PayIns, RateLimit, Scenarios, Webhook
from paydouble.testing.journals import Deliveries, Events, Requests

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "python.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
CLASSES = (
    *(Paydouble, AsyncPaydouble, SandboxHandle, WebhookReceiver, Sandbox),
    *(Clock, Faults, RateLimit, Requests, Events, Deliveries, Scenarios, Webhook, PayIns, Payer),
)


@pytest.mark.parametrize("name", sorted({*paydouble.__all__, *testing.__all__}))
def test_a_public_name_is_on_the_page(name: str) -> None:
    """As code, and it can be had from where it is said to be."""
    module = paydouble if name in paydouble.__all__ else testing

    assert getattr(module, name).__name__ == name
    assert re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", PAGE), name


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_each_of_its_members_is_on_the_page(kind: type) -> None:
    """Methods and properties of what a test holds."""
    names = [name for name in dir(kind) if not name.startswith("_")]

    assert [name for name in names if not re.search(rf"[`.,\s]{name}\b", PAGE)] == []


class _Shop:
    """The code under test that the page's example speaks of: it asks again with the same key."""

    def pay(self, base_url: str, auth: Credentials) -> None:
        """Create a deposit, whatever happens to the reply."""
        headers = {"Authorization": auth.header, "Content-Type": "application/json", "Idempotency-Key": key(1)}
        url = f"{base_url}/pay-in/deposit-creation"
        request = urllib.request.Request(url, json.dumps(deposit_body()).encode(), headers)  # noqa: S310 - our own server
        try:
            urllib.request.urlopen(request)  # noqa: S310 - as above
        except OSError:
            urllib.request.urlopen(request).close()  # noqa: S310 - as above


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_does_what_it_says(number: int) -> None:
    """Each block of Python on the page runs, and what it asserts holds."""
    exec(compile(EXAMPLES[number], f"example {number + 1} of python.md", "exec"), {"shop": _Shop()})  # noqa: S102 - it is ours


def test_options_and_fixtures_of_the_plugin_are_on_the_page() -> None:
    """What a test run can be told, and what a test can ask for."""
    source = Path(testing.__file__).with_name("plugin.py").read_text("utf-8")
    options = re.findall(r'^    \("(\w+)", "', source, re.MULTILINE)
    fixtures = re.findall(r"@pytest.fixture.*\ndef (\w+)\(", source)

    assert (options, fixtures) == (
        ["url", "token", "seed"],
        ["paydouble_server", "paydouble", "webhook_receiver"],
    )
    assert [each for each in options if f"`--paydouble-{each}` | `paydouble_{each}`" not in PAGE] == []
    assert [each for each in fixtures if f"| `{each}` |" not in PAGE] == []
