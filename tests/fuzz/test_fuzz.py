"""Five thousand fuzzed requests; `python tools/nightly.py fuzz` sends a million."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from many_seeds import little_to_collect
from requestfuzz import business, sockets
from requestfuzz.answers import Violation, check_answer

from paydouble.api import envelopes
from paydouble.core.errors import UsageError
from paydouble.guards.idempotency import Keys
from paydouble.journal import Log
from paydouble.payments.ledger import Ledger
from paydouble.web import api

PARTS, SEEDS = 4, 5


@pytest.fixture(autouse=True)
def _little_to_collect() -> Iterator[None]:
    """Keep loaded modules out of the collections of a play."""
    with little_to_collect():
        yield


@pytest.mark.parametrize("part", range(PARTS))
def test_every_request_is_answered_as_the_contract_says(part: int) -> None:
    """Whatever is asked: no 5xx, one of the envelopes, and one entry in a journal that says the same."""
    for seed in range(part * SEEDS, (part + 1) * SEEDS):
        business.play(seed)


def test_bytes_that_are_nearly_http_are_answered_or_closed() -> None:
    """Over sockets nothing is logged as an error, every answer is whole, and the server stays well."""
    sockets.play(0)


def _first_violation() -> str:
    for seed in range(20):
        try:
            business.play(seed)
        except Violation as violation:
            return str(violation)
    return "nothing was found"


def test_a_forgotten_key_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """When no key is ever known, a repeated request gets another answer."""
    monkeypatch.setattr(Keys, "look_up", lambda *_: None)

    assert "a replay of" in _first_violation()


def test_a_wrong_envelope_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """When an envelope misses a member, the play says which it has."""
    spell = envelopes.spell
    monkeypatch.setattr(envelopes, "spell", lambda **given: spell(**given).replace(b'"request_id"', b'"id"'))

    assert "envelope" in _first_violation()


def test_a_request_that_is_not_recorded_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a journal loses an entry, the counts differ."""
    monkeypatch.setattr(Log, "add", lambda *_: None)

    assert "for one request" in _first_violation()


def test_an_exception_ends_the_play(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the double is passed on, whatever it is."""

    def fail(*_: object, **__: object) -> None:
        message = "broken"
        raise ZeroDivisionError(message)

    monkeypatch.setattr(Ledger, "create_pay_in", fail)

    with pytest.raises(ZeroDivisionError):
        business.play(0)


def test_an_error_that_a_server_logs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over sockets a bug is a 500 and a line in the log, and either ends the play."""

    def fail(*_: object, **__: object) -> None:
        raise UsageError("broken")

    monkeypatch.setattr(api, "origin_form", fail)

    with pytest.raises(Violation):
        sockets.play(0)


def test_a_status_of_no_contract_is_found() -> None:
    """Only the statuses of the contract are right."""
    with pytest.raises(Violation, match="500"):
        check_answer(500, b"{}", None)
