"""The adapter: the methods through which the machine drives a merchant's own code.

Four are needed: place an order, pay it, return its status, receive a webhook. The others have defaults; each one that
is written lets the machine test more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import ClassVar, Final, Protocol

from paydouble.inprocess import Webhook
from paydouble.sandbox.identity import Secrets
from paydouble.stateful.accepted import Accepted
from paydouble.testing.play_service import Answer

STATUSES: Final = (
    "unpaid",
    "pending",
    "paid",
    "failed",
    "cancelled",
    "partly_refunded",
    "refunded",
    "charged_back",
    "review",
)
"""What `order_status` may return; `review` is an order that a person has to look at."""
OPEN: Final = frozenset({"unpaid", "pending"})
"""Those of an order that may still be paid."""
CLOSED: Final = frozenset({"failed", "cancelled"})
"""Those of an order that has ended without money."""

NEEDED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "place_order": "place_order(order_id, amount, currency): note an order that is to be paid",
        "pay": "pay(order_id): the customer presses the button; create the deposit through service.call",
        "order_status": f"order_status(order_id): one of {', '.join(STATUSES)}",
    }
)


_NO_EFFECTS: Final[Mapping[str, int]] = MappingProxyType({})


class Refused(Exception):
    """Raised by a merchant that declines a request, such as the refund of an order that is not paid."""


class ServiceLike(Protocol):
    """What a merchant is made with: the payment service, the time, and checkpoints."""

    base_url: str
    """The URL of the API, which ends with `/api/v1`."""
    clock_url: str
    """The play's clock, for a shop that is `served`: GET it to read the time, POST to `/advance` below it to sleep."""
    business_key: str
    business_secret: str
    webhook_secret: str

    @property
    def is_nested(self) -> bool:
        """Whether the adapter's call that is running has come within another one, such as a webhook within a click."""

    def call(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] = MappingProxyType({}),
        body: bytes | None = b"",
        timeout: float | None = 30.0,
    ) -> Answer:
        """Send a request to the API. `path` begins with `/api/v1`, or with `base_url`; `timeout` is in seconds.

        `body` None is an empty one. Returns each answer, whatever its status is. Raises `TimeoutError` or a
        `ConnectionError` when no answer came, whatever became of the request.
        """

    def now(self) -> float:
        """Return the time in Unix seconds."""

    def sleep(self, seconds: float) -> None:
        """Let time pass, as `time.sleep` does; webhooks arrive meanwhile."""

    def checkpoint(self, *, in_transaction: bool = False) -> None:
        """Mark a point at which the process can be killed, the database fail, or another call come in between.

        With `in_transaction` no other call comes in between. A point just before a commit shows what is done outside
        the database inside a transaction: a failure there rolls it back, and what was sent or called stays.
        """


class Merchant:
    """Base of an adapter. The machine makes a new one, with an empty shop behind it, for each play.

    `service` is the payment service. The `external_identifier` of a deposit is the order's id, unless the adapter has
    `order_of_deposit`.
    """

    receiver_url: str | None = None
    """Where webhooks are posted over real sockets, when `receive` is not written.

    They are signed by the clock of this computer, unless the merchant follows the play's time.
    """
    retries_by_itself: ClassVar[bool] = True
    """Whether a request that was lost once is sent again without the customer (contract section 7)."""
    reconciles: ClassVar[bool] = True
    """Whether the merchant asks the service about payments of which no event came.

    The contract promises events for 72 hours, and demands no reads. Without reads the outcome of a payment whose events
    are all lost stays unknown, and the machine then asks for nothing.
    """
    currencies: ClassVar[Sequence[str]] = ()
    """The currencies in which the merchant sells, the usual one first; empty for a merchant that sells in all."""
    rotates_secrets: ClassVar[bool] = False
    """Whether the receiver accepts a header with two `v1` of which one is right, in any order.

    It comes while a webhook secret is rotated. The contract is silent about rotation, so nothing else demands it.
    """
    refunds_can_fail_late: ClassVar[bool] = True
    """Whether a refund that has succeeded can fail later, as when the payer's bank sends the money back.

    The contract does not say that it can, and other services do it. With False it is not played.
    """
    disputes_can_reopen: ClassVar[bool] = True
    """Whether a dispute that was won can be opened again, as when the payer's bank appeals.

    The contract does not say that it can, and banks do it. With False it is not played.
    """
    needed_effects: ClassVar[Collection[str]] = ()
    """The names of `effects` that have to happen for each order that is paid, such as the mail with the ticket.

    One that is missing in the end is found, as when a restart has lost it. An order is left out when some of its money
    has gone back or is disputed, when it was cancelled, and when its money came after its payment had ended.
    """
    accepts: ClassVar[Mapping[str, str | Accepted]] = MappingProxyType({})
    """Findings that are known and accepted: a regular expression that is searched in the sentence → why it is accepted.

    With `Accepted(because, after)` instead of the text it is accepted only after certain steps. The summary of a run
    says how often each was met, and which was not.
    """
    demands: ClassVar[Collection[str]] = ()
    """Policies that the merchant promises where the contract is silent, so that a run finds where it breaks them.

    `double payment`: what was paid twice goes back, or the order is in `review`. `cancelled order`: so does all that is
    left of an order that is cancelled after its payment, once no dispute holds it; a refund of it that fails is asked
    for again within a day. `refund limit`: a refund of more than is left is declined before
    the service is asked. `disputed refund`: no refund of money that is disputed or was charged back is asked for once
    the merchant knows of the dispute, nor by a job or for a cancellation; a request that may have been carried out may
    be repeated.
    `won dispute`: an order is no longer in `review` when its dispute was won. `cancelled before payment`: an order that
    the customer has cancelled is not taken up again when its money comes. `independent orders`: jobs go on with the
    others when the service cannot answer about one. `lost events`: jobs read refunds and disputes, so that one is known
    whose events were lost. `request ids`: several events may name the same request, and each of them counts.
    `list order`: lists may have the oldest object first.
    `accepted refund`: an order is called refunded, also in part, only when a refund has succeeded. `late money`: jobs
    also ask about payments that have failed or expired, so that money is known which has come for one of them, and
    whose event was lost. `late failure`: jobs also read refunds that have succeeded, so that it is known when one fails
    later and its event was lost. `another attempt`: an order whose payment has failed or was cancelled can be paid
    again, in the first five minutes at least. `after a limit`: half an hour after the end of a 429 at the latest, the
    service is asked for the deposits of the customers who have pressed the button since. `received payment`: an order
    is not given up while its payment is `processing`, which the contract calls received, for five hours at least; one
    that was given up before, while it was `pending`, may stay so. `paid in time`: a job gives no order up whose payment
    has succeeded before; it asks the service first, since the event may still be on its way. Judged where it succeeded
    within a minute after a run that left the order open, and neither reads nor its requests had met a trouble.
    `shared limit`: until the reset of a 429 nothing is asked of the service, for whatever order, by no click, job or
    webhook; a call that was under way by then may go on, and a process that was killed may have forgotten it.
    The summary of a run says which of the others were met.
    """
    interleaves: ClassVar[bool] = True
    """Whether the machine may call again while a call is running: a second click, a webhook before the reply."""

    follows_time: ClassVar[bool] = False
    """Whether the merchant's code sees the play's time in `time`, `datetime` and the sleeps of `time` and `asyncio`.

    Needs time-machine, or freezegun, which is slower. For a shop that is `served` it says that the shop asks for the
    time and sleeps at `service.clock_url`. Without it, the pauses of such a shop are measured in real time. Without
    `set_time` as well, it gets webhooks that are signed by the clock of this computer, and what takes a day or longer
    is not played.
    """
    served: ClassVar[bool] = False
    """Whether the shop reaches the service over sockets, at `service.base_url`: one in another process or language.

    The adapter's methods then run in another thread than the test's.
    """
    service_port: ClassVar[int] = 0
    """The port on 127.0.0.1 at which the service listens for a shop that is `served`; 0 takes a free one."""

    paths: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Other paths of operations that the contract does not show, by operation name: `{"refund-creation": "/refunds"}`.

    A path comes after `/api/v1` and keeps its `{id}`, where it has one. Where a shop has an id in another path, such as
    the payment's in that of a new refund, let the adapter rewrite it where the shop sends its requests.
    """
    settings: ClassVar[Mapping[str, object]] = MappingProxyType({})
    """Settings of the service, where the deployment that the merchant knows differs from the default.

    Such as `{"optional_members": ["customer"]}`. What the machine varies, it varies from there.
    """
    secrets: ClassVar[Secrets] = Secrets()
    """The credentials of the play's business: `Secrets(business_key, business_secret, webhook_secret)`."""

    def __init__(self, service: ServiceLike) -> None:
        """Keep the service."""
        self.service = service

    def place_order(self, order_id: str, amount: Decimal, currency: str) -> None:
        """Note an order that is to be paid; `currency` is its ISO 4217 code, such as `EUR`."""
        raise NotImplementedError

    def pay(self, order_id: str) -> None:
        """Do what the customer's click on the pay button does."""
        raise NotImplementedError

    def order_status(self, order_id: str) -> str:
        """Return the status that the merchant shows for an order: one of `STATUSES`."""
        raise NotImplementedError

    def order_of_deposit(self, external_identifier: str) -> str:
        """Return the id of the order that a deposit with this `external_identifier` is for.

        For a merchant that sends another one with each attempt, such as `order-1-2` for the second one of `order-1`. It
        is asked at any moment, also while another call is running, until it returns an order's id; so it only reads.
        What is no identifier of the merchant is returned as it is.
        """
        return external_identifier

    def receive(self, webhook: Webhook) -> int:
        """Take a webhook (`headers`, `body`) and return the HTTP status of the answer."""
        raise NotImplementedError

    def retry(self, order_id: str) -> None:
        """Do what the customer's next click does, after an error or a reload."""
        self.pay(order_id)

    def refund(self, order_id: str, refund_id: str, amount: Decimal) -> None:
        """Refund an amount. The same `refund_id` again is the same refund requested again, not another one."""
        raise Refused("this merchant refunds nothing")

    def cancel(self, order_id: str) -> None:
        """Cancel an order, as the customer asks. Raise `Refused` where that is not possible.

        It may be paid already, or its payment may succeed all the same. The shop may give that money back by itself, or
        take the order up again.
        """
        raise Refused("this merchant cancels nothing")

    def customer_returns(self, order_id: str) -> None:
        """Show the page to which the payer comes back."""

    def restart(self) -> None:
        """Forget what a process forgets when it is killed, and keep what a database keeps."""

    def tick(self) -> None:
        """Run the background jobs that are due: queued work, reconciliation."""

    def balance(self, order_id: str) -> Decimal | None:
        """Return the money that the merchant has of an order, in its currency; None when it keeps no balance."""

    def shipments(self, order_id: str) -> int | None:
        """Return how often an order was fulfilled; None when the merchant does not count.

        An order of six seats is fulfilled once. Of what can be taken back, such as a seat, a ticket or a licence: how
        often the customer has it now.
        """

    def effects(self, order_id: str) -> Mapping[str, int]:
        """Return how often each effect of an order has happened that may happen once: mails, stock, points.

        The names are the merchant's own; `needed_effects` says which of them have to happen. Shipping belongs into
        `shipments`, which also needs the money to be there.
        """
        return _NO_EFFECTS

    def broken_rules(self) -> Collection[str]:
        """Return which of the merchant's own rules do not hold at this moment, each as a text; empty when all hold.

        For what no single order shows: two tickets for one seat, less than nothing in stock. It is asked after each
        step and each webhook.
        """
        return ()

    def drain(self) -> None:
        """Wait until nothing is under way any more, for a merchant that goes on working after it has answered.

        It is called after each outermost call and webhook. With `served = True` it is also called within another call,
        and may wait for the end of that one, which goes on meanwhile. In process such a drain would wait without end,
        so it is not called there; where it does not wait, `receive` calls it by itself when `service.is_nested`.
        """

    def set_time(self, now: float) -> None:
        """Set the clock that the merchant's code reads, in Unix seconds.

        For a shop over sockets whose clock a test can set, and that does not ask for the time at `service.clock_url`.
        It is called before a call, a webhook and a job when the play's time has moved on; from then on the shop's clock
        goes as the computer's does. A new process has to be told again, and is.
        """

    def look_again(self) -> None:
        """Forget what was read from the merchant's books: it may have changed.

        For an adapter that keeps what it reads, because `order_status`, `shipments`, `balance` and `effects` would each
        read the same order.
        """

    def close(self) -> None:
        """Release what the play held: connections, files, threads."""


def knows_play_time(make: object) -> bool:
    """Return whether the code of a merchant knows the play's time: it follows, or is told.

    `make` is its class, or another callable that makes it.
    """
    is_told = getattr(make, "set_time", Merchant.set_time) is not Merchant.set_time
    return is_told or bool(getattr(make, "follows_time", False))
