"""Untrusted text made safe to print."""

from __future__ import annotations

import json
import unicodedata

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.core.printable import printable, printable_json

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("order-1", "order-1"),
        ("Ünïcode 李 👩‍💻 \xa0 a\\b", "Ünïcode 李 👩‍💻 \xa0 a\\b"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x1b[31mred\x07\x00\x7f", "\\x1b[31mred\\x07\\x00\\x7f"),
        ("\x9b31m\x85", "\\x9b31m\\x85"),
        ("\u202eexe.\u2066", "\\u202eexe.\\u2066"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("\ud800\udcff", "\\ud800\\udcff"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    """Letters of every script stay; control characters become escapes."""
    assert printable(text) == shown


@given(st.text(st.characters(categories=["Cc", "Cs", "Zl", "Zp", "L"]) | st.sampled_from(BIDI)))
def test_no_control_is_left(text: str) -> None:
    """No character of C0, C1, the line separators, the bidirectional controls or the surrogates is left."""
    shown = printable(text)

    assert not {unicodedata.category(each) for each in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert not set(shown) & set(BIDI)


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(BIDI)), st.booleans())
def test_json_means_the_same(text: str, ascii_only: bool) -> None:
    """The escaped JSON of any serialiser has the same value."""
    safe = printable_json(orjson.dumps({"a": text}).decode(), ascii_only=ascii_only)

    assert json.loads(safe) == {"a": text}
    assert printable(safe) == safe
    assert safe.isascii() or not ascii_only


def test_json_keeps_its_lines() -> None:
    """An indented document stays indented."""
    assert printable_json('{\n  "a": "\x9b"\n}') == '{\n  "a": "\\u009b"\n}'
