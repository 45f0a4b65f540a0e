"""An adapter that cannot be used, or that raises, hangs or loops, is named in one message; the suite goes on."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from bugzoo.adapter import ZooMerchant
from small_shop import SmallShop

from paydouble.conformance.calling import CallFailed
from paydouble.core.errors import UsageError
from paydouble.guards.credentials import basic_header
from paydouble.inprocess import InProcess
from paydouble.stateful import AdapterMisfit, Merchant, MerchantBug, MerchantMachine, Play, Refused, Webhook, explore
from paydouble.stateful.service import MOST_CALLS, Service
from paydouble.stateful.verdicts import place_of

# Twenty times what the first play of a process needs for a call, in which it loads modules.
PATIENCE_SECONDS = 0.3


class Silent(Merchant):
    """Does nothing, and says that nothing is paid."""

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        """Note nothing."""

    def pay(self, order_id: str) -> None:
        """Do nothing."""

    def order_status(self, order_id: str) -> str:
        """Say so."""
        return "unpaid"

    def receive(self, webhook: Webhook) -> int:
        """Take everything."""
        return 200


def verdict(merchant: type[Merchant], **options: Any) -> str:  # noqa: ANN401 - those of a play
    """Return what is said of a merchant after one payment."""
    with pytest.raises(MerchantBug) as caught, Play(merchant, **options) as play:
        play.order()
        play.pay()
    return caught.value.verdict


def test_what_an_adapter_lacks_is_listed() -> None:
    """Each missing method is named with its signature."""

    class Half(Merchant):
        def pay(self, order_id: str) -> None:
            """Pay."""

    with pytest.raises(AdapterMisfit, match=r"Half lacks place_order\(.*order_status\(.*receive\(webhook\)"):
        Play(Half)


def test_an_adapter_must_be_a_merchant() -> None:
    """Anything else is named for what it is."""
    with pytest.raises(AdapterMisfit, match="is a dict; derive it from"):
        Play(lambda _: {})  # type: ignore[arg-type, return-value]


def test_a_merchant_that_does_nothing_is_found_out() -> None:
    """A press of the button has to lead to a deposit."""
    assert verdict(Silent).startswith("The merchant never made a deposit for order-1, though the customer has pressed")


def test_what_a_merchant_raises_is_told_with_its_place() -> None:
    """Type, message, file and the call that raised."""

    class Raises(Silent):
        def pay(self, order_id: str) -> None:
            raise KeyError(order_id)

    assert verdict(Raises).startswith("The merchant's pay(order-1) raised KeyError: 'order-1' at test_adapters.py:")


def test_what_a_library_raises_is_told_with_the_line_of_the_shop() -> None:
    """The standard library's own line says nothing; an error of this package has no place at all."""

    class Parses(Silent):
        def pay(self, order_id: str) -> None:
            json.loads(order_id)

    own = CallFailed("the shop is gone")
    told = verdict(Parses)

    assert "raised JSONDecodeError: Expecting value: line 1 column 1 (char 0) at test_adapters.py:" in told
    assert place_of(own) == "CallFailed: the shop is gone"
    with pytest.raises(UsageError) as caught:
        Play(Silent, dialect="none")
    assert place_of(caught.value).rpartition(" at ")[2].startswith("test_adapters.py:")


def test_what_a_merchant_raises_is_told_on_one_line() -> None:
    """Also a page of HTML, without control characters; of a long one only the beginning."""
    told = place_of(ValueError("<html>\n\x1b[31m" + "x" * 10_000))

    assert told.startswith(r"ValueError: <html>\n\x1b[31mxxx")
    assert told.endswith("x…")
    assert len(told) < 500


def test_a_merchant_that_hangs_is_stopped() -> None:
    """The call that does not come back is named, with the limit."""

    class Hangs(Silent):
        def pay(self, order_id: str) -> None:
            time.sleep(60)

    assert (
        verdict(Hangs, patience_seconds=PATIENCE_SECONDS)
        == "The merchant hangs: pay(order-1) has not come back after 0.3 s"
    )


def test_a_merchant_that_waits_for_its_own_lock_is_told_of_interleaves() -> None:
    """In process the second click runs in the thread that holds the lock."""

    class Locks(SmallShop):
        def __init__(self, service: Any) -> None:  # noqa: ANN401 - any service
            super().__init__(service)
            self.lock = threading.Lock()

        def pay(self, order_id: str) -> None:
            with self.lock:
                super().pay(order_id)

    play = Play(Locks, patience_seconds=PATIENCE_SECONDS)
    play.order()
    with pytest.raises(MerchantBug, match=r"0\.3 s; it came while another call was running.* set interleaves to false"):
        play.pay(meanwhile="second click")


@pytest.mark.parametrize("method", ["order_status", "shipments", "balance", "effects"])
def test_what_only_shows_may_hang_or_raise(method: str) -> None:
    """It becomes a finding that names the call, also where no other call is running."""

    def hangs(_self: Merchant, _order_id: str) -> None:
        time.sleep(60)

    def breaks(_self: Merchant, order_id: str) -> None:
        raise KeyError(order_id)

    def loops(self: Merchant, _order_id: str) -> None:
        self.service.sleep(1e9)

    assert shown_by(hangs, method) == f"The merchant hangs: {method}(order-1) has not come back after 0.3 s"
    raised = f"The merchant's {method}(order-1) raised KeyError: 'order-1' at test_adapters.py:"
    assert shown_by(breaks, method).startswith(raised)
    waits = f"The merchant waits for 32 years in the middle of one operation ({method}(order-1))"
    assert shown_by(loops, method) == waits


def shown_by(work: Callable[[Any, str], None], method: str) -> str:
    """Return what is said of a merchant with another method."""
    return verdict(type("Shows", (ZooMerchant,), {method: work}), patience_seconds=PATIENCE_SECONDS)


def test_an_adapter_that_hangs_while_it_is_made_is_stopped() -> None:
    """It is the adapter's fault."""

    class HangsAtOnce(Silent):
        def __init__(self, service: Any) -> None:  # noqa: ANN401 - any service
            super().__init__(service)
            time.sleep(60)

    with pytest.raises(AdapterMisfit, match="hangs while it is being made"):
        Play(HangsAtOnce, patience_seconds=PATIENCE_SECONDS)


@pytest.mark.parametrize(("phase", "made_before"), [("catalogue", 0), ("catalogue", 30), ("hunt", 6), ("hunt", 15)])
@pytest.mark.parametrize("again", [False, True])
def test_an_adapter_that_raises_while_it_is_made_is_named(
    phase: Literal["catalogue", "hunt"], made_before: int, *, again: bool
) -> None:
    """With its error and the place, whichever play it is made for, and whether or not it raises again."""
    numbers = count()

    class Raises(ZooMerchant):
        def __init__(self, service: Any) -> None:  # noqa: ANN401 - any service
            number = next(numbers)
            if number == made_before or (again and number > made_before):
                raise KeyError("DATABASE_URL")
            super().__init__(service)

    told = r"adapter Raises raised KeyError: 'DATABASE_URL' at test_adapters.py:\d+ while it was being made"
    with pytest.raises(AdapterMisfit, match=told):
        explore(Raises, examples=30, phases=(phase,))


def test_an_endless_wait_is_cut_short() -> None:
    """A merchant that sleeps for years in one operation is reported."""

    class Sleeps(Silent):
        def pay(self, order_id: str) -> None:
            self.service.sleep(1e9)

    assert verdict(Sleeps) == "The merchant waits for 32 years in the middle of one operation (pay(order-1))"


def test_head_has_no_body() -> None:
    """A merchant that sends HEAD gets the headers of GET alone."""
    service = Service(InProcess(), lambda _rule, text: pytest.fail(text))
    headers = {"Authorization": basic_header(service.business_key, service.business_secret)}

    asked, headed = (service.call(method, f"{service.base_url}/api/v1/pay-in", headers) for method in ("GET", "HEAD"))

    assert (asked.status, asked.headers["Content-Length"]) == (headed.status, headed.headers["Content-Length"])
    assert (bool(asked.body), headed.body) == (True, b"")


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "pay-in", 200), ("POST", "pay-in/deposit-creation", 400)]
)
def test_no_body_is_an_empty_one(method: str, path: str, status: int) -> None:
    """Most HTTP clients take None for it."""
    service = Service(InProcess(), lambda _rule, text: pytest.fail(text))
    headers = {
        "Authorization": basic_header(service.business_key, service.business_secret),
        "Content-Type": "application/json",
        "Idempotency-Key": "0b5d9a5e-7f0e-4f0b-9a55-0d0d3f3f8a11",
    }

    assert service.call(method, f"/api/v1/{path}", headers, None).status == status


def test_an_unknown_status_is_refused() -> None:
    """The message lists the known ones."""

    class Odd(Silent):
        def order_status(self, order_id: str) -> str:
            return "fine"

    assert "calls order-1 'fine', which is none of: unpaid, pending, paid" in verdict(Odd)


@pytest.mark.parametrize("answer", [None, 7, "200"])
def test_what_a_receiver_returns_must_be_a_status(answer: Any) -> None:  # noqa: ANN401 - any answer
    """Anything else is the adapter's fault."""

    class Odd(ZooMerchant):
        def receive(self, webhook: Webhook) -> int:
            return answer  # type: ignore[no-any-return]

    assert verdict(Odd) == f"The adapter's receive returned {answer!r}; it must return an HTTP status"


@pytest.mark.parametrize(
    ("method", "answer", "wanted"),
    [
        ("effects", ["mail"], "a mapping of names to numbers"),
        ("effects", None, "a mapping of names to numbers"),
        ("effects", {"mail": "once"}, "a mapping of names to numbers"),
        ("shipments", True, "a number or None"),
        ("shipments", "1", "a number or None"),
        ("balance", 49.9, "a Decimal or None"),
        ("balance", "49.90", "a Decimal or None"),
    ],
)
def test_what_an_adapter_shows_must_be_of_its_type(method: str, answer: Any, wanted: str) -> None:  # noqa: ANN401
    """The message names the call, what it returned, and what it must return."""

    def shows(_self: Merchant, _order_id: str) -> Any:  # noqa: ANN401 - any answer
        return answer

    expected = f"The adapter's {method}(order-1) returned {answer!r}; it must return {wanted}"
    assert shown_by(shows, method) == expected


def test_a_merchant_may_refuse() -> None:
    """A refund of what is not paid is nobody's bug."""

    class Refuses(ZooMerchant):
        def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
            raise Refused("no")

    with Play(Refuses) as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.refund()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda play: play.pay(trouble="rain"), "there is no trouble 'rain'; there are: none, request lost"),
        (lambda play: play.pay(meanwhile="rain"), "there is no meanwhile 'rain'"),
        (lambda play: play.webhooks("rain"), "there is no trouble 'rain'; there are: duplicate"),
        (lambda play: play.interrupt_webhook("rain"), "there is no interruption 'rain'"),
        (lambda play: play.provider("rain"), "there is no act 'rain'; there are: fails"),
    ],
)
def test_an_unknown_name_is_refused_with_the_known_ones(call: Any, match: str) -> None:  # noqa: ANN401 - a lambda
    """So that a reproduction can be corrected by hand."""
    play = Play(ZooMerchant)

    with pytest.raises(UsageError, match=match):
        call(play)


def test_an_unknown_dialect_is_refused() -> None:
    """With the known ones."""
    with pytest.raises(UsageError, match="there is no dialect 'rain'; there are: plain"):
        Play(ZooMerchant, dialect="rain")


def test_a_machine_without_a_merchant_says_so() -> None:
    """The message names the attribute to set."""
    with pytest.raises(UsageError, match=r"MerchantMachine.merchant is not set"):
        MerchantMachine().start("plain")


class Endpoint(BaseHTTPRequestHandler):
    """Answers every webhook with `status`."""

    status: ClassVar[int] = 200

    def do_POST(self) -> None:
        """Answer."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def at_url(address: str) -> type[Merchant]:
    """Return the correct merchant's client with a receiver that listens elsewhere."""

    class Elsewhere(ZooMerchant):
        receive = Merchant.receive
        receiver_url = address

    return Elsewhere


@pytest.mark.parametrize(("status", "found"), [(200, None), (500, "answers 500 to a pay-in.created")])
def test_a_receiver_can_be_a_url(status: int, found: str | None) -> None:
    """Webhooks are posted over real sockets, and the answer is judged all the same."""
    handler = type("Fixed", (Endpoint,), {"status": status})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        play = Play(at_url(f"http://127.0.0.1:{server.server_port}/hooks?a=1"))
        play.order()
        if found is None:
            play.pay()
        else:
            with pytest.raises(MerchantBug, match=found):
                play.pay()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_receiver_that_does_not_listen_is_named() -> None:
    """The message holds its address."""
    assert verdict(at_url("http://127.0.0.1:9/")).startswith(
        "The merchant's receiver gave no answer: no answer from http://127.0.0.1:9/"
    )


@pytest.mark.parametrize(
    "wrong", [{"demands": ("all",)}, {"paths": {"refund-creation": "refunds"}}, {"pay": Merchant.pay}]
)
def test_what_is_wrong_with_an_adapter_is_told_without_our_own_frames(wrong: dict[str, Any]) -> None:
    """The sentence says all; pytest would show a page of the machine's code above it."""

    class ShopMachine(MerchantMachine):
        merchant = type("Wrong", (SmallShop,), wrong)

    with pytest.raises((UsageError, AdapterMisfit)) as caught:
        ShopMachine.TestCase().runTest()
    assert [frame.name for frame in caught.traceback][1:] == ["run_test"]


class Reader(SmallShop):
    """Its job looks up many things that are not its own."""

    lookups: Iterable[int] = range(200)

    def tick(self) -> None:
        """Read each once."""
        super().tick()
        for number in self.lookups:
            self.service.call("GET", f"/api/v1/pay-in?external_identifier=theirs-{number}", self.headers)


def test_a_job_may_read_many_things_once() -> None:
    """Such as the payments of another system, of which each event names one."""
    with Play(Reader) as play:
        play.order()
        play.pay()


def test_reads_that_never_end_are_stopped() -> None:
    """Each of another thing, as where a page of a list is counted up and there is always a next one."""
    endless = type("Endless", (Reader,), {"lookups": count()})
    assert verdict(endless).startswith(
        "The merchant sends more than 50 requests in one operation, the last GET /api/v1"
    )


def test_the_page_says_how_many_requests_are_allowed() -> None:
    """It is the machine's own limit, which no contract tells a shop."""
    page = Path(__file__).parents[2] / "docs" / "reference" / "hypothesis.md"
    assert f"in one call of the adapter a shop may send {MOST_CALLS} requests" in page.read_text("utf-8")
