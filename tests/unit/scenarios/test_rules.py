"""What is wrong with a scenario as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from paydouble.core.errors import UsageError
from paydouble.scenarios.reading import parse_scenario
from paydouble.scenarios.rules import check_scenario

PAID = [{"after": "1s", "to": status} for status in ("pending", "processing", "succeeded")]
DISPUTED = [*PAID, {"after": "30d", "dispute": {}}]


def _diagnostics(**members: Any) -> dict[str, str]:  # noqa: ANN401 - members of a file
    """Return the messages by member."""
    data = {"name": "mine", "summary": "x", "expect": [], **members}
    return {each.member: each.message for each in check_scenario(parse_scenario(data))}


def _to(status: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - members of a step
    return {"after": "1s", "to": status, **more}


@pytest.mark.parametrize(
    "script",
    [
        [],
        PAID,
        DISPUTED,
        [*DISPUTED, {"after": "1d", "refund": {}}, {"after": "1d", "dispute": {}}],
        [_to("cancelled"), _to("succeeded", force=True)],
        [{"when": {"refund": "none"}, "then": [_to("pending")], "else": [_to("failed")]}, _to("processing")],
        [{"repeat": 3, "steps": [_to("pending", force=True)]}],
        [{"repeat": 2, "steps": [_to("pending"), _to("created", force=True)]}],
        [{"repeat": 1, "steps": [_to("pending")]}],
    ],
)
def test_a_script_that_can_be_played_is_right(script: list[Any]) -> None:
    """Each step is possible in at least one state, on at least one side of a branch."""
    assert _diagnostics(lifecycle={"pay_in": script}) == {}


@pytest.mark.parametrize(
    ("script", "place", "message"),
    [
        ([_to("succeeded")], "0.to", "a pay-in that is created cannot become succeeded"),
        ([*PAID, _to("failed")], "3.to", "a pay-in that is succeeded cannot become failed"),
        ([{"after": "1s", "dispute": {}}], "0.dispute", "there can be no dispute of a pay-in that is created"),
        (
            [_to("failed"), {"after": "1s", "refund": {}}],
            "1.refund",
            "there can be no refund of a pay-in that is failed",
        ),
        (
            [{"repeat": 2, "steps": [_to("pending")]}],
            "0.steps.0.to",
            "a pay-in that is pending cannot become pending",
        ),
        (
            [{"when": {"refund": "none"}, "then": [_to("pending")], "else": [_to("failed")]}, _to("succeeded")],
            "1.to",
            "a pay-in that is failed or pending cannot become succeeded",
        ),
        (
            [{"when": {"refund": "none"}, "then": [_to("pending")], "else": [_to("processing")]}],
            "0.else.0.to",
            "a pay-in that is created cannot become processing",
        ),
        ([{"when": {"refund": "none"}}], "0.when", "this branch does nothing"),
    ],
)
def test_a_step_that_can_never_be_taken_is_found(script: list[Any], place: str, message: str) -> None:
    """It is reported at its place, and the steps after it are checked as if it had happened."""
    assert _diagnostics(lifecycle={"pay_in": script}) == {f"lifecycle.pay_in.{place}": message}


def test_each_script_has_its_own_table() -> None:
    """Refunds and disputes have their own transitions."""
    found = _diagnostics(
        lifecycle={"refund": [_to("succeeded")], "dispute": [_to("under_review"), _to("needs_response"), _to("won")]}
    )

    assert found == {
        "lifecycle.refund.0.to": "a refund that is created cannot become succeeded",
        "lifecycle.dispute.1.to": "a dispute that is under_review cannot become needs_response",
    }


@pytest.mark.parametrize(
    "members",
    [
        {"expect": ["pay-in.created", "pay-in.cancelled"]},
        {"lifecycle": {"pay_in": PAID}, "expect": ["pay-in.pending", "pay-in.succeeded"]},
        {"merchant": [{"after": "1s", "refund": {}}], "expect": ["refund.created", "refund.succeeded"]},
        {
            "lifecycle": {"pay_in": [*PAID, {"after": "1s", "refund": {}}], "refund": [_to("failed")]},
            "expect": ["refund.failed"],
        },
        {"lifecycle": {"pay_in": DISPUTED}, "expect": ["dispute.created", "dispute.closed"]},
        {
            "lifecycle": {"pay_in": DISPUTED},
            "merchant": [{"after": "1s", "evidence": {"note": "x"}}],
            "expect": ["dispute.updated"],
        },
        {
            "lifecycle": {"pay_in": DISPUTED, "dispute": [_to("needs_response")]},
            "merchant": [{"after": "1s", "accept": True}],
            "expect": ["dispute.updated", "dispute.closed"],
        },
        {"cases": [{"name": "a", "merchant": [{"after": "1s", "refund": {}}], "expect": ["refund.created"]}]},
    ],
)
def test_an_event_that_can_come_may_be_expected(members: dict[str, Any]) -> None:
    """It may come from the script, from the merchant's actions, or without either."""
    assert _diagnostics(**members) == {}


@pytest.mark.parametrize(
    ("members", "place"),
    [
        ({"expect": ["pay-in.created", "pay-in.failed"]}, "expect.1"),
        ({"expect": ["refund.created"]}, "expect.0"),
        ({"expect": [{"event": "dispute.created", "object": {"amount": 1}}]}, "expect.0.event"),
        ({"lifecycle": {"pay_in": DISPUTED}, "expect": ["dispute.updated"]}, "expect.0"),
        (
            {"lifecycle": {"pay_in": DISPUTED, "dispute": [_to("under_review")]}, "expect": ["dispute.closed"]},
            "expect.0",
        ),
        ({"lifecycle": {"pay_in": DISPUTED, "dispute": [_to("lost")]}, "expect": ["dispute.updated"]}, "expect.0"),
        (
            {"lifecycle": {"refund": []}, "merchant": [{"after": "1s", "refund": {}}], "expect": ["refund.failed"]},
            "expect.0",
        ),
        ({"cases": [{"name": "a", "expect": ["refund.created"]}]}, "cases.0.expect.0"),
    ],
)
def test_an_event_that_never_comes_is_found(members: dict[str, Any], place: str) -> None:
    """The check covers the scenario's `expect` and those of its cases."""
    found = _diagnostics(**members)

    assert list(found) == [place]
    assert found[place].endswith(" never comes here")


def test_a_scenario_without_expected_events_is_a_warning() -> None:
    """A missing `expect` is a warning; an empty list or cases are not."""
    scenario = parse_scenario({"name": "mine", "summary": "x"})

    assert [(each.member, each.warning) for each in check_scenario(scenario)] == [("expect", True)]
    assert _diagnostics(expect=[]) == {}


@pytest.mark.parametrize(
    ("members", "place", "message"),
    [
        (
            {"deposit": {"currency": "JPY"}},
            "deposit.amount",
            "the default amount 49.90 does not fit",
        ),
        ({"deposit": {"amount": 0}}, "deposit.amount", "the amount 0 cannot be paid"),
        ({"deposit": {"currency": "XXX"}}, "deposit.currency", "XXX is not a currency in circulation"),
        (
            {
                "deposit": {"currency": "JPY", "amount": 5},
                "merchant": [{"after": "1s", "deposit": {"currency": "EUR"}}],
            },
            "",
            "",
        ),
        (
            {
                "deposit": {"currency": "JPY", "amount": 5},
                "merchant": [{"after": "1s", "deposit": {"currency": "XXX"}}],
            },
            "merchant.0.deposit.currency",
            "XXX is not a currency in circulation",
        ),
        (
            {"cases": [{"name": "a", "expect": [], "deposit": {"amount": -1}}]},
            "cases.0.deposit.amount",
            "the amount -1 cannot be paid",
        ),
        ({"deposit": {"currency": "XXX"}, "answers": ["lost", 422]}, "", ""),
        (
            {"deposit": {"amount": 0}, "cases": [{"name": "a", "expect": []}]},
            "deposit.amount",
            "the amount 0 cannot be paid",
        ),
    ],
)
def test_an_amount_must_fit_its_currency(members: dict[str, Any], place: str, message: str) -> None:
    """It need not when the scenario expects the API to refuse it."""
    found = _diagnostics(**members)

    assert list(found) == ([place] if place else [])
    assert found.get(place, "").startswith(message)


def test_a_dispute_that_never_arrives_cannot_be_answered() -> None:
    """`evidence` and `accept` need a dispute."""
    merchant = [{"after": "1s", "evidence": {"note": "x"}}, {"after": "1s", "accept": True}]

    assert _diagnostics(merchant=merchant) == {
        "merchant.0.evidence": "there is never a dispute here",
        "merchant.1.accept": "there is never a dispute here",
    }
    assert _diagnostics(lifecycle={"pay_in": DISPUTED}, merchant=merchant) == {}


def test_cases_have_names_of_their_own() -> None:
    """Two cases cannot have the same name."""
    cases: list[Any] = [{"name": name, "expect": []} for name in ("a", "b", "a")]

    assert _diagnostics(cases=cases) == {"cases.2.name": "another case is called 'a' already"}


def test_of_a_branch_only_the_longer_side_counts() -> None:
    """A script may have a thousand steps with its repetitions written out, and the branch is one of them."""

    def script(rounds: int) -> list[dict[str, Any]]:
        side = [{"repeat": rounds, "steps": [{"after": "1s", "to": "pending", "force": True}]}]
        return [{"when": {"refund": "none"}, "then": side, "else": side}]

    parse_scenario({"name": "mine", "summary": "x", "lifecycle": {"pay_in": script(999)}})
    with pytest.raises(UsageError, match="pay_in has more than 1000 steps"):
        parse_scenario({"name": "mine", "summary": "x", "lifecycle": {"pay_in": script(1_000)}})
