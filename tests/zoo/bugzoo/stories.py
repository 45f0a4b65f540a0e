"""Short tests that catch what the machine cannot know: each is a story that a correct merchant ends well."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from bugzoo.adapter import ZooMerchant
from paydouble.stateful import Play


def a_method_that_is_gone(play: Play) -> None:
    """The payment method vanishes between the listing and the deposit; the order is paid by another one."""
    play.order()
    play.pay(trouble="method gone")
    play.wait("10s")
    assert play.status(1) == "paid"


def a_death_over_the_webhook(play: Play) -> None:
    """The process dies at each point of the work on the webhook that says paid; the goods leave all the same."""
    for at in range(4):
        play.order()
        play.pay(at + 1)
        play.wait("5s")
        play.interrupt_webhook("dies", at)
        play.wait("10m")
        assert play.shipments(at + 1) == 1, f"the goods of order {at + 1} never left"


def a_database_that_fails(play: Play) -> None:
    """The database fails over the webhook that says paid; it comes again, and the goods leave."""
    for at in range(2):
        play.order()
        play.pay(at + 1)
        play.wait("5s")
        play.interrupt_webhook("database down", at)
        play.wait("10m")
        assert play.shipments(at + 1) == 1, f"the goods of order {at + 1} never left"


def a_restart_after_the_answer(play: Play) -> None:
    """The process is restarted right after its 200; the goods leave all the same."""
    play.order()
    play.pay()
    play.pass_time("10s")
    play.restart()
    play.wait("10m")
    assert play.shipments(1) == 1, "the goods never left"


STORIES: Final = MappingProxyType(
    {
        story.__name__: story
        for story in (
            a_method_that_is_gone,
            a_death_over_the_webhook,
            a_database_that_fails,
            a_restart_after_the_answer,
        )
    }
)


def play_story(name: str, merchant: type[ZooMerchant]) -> None:
    """Play a story with a merchant; `AssertionError` when it ends badly."""
    story: Callable[[Play], None] = STORIES[name]
    play = Play(merchant)
    try:
        story(play)
    finally:
        play.close()
