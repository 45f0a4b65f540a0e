"""The run of a play, told to the shop again and made shorter."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from small_shop import SmallShop

from paydouble.guards.credentials import basic_header
from paydouble.runfile.files import Run, pack, unpack
from paydouble.runfile.lines import RunFileError
from paydouble.runfile.redaction import redacted
from paydouble.runfile.replaying import replay
from paydouble.stateful import MerchantBug, Play, Webhook
from paydouble.stateful.held_to import FAMILIES
from paydouble.stateful.run_files import first_difference, shrunk, story_of, tell


class Believes(SmallShop):
    """Believes each webhook, with any signature."""

    def receive(self, webhook: Webhook) -> int:
        status = super().receive(webhook)
        if status in {400, 401}:
            return 200
        return status


def _run(shop: type[SmallShop], *calls: tuple[Any, ...]) -> Run:
    with pytest.raises(MerchantBug) as found, Play(shop) as play:
        for command, *arguments in calls:
            getattr(play, command)(*arguments)
    assert found.value.taped is not None
    return unpack(pack(found.value.taped.run()))


FORGED = ("inject", "wrong secret", 1)
LONG = (
    ("order", "49.90", "EUR"),
    ("pay", 1),
    ("wait", "10s"),
    ("order", "10.00", "EUR"),
    ("pay", 2),
    ("wait", "10s"),
    ("returns", 2),
    FORGED,
    ("wait", "10s"),
)


def _forged() -> Run:
    return _run(Believes, *LONG)


def test_the_run_of_a_play_is_replayed_without_the_shop() -> None:
    """It has the story, what the machine called, and the verdict."""
    run = _forged()
    notes = [line["note"] for line in run.lines if "note" in line]

    assert replay(run) is None
    assert run.end["rule"] == story_of(run).rule
    assert "The merchant" in run.end["verdict"]
    assert "order-1 is placed: 49.90 EUR" in notes
    assert "call of the shop: pay(order-1)" in notes


def test_a_story_that_fails_again() -> None:
    """The same shop does the same, even if it draws other keys."""
    run = _forged()
    told = tell(run, Believes)

    assert (told.verdict, told.difference) == ("FAILED", None)
    assert told.finding in run.end["verdict"]


def test_a_redacted_story_is_compared_without_personal_data() -> None:
    """What replaces a value depends on the order of the values, which is the same."""
    run = redacted(_forged())

    assert tell(run, Believes).difference is None
    assert tell(run, SmallShop).verdict == "FIXED"


def test_a_story_that_is_fixed() -> None:
    """The first difference is where the fix acts: after the trouble."""
    run = _forged()
    told = tell(run, SmallShop)

    assert (told.verdict, told.finding) == ("FIXED", "")
    assert told.difference is not None
    assert told.difference.line > len(run.lines) // 2


class Chatty(SmallShop):
    """Looks at a list before it asks for a payment."""

    def pay(self, order_id: str) -> None:
        header = basic_header(self.service.business_key, self.service.business_secret)
        self.service.call("GET", "/api/v1/pay-in?limit=1", {"Authorization": header})
        super().pay(order_id)


class Slower(SmallShop):
    """Answers 202 to its webhooks."""

    def receive(self, webhook: Webhook) -> int:
        status = super().receive(webhook)
        return 202 if status == 200 else status


@pytest.mark.parametrize(("shop", "do"), [(Chatty, "request"), (Slower, "outcome")])
def test_a_shop_that_was_changed_is_found_at_its_first_line(shop: type[SmallShop], do: str) -> None:
    """The line is that of the request or the answer that is not the same."""
    run = _forged()
    line = next(number for number, line in enumerate(run.lines, 2) if line.get("do") == do)

    told = tell(run, shop)

    assert told.difference is not None
    assert told.difference.line == line


def test_a_shop_that_breaks_another_rule_diverges() -> None:
    """The story says nothing about the mistake that it was recorded for."""

    class Broken(SmallShop):
        def pay(self, order_id: str) -> None:
            message = f"no {order_id} today"
            raise ValueError(message)

    told = tell(_forged(), Broken)

    assert told.verdict == "DIVERGED"
    assert "no order-1 today" in told.finding


def test_a_difference_before_the_first_trouble_diverges() -> None:
    """Nothing is broken, but the story's trouble met another shop."""
    run = _run(Believes, ("order",), ("pay", 1, "reply lost"), ("wait", "10m"), FORGED)
    troubled = next(number for number, line in enumerate(run.lines, 2) if line.get("faults"))

    told = tell(run, Chatty)

    assert told.verdict == "DIVERGED"
    assert told.finding == ""
    assert told.difference is not None
    assert told.difference.line < troubled


def test_a_story_is_made_shorter() -> None:
    """Only the steps that the verdict needs are left, and the shorter run replays."""
    seen: list[int] = []
    run = _forged()
    short = shrunk(run, Believes, seen.append)

    assert len(story_of(short).play.steps) < len(story_of(run).play.steps) / 2
    assert seen[-1] == len(story_of(short).play.steps)
    assert short.end["rule"] == run.end["rule"]
    assert replay(short) is None
    with pytest.raises(RunFileError, match="does not break the rule of this story"):
        shrunk(run, SmallShop)


def test_more_and_less_than_before_is_a_difference() -> None:
    """A shop that stops early, and one that goes on after the end of the file."""
    run = _forged()
    less = run._replace(lines=run.lines[: len(run.lines) // 2])

    missing, more = first_difference(run, less), first_difference(less, run)

    assert missing is not None
    assert missing.got == "nothing more"
    assert more is not None
    assert (more.line, more.expected) == (len(less.lines) + 2, "nothing more")


def test_drawn_values_are_compared_by_their_order() -> None:
    """Two runs with other keys are the same; one that uses a key twice is not. Other bodies are compared as text."""

    def made(*keys: str) -> Run:
        lines = [
            {
                "do": "request",
                "method": "POST",
                "target": "/x",
                "headers": [["Idempotency-Key", key]],
                "body": f"<{key}>",
            }
            for key in keys
        ]
        return Run({}, lines, {})

    a, b, c, d = (str(uuid.UUID(int=number)) for number in range(4))

    assert first_difference(made(a, b), made(c, d)) is None
    found = first_difference(made(a, b), made(c, c))
    assert found is not None
    assert (found.line, found.member) == (3, "idempotency_key")


_SHOWS: dict[str, object] = dict.fromkeys(FAMILIES, "at once")


@pytest.mark.parametrize(
    ("play", "end"),
    [
        (None, {"rule": "KEYS"}),
        ({"calls": ["play.order()"]}, {}),
        ({"calls": ["import os"], "dialect": "plain", "seed": 0, "shows": ""}, {"rule": "CRASH"}),
        ({"calls": ["play._driver()"], "dialect": "plain", "seed": 0, "shows": ""}, {"rule": "CRASH"}),
        ({"calls": ["play.close()"], "dialect": "plain", "seed": 0, "shows": ""}, {"rule": "CRASH"}),
        ({"calls": ["play.pay(open('x'))"], "dialect": "plain", "seed": 0, "shows": ""}, {"rule": "CRASH"}),
        ({"calls": 7, "dialect": "plain", "seed": 0, "shows": ""}, {"rule": "CRASH"}),
        ({"calls": [], "dialect": "plain", "seed": 0, "shows": 7}, {"rule": "CRASH"}),
        ({"calls": [], "dialect": "plain", "seed": 0, "shows": {"disputed": ""}}, {"rule": "CRASH"}),
        ({"calls": [], "dialect": "plain", "seed": 0, "shows": _SHOWS | {"disputed": 7}}, {"rule": "CRASH"}),
        ({"calls": [], "dialect": "plain", "seed": 0, "shows": _SHOWS | {"payment": "never"}}, {"rule": "CRASH"}),
    ],
)
def test_a_file_without_a_usable_story_is_refused(play: object, end: dict[str, str]) -> None:
    """Nothing of it is carried out."""
    run = Run({} if play is None else {"play": play}, [], end)
    with pytest.raises(RunFileError, match=r"no story of a shop|the story cannot be used"):
        story_of(run)


def test_a_step_with_unusable_arguments_is_refused() -> None:
    """When it is taken."""
    run = Run(
        {"play": {"calls": ["play.pay(1, 2, 3, 4)"], "dialect": "plain", "seed": 0, "shows": ""}}, [], {"rule": "CRASH"}
    )
    with pytest.raises(RunFileError, match="the story cannot be used"):
        tell(run, SmallShop)
