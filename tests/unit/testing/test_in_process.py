"""Control calls in this process leave JSON text out, with the same results."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from orjson import Fragment

from paydouble import Sandbox
from paydouble.core import json_text
from paydouble.core.documents import read_json
from paydouble.testing.calls import encode
from paydouble.testing.in_process import NotPlain, _Shell, as_read, finished, plain
from paydouble.web.control.app import DEEPEST, MOST_VALUES, _parsed

TEXT = st.text("aé\ud800", max_size=2)
LEAVES = st.none() | st.booleans() | st.integers(-(2**64), 2**64) | TEXT | st.sampled_from([1.5, Decimal("2.50")])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
READABLE = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.text("aé", max_size=2)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([Fragment("49.90"), Fragment("7"), json_text.Number("1.50")])
)
DOCUMENTS = st.recursive(
    READABLE,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(st.text("aé"), inner, max_size=3),
    max_leaves=6,
)


@given(body=st.dictionaries(TEXT, VALUES, max_size=3))
def test_a_body_without_text_is_as_the_text_is_read(body: dict[str, Any]) -> None:
    """Whatever may be passed without JSON text is a copy of what the control API would read from it."""
    try:
        passed = plain(body)
    except NotPlain:
        return

    assert repr(passed) == repr(_parsed("application/json", encode(body)))
    assert passed is not body


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        Decimal("1.5"),
        datetime(2026, 1, 1, tzinfo=UTC),
        2**63,
        "é",
        "\ud800",
        {"é": 1},
        {1: 1},
        [[[[]]]],
        [0] * 37,
    ],
    ids=["float", "Decimal", "time", "large", "letter", "half a letter", "name", "number as name", "deep", "long"],
)
def test_a_body_that_the_text_could_change_or_refuse_needs_it(value: object) -> None:
    """Numbers with a fraction, times, other characters, and what is deep or long."""
    with pytest.raises(NotPlain):
        plain({"x": value})


def test_no_body_without_text_is_larger_than_the_control_api_takes() -> None:
    """The largest and deepest that is passed without text is not refused with text."""
    body = {f"m{i}": {f"n{j}": [0] * 36 for j in range(36)} for i in range(36)}

    assert plain(body) == body
    assert _parsed("application/json", encode(body)) == body
    assert (MOST_VALUES, DEEPEST) >= (36**3 + 36**2 + 36 + 1, 3)


@given(document=st.dictionaries(st.text("aé"), DOCUMENTS, max_size=3))
@example(document={"rate": 1.0, "large": 1e22, "small": 1e-9})
@example(document={"amounts": [Fragment("49.90")], "of": (1, "é")})
def test_an_answer_without_text_is_as_the_text_is_read(document: dict[str, Any]) -> None:
    """With the same exact numbers, and in new lists and objects."""
    read = as_read(document)

    assert repr(read) == repr(read_json(json_text.dumps(document)))
    assert read is not document


def test_a_wait_delivers_what_became_due_while_it_looked() -> None:
    """A look lets the timers of a real clock fire; what they send is delivered before the wait gives up."""
    box = Sandbox(receiver=lambda _: 200)
    looks: list[str] = []

    def holds() -> bool:
        if not looks:
            box.core.sandbox.send_test_webhook("pay-in.succeeded")
        looks.append("look")
        return [each.status for each in box.core.sandbox.outbox.deliveries.values()] == ["delivered"]

    waiting = _Shell(box.core).until(box.core.sandbox, holds, 0.0)

    assert (finished(waiting), len(looks)) == (True, 2)
