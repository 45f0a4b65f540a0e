"""A shop that reaches the service of a play over sockets: in this process, in another one, and in another language."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any, ClassVar

import httpx
import pytest
from bounds import AT_MOST_SECONDS
from bugzoo.adapter import ZooMerchant
from bugzoo.client import Client
from bugzoo.store import Store
from bugzoo.table import VARIANTS
from bugzoo.unusual_shops import AnswersFirst
from elsewhere import NodeShop, PythonShop, ShopElsewhere
from hypothesis import settings
from threads import no_thread_left

from paydouble.core.errors import UsageError
from paydouble.payments.resources import PayIn
from paydouble.stateful import (
    AdapterMisfit,
    Answer,
    Merchant,
    MerchantBug,
    MerchantMachine,
    Play,
    ServiceLike,
    Unreachable,
    Webhook,
    explore,
)
from paydouble.stateful.catalogue import catalogue
from paydouble.stateful.catalogue_run import CatalogueRun
from paydouble.stateful.play_server import PlayServer, serving
from paydouble.stateful.service import Response
from paydouble.stateful.steps import CataloguePlay, Step, step

# Every so-manieth play of the catalogue: some dozens.
EVERY = 97
POINTS_OF_A_REQUEST = 2
LATE = {"reply too late", "reply in drips"}
# What must come may take this long on a busy machine.
SENDER = httpx.Client(timeout=AT_MOST_SECONDS)
# Only what a trouble holds back is waited for so briefly.
IMPATIENT = httpx.Timeout(AT_MOST_SECONDS, read=1.5)
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here, and the shop is in Node")


class Sockets(Client):
    """The client of the correct merchant, over real sockets."""

    def send(self, method: str, path: str, key: str | None = None, body: bytes = b"") -> Answer:
        headers = {"Authorization": self.authorization}
        if key is not None:
            headers |= {"Idempotency-Key": key, "Content-Type": "application/json"}
        try:
            answer = SENDER.request(method, self.service.base_url + path, headers=headers, content=body)
        except httpx.TimeoutException as error:
            raise TimeoutError from error
        except httpx.TransportError as error:
            raise ConnectionError from error
        return Response(answer.status_code, answer.headers, answer.content)  # type: ignore[arg-type] # as case-blind


class ImpatientOnce(Sockets):
    """Waits a short time for the answer to its first POST."""

    has_posted = False

    def send(self, method: str, path: str, key: str | None = None, body: bytes = b"") -> Answer:
        is_first = method == "POST" and not self.has_posted
        self.has_posted |= is_first
        SENDER.timeout = IMPATIENT if is_first else AT_MOST_SECONDS
        return super().send(method, path, key, body)


def over_sockets(merchant: type[ZooMerchant], **members: Any) -> type[ZooMerchant]:
    """Return a merchant of the zoo whose client only takes a base URL."""
    part = merchant.client_part
    client = Sockets if part is Client else type("Client", (part, Sockets), {})
    return type(merchant.__name__, (merchant,), {"served": True, "follows_time": True, "client_part": client} | members)


Served = over_sockets(ZooMerchant)


@pytest.fixture(scope="session", autouse=True)
def _ended() -> Iterator[None]:
    yield
    SENDER.close()
    for process in ShopElsewhere.running.values():
        process.close()
    ShopElsewhere.running.clear()


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """Compare the threads before and after a test."""
    with no_thread_left():
        yield


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up soon, as any answer may be held back."""
    monkeypatch.setattr(SENDER, "timeout", IMPATIENT)


def take(merchant: type[Merchant], *steps: Step) -> Play:
    """Take the steps of a play, to its end."""
    with Play(merchant) as play:
        for each in steps:
            each.take(play)
    return play


PAID = (step("order"), step("pay"), step("wait", "10s"))


# What a client gets


def test_a_client_that_takes_a_base_url_is_enough(nothing_left: None) -> None:
    """It is answered at a port on loopback, which is free again after the play."""
    with Play(Served) as play:
        play.order()
        play.pay()
        play.wait("10s")
        url = play._driver.service.base_url
        assert play.status() == "paid"

    assert url.startswith("http://127.0.0.1:")
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)


@pytest.mark.parametrize(
    ("trouble", "requests"),
    [
        ("reply lost", 2),
        ("request lost", 2),
        ("reply too late", 2),
        ("reply cut", 2),
        ("reply in drips", 2),
        ("503", 3),
    ],
)
def test_a_trouble_is_that_of_a_server(trouble: str, requests: int) -> None:
    """The connection is reset, cut or silent, and a merchant that repeats its request under its key survives."""
    # Only what is to come too late has little time: on a busy machine any other answer can take as long.
    merchant = over_sockets(ZooMerchant, client_part=ImpatientOnce) if trouble in LATE else Served
    play = take(merchant, step("order"), step("pay", 1, trouble), step("wait", "10s"))

    sent = [each for each in play.sandbox.journal.requests.entries if each.method == "POST"]
    assert (len(sent), play.sandbox.ledger.count(PayIn)) == (requests, 1)


def test_malformed_bytes_are_answered_as_by_a_server() -> None:
    """In the form of the contract."""

    class Malformed(Served):  # type: ignore[misc, valid-type] # made above
        def pay(self, order_id: str) -> None:
            port = int(self.service.base_url.split(":")[2].partition("/")[0])
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(b"no HTTP\r\n\r\n")
                with connection.makefile("rb") as answer:  # to its end, in however many pieces it comes
                    assert b"The request cannot be read" in answer.read()
            super().pay(order_id)

    take(Malformed, *PAID)


def test_a_mistake_is_found_over_sockets() -> None:
    """The report is the same as in process, except for the class of the adapter."""
    (variant,) = (each.merchant for each in VARIANTS if each.name == "NewKeyWhenTheReplyIsLost")
    reports = []
    for merchant in (variant, over_sockets(variant)):
        with pytest.raises(MerchantBug) as caught:
            CatalogueRun(merchant).one(CataloguePlay((step("order"), step("pay", 1, "reply lost"))))
        reports.append(str(caught.value))

    assert reports[0] == reports[1]


# The time of the play


def test_the_clock_is_read_and_moved_over_http() -> None:
    """A shop in any language asks for the time, and sleeps, with one call each."""
    seen: list[Any] = []

    class Sleeps(Served):  # type: ignore[misc, valid-type] # made above
        def pay(self, order_id: str) -> None:
            body = json.dumps({"by": "90s"}).encode()
            headers = {"Content-Type": "application/json"}
            for url, sent in ((self.service.clock_url, None), (f"{self.service.clock_url}/advance", body)):
                with urllib.request.urlopen(urllib.request.Request(url, sent, headers)) as answer:
                    seen.append(json.load(answer)["now"])
            seen.append(self.service.now())
            super().pay(order_id)

    take(Sleeps, *PAID)

    assert seen == ["2026-01-01T00:00:00.200Z", "2026-01-01T00:01:30.200Z", 1_767_225_690.2]


def test_an_adapter_over_sockets_knows_a_call_within_another_one() -> None:
    """A webhook that comes while a click waits for its reply, and one that comes later."""
    seen: set[bool] = set()

    class Looks(Served):  # type: ignore[misc, valid-type] # made above
        def receive(self, webhook: Webhook) -> int:
            seen.add(self.service.is_nested)
            return int(super().receive(webhook))

    take(Looks, step("order"), step("pay", meanwhile="webhook first"), step("wait", "10s"))

    assert seen == {False, True}


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("", {"mode": "real"}, 403, "A play offers its clock alone"),
        ("/advance", {"until_idle": True}, 400, "until_idle: a shop sleeps for a time; give by."),
        ("/advance", {"by": "-1s"}, 400, "by"),
        ("/nothing", {}, 404, "There is no control call"),
        ("/checkpoint", {"in_transaction": "yes"}, 400, 'A checkpoint has the body {"in_transaction": true}'),
        ("/checkpoint", {"in_transaction": True, "concurrent": 1}, 400, 'beside that, "concurrent" is true'),
        ("/checkpoint", [], 400, "A checkpoint has the body"),
    ],
)
def test_another_control_call_is_refused(path: str, body: object, status: int, says: str) -> None:
    """A play is judged by its rules, so the shop cannot change more than the time."""
    seen: list[Any] = []

    class Asks(Served):  # type: ignore[misc, valid-type] # made above
        def pay(self, order_id: str) -> None:
            method = "POST" if path else "PUT"
            answer = SENDER.request(method, self.service.clock_url + path, json=body)
            seen.append((answer.status_code, says in answer.json()["error"]["message"]))
            super().pay(order_id)

    take(Asks, *PAID)

    assert seen == [(status, True)]


def test_a_point_of_the_code_is_marked_over_http() -> None:
    """As `service.checkpoint()` does in process: a nested call comes in, and the database fails, where it is marked."""
    answers: list[Any] = []

    class Marks(Served):  # type: ignore[misc, valid-type] # made above
        def pay(self, order_id: str) -> None:
            url = f"{self.service.clock_url}/checkpoint"
            answers.extend(SENDER.post(url, json=body).status_code for body in (None, {"in_transaction": True}))
            super().pay(order_id)

    for meanwhile, seen in (
        (("none", 0), [200, 200]),
        (("database down", 0), [503, 200]),
        (("database down", 1), [200, 503]),
        (("events come", 0), [200, 200]),
    ):
        answers.clear()
        with Play(Marks) as play:
            play.order()
            play.pay(meanwhile=meanwhile[0], at=meanwhile[1])
            assert answers == seen


@pytest.mark.parametrize("concurrent", [True, False])
def test_a_click_comes_into_a_transaction_where_the_database_takes_another(*, concurrent: bool) -> None:
    """Elsewhere it comes at the next point, which is outside of the transaction."""
    seen: list[str] = []

    class Marks(Served):  # type: ignore[misc, valid-type] # made above
        def pay(self, order_id: str) -> None:
            if self.service.is_nested:
                seen.append("second click")
            else:
                body = {"in_transaction": True, "concurrent": concurrent}
                SENDER.post(f"{self.service.clock_url}/checkpoint", json=body)
                seen.append("commit")
            super().pay(order_id)

    with Play(Marks) as play:
        play.order()
        play.pay(meanwhile="second click", at=0)
    at_a_number, seen = seen, []
    with Play(Marks) as play:
        play.order()
        play.pay(meanwhile="second click", at="commit")
        assert [each.name for each in play.trials if each.table == "meanwhile"] == ["second click"] * concurrent

    assert at_a_number == (["second click", "commit"] if concurrent else ["commit", "second click"])
    assert seen == (at_a_number if concurrent else ["commit"])


@pytest.mark.parametrize("what", ["again meanwhile", "another meanwhile", "events meanwhile"])
def test_a_webhook_that_waits_for_the_one_before_it_comes_too_late(what: str) -> None:
    """As where a row is locked: the first one goes on, and is no call that hangs."""
    waited: list[bool] = []

    class Locks(Served):  # type: ignore[misc, valid-type] # made above
        lock: ClassVar = threading.Lock()

        def receive(self, webhook: Webhook) -> int:
            waited.append(self.lock.locked())
            with self.lock:
                body = {"in_transaction": True, "concurrent": True}
                SENDER.post(f"{self.service.clock_url}/checkpoint", json=body)
                return int(super().receive(webhook))

    with Play(Locks) as play:
        play.order()
        play.pay()
        play.pass_time("2s")
        play.interrupt_webhook(what)
        play.pass_time("10m")

    assert any(waited)


class AnswersFirstElsewhere(AnswersFirst):
    """Keeps what it has to do until it is drained."""

    served = True
    follows_time = True


def test_work_after_an_answer_is_done_within_the_call_in_which_it_came() -> None:
    """As a shop works off an event while a customer waits for a page."""
    seen: list[tuple[str, bool]] = []

    class Notes(AnswersFirstElsewhere):
        def receive(self, webhook: Webhook) -> int:
            seen.append(("receive", self.service.is_nested))
            return super().receive(webhook)

        def drain(self) -> None:
            seen.append(("drain", self.service.is_nested))
            super().drain()
            assert not self.inbox

    with Play(Notes) as play:
        play.order()
        seen.clear()
        play.pay(meanwhile="webhook first")

    assert seen[:3] == [("receive", True), ("drain", True), ("drain", False)]


def test_work_after_two_answers_meets_inside_a_transaction() -> None:
    """Both read a sum before one of them has written it: the other one is lost."""

    class AddsUp(AnswersFirstElsewhere):
        """Shows what it has added up, and not what the refunds say."""

        def __init__(self, service: ServiceLike) -> None:
            super().__init__(service)
            self.given_back = Decimal(0)

        def learn(self, resource: Any) -> None:
            is_over = self.versions.get(resource["id"], {}).get("status") == "succeeded"
            if resource["object"] == "refund" and resource["status"] == "succeeded" and not is_over:
                before = self.given_back
                body = {"in_transaction": True, "concurrent": True}
                SENDER.post(f"{self.service.clock_url}/checkpoint", json=body)
                self.given_back = before + Decimal(resource["amount"])
            super().learn(resource)

        def drain(self) -> None:
            while self.inbox:
                self.learn(self.inbox.pop(0)["data"]["object"])

        def balance(self, order_id: str) -> Decimal:
            return self.orders[order_id].amount - self.given_back

    meets = step("interrupt_webhook", "events meanwhile", "commit")
    thirds = (step("refund", 1, "third"), step("refund", 1, "third"))
    ends = (*thirds, step("pass_time", "2s"), meets, step("pass_time", "10m"))
    assert not take(AddsUp, *PAID, *thirds, step("pass_time", "10m")).failed
    with pytest.raises(MerchantBug, match="balance"):
        take(AddsUp, *PAID, *ends)
    assert CataloguePlay((*PAID, *ends, step("work_off"))).steps in {each.steps for each in catalogue()}


def test_a_drain_that_waits_for_the_call_around_it_comes_after_it() -> None:
    """Nothing is under way any more when it returns, so it waits, and is no call that hangs."""
    is_over = threading.Event()
    waited: list[bool] = []

    class WaitsForAll(AnswersFirstElsewhere):
        def pay(self, order_id: str) -> None:
            is_over.clear()
            super().pay(order_id)
            is_over.set()

        def drain(self) -> None:
            waited.append(not is_over.is_set())
            assert is_over.wait(AT_MOST_SECONDS)
            super().drain()

    with Play(WaitsForAll) as play:
        is_over.set()
        play.order()
        play.pay(meanwhile="webhook first")
        play.wait("10s")
        assert play.status() == "paid"

    assert waited[:3] == [False, True, False]


def test_a_shop_in_another_process_is_killed_between_two_commits() -> None:
    """It has noted an event as seen, and not yet worked on it; nothing but its own points can show that."""

    class NotesFirst(PythonShop):
        mistake = "notes first"

    bugs = []
    for shop in (PythonShop, NotesFirst):
        for at in range(4):
            with suppress(MerchantBug), Play(shop, shows="at once") as play:
                play.order()
                play.pay()
                play.pass_time("5s")
                play.interrupt_webhook("dies", at)
                play.pass_time("1h")
                play.work_off()
            if play.failed:
                bugs.append((shop, at))
    assert [shop for shop, _ in bugs] == [NotesFirst]


def test_what_a_shop_makes_of_its_database_is_excused() -> None:
    """It answers a call with an error, or not at all, and does what was asked later."""
    with Play(PythonShop) as play:
        play.order()
        play.pay(meanwhile="database down", at=0)
        play.retry()
        play.interrupt_webhook("database down", 0)
        play.wait("1h")
        assert play.status() == "paid"


def test_an_instant_can_be_slept_to() -> None:
    """With `to`, as on a server."""

    class Sleeps(Served):  # type: ignore[misc, valid-type] # made above
        def pay(self, order_id: str) -> None:
            SENDER.post(f"{self.service.clock_url}/advance", json={"to": "2026-01-01T00:00:05Z"})
            assert self.service.now() == 1_767_225_605
            super().pay(order_id)

    take(Sleeps, *PAID)


def test_an_endless_sleep_is_cut_short() -> None:
    """As in process."""

    class Sleeps(Served):  # type: ignore[misc, valid-type] # made above
        def pay(self, order_id: str) -> None:
            httpx.post(f"{self.service.clock_url}/advance", json={"by": "900d"}, timeout=30)

    with pytest.raises(MerchantBug, match=r"waits for 2 years in the middle of one operation \(pay\(order-1\)\)"):
        take(Sleeps, *PAID)


class RealTime:
    """A service whose clock is that of the computer."""

    def __init__(self, service: Any) -> None:
        self._service = service

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)

    def now(self) -> float:
        """Return the computer's time."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Let real time pass, a hundredth of what was meant, as a shop with short pauses for tests does."""
        time.sleep(seconds / 100)


@pytest.mark.parametrize("trouble", ["503", "429 without headers"])
def test_pauses_in_real_time_count(trouble: str) -> None:
    """A shop that does not follow the play's time is not blamed for retries without a pause, however short it is."""
    merchant = over_sockets(ZooMerchant, follows_time=False)

    class OwnClock(merchant):  # type: ignore[misc, valid-type] # made above
        def __init__(self, service: Any) -> None:
            super().__init__(RealTime(service))

    play = take(OwnClock, step("order"), step("pay", 1, trouble, lasts=6), step("wait", "10s"))

    assert not play.failed


def test_a_shop_without_the_plays_time_lives_through_no_day() -> None:
    """It cannot know that its key is a day old, so such plays and steps are left out."""
    merchant = over_sockets(ZooMerchant, follows_time=False)
    plays = [CataloguePlay((step("order"), step("wait", time))) for time in ("1h", "25h")]

    assert [each.missing(merchant) for each in plays] == [None, "follows_time is false"]
    assert [each.missing(Served) for each in plays] == [None, None]


class SetTime(RealTime):
    """The service of a shop whose clock was set: it goes on from there as the computer's does."""

    def __init__(self, service: Any) -> None:
        super().__init__(service)
        self.ahead = 0.0

    def now(self) -> float:
        """Return the shop's time."""
        return time.time() + self.ahead


class ClockIsSet(over_sockets(ZooMerchant, follows_time=False)):  # type: ignore[misc] # made above
    """A shop that sleeps in real time, and whose clock a test can set."""

    def __init__(self, service: Any) -> None:
        self.clock = SetTime(service)
        self.told: list[float] = []
        super().__init__(self.clock)

    def set_time(self, now: float) -> None:
        """Set the clock."""
        self.told.append(now)
        self.clock.ahead = now - time.time()


def test_a_shop_whose_clock_is_set_lives_through_days() -> None:
    """It knows when its key is too old, and its webhooks are signed by the play's time."""
    day = CataloguePlay((step("order"), step("pay", 1, "reply lost"), step("wait", "25h"), step("retry")))

    assert day.missing(ClockIsSet) is None
    assert not take(ClockIsSet, *day.steps).failed


def test_a_clock_is_set_only_when_time_has_passed_and_again_in_a_new_process() -> None:
    """A shop's clock goes on by itself, so it is not set back; a new process has the computer's time."""
    with Play(ClockIsSet) as play:
        play.order()
        made: Any = play._driver._made
        start = made.told[-1]
        play.order()
        assert made.told == [start]
        play.wait("1h")
        assert made.told[-1] >= start + 3600
        times = len(made.told)
        play.restart()
        play.order()
        assert len(made.told) == times + 1


class ReckonsWithTheWall(Sockets):
    """Waits for the reset of a 429 by the computer's clock, though another one is set."""

    def pause(self, answer: Answer, attempt: int) -> float:
        return max(0.0, float(answer.headers["X-RateLimit-Reset"]) - time.time())


def test_the_report_about_a_429_names_the_clock_that_is_set() -> None:
    """The reset is a time by that one, so another one is months ahead of it."""
    merchant = type("Two", (ClockIsSet,), {"client_part": ReckonsWithTheWall})

    told = verdict(merchant, step("order"), step("pay", 1, "429"))

    assert told.startswith("The merchant asks again 0")
    assert "if it reckons with another clock than the one that is set, let it use that one" in told


class WaitsForTheReset(Sockets):
    """After a 429 it leaves the deposit to a job that comes when the reset is over, by the shop's clock."""

    def send(self, method: str, path: str, key: str | None = None, body: bytes = b"") -> Answer:
        limits: dict[str, float] = self.service.__dict__.setdefault("limits", {})
        if key is not None and self.service.now() < limits.get("until", 0.0):
            raise ConnectionError("limited")
        answer = super().send(method, path, key, body)
        if answer.status == 429:
            limits["until"] = self.service.now() + 60
            raise ConnectionError("limited")
        return answer


def test_a_shop_whose_clock_stands_still_is_not_asked_for_what_comes_after_a_wait() -> None:
    """A job that waits for the reset of a 429 by the computer's clock does not come to it within a play."""
    merchant = over_sockets(ZooMerchant, follows_time=False, client_part=WaitsForTheReset)

    class OwnClock(merchant):  # type: ignore[misc, valid-type] # made above
        def __init__(self, service: Any) -> None:
            super().__init__(RealTime(service))

        def order_status(self, order_id: str) -> str:
            status = str(super().order_status(order_id))
            return "pending" if status == "unpaid" and vars(self.service).get("limits") else status

    class Told(ClockIsSet):
        client_part = WaitsForTheReset

    assert not take(OwnClock, step("order"), step("pay", 1, "429")).failed
    with Play(Told) as play:
        play.order()
        play.pay(trouble="429")
        play.wait("2h")
        play.wait("10s")
        assert play.status() == "paid"


def test_the_report_says_that_the_clock_of_a_shop_stood_still() -> None:
    """Where its jobs have asked for nothing, since the time for it has not come."""

    class NeverInTime(over_sockets(ZooMerchant, follows_time=False)):  # type: ignore[misc] # made above
        def __init__(self, service: Any) -> None:
            super().__init__(RealTime(service))

        def tick(self) -> None:
            """Do nothing before an hour has passed on this computer."""

    told = verdict(NeverInTime, step("webhooks", "drop all"), *PAID)

    assert "; its clock did not move meanwhile, since it is not set (set_time)" in told


# Interruptions


class Unmarked(Store):
    """A database without checkpoints, as that of a shop in another process."""

    def __init__(self, _: object) -> None:
        super().__init__(lambda: None)


@pytest.mark.parametrize("at", range(3))
def test_each_request_is_a_point(at: int) -> None:
    """The process is killed there, and started again; so is a second click made there."""
    merchant = over_sockets(ZooMerchant, store_part=Unmarked)
    for what in ("dies", "second click"):
        play = take(merchant, step("order"), step("pay", meanwhile=what, at=at), step("retry"), step("wait", "10s"))

        acted = [each.name for each in play.trials if each.table == "meanwhile" and each.name != "none"]
        assert acted == ([what] if at < POINTS_OF_A_REQUEST else [])


def test_a_shop_that_cannot_be_killed_is_not() -> None:
    """Without `restart` there is nothing that ends its process."""

    class Lasting(Served):  # type: ignore[misc, valid-type] # made above
        restart = Merchant.restart

    killed = CataloguePlay((step("order"), step("pay", meanwhile="dies")))

    assert (killed.missing(Lasting), killed.missing(Served)) == ("no restart", None)
    assert [each.name for each in take(Lasting, *killed.steps).trials] == ["plain", "none", "happy-path"]
    take(Lasting, step("order"), step("interrupt_webhook", "dies"), *PAID)


def test_webhooks_wait_for_a_shop_that_must_not_be_entered_twice() -> None:
    """As in process, also when it sleeps over HTTP."""
    inside: list[bool] = []

    class Alone(Served):  # type: ignore[misc, valid-type] # made above
        interleaves = False
        is_paying = False

        def pay(self, order_id: str) -> None:
            self.is_paying = True
            super().pay(order_id)
            self.service.sleep(10)
            self.is_paying = False

        def receive(self, webhook: Webhook) -> int:
            inside.append(self.is_paying)
            return int(super().receive(webhook))

    take(Alone, *PAID)

    assert set(inside) == {False}


# What is wrong with a shop


def test_a_shop_that_does_not_follow_as_it_says_is_named() -> None:
    """It verifies by the computer's clock, though its adapter promises the play's."""

    class ByTheWall(Served):  # type: ignore[misc, valid-type] # made above
        def start(self) -> None:
            super().start()
            self.receiver.service = RealTime(self.service)

    assert verdict(ByTheWall).endswith("let it ask for the time at service.clock_url, or leave follows_time out")


def verdict(merchant: type[Merchant], *steps: Step, **options: Any) -> str:
    """Return what is said of a merchant."""
    with pytest.raises(MerchantBug) as caught, Play(merchant, **options) as play:
        for each in steps or PAID:
            each.take(play)
    return caught.value.verdict


def test_a_shop_that_never_calls_is_asked_for_its_base_url() -> None:
    """The first sentence names the address."""

    class Silent(Served):  # type: ignore[misc, valid-type] # made above
        def pay(self, order_id: str) -> None:
            """Do nothing."""

    assert verdict(Silent).startswith("The merchant has sent no request to http://127.0.0.1:")


def test_a_shop_that_was_killed_before_it_called_is_not() -> None:
    """It may have been about to call, and has forgotten it."""

    class Forgets(Served):  # type: ignore[misc, valid-type] # made above
        def pay(self, order_id: str) -> None:
            self.service.checkpoint()

    interrupted = (step("order"), step("pay", 1, meanwhile="dies"), step("retry"))
    assert verdict(Forgets, *interrupted).startswith("The merchant never made a deposit for order-1")


def test_a_shop_with_other_credentials_is_asked_for_them() -> None:
    """The first sentence names the key that was expected, and what was answered."""

    class Stranger(Served):  # type: ignore[misc, valid-type] # made above
        def start(self) -> None:
            super().start()
            self.client.authorization = "Basic eDp5"

    assert verdict(Stranger).startswith(
        "The merchant has sent no request with the business key 'sandbox_key' "
        "(GET /api/v1/pay-in?external_identifier=order-1&limit=100 was answered 401); check its credentials"
    ) or verdict(Stranger).startswith("The merchant has sent no request with the business key 'sandbox_key' (POST")


def test_a_shop_that_hangs_is_named(nothing_left: None) -> None:
    """With the limit; its thread ends with the shop."""
    released = threading.Event()

    class Hangs(Served):  # type: ignore[misc, valid-type] # made above
        def pay(self, order_id: str) -> None:
            released.wait()

        def close(self) -> None:
            released.set()

    assert verdict(Hangs, patience_seconds=0.3) == "The merchant hangs: pay(order-1) has not come back after 0.3 s"


def test_an_answer_that_an_event_overtakes_comes_to_a_client_that_waits_briefly() -> None:
    """The four seconds of the play have gone by when it is sent; a client of production waits for longer."""
    answers: list[int | str] = []

    class Brief(Sockets):
        def send(self, method: str, path: str, key: str | None = None, body: bytes = b"") -> Answer:
            SENDER.timeout = httpx.Timeout(AT_MOST_SECONDS, read=3.5 if method == "GET" else AT_MOST_SECONDS)
            try:
                answer = super().send(method, path, key, body)
            except TimeoutError:
                answers.append("none")
                raise
            finally:
                SENDER.timeout = httpx.Timeout(AT_MOST_SECONDS)
            answers.append(answer.status)
            return answer

    with Play(over_sockets(ZooMerchant, client_part=Brief)) as play:
        for each in (step("order"), step("pay"), step("pass_time", "5s"), step("reads", "overtaken")):
            each.take(play)
        answers.clear()
        play.returns(1)

        assert any(entry.faults for entry in play.sandbox.journal.requests.entries)
    assert answers[:1] == [200]


def test_a_shop_without_a_timeout_is_named() -> None:
    """Its wait for an answer that a fault holds back is no hang at first."""

    class Patient(Served):  # type: ignore[misc, valid-type] # made above
        def pay(self, order_id: str) -> None:
            # A client that is there already: to make one takes a busy machine as long as the patience lasts.
            SENDER.post(
                f"{self.service.base_url}/pay-in/deposit-creation", auth=("sandbox_key", "sandbox_secret"), timeout=None
            )

    silent = {"on": "api", "effect": {"type": "no_response"}}

    with pytest.raises(MerchantBug) as caught, Play(Patient, patience_seconds=0.3) as play:
        play.sandbox.faults.add(_fault(silent), play.sandbox.now)
        play.order()
        play.pay()

    assert caught.value.verdict == (
        "The merchant hangs: pay(order-1) has not come back; it waits for an answer that does not come, so its HTTP "
        "client seems to have no timeout"
    )


def _fault(document: dict[str, Any]) -> Any:
    from paydouble.faults.model import parse_fault

    return parse_fault(document)


def test_a_shop_that_waits_for_the_time_to_pass_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It only passes when somebody sleeps, so that a loop that asks for it does not end."""
    monkeypatch.setattr("paydouble.stateful.adapter_threads._MOST_LOOKS", 50)

    class Polls(Served):  # type: ignore[misc, valid-type] # made above
        def pay(self, order_id: str) -> None:
            until = self.service.now() + 2
            while self.service.now() < until:
                pass

    assert verdict(Polls).startswith("The merchant hangs: pay(order-1) has not come back; it asks for the time again")


def test_an_endless_loop_is_ended() -> None:
    """The process is started again, so that nothing of it reaches the next play."""
    restarts: list[None] = []

    class Loops(Served):  # type: ignore[misc, valid-type] # made above
        def pay(self, order_id: str) -> None:
            while not restarts:
                with_key = {"Authorization": self.client.authorization}
                try:
                    SENDER.get(f"{self.service.base_url}/pay-in", headers=with_key)
                except httpx.TransportError:
                    time.sleep(0.001)

        def restart(self) -> None:
            restarts.append(None)

    assert verdict(Loops).startswith("The merchant sends more than 50 requests in one operation, the last GET /api/v1/")
    assert restarts


def test_a_shop_that_has_ended_is_named() -> None:
    """The adapter's client cannot connect, or loses the connection."""

    class Gone(Served):  # type: ignore[misc, valid-type] # made above
        def pay(self, order_id: str) -> None:
            httpx.post("http://127.0.0.1:9/pay")

    assert verdict(Gone).endswith("; the connection to the shop failed, so it has ended, or was not started")


@pytest.mark.parametrize(
    ("pay", "pause"),
    [
        (step("pay", meanwhile="second click", at=0), 0),
        (step("pay", trouble="request lost", meanwhile="second click", at=1), 0),
        (step("pay"), 10),  # the events of the payment come while the call goes on
    ],
)
def test_a_shop_may_hold_a_lock_while_it_asks_the_service(pay: Step, pause: float) -> None:
    """A second click or an event that comes meanwhile waits for the lock, and goes on when the call is over."""

    class Locks(Served):  # type: ignore[misc, valid-type] # made above
        def __init__(self, service: Any) -> None:
            super().__init__(service)
            self.lock = threading.Lock()

        def pay(self, order_id: str) -> None:
            with self.lock:
                super().pay(order_id)
                self.service.sleep(pause)

        def retry(self, order_id: str) -> None:
            with self.lock:
                super().retry(order_id)

        def receive(self, webhook: Webhook) -> int:
            with self.lock:
                return int(super().receive(webhook))

        def order_status(self, order_id: str) -> str:
            with self.lock:
                return str(super().order_status(order_id))

    with Play(Locks) as play:
        for each in (step("order"), pay, step("wait", "10m")):
            each.take(play)
        assert play.status() == "paid"


def test_a_receiver_that_is_busy_is_asked_for_interleaves() -> None:
    """One that handles one request at a time cannot take a webhook while it pays."""

    class Busy(Served):  # type: ignore[misc, valid-type] # made above
        def pay(self, order_id: str) -> None:
            super().pay(order_id)
            self.service.sleep(10)

        def receive(self, webhook: Webhook) -> int:
            raise Unreachable("timeout", "no answer within 10 s")

    assert verdict(Busy).endswith("while another call was running; does interleaves have to be false?")


def test_a_port_in_use_is_named() -> None:
    """With the attribute to change."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(
            UsageError, match=rf"service_port: 127.0.0.1:{port} cannot be used \(address already in use"
        ):
            Play(over_sockets(ZooMerchant, service_port=port))


def test_an_adapter_without_a_receiver_is_named(nothing_left: None) -> None:
    """It may set `receiver_url` when it is made, since its shop may take any free port."""

    class NoReceiver(Served):  # type: ignore[misc, valid-type] # made above
        receive = Merchant.receive

    with pytest.raises(AdapterMisfit, match=r"lacks receive\(webhook\), and has no receiver_url once it is made"):
        Play(NoReceiver)


def test_an_adapter_that_hangs_while_it_is_made_is_stopped() -> None:
    """It may take longer than another call, as a process starts."""
    released = threading.Event()

    class HangsAtOnce(Served):  # type: ignore[misc, valid-type] # made above
        def __init__(self, service: Any) -> None:
            released.wait(60)

    with pytest.raises(AdapterMisfit, match="hangs while it is being made"):
        Play(HangsAtOnce, patience_seconds=0.01)
    released.set()


# A whole run


def test_a_run_keeps_its_port(nothing_left: None, impatient: None) -> None:
    """All plays of a machine's run are served at one address, and nothing of it is left."""
    addresses: set[str] = set()

    class Noted(Served):  # type: ignore[misc, valid-type] # made above
        def __init__(self, service: Any) -> None:
            super().__init__(service)
            addresses.add(service.base_url)

    class Machine(MerchantMachine):
        merchant = Noted
        phases = ("hunt",)

    Machine.run(settings(max_examples=4, stateful_step_count=3, database=None, deadline=None, derandomize=True))

    assert len(addresses) == 1
    with pytest.raises(httpx.ConnectError):
        httpx.get(addresses.pop())


def test_between_two_plays_connections_are_reset() -> None:
    """Nobody answers there."""
    server = PlayServer()

    with pytest.raises(httpx.ReadError):
        httpx.get(server.url, timeout=AT_MOST_SECONDS)

    server.stop()


def test_explore_serves_a_shop(impatient: None) -> None:
    """As the machine does."""
    explore(Served, examples=2, steps=2, phases=("hunt",))


# In another process and language


def short_form(merchant: type[Merchant]) -> list[CataloguePlay]:
    """Return some dozens of plays from the whole catalogue."""
    return CatalogueRun(merchant).plays()[::EVERY]


@pytest.mark.parametrize("shop", [PythonShop, pytest.param(NodeShop, marks=[needs_node, pytest.mark.long])])
def test_a_correct_shop_passes_elsewhere(shop: type[ShopElsewhere]) -> None:
    """Driven by plays of the whole catalogue, with its own timeouts and a process that is killed."""
    plays = short_form(shop)
    with serving(0):
        for play in plays:
            CatalogueRun(shop).one(play)

    assert len(plays) > 30


@pytest.mark.parametrize("shop", [PythonShop, pytest.param(NodeShop, marks=needs_node)])
@pytest.mark.parametrize(
    ("mistake", "steps", "found"),
    [
        ("new key", (step("order"), step("pay", 1, "reply lost")), "took a new Idempotency-Key for a retry"),
        (
            "believes everybody",
            (step("order"), step("pay"), step("inject", "wrong secret")),
            "answers 200 to a webhook",
        ),
    ],
)
def test_a_mistake_is_found_elsewhere(
    shop: type[ShopElsewhere], mistake: str, steps: tuple[Step, ...], found: str
) -> None:
    """A key for each attempt, and a receiver that believes everybody."""
    wrong = type("WrongShop", (shop,), {"mistake": mistake})

    with pytest.raises(MerchantBug, match=found):
        CatalogueRun(wrong).one(CataloguePlay(steps))


class PatientShop(PythonShop):
    """One that does not give up because the computer is busy."""

    timeout_seconds = 60.0


def story(merchant: type[Merchant]) -> tuple[Any, ...]:
    """Return what happened in a play with many requests, webhooks and interruptions."""
    # With a limit at whose share for inner calls a busy machine does not arrive: it would postpone them.
    with Play(merchant, seed=5, patience_seconds=20 * AT_MOST_SECONDS) as play:
        play.webhooks("duplicate four")
        for number, options in ((1, {"trouble": "reply lost"}), (2, {"meanwhile": "dies", "at": 1}), (3, {})):
            play.order()
            play.pay(number, **options)
            play.retry(number)
        play.wait("10s")
        play.provider("dispute", 1)
        play.end()
        box = play.sandbox
        requests = [(each.id, each.at, each.target, each.key, each.status) for each in box.journal.requests.entries]
        events = [(each.id, each.type, each.created_at) for each in box.journal.events.entries]
        sent = [(each.event.id, each.status, len(each.attempts)) for each in box.outbox.deliveries.values()]
    return requests, events, sent, play.story.calls


@pytest.fixture
def load() -> Iterator[None]:
    """Keep the processors busy."""
    burning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    yield
    for each in burning:
        each.kill()
        each.wait()


def test_a_served_play_is_the_same_under_load(request: pytest.FixtureRequest) -> None:
    """The same seed gives the same requests, events and deliveries, with the same ids, at the same times."""
    quiet = story(PatientShop)
    request.getfixturevalue("load")

    assert story(PatientShop) == quiet
    assert len(quiet[0]) > 10
