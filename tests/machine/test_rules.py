"""The rules that a merchant is held to: each finds its mistake, and none is broken by what the contract allows."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from decimal import Decimal
from itertools import count, islice
from pathlib import Path
from typing import Any, Final

import pytest
from bugzoo.adapter import ZooMerchant
from bugzoo.client import Client, Declined
from bugzoo.receiver import BadSignature, Receiver
from bugzoo.shop import Shop
from bugzoo.store import Row
from bugzoo.unusual_shops import PacksLater, Rereads
from small_shop import SmallShop, Wish

from paydouble.core.errors import UsageError
from paydouble.faults.model import parse_fault
from paydouble.guards.credentials import basic_header
from paydouble.inprocess import InProcess
from paydouble.stateful import MerchantBug, Play, ServiceLike, Webhook, explore
from paydouble.stateful import service as service_module
from paydouble.stateful.calibration import when_it_shows
from paydouble.stateful.crafted import Crafted
from paydouble.stateful.disturbance import Limit
from paydouble.stateful.held_to import FAMILIES, Shows, of_each
from paydouble.stateful.service import Interruption, Service
from paydouble.stateful.troubles import INJECTED, POST_TROUBLES, documents_of, next_requests, parsed_faults
from paydouble.stateful.verdicts import DatabaseDown
from paydouble.stateful.watchdog import is_over, ready_seconds

# What can point to an object that a shop knows.
_NAMES: Final = ("id", "payin_id", "external_identifier", "reference")


def shop(**parts: Any) -> type[ZooMerchant]:  # noqa: ANN401 - parts of the zoo's merchant
    """Return the correct merchant with other parts."""
    return type("ShopAdapter", (ZooMerchant,), parts)


class AnswersFirst(Receiver):
    """Acknowledges before it works, and forgets the work when the process is killed."""

    queue: list[dict[str, Any]]

    def accept(self, event: dict[str, Any]) -> int:
        self.queue = [*getattr(self, "queue", []), event]
        return 200

    def work_off(self) -> None:
        for event in getattr(self, "queue", []):
            super().accept(event)
        self.queue = []


class Swallows(Receiver):
    """Acknowledges what its database did not keep."""

    def accept(self, event: dict[str, Any]) -> int:
        try:
            return super().accept(event)
        except Exception:  # noqa: BLE001 - the mistake
            return 200


class OnlyAsks(Receiver):
    """Takes an event as a hint, and believes the service alone."""

    def apply(self, kind: str, order_id: str, event: dict[str, Any]) -> None:
        self.shop.look_up(order_id)
        self.shop.ship_what_is_paid(order_id)


class OnlyAsksLater(OnlyAsks):
    """Asks in a background job."""

    def apply(self, kind: str, order_id: str, event: dict[str, Any]) -> None:
        """Leave it to the job."""


@pytest.mark.parametrize(
    ("receiver", "shows"),
    [(Receiver, "at once"), (AnswersFirst, "after jobs"), (OnlyAsks, ""), (OnlyAsksLater, "")],
)
def test_when_each_effect_shows_is_found_out(receiver: type[Receiver], shows: Shows) -> None:
    """In a play without any trouble; a merchant that asks for it, at once or later, is not held to anything."""
    assert when_it_shows(shop(receiver_part=receiver)) == dict.fromkeys(FAMILIES, shows)


def test_goods_may_come_later_than_the_rest() -> None:
    """Then an acknowledged dispute or refund that is lost is found all the same."""
    shows = when_it_shows(PacksLater)
    assert of_each(shows) == {**dict.fromkeys(FAMILIES, "at once"), "goods": ""}

    class LosesDisputes(PacksLater):
        def handle(self, order_id: str, event: dict[str, Any]) -> int:
            return 200 if event["type"] == "dispute.closed" else super().handle(order_id, event)

    told = "answered 200 to the dispute.closed of order-1 and calls it paid; the service's ledger says charged_back"
    with pytest.raises(MerchantBug, match=told), Play(LosesDisputes, shows=shows) as play:
        play.pay()
        play.wait("10s")
        play.provider("dispute")
        play.provider("dispute lost")


def test_an_adapter_that_fails_shows_nothing() -> None:
    """What is wrong with it is found by the catalogue."""

    class Raises(ZooMerchant):
        def pay(self, order_id: str) -> None:
            raise KeyError(order_id)

    assert when_it_shows(Raises) == dict.fromkeys(FAMILIES, "")


def test_an_event_that_was_acknowledged_and_lost_is_found() -> None:
    """Before reconciliation heals it; the printed test has what it was held to."""
    with pytest.raises(MerchantBug) as caught, Play(shop(receiver_part=Swallows), shows="at once") as play:
        play.order()
        play.pay()
        play.pass_time("5s")
        play.interrupt_webhook("database down")
        play.pass_time("1m")
        play.work_off()

    assert (
        caught.value.verdict
        == "The merchant answered 200 to the pay-in.succeeded of order-1 and still calls it pending"
    )
    assert "with Play(ShopAdapter, shows='at once') as play:" in str(caught.value)
    held_to = "Without any trouble this shop shows what a webhook says as follows, and is held to it (shows below): "
    assert f"{held_to}payment, goods, failure, refund, dispute as soon as it has answered." in str(caught.value)


class KeepsForTheJob(Receiver):
    """Stores each event before it works on it, answers 200 once it is stored, and leaves what failed to a job."""

    def accept(self, event: dict[str, Any]) -> int:
        with self.store.transaction():
            self.store.db.execute("create table if not exists kept_events (event text)")
            self.store.db.execute("insert into kept_events values (?)", (json.dumps(event, default=str),))
        with suppress(DatabaseDown):
            self.work_off()
        return 200

    def work_off(self) -> None:
        self.store.db.execute("create table if not exists kept_events (event text)")
        for row in self.store.db.execute("select event from kept_events order by rowid").fetchall():
            super().accept(json.loads(row["event"], parse_float=Decimal))
            self.store.db.execute("delete from kept_events where event = ?", (row["event"],))


@pytest.mark.parametrize("at", range(4))
def test_what_was_stored_may_be_left_to_a_job(at: int) -> None:
    """A receiver that answers 200 and works on the event later has lost nothing, also when it comes again meanwhile."""
    with Play(shop(receiver_part=KeepsForTheJob), shows="at once") as play:
        play.order()
        play.pay()
        play.pass_time("5s")
        play.interrupt_webhook("database down", at=at)
        play.pass_time("5s")
        play.inject("again")
        play.work_off()


class PaysByJob(ZooMerchant):
    """Leaves each request to a background job."""

    def start(self) -> None:
        super().start()
        self.asked: list[Callable[[], None]] = []

    def pay(self, order_id: str) -> None:
        self.asked.append(lambda: self.shop.pay(order_id))

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        self.asked.append(lambda: self.shop.refund(order_id, refund_id, amount))

    def tick(self) -> None:
        asked, self.asked = self.asked, []
        for request in asked:
            request()
        super().tick()


def test_a_request_of_a_job_meets_the_trouble() -> None:
    """The job runs while the trouble of the click is there, not after it."""
    with Play(PaysByJob) as play:
        play.order()
        play.pay(1, "503")
        play.wait("10s")
        play.refund(1, "half", "reply lost")

    acted = {(trial.table, trial.name) for trial in play.trials}
    assert {("POST", "503"), ("refund", "reply lost")} <= acted


def test_a_new_key_of_a_job_is_found() -> None:
    """As one of a click is."""

    class NewKeys(PaysByJob):
        client_part = NewKeyForEach

    with pytest.raises(MerchantBug, match="new Idempotency-Key"), Play(NewKeys) as play:
        play.order()
        play.pay(1, "503")


@pytest.mark.parametrize("how", ["unknown order", "unknown refund", "unknown family"])
def test_an_unknown_object_has_nothing_of_a_known_one(how: str) -> None:
    """Its members do not point to an order of this shop."""
    with Play(ZooMerchant) as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.refund()
        play.wait("10s")
        sent = [json.loads(event.body)["data"]["object"] for event in play.sandbox.journal.events.entries]
        known = {each[name] for each in sent for name in _NAMES if name in each}
        crafted = INJECTED[how]
        assert isinstance(crafted, Crafted)
        _, body = crafted.make(play.sandbox.journal.events.entries[-1].body, "whsec", 0)
        named = json.loads(body)["data"]["object"]

    assert not known & {named[name] for name in _NAMES if name in named}


@pytest.mark.parametrize("restarted", [False, True])
def test_queued_work_has_to_outlive_the_process(restarted: bool) -> None:
    """A job that runs makes good for it; a restart before loses it, and a job that asks must not hide that."""
    play = Play(shop(receiver_part=AnswersFirst), shows="after jobs")
    play.order()
    play.pay()
    play.pass_time("10s")
    if restarted:
        play.restart()
        with pytest.raises(MerchantBug, match=r"answered 200 to the pay-in.succeeded of order-1 and still calls it"):
            play.work_off()
    else:
        play.work_off()
        play.end()
    play.close()


def test_goods_that_were_not_shipped_are_found() -> None:
    """The order is paid, and the event acknowledged."""

    class NeverShips(Shop):
        def ship_what_is_paid(self, order_id: str) -> None:
            """Forget it."""

    play = Play(shop(shop_part=NeverShips), shows="at once")
    play.order()
    play.pay()
    with pytest.raises(MerchantBug, match=r"answered 200 to the pay-in.succeeded of order-1 and has not fulfilled it"):
        play.pass_time("10s")
    play.close()


class AsksAgain(Shop):
    """Repeats a request that was refused, under a new key."""

    attempts = 0

    def new_key(self, purpose: str) -> str:
        self.attempts += 1
        return super().new_key(f"{purpose} {self.attempts}")

    def on_declined(self, order: Row) -> None:
        self.begin_attempt(order, order["method"])
        again = self.store.order(order["id"])
        assert again is not None
        try:
            made = self.client.post("/pay-in/deposit-creation", again["key"], again["body"])
        except Declined:
            return
        self.on_made(again, made)


def test_a_refused_request_is_not_repeated_blindly() -> None:
    """The same body under a new key is no other request, unless the customer has clicked meanwhile."""
    for meanwhile in ("none", "second click"):
        play = Play(shop(shop_part=AsksAgain))
        play.order()
        if meanwhile == "none":
            with pytest.raises(MerchantBug, match="repeated a request that was refused for good, under a new key"):
                play.pay(trouble="unknown code")
        else:
            play.pay(trouble="unknown code", meanwhile=meanwhile, at=1)
        play.close()


class EndsEachAttempt(SmallShop):
    """Calls an attempt over when it has brought nothing; the next click makes another one."""

    pauses = ()

    def send(self, wish: Wish, path: str) -> None:
        super().send(wish, path)
        if wish.state == "open":
            wish.state = "refused"
        self.orders[wish.order_id].is_busy = False
        self.service.checkpoint()


def test_a_click_may_follow_one_whose_credentials_were_refused() -> None:
    """A 401 is final, so another click may make another attempt; nobody knows what became of a 503.

    A 409 is final for a key that was never sent before: somebody else has it.
    """
    refused, taken, unknown = plays = [Play(EndsEachAttempt) for _ in range(3)]
    for play in plays:
        play.order()
    refused.pay(1, "401", meanwhile="second click", at=2)
    taken.pay(1, "409", meanwhile="second click", at=2)
    with pytest.raises(MerchantBug, match="took a new Idempotency-Key for a retry"):
        unknown.pay(1, "503", meanwhile="second click", at=3)

    for play in plays:
        assert len({entry.key for entry in play.sandbox.journal.requests.entries if entry.key}) == 2


def test_a_refusal_that_was_lost_may_be_asked_for_again() -> None:
    """Under its key; then it is known, and another method is tried."""
    with Play(ZooMerchant) as play:
        play.order()
        play.pay(1, "method gone", meanwhile="dies", lasts="end")
        play.pay(1, "reply too late")


def test_a_refusal_of_an_earlier_click_may_be_tried_again() -> None:
    """Its key was made, and the process killed before it was sent; the next click wants another attempt."""
    play = Play(shop(shop_part=AsksAgain))
    play.order()
    play.pay(meanwhile="dies")
    play.retry(trouble="method gone")
    play.close()


class Retries(Client):
    """Retries as often, and after such pauses, as a test says."""

    pauses: tuple[float, ...] = ()

    def post(self, path: str, key: str, body: bytes) -> dict[str, Any]:
        for pause in (*self.pauses, 0):
            try:
                answer = self.send("POST", path, key, body)
            except OSError:
                pass
            else:
                if answer.status < 500:
                    return self.outcome(answer)
            self.service.sleep(pause)
        raise Declined("gave up")


@pytest.mark.parametrize(
    ("pauses", "found"),
    [
        ((1, 1, 1), "repeats POST /api/v1/pay-in/deposit-creation 3 times after 1 s each; the pauses have to grow"),
        ((1, 1), None),
        ((1, 2, 2, 2), None),
        ((1.3, 0.9, 1.1, 1.2), None),
        (tuple(range(1, 11)), "sends POST /api/v1/pay-in/deposit-creation more than 10 times in one operation"),
        (tuple(range(1, 10)), None),
    ],
)
def test_retries_are_few_and_their_pauses_grow(pauses: tuple[float, ...], found: str | None) -> None:
    """Exponential back-off and at most five attempts are what the contract asks for; jitter and a ceiling are fine."""
    play = Play(shop(client_part=type("Client", (Retries,), {"pauses": pauses})))
    play.order()
    for trouble in ("503", "request lost"):
        if found is None:
            play.pay(trouble=trouble, lasts="end")
        else:
            with pytest.raises(MerchantBug, match=found):
                play.pay(trouble=trouble, lasts="end")
            break
    play.close()


class RepeatsRefusals(Client):
    """Sends a request again after whatever is no success, as often as a test says."""

    sends = 2

    def post(self, path: str, key: str, body: bytes) -> dict[str, Any]:
        answer = self.send("POST", path, key, body)
        for number in range(1, self.sends):
            if answer.status < 300:
                break
            self.service.sleep(2.0**number)
            answer = self.send("POST", path, key, body)
        return self.outcome(answer)


@pytest.mark.parametrize(
    ("trouble", "sends", "status"),
    [
        ("unknown code", 2, "422"),
        ("method gone", 2, "422"),
        ("401", 2, None),
        ("401", 3, "401"),
        ("403", 2, None),
        ("403", 3, "403"),
        ("409", 3, None),
        ("503", 3, None),
    ],
)
def test_a_refused_request_is_not_repeated_at_once(trouble: str, sends: int, status: str | None) -> None:
    """Except once after a 401 or 403, with new credentials, and where the first request may still be running."""
    play = Play(shop(client_part=type("Client", (RepeatsRefusals,), {"sends": sends})))
    play.order()
    if status is None:
        play.pay(trouble=trouble)
    else:
        with pytest.raises(MerchantBug, match=rf"repeats POST \S+ at once, though it was refused \({status}\)"):
            play.pay(trouble=trouble)
    play.close()


class Mails(ZooMerchant):
    """Sends a mail for each webhook, and one for each order."""

    mails: dict[str, int]

    def receive(self, webhook: Webhook) -> int:
        self.mails = {"receipt": getattr(self, "mails", {}).get("receipt", 0) + 1, "welcome": 1}
        return super().receive(webhook)

    def effects(self, order_id: str) -> Mapping[str, int]:
        return getattr(self, "mails", {})


def test_an_effect_that_happens_twice_is_found() -> None:
    """By the name that the merchant gives it."""
    with pytest.raises(MerchantBug, match="did 'receipt' 2 times for order-1; it may happen once"), Play(Mails) as play:
        play.order()
        play.pay()
        play.wait("10s")


def test_a_forged_webhook_must_have_no_effect() -> None:
    """An effect is part of what must not change."""
    play = Play(Mails)
    play.order()
    play.pay()
    with pytest.raises(MerchantBug, match="changes its state because of a webhook whose signature does not hold"):
        play.inject("wrong secret")
    play.close()


class ReadsItsOwnClock(Receiver):
    """Verifies with the clock of the computer."""

    def check_time(self, at: str) -> None:
        if abs(time.time() - int(at)) > 300:
            raise BadSignature(400)


def test_a_receiver_that_reads_the_computer_s_clock_is_told_so() -> None:
    """Not that it refuses webhooks: only t is off."""
    play = Play(shop(receiver_part=ReadsItsOwnClock))
    play.order()
    with pytest.raises(MerchantBug, match=r"only t is off.*let the merchant's code take the time from service.now\(\)"):
        play.pay()
    play.close()


def test_a_webhook_that_is_refused_anyway_is_not_about_the_clock() -> None:
    """What is wrong is the answer."""

    class Refuses(Receiver):
        def accept(self, event: dict[str, Any]) -> int:
            return 403

    play = Play(shop(receiver_part=Refuses))
    play.order()
    with pytest.raises(MerchantBug, match=r"answers 403 to a pay-in\.created"):
        play.pay()
    play.close()


class NewKeyForEach(Client):
    """Takes a new key for each attempt."""

    def key_for(self, key: str, attempt: int) -> str:
        return key[:-1] + str(attempt)


def test_a_report_lists_what_follows_the_cause_first() -> None:
    """A new key leads to two deposits and two charges, which show at the end only."""
    with pytest.raises(MerchantBug) as caught, Play(shop(client_part=NewKeyForEach)) as play:
        play.order()
        play.pay(trouble="reply lost")

    text = str(caught.value)
    causes = [text.index(each) for each in ("took a new Idempotency-Key", "made 2 deposits", "charged order-1 2 times")]
    assert causes == sorted(causes)
    assert text.startswith("The merchant took a new Idempotency-Key for a retry")
    keys = r"\(key \w{8}… at 0 s, key \w{8}… at 1 s after a request that met a trouble\)"
    assert re.search(rf"{keys}; the customer's clicks allow 1", text)


@pytest.mark.parametrize(
    ("trouble", "then", "keys"),
    [
        ("reply lost", "429", r"at 0 s, key \w{8}… at [\d.]+ s after the 429"),
        ("500 after the commit", "none", r"at 0 s, key \w{8}… at \d s after the 500"),
        ("reply lost", "none", r"at 0 s, key \w{8}… at \d s after a request that met a trouble"),
    ],
)
def test_a_second_deposit_is_told_with_what_came_before_it(trouble: str, then: str, keys: str) -> None:
    """The answer of the request before it, or that there was none."""
    play = Play(shop(client_part=NewKeyForEach))
    play.order()
    with pytest.raises(MerchantBug, match=r"took a new Idempotency-Key") as caught:
        play.pay(trouble=trouble, then=then)

    assert re.search(rf"made 2 deposits for order-1 \(key \w{{8}}… {keys}\)", str(caught.value))


def test_a_second_deposit_can_come_after_a_request_without_an_answer() -> None:
    """The reply of the first request is lost, the second does not arrive, and the third has another key."""
    play = Play(shop(client_part=NewKeyForEach))
    play.order()
    for fault in parsed_faults(next_requests([POST_TROUBLES["request lost"]])):
        play.sandbox.add_fault(fault)
    with pytest.raises(MerchantBug) as caught:
        play.pay(trouble="reply lost")

    keys = r"\(key \w{8}… at 0 s, key \w{8}… at \d s after a request without an answer\)"
    assert re.search(rf"made 2 deposits for order-1 {keys}", str(caught.value))


def test_a_paid_order_without_money_comes_before_what_follows_from_it() -> None:
    """An event that says that nothing was paid is then contradicted too."""

    class TrustsTheReturn(SmallShop):
        def customer_returns(self, order_id: str) -> None:
            self.trusted = {*getattr(self, "trusted", set()), order_id}

        def order_status(self, order_id: str) -> str:
            return "paid" if order_id in getattr(self, "trusted", set()) else super().order_status(order_id)

    with pytest.raises(MerchantBug) as caught, Play(TrustsTheReturn, shows="at once") as play:
        play.order()
        play.pay(scenario="payer-abandons")
        play.returns()
        play.wait("25h")

    assert caught.value.verdict == "The merchant calls order-1 paid, but no money has come"
    assert "answered 200 to the pay-in.cancelled of order-1 and calls it paid" in str(caught.value)


def test_a_forged_signature_is_named() -> None:
    """The header, and what is wrong with it."""

    class AnyVersion(Receiver):
        def read_header(self, header: str | None) -> tuple[str, list[str]]:
            return super().read_header((header or "").replace("v0=", "v1="))

    play = Play(shop(receiver_part=AnyVersion))
    play.order()
    play.pay()
    with pytest.raises(MerchantBug, match=r"X-Service-Signature is 't=\d+,v0=\w{8}…' \(it has no readable t and v1\)"):
        play.inject("digest in v0")
    play.close()


@pytest.mark.parametrize(
    ("slices", "used", "ready", "over"),
    [
        (9, 0.0, 0.0, False),  # not yet
        (10, 0.0, 0.0, True),  # it waits
        (10, 0.0, 0.5, True),  # it waits, and is woken late at the end of each slice
        (10, 1.0, 0.0, False),  # it is slow for want of a processor
        (10, 0.03, 9.9, False),  # it has hardly had the processor, as a process of low priority beside busy ones
        (10, 10.0, 0.0, True),  # it computes without end
        (100, 9.0, 0.0, True),  # whatever it does
        (100, 0.3, 99.0, True),  # however long it has waited for the processor
    ],
)
def test_a_busy_computer_is_no_hanging_call(slices: int, used: float, ready: float, over: bool) -> None:
    """A call hangs when it waits for something else than the processor, or has used its limit of it."""
    assert is_over(slices, used, ready, 10.0) is over


@pytest.mark.parametrize(("text", "seconds"), [("17 2500000000 3\n", 2.5), ("", 0.0), (None, 0.0)])
def test_the_system_tells_how_long_a_process_was_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, seconds: float
) -> None:
    """Where it does not, the time counts as none."""
    if text is not None:
        (tmp_path / "schedstat").write_text(text)
    monkeypatch.setattr("paydouble.stateful.watchdog._SCHEDULED", tmp_path / "schedstat")

    assert ready_seconds() == seconds


def test_what_happens_once_is_told_as_that() -> None:
    """Hypothesis repeats a failure; one that does not come again is no unreliable test data."""
    numbers = count()

    class Sometimes(ZooMerchant):
        def pay(self, order_id: str) -> None:
            if next(numbers) == 30:
                raise KeyError(order_id)
            super().pay(order_id)

    with pytest.raises(MerchantBug, match="This happened once: the same play passed when it was repeated"):
        explore(Sometimes, examples=50, phases=("hunt",))


def test_a_failure_of_the_hunt_is_shortened_as_one_of_the_catalogue() -> None:
    """It has no step that does not matter."""
    merchant = shop(client_part=NewKeyForEach)
    with pytest.raises(MerchantBug) as caught:
        explore(merchant, seed=5, examples=50, phases=("hunt",))

    assert len(caught.value.calls) <= 2


class OneKeyAnOrder(Shop):
    """Makes the key of the order alone, so that a second attempt is answered like the first."""

    def new_key(self, purpose: str) -> str:
        return super().new_key(purpose.partition(" ")[0])


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"scenario": "card-declined"}, True),
        ({"scenario": "card-declined", "webhooks": "drop all"}, False),  # it cannot know
        ({"trouble": "unknown code"}, False),  # was never stored
        ({}, False),
    ],
)
def test_a_new_attempt_has_a_new_key(options: dict[str, str], found: bool) -> None:
    """After a payment that failed the customer clicks again, and gets the failed one back."""
    play = Play(shop(shop_part=OneKeyAnOrder))
    play.order()
    if "webhooks" in options:
        play.webhooks(options["webhooks"])
    options = {name: value for name, value in options.items() if name != "webhooks"}
    play.pay(**options)  # type: ignore[arg-type]
    play.wait("1m")
    if found:
        with pytest.raises(MerchantBug, match="used the Idempotency-Key of a failed attempt for a new one"):
            play.retry()
    else:
        play.retry()
    play.close()


def test_a_slow_answer_to_a_webhook_is_found() -> None:
    """The service waits ten seconds, and then sends the webhook again."""

    class Slow(Receiver):
        seconds = 11

        def accept(self, event: dict[str, Any]) -> int:
            self.service.sleep(self.seconds)
            return super().accept(event)

    for seconds in (9, 11):
        play = Play(shop(receiver_part=type("Slow", (Slow,), {"seconds": seconds})))
        play.order()
        if seconds < 10:
            play.pay()
        else:
            with pytest.raises(MerchantBug, match=r"takes 11 s to answer a pay-in\.created; the service waits 10 s"):
                play.pay()
        play.close()


@pytest.mark.parametrize("what", ["payer returns meanwhile", "click meanwhile"])
def test_a_customer_acts_while_a_webhook_is_worked_on(what: str) -> None:
    """The payer of the same order comes back, or the customer clicks; of another business there is nobody."""
    seen = []

    class Watched(ZooMerchant):
        def customer_returns(self, order_id: str) -> None:
            seen.append(order_id)
            super().customer_returns(order_id)

        def retry(self, order_id: str) -> None:
            seen.append(order_id)
            super().retry(order_id)

    with Play(Watched) as play:
        play.order()
        play.order()
        play.pay(2)
        play.interrupt_webhook(what)
        play.wait("10s")
        play.refund(2)
        play.interrupt_webhook(what)
        play.wait("10s")

    assert seen == ["order-2", "order-2"]


class FirstPage(Shop):
    """Reconciles what is on the first page of a list."""

    def reconcile(self) -> None:
        listed = self.client.get("/pay-in?limit=10")
        for each in listed["items"] if listed else ():
            self.store.believe("payin", each["external_identifier"], each)
            self.ship_what_is_paid(each["external_identifier"])


def test_a_crowd_does_not_fit_on_a_page() -> None:
    """A job that reads one page of a list misses the orders on the next; one that asks for each is no endless loop."""
    for part in (Shop, FirstPage):
        play = Play(shop(shop_part=part))
        play.webhooks("drop all")
        play.crowd()
        play.wait("10s")
        if part is Shop:
            play.end()
        else:
            with pytest.raises(MerchantBug, match="calls order-1 pending in the end; the service's ledger says paid"):
                play.end()
        play.close()


class AsksAboutTheOldest(SmallShop):
    """Its job asks about the twenty oldest orders without money, as if it would reach the others the next time."""

    def tick(self) -> None:
        unpaid = (each for each in self.orders if self.order_status(each) in {"pending", "failed", "cancelled"})
        for order_id in islice(unpaid, 20):
            self.ask(order_id)


@pytest.mark.parametrize("scenario", ["card-declined", "abandoned"])
def test_a_job_does_not_take_the_same_orders_each_time(scenario: str) -> None:
    """Those that come behind a crowd which stays unpaid are never asked about."""
    for merchant in (SmallShop, AsksAboutTheOldest):
        play = Play(merchant)
        play.crowd(scenario=scenario)
        play.wait("10s")
        play.webhooks("drop all")
        play.order()
        play.pay(26)
        play.wait("1h")
        if merchant is SmallShop:
            play.end()
        else:
            with pytest.raises(MerchantBug, match="calls order-26 pending in the end; the service's ledger says paid"):
                play.end()
        play.close()


def test_a_crowd_takes_a_course_that_is_over_soon() -> None:
    """Money that comes after days is a story of one order."""
    with (
        Play(SmallShop) as play,
        pytest.raises(UsageError, match="no scenario of a crowd 'slow-bank-transfer'"),
    ):
        play.crowd(scenario="slow-bank-transfer")


class KeepsASchedule(SmallShop):
    """Sends once, notes when it may send again, and lets its job do that."""

    pauses = ()
    first_pause_seconds, growth = 1.0, 2.0

    def __init__(self, service: ServiceLike) -> None:
        """Begin without a schedule."""
        super().__init__(service)
        self.next: dict[str, tuple[float, float]] = {}

    def send(self, wish: Wish, path: str) -> None:
        """Send what is due, and double the pause."""
        due, pause = self.next.get(wish.key, (0.0, self.first_pause_seconds))
        if self.service.now() < due:
            return
        super().send(wish, path)
        self.next[wish.key] = self.service.now() + pause, pause * self.growth


class KeepsItsPause(KeepsASchedule):
    """Does not count its attempts, so each pause is the first one."""

    growth = 1.0


class IsRunByACron(KeepsItsPause):
    """Sends what is open each time the job runs."""

    first_pause_seconds = 0.0


@pytest.mark.parametrize("what", ["deposit-creation", "refund-creation"])
@pytest.mark.parametrize(
    ("merchant", "is_wrong"), [(KeepsASchedule, False), (KeepsItsPause, True), (IsRunByACron, False)]
)
def test_the_pauses_of_a_job_have_to_grow(merchant: type[SmallShop], what: str, is_wrong: bool) -> None:
    """Unless each run of the job sends once: then the pauses are those of whoever runs the job."""
    play = Play(merchant)
    play.order()
    if what == "refund-creation":
        play.pay()
        play.wait("10s")
        play.refund(1, "half", "503", lasts="end")
    else:
        play.pay(1, "503", lasts="end")
    if is_wrong:
        with pytest.raises(
            MerchantBug, match=f"repeats POST .*{what} .*in its jobs 1[12] times, always after the same"
        ):
            play.wait("12s", jobs_every="500ms")
    else:
        play.wait("12s", jobs_every="500ms")
    play.close()


def test_jobs_run_a_thousand_times_at_most() -> None:
    """More would take minutes, and nobody would see why."""
    with (
        Play(SmallShop) as play,
        pytest.raises(UsageError, match=r"is too often: in 3d at most 1000 runs"),
    ):
        play.wait("3d", jobs_every="1ms")


@pytest.mark.parametrize(
    ("is_other_call", "is_same_request", "is_found"),
    [(False, True, True), (False, False, True), (True, True, True), (True, False, False)],
)
def test_another_call_need_not_wait(*, is_other_call: bool, is_same_request: bool, is_found: bool) -> None:
    """A cancellation that has come in between knows nothing of the 429 that a click to pay has met."""
    found: list[str] = []
    double = InProcess()
    (limited,) = documents_of(POST_TROUBLES["429"])
    double.sandbox.faults.add(parse_fault(limited), double.sandbox.now)
    service = Service(double, lambda _rule, text: found.append(text))
    auth = basic_header(service.business_key, service.business_secret)

    def post(path: str, key: str) -> int:
        headers = {"Authorization": auth, "Idempotency-Key": key, "Content-Type": "application/json"}
        return service.call("POST", f"/api/v1/pay-in/{path}", headers, b"{}").status

    if is_other_call:
        service.interruptions.append(Interruption(0, lambda: None))

    with service.operation(Limit(5, "deposit-creation")):
        assert post("deposit-creation", "a") == 429
        if not is_same_request:
            post("payin_1/cancellation", "b")
            service.sleep(5)
        post("deposit-creation", "a")

    began = 1767225600
    again = "deposit-creation" if is_same_request else "payin_1/cancellation"
    told = f"(at {began}, X-RateLimit-Reset: {began + 5}): POST /api/v1/pay-in/{again}"
    assert found == ([f"asks again 0 s after a 429 that asked for 5 s {told}"] if is_found else [])


@pytest.mark.parametrize(
    ("seconds", "hint"), [(0.0, ""), (0.2, ""), (1.0, " (it seems to wait in real time; a sleep that is kept")]
)
def test_a_shop_that_waits_in_real_time_is_told_so(seconds: float, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pauses are there, and the play's time does not move by them."""
    found: list[str] = []
    real = count(step=seconds)
    monkeypatch.setattr(service_module, "perf_counter", lambda: next(real))
    service = Service(InProcess(), lambda _rule, text: found.append(text))

    with service.operation():
        for _ in range(3):
            service.call("POST", "/api/v1/pay-in/deposit-creation", {}, b"{}")

    assert found[0].startswith(f"sends POST /api/v1/pay-in/deposit-creation 3 times without a pause between them{hint}")
    assert bool(hint) == ("real time" in found[0])


@pytest.mark.parametrize(("seconds", "is_found"), [(4, False), (12, True)])
def test_a_receiver_needs_a_shorter_timeout_than_the_service(seconds: int, *, is_found: bool) -> None:
    """Reads of four seconds are the service's; one that may take twelve is the merchant's own patience."""
    late = pytest.raises(MerchantBug, match=r"takes (12|24|36) s to answer a pay-in\.\w+; the service waits 10 s")
    with late if is_found else nullcontext(), Play(Rereads) as play:
        play.pay()
        slow = {"effect": {"type": "latency", "fixed": f"{seconds}s"}, "match": {"method": "GET"}}
        play.sandbox.faults.add(parse_fault({"on": "api", **slow}), play.sandbox.now)
        play.pass_time("10s")
