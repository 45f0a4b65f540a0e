"""The machine on the shops of the guides: correct ones pass, and a wrong line is reported as the pages show."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from guide_copies import ROOT, Guide

pytestmark = pytest.mark.timeout(360)
HOW_TO = ROOT / "docs" / "how-to"
# The page that shows the report; the guide, the file and the line that is changed.
MISTAKES = {
    "prepare-a-shop": ("flask-machine", "adapter.py", "follows_time = True", "follows_time = False"),
    "machine-with-flask": (
        "flask-machine",
        "service.py",
        "except requests.RequestException:\n                continue",
        "except requests.RequestException:\n                raise Refused from None",
    ),
    "machine-with-fastapi": (
        "fastapi-machine",
        "shop.py",
        'if payment.status != "succeeded" and is_news(payment, data):',
        'if payment.status != data["status"]:',
    ),
    "machine-with-django": (
        "django-machine",
        "shop/payments.py",
        "create_deposit(payment.key, ",
        "create_deposit(str(uuid.uuid4()), ",
    ),
}

# The page of Flask stands for all three in `make test`.
_LONG = {"machine-with-fastapi", "machine-with-django"}


@pytest.mark.parametrize(
    ("name", "examples"),
    [
        ("machine", 100),
        ("flask-machine", 30),
        pytest.param("fastapi-machine", 30, marks=pytest.mark.long),
        pytest.param("django-machine", 30, marks=pytest.mark.long),
    ],
)
def test_a_correct_shop_passes(guide: Callable[[str], Guide], name: str, examples: int) -> None:
    """For a few seconds here, and a tenth of the examples; the whole catalogue takes minutes."""
    shop = guide(name)
    shop.change(
        "test_machine.py", "    merchant = ShopAdapter\n", "    merchant = ShopAdapter\n    catalogue_seconds = 3\n"
    )
    shop.change("test_machine.py", f"max_examples={examples}", f"max_examples={examples // 10}")

    run = shop.pytest(plugins=("hypothesispytest",))

    assert run.counts == {"passed": 1}, run.text


@pytest.mark.parametrize("framework", ["flask", "fastapi", "django"])
def test_a_page_shows_the_test_of_its_guide(framework: str) -> None:
    """With its settings."""
    page = (HOW_TO / f"machine-with-{framework}.md").read_text("utf-8")
    shown = [
        each for each in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL) if "TestShop" in each
    ]
    written = (ROOT / "guides" / f"{framework}-machine" / "test_machine.py").read_text("utf-8")

    assert len(shown) == 1
    assert written.endswith(shown[0])


@pytest.mark.parametrize(
    "page", [pytest.param(each, marks=[pytest.mark.long] if each in _LONG else []) for each in MISTAKES]
)
def test_a_wrong_line_is_reported_as_the_page_shows(guide: Callable[[str], Guide], page: str) -> None:
    """Line by line in this order; `…` stands for what the page leaves out, a part of a line or lines."""
    name, file, old, new = MISTAKES[page]
    [shown] = re.findall(r"^```text\n(.*?)^```$", (HOW_TO / f"{page}.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    shop = guide(name)
    shop.change(file, old, new)

    run = shop.pytest(plugins=("hypothesispytest",))

    assert run.counts == {"failed": 1}, run.text
    at = 0
    for line in shown.splitlines():
        for part in filter(None, line.split("…")):
            assert part in run.text[at:], run.text
            at = run.text.index(part, at) + len(part)
