"""Every guide runs as it stands, and its tests fail when the shop is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
from guide_copies import Guide

from paydouble.testing import Paydouble

Copy = Callable[[str], Guide]
PLUGINS = {
    "aiohttp-shop": ("asyncio", "aiohttp"),
    "property": ("hypothesispytest",),
}
# How many tests there are.
SHOPS = {"aiohttp-shop": 22, "flask-shop": 22, "fastapi-shop": 15, "property": 5}


class Mistake(NamedTuple):
    """One change of a right shop, and the test that must find it."""

    guide: str
    found_by: str
    file: str
    old: str
    new: str


NEW_KEY = 'str(__import__("uuid").uuid4())'
MISTAKES = [
    Mistake(
        "aiohttp-shop", "test_one_broken_answer_makes_one_deposit", "shop.py", "(body, order.key)", f"(body, {NEW_KEY})"
    ),
    Mistake("aiohttp-shop", "test_webhooks_may_come_in_any_way", "orders.py", " or order.status not in PROGRESS", ""),
    Mistake("aiohttp-shop", "test_a_forged_webhook_changes_nothing", "shop.py", "if refused is not None:", "if False:"),
    Mistake("flask-shop", "test_a_double_click_charges_once", "shop.py", "(body, order.key)", f"(body, {NEW_KEY})"),
    Mistake("flask-shop", "test_an_outage_is_survived", "shop.py", "self.sleep(2.0 ** (attempt - 1))", "pass"),
    Mistake(
        "flask-shop",
        "test_a_paid_order_is_shipped",
        "shop.py",
        "request.get_data()",
        "orjson.dumps(request.get_json())",
    ),
    Mistake(
        "fastapi-shop",
        "test_a_refusal_is_not_repeated",
        "shop.py",
        "if response.is_client",
        "if 0 and response.is_client",
    ),
    Mistake(
        "fastapi-shop",
        "test_a_strange_webhook_is_no_server_error",
        "shop.py",
        "except (ValueError, LookupError, TypeError, AttributeError):",
        "except OSError:",
    ),
    Mistake(
        "property",
        "test_the_customer_pays_what_the_basket_costs",
        "shop.py",
        "sum(prices, Decimal(0))",
        "Decimal(str(sum(map(float, prices))))",
    ),
    Mistake("property", "test_an_order_is_charged_once", "shop.py", "order.key}", f"{NEW_KEY}}}"),
]
LONG = {"sum(prices, Decimal(0))", "order.key}"}
"""What it takes a property test to find; a right shop passes all of it."""


def test_the_first_bug_is_found_and_mended(guide: Copy) -> None:
    """The sample shop fails two of three tests, with what happened in the report, and the mended one none."""
    first = guide("first-bug")

    broken = first.pytest()
    first.mend()
    mended = first.pytest()

    assert broken.counts == {"failed": 2, "passed": 1}, broken.text
    assert "FAILED test_shop.py::test_a_lost_reply_does_not_charge_twice" in broken.text
    assert "FAILED test_shop.py::test_a_webhook_that_comes_twice_ships_once" in broken.text
    assert broken.text.count("paydouble timeline") == 2
    assert mended.counts == {"passed": 3}, mended.text


def test_mocks_are_content_with_what_the_double_finds(guide: Copy) -> None:
    """The mocks pass the broken shop; the double fails it, and passes the mended one."""
    migration = guide("from-mocks")

    mocked, doubled = migration.pytest("test_before.py"), migration.pytest("test_after.py")
    migration.mend()
    mended = migration.pytest("test_after.py")

    assert mocked.counts == {"passed": 3}, mocked.text
    assert doubled.counts == {"failed": 2, "passed": 1}, doubled.text
    assert mended.counts == {"passed": 3}, mended.text


@pytest.mark.parametrize("name", SHOPS)
def test_a_right_shop_passes(guide: Copy, name: str) -> None:
    """With every warning an error."""
    run = guide(name).pytest(plugins=PLUGINS.get(name, ()))

    assert run.counts == {"passed": SHOPS[name]}, run.text


@pytest.mark.parametrize(
    "mistake",
    [pytest.param(each, marks=[pytest.mark.long] if each.old in LONG else []) for each in MISTAKES],
    ids=lambda mistake: f"{mistake.guide}: {mistake.old}",
)
def test_a_wrong_shop_fails(guide: Copy, mistake: Mistake) -> None:
    """One realistic change, and the test that is there for it is red."""
    shop = guide(mistake.guide)
    shop.change(mistake.file, mistake.old, mistake.new)

    plugins = PLUGINS.get(mistake.guide, ())
    run = shop.pytest("-k", mistake.found_by, "--maxfail=1", plugins=plugins)

    assert run.counts.get("failed") == 1, run.text


def test_parallel_tests_do_not_meet(guide: Copy) -> None:
    """On servers of their own, and on one that all share."""
    parallel = guide("parallel")

    own = parallel.pytest("-n2", plugins=("xdist",))
    with Paydouble.start() as server:
        shared = parallel.pytest("-n2", f"--paydouble-url={server.url}", plugins=("xdist",))
        left = [each.id for each in server.sandboxes()]

    assert own.counts == {"passed": 20}, own.text
    assert shared.counts == {"passed": 20}, shared.text
    assert left == ["default"]
