"""The page of plays has the whole vocabulary."""

from __future__ import annotations

from pathlib import Path

from paydouble.stateful.coverage import VOCABULARY
from paydouble.stateful.prices import MOST_THAT_IS_SOLD, PRICES

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "reference" / "plays.md"


def test_each_name_of_a_trouble_is_on_the_page() -> None:
    """A table that is new in the vocabulary needs a section in `tools/reference_plays.py`."""
    page = PAGE.read_text()

    assert [(table, name) for table, names in VOCABULARY.items() for name in names if f"`{name}`" not in page] == []


def test_the_prices_of_orders_are_on_the_page_for_adapters() -> None:
    """Also from which one on an order may be declined for its price alone."""
    page = (DOCS / "how-to" / "prepare-a-shop.md").read_text()

    assert [price for price in PRICES if " ".join(price) not in page] == []
    assert f"more than {MOST_THAT_IS_SOLD / 100:.2f} raises `Refused`" in page
