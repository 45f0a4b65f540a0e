"""The shop in Node: its own test runner, Express, and the `stripe` package as the judge of our signatures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import npm
import pytest
from guide_copies import GUIDES, Guide

from paydouble.testing import Paydouble

pytestmark = pytest.mark.timeout(360)  # the first time its packages have to be fetched
MISTAKES = {
    "one broken answer makes one deposit": (
        "{ ...request, redirect",
        '{ ...request, headers: { ...request.headers, "Idempotency-Key": randomUUID() }, redirect',
    ),
    "the bytes are verified as they came": (
        "const app = express();",
        "const app = express(); app.use(express.json()); // the best known mistake with this package",
    ),
    "a forged webhook changes nothing": (
        "Stripe.webhooks.constructEvent(request.body, header, service.webhookSecret)",
        "JSON.parse(request.body)",
    ),
}


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """Install what the guide's lock names."""
    folder = GUIDES / "node-shop"
    texts = [(folder / name).read_text("utf-8") for name in ("package.json", "package-lock.json")]
    return npm.install("node-shop", *texts) / "node_modules"


@pytest.fixture
def shop(guide: Callable[[str], Guide], node_modules: Path) -> Guide:
    """Give a copy of the guide that finds its packages."""
    copy = guide("node-shop")
    (copy.folder / "node_modules").symlink_to(node_modules)
    return copy


@pytest.fixture(scope="module")
def server() -> Iterator[Paydouble]:
    """Give what `paydouble serve` would be."""
    with Paydouble.start() as running:
        yield running


def _run(shop: Guide, server: Paydouble) -> tuple[str, set[str], int]:
    """Return the report, which tests have failed, and how many have passed."""
    done = shop.run(["node", "--test", "--test-reporter=tap"], PAYDOUBLE_URL=server.url)
    failed = set(re.findall(r"^not ok \d+ - ([^:\n]+)", done.stdout, re.MULTILINE))
    passed = re.findall(r"^ok \d+ - ", done.stdout, re.MULTILINE)
    return done.stdout + done.stderr, failed, len(passed)


def test_a_right_shop_passes(shop: Guide, server: Paydouble) -> None:
    """Over HTTP alone."""
    report, failed, passed = _run(shop, server)

    assert (failed, passed) == (set(), 19), report


@pytest.mark.parametrize("found_by", MISTAKES)
def test_a_wrong_shop_fails(shop: Guide, server: Paydouble, found_by: str) -> None:
    """One realistic change, and the test that is there for it is red."""
    shop.change("shop.js", *MISTAKES[found_by])

    report, failed, _ = _run(shop, server)

    assert found_by in failed, report
