"""`paydouble demo`: the timeline, its checks, and its exit status."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner, Result

from paydouble import testing
from paydouble.cli.demo import demo
from paydouble.cli.terminal import Terminal
from paydouble.core.errors import ApiError, UsageError
from paydouble.scenarios.library import Library, shipped
from paydouble.testing import WebhookReceiver


def _run(*arguments: str, charset: str = "utf-8") -> Result:
    return CliRunner(charset=charset).invoke(demo, arguments, standalone_mode=False)


def _without_real_time(output: str) -> str:
    return re.sub(r"in \d+\.\d\d s of real time", "in … s of real time", output)


@pytest.fixture
def receiver_made(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], WebhookReceiver]], None]:
    """Give a way to put another receiver on the stage."""

    def replace(make: Callable[[], WebhookReceiver]) -> None:
        monkeypatch.setattr(testing, "WebhookReceiver", make)

    return replace


def test_all_comes_out_right() -> None:
    """Each of five acts has its verdict, and the last line says how long it took."""
    result = _run()

    assert result.return_value == 0, result.output
    assert len(re.findall(r"^  ✓ .*all verified", result.output, re.MULTILINE)) == 5
    assert re.search(r"^✓ All 5 acts came out right: 36d14h36m18s passed in", result.output, re.MULTILINE)


def test_the_outage_shows_the_contracts_retry_schedule() -> None:
    """Seven refused attempts share a row, and the eighth gets through at its own instant."""
    act = _run().output.partition("5. ")[2]
    rows = [" ".join(row.split()) for row in act.splitlines()]

    assert "+0s → merchant pay-in.created 49.90 EUR ✗ refused, attempts 1–7" in rows
    assert "+0s +1m +6m +36m +2h36m +10h36m +34h36m after the event" in rows
    assert "+50h merchant the receiver is up again" in rows
    assert "+58h36m6s → merchant pay-in.succeeded 49.90 EUR ✓ 200, attempt 8" in rows
    assert sum("after the event" in row for row in rows) == 1


def test_two_runs_are_the_same_but_for_the_real_time() -> None:
    """Each run shows what the documentation shows."""
    first, second = _run("--seed", "7"), _run("--seed", "7")

    assert _without_real_time(first.output) == _without_real_time(second.output)


@pytest.mark.parametrize("charset", ["utf-8", "ascii"])
def test_it_fits_in_80_columns(charset: str) -> None:
    """Also with words in place of signs."""
    result = _run(charset=charset)

    assert result.return_value == 0, result.output
    assert [row for row in result.output.splitlines() if len(row) > 80] == []


def test_words_stand_in_for_signs_that_cannot_be_printed() -> None:
    """An ASCII terminal gets ASCII."""
    result = _run(charset="ascii")

    assert result.output.isascii()
    assert "ok All 5 acts came out right" in result.output


def test_a_wrong_secret_is_exit_status_1(receiver_made: Callable[[Callable[[], WebhookReceiver]], None]) -> None:
    """A merchant with another secret gets nothing, and each act says so with the cause."""
    receiver_made(lambda: WebhookReceiver("whsec_other"))

    result = _run()

    assert result.return_value == 1
    assert "✗ 401, attempts 1–8" in result.output
    assert "✗ signatures: 32 of 32 did not verify (wrong-secret)" in result.output
    assert "✗ 5 of 5 acts went wrong" in result.output
    assert [row for row in result.output.splitlines() if len(row) > 80] == []


def test_one_lost_answer_spoils_its_act_alone(
    receiver_made: Callable[[Callable[[], WebhookReceiver]], None],
) -> None:
    """A first event that needs a second attempt comes too late for the first act, and the others stay right."""
    receiver_made(lambda: WebhookReceiver(answers=[500]))

    result = _run()

    first, _, rest = result.output.partition("2. ")
    assert result.return_value == 1
    assert "✗ attempts of pay-in.created 49.90 EUR: expected +0s, got +0s +1m" in first
    assert "✗ the receiver did not accept exactly the bodies of the events, in their" in first
    assert "✗ 1 of 5 acts went wrong" in rest


def test_an_outcome_other_than_promised_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deposits that fail make the demo fail."""
    monkeypatch.setattr(Library, "get", lambda _, name: shipped("card-declined" if name == "happy-path" else name))

    result = _run()

    assert result.return_value == 1
    assert "✗ expect: number 4 is expected to be pay-in.succeeded; the receiver got pay-in.failed" in " ".join(
        result.output.split()
    )


def test_a_refused_call_is_shown_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback: the act says which call was refused and why."""

    def refuse(*_: Any, **__: Any) -> None:  # noqa: ANN401 - whatever it is called with
        raise ApiError("VALIDATION_ERROR", "No deposits today.")

    monkeypatch.setattr("paydouble.sandbox.Sandbox.create_pay_in", refuse)

    result = _run()

    assert result.return_value == 1
    assert "because the merchant's deposit-creation was answered 422: No deposits today." in result.output


def test_an_event_that_is_never_sent_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events without a target make the demo fail."""
    nowhere = property(lambda _: None, lambda *_: None)
    monkeypatch.setattr("paydouble.sandbox.publishing.Publisher.notification_url", nowhere)

    result = _run()

    assert result.return_value == 1
    assert "✗ expect: number 1, pay-in.created, is missing" in result.output
    assert "✗ the receiver did not accept exactly the bodies of the events, in their" in result.output


def test_a_server_that_refuses_a_control_call_ends_the_act_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other acts are played, and the demo says what went wrong."""

    def refuse(*_: Any) -> None:  # noqa: ANN401 - whatever it is called with
        raise UsageError("no time today")

    monkeypatch.setattr("paydouble.cli.stage.LiveStage.finish", refuse)

    result = _run()

    assert result.return_value == 1
    assert result.output.count("✗ the act broke off: no time today") == 5


class _Screen(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("no_color", "variable", "coloured"), [(False, "", True), (True, "", False), (False, "1", False)]
)
def test_colour_is_for_terminals_and_can_be_refused(
    monkeypatch: pytest.MonkeyPatch, no_color: bool, variable: str, coloured: bool
) -> None:
    """`--no-color` and a NO_COLOR that is not empty both refuse it."""
    monkeypatch.setenv("NO_COLOR", variable)

    terminal = Terminal(no_color=no_color, stream=_Screen())

    assert (terminal.green("right") != "right") is coloured


def test_a_stream_without_a_known_encoding_gets_words() -> None:
    """Signs are printed only where the encoding has them."""
    assert Terminal(stream=io.StringIO()).good == "ok"
