"""The examples of the OpenAPI document are complete; what they show is checked with the document."""

from __future__ import annotations

from paydouble.api.operations import OPERATIONS
from paydouble.core.errors import STATUS
from paydouble.openapi.examples import example_name, examples
from paydouble.payments.events import EVENT_TYPES


def test_every_operation_is_called() -> None:
    """An operation without a call in `openapi/examples.py` would leave the document without an example."""
    made = examples()

    assert set(made.answers) == {each.name for each in OPERATIONS}
    assert set(made.requests) == {each.name for each in OPERATIONS if each.payload is not None}
    assert set(made.ids) == {each.name for each in OPERATIONS if "{id}" in each.path}


def test_every_error_is_shown_in_both_envelopes() -> None:
    """A code that `openapi/examples.py` does not provoke would have no example."""
    assert set(examples().errors) == {example_name(code, envelope) for code in STATUS for envelope in "AB"}


def test_every_event_is_shown() -> None:
    """With its signature."""
    made = examples()

    assert set(made.events) == set(made.signatures) == set(EVENT_TYPES)
    assert [body["type"] for body in made.events.values()] == list(made.events)
