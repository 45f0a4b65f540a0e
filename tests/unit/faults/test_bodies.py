"""Changes to an event's bytes: they keep the digits of numbers, and leave a body that is not JSON as it is."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.core import json_text
from paydouble.faults import bodies
from paydouble.faults.webhook_effects import Formatting, Payload

FORMATS = get_args(Formatting.model_fields["mode"].annotation)
PAYLOADS = get_args(Payload.model_fields["mode"].annotation)
EVENT = b'{"id":"evt_1","type":"pay-in.created","data":{"object":{"amount":49.90,"at":"a/b"},"previous_attributes":{}}}'

texts = st.text(st.characters(exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.decimals(-1000, 1000, places=2).map(float) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(document=st.dictionaries(texts, json_values, max_size=5), mode=st.sampled_from(FORMATS))
def test_every_formatting_of_any_object_is_the_same_json(document: dict[str, Any], mode: str) -> None:
    """After one or two changes of spelling it parses to the same value, to the digit."""
    body = json_text.dumps(document)

    once = bodies.formatting(body, mode)
    twice = bodies.formatting(once, mode)

    expected = json_text.canonical(json_text.loads(body))
    assert [json_text.canonical(json_text.loads(each)) for each in (once, twice)] == [expected, expected]


@given(document=st.dictionaries(texts, json_values, max_size=5))
def test_escaping_everything_leaves_ascii_that_reads_the_same(document: dict[str, Any]) -> None:
    """Any text, also beyond the basic plane, is preserved by escapes."""
    escaped = bodies.payload(json_text.dumps(document), "escaped")

    assert escaped.isascii()
    assert json.loads(escaped) == document


@given(body=st.binary(max_size=80), mode=st.sampled_from(PAYLOADS))
def test_no_payload_mode_fails_on_any_bytes(body: bytes, mode: str) -> None:
    """Whatever another fault has left of the body, there is something to send."""
    if mode in {"empty", "truncated", "invalid_json"}:
        assert len(bodies.payload(body, mode)) <= len(body) + 2
    elif not body.lstrip().startswith(b"{"):
        assert isinstance(bodies.payload(_no_json(body), mode), bytes)


def _no_json(body: bytes) -> bytes:
    return b"!" + body


@pytest.mark.parametrize("mode", FORMATS)
def test_a_formatting_leaves_what_is_no_json(mode: str) -> None:
    """Half an event stays half an event."""
    assert bodies.formatting(EVENT[:20], mode) == EVENT[:20]


@pytest.mark.parametrize("broken", [b"", EVENT[:20], b"\xff"])
def test_a_member_cannot_be_set_in_what_is_no_json(broken: bytes) -> None:
    """The body stays as it is."""
    assert bodies.set_path(broken, "a.b", 1) == broken
    assert bodies.payload(broken, "escaped") == broken


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("type", "x", b'"type":"x"'),
        ("data.object.amount", 1, b'"amount":1,'),
        ("data.object.amount", json_text.Number("1.50"), b'"amount":1.50,'),
        ("data.new.deep", [None], b'"new":{"deep":[null]}'),
        ("id.part", True, b'"id":{"part":true}'),
    ],
)
def test_a_member_is_set_at_its_path(path: str, value: object, expected: bytes) -> None:
    """Missing objects on the path are created, a plain value there is replaced, and other numbers keep their digits."""
    changed = bodies.set_path(EVENT, path, value)

    assert expected in changed
    assert path == "data.object.amount" or b"49.90" in changed


def test_only_the_first_id_is_exchanged() -> None:
    """The event's own id comes first; the same text elsewhere stays."""
    body = b'{"id":"evt_1","note":"evt_1"}'

    assert bodies.with_new_id(body, "evt_1", "evt_2") == b'{"id":"evt_2","note":"evt_1"}'


def test_slashes_are_escaped_once() -> None:
    """A slash that is escaped already is not escaped again."""
    body = b'{"a":"/","b":"\\\\/"}'

    once = bodies.formatting(body, "escaped_slashes")

    assert once == b'{"a":"\\/","b":"\\\\/"}'
    assert bodies.formatting(once, "escaped_slashes") == once
    assert json.loads(once) == json.loads(body)
