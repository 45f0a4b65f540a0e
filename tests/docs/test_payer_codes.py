"""The how-to names the failure codes of a declined payment that have messages of their own."""

from __future__ import annotations

from pathlib import Path

from paydouble.payments.declines import DECLINES

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "write-a-scenario.md"


def test_each_failure_code_is_documented() -> None:
    """No code is left out."""
    section = PAGE.read_text("utf-8").partition("## A payer who decides")[2].partition("\n## ")[0]

    assert [code for code in DECLINES if f"`{code}`" not in section] == []
