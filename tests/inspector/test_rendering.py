"""How values are written on pages."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.web.inspector.rendering import LONGEST_BODY, Body, as_sentence, hex_dump, indented, plain, render, until

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(JSON.filter(lambda value: isinstance(value, dict | list)))
def test_indentation_changes_no_value(value: object) -> None:
    """What is shown is the same JSON."""
    for separators in ((",", ":"), (" , ", " : ")):
        made = indented(json.dumps(value, separators=separators))
        assert made is not None
        assert json.loads(made) == value


def test_indentation_keeps_numbers_as_they_were_written() -> None:
    """A price stays `49.90`, and an exponent stays one."""
    assert indented('{"a":49.90,"b":[1E5,[],{}],"c":"x,{}"}') == (
        '{\n  "a": 49.90,\n  "b": [\n    1E5,\n    [],\n    {}\n  ],\n  "c": "x,{}"\n}'
    )


@pytest.mark.parametrize("text", ["", "nonsense", "12", '"text"', "{", "[" * 100_000, "[" * 200 + "]" * 200])
def test_what_is_no_json_object_is_not_indented(text: str) -> None:
    """Nor is what is nested too deeply."""
    assert indented(text) is None


def test_bytes_are_text_json_or_hex() -> None:
    """A body that is not UTF-8 shows its bytes."""
    assert (Body(b"hello\x1b[0m").kind, Body(b"hello\x1b[0m").text) == ("text", "hello\\x1b[0m")
    assert (Body(b'{"a":1}').kind, Body(b'{"a":1}').text) == ("json", '{\n  "a": 1\n}')
    assert Body(b"\xff\x00A").text == "00000000  ff 00 41                                         ..A"
    assert hex_dump(bytes(17)).count("\n") == 1


@pytest.mark.parametrize("content", [b"x" * 1_000_000, "ü".encode() * 500_000, b"\xff" * 1_000_000])
def test_large_bodies_are_cut(content: bytes) -> None:
    """A page stays small, and says that there is more."""
    body = Body(content)

    assert (body.cut, body.size) == (True, 1_000_000)
    assert len(body.text) <= LONGEST_BODY * 5


def test_names_are_one_short_line() -> None:
    """Line ends, controls and direction controls become escapes, and long names say how long they are."""
    assert plain("a\nb\u202ec") == "a\\nb\\u202ec"
    assert plain("x" * 1_000_000, 3) == "xxx… (1,000,000 characters)"


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (-5, "now"),
        (0, "now"),
        (1, "in 1 s"),
        (60_000, "in 1 min"),
        (61_000, "in 1 min 1 s"),
        (7_260_000, "in 2 h 1 min"),
        (3_601_000, "in 1 h"),
        (90_000_000, "in 1 d 1 h"),
    ],
)
def test_how_long_until_something_is_due(milliseconds: int, text: str) -> None:
    """Two units are enough."""
    assert until(milliseconds) == text


@pytest.mark.parametrize(
    ("text", "sentence"), [("", ""), ("it is late", "It is late."), ("v1 is cut", "v1 is cut."), ("Why?", "Why?")]
)
def test_messages_become_sentences(text: str, sentence: str) -> None:
    """The name of a part stays as it is written."""
    assert as_sentence(text) == sentence


def test_templates_escape_everything() -> None:
    """A value is never markup."""
    html = render(
        "refusal.html",
        {
            "title": "<b>",
            "text": "<script>alert(1)</script>",
            "login": '"><img onerror=x>',
            **dict.fromkeys(("static", "home", "docs", "logout", "version", "notice"), ""),
            "navigation": [],
        },
    )

    assert "<script>alert" not in html
    assert "<b>" not in html
    assert "<img" not in html
