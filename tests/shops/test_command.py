"""The tables of mistakes, against the code that they switch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command import SHOPS, mistakes

HERE = Path(__file__).parent


@pytest.mark.parametrize("shop", SHOPS)
def test_each_mistake_is_in_the_code(shop: str) -> None:
    """A shop asks for the mistakes of its table, and for no others."""

    code = "".join(path.read_text() for path in (HERE / f"{shop}shop").glob("*.py") if path.stem != "mistakes")
    asked = set(re.findall(r'"(\w+)" (?:not )?in (?:self\.|views\.)?bugs', code))

    assert set(mistakes(shop)) == asked
    assert len(asked) >= 16
