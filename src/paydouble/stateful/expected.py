"""The expected state: what the sandbox's ledger holds for each order, and which statuses a merchant may show for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, NamedTuple

from paydouble.core.durations import UNITS_MS
from paydouble.core.money import MINOR_DIGITS, write_amount
from paydouble.payments.lifecycle import CHARGED_BACK, DISPUTE, PAID, PAY_IN, REFUND, REFUNDED, UNSUCCESSFUL, unfinished
from paydouble.payments.resources import Dispute, PayIn, Refund
from paydouble.sandbox import Sandbox
from paydouble.stateful.held_to import Disputed
from paydouble.stateful.merchant import CLOSED
from paydouble.stateful.prices import MOST_THAT_IS_SOLD

_UNPAID = frozenset({"unpaid", "failed", "cancelled", "pending"})

_LONGEST_WATCH: Final = 7 * UNITS_MS["d"]
"""For so long a merchant has to ask what becomes of a refund of which no event comes."""
SHORTEST_HOLD: Final = 5 * UNITS_MS["m"]
"""For how long at least, in milliseconds, a shop holds something for an order that is not paid, such as a seat."""
ELSEWHERE: Final = "elsewhere-"
"""How the external identifier of a payment begins that another system of the same business takes."""


class Promise(NamedTuple):
    """A refund that a merchant has taken and has to make."""

    reason: str
    """Why it has to, as the end of a sentence."""
    since: int
    """How many requests there were when it was requested."""


class Refusal(NamedTuple):
    """A refund that a merchant has refused, and should not have."""

    text: str
    refunds: frozenset[str]
    """Ids of the order's refunds that were there."""


@dataclass(slots=True)
class Order:
    """An order as the machine placed it, with what the customer, the provider and the service did to it."""

    id: str
    amount: int
    currency: str
    order_of: Callable[[str], str] = str
    """Returns the id of the order that a deposit with this external identifier is for."""
    placed_at: int = 0
    """When it was placed, in milliseconds."""
    clicks: int = 0
    """How many deposits the customer's clicks allow."""
    refunds_requested: dict[str, int] = field(default_factory=dict)
    """Refund id → amount in minor units."""
    paid_late: set[str] = field(default_factory=set)
    """Ids of pay-ins that are paid after they had ended, or after days."""
    late_money_is_news: bool = False
    """Whether no background job has run since money came for a pay-in that had ended."""
    deposit_due: str | None = None
    """Why a deposit must exist in the end; None when none has to."""
    clicked_at: int = 0
    """When the customer clicked last, in milliseconds."""
    waits_after_a_limit: int = 0
    """After how many runs of the jobs it still had no deposit, long after the end of a 429 to another request."""
    given_up: bool = False
    """Whether no job ran for so long after a trouble that a merchant may have given up its attempt."""
    declined_after: int | None = None
    """The number of requests after which the merchant told the customer no, since the service had refused the deposit.

    None when it did not, and when the customer has clicked since then.
    """
    is_cancelled: bool = False
    """Whether the customer has cancelled it, and the merchant did not decline."""
    cancellations: int = 0
    """How often the customer was told that it is cancelled."""
    was_cancelled_paid: bool = False
    """Whether its money was there when the customer cancelled it, and the merchant did not decline."""
    was_beyond_the_contract: bool = False
    """Whether something has happened to it of which the contract says nothing: staff has refunded it on the provider's
    own pages, or the provider has acted as `BEYOND_THE_CONTRACT` says."""
    refunds_with_stored_error: int = 0
    """The money of refunds, in minor units, that are answered with an error stored under their keys in the end."""
    refund_was_refused: bool = False
    """Whether the service has refused a refund that was requested of the merchant, with good reason."""
    was_wronged: bool = False
    """Whether the service has broken the contract about it: it has refused a deposit or a refund without a reason, or
    has sent an event of the other environment, for which the merchant shows it in review."""
    limited: str | None = None
    """The 429 that the last click met, when nothing else disturbed it."""
    limited_until: int = 0
    """The instant from which such a click may not be left pending, in milliseconds."""
    refunded_elsewhere: set[str] = field(default_factory=set)
    """Ids of refunds that the merchant's staff made on the provider's own pages, so that no code of it has asked."""
    refunds_asked: Counter[str] = field(default_factory=Counter)
    """Refund id → how often the merchant was asked for it before, whatever it said."""
    refunds_taken: list[tuple[int, int]] = field(default_factory=list)
    """What could be refunded when the merchant took a refund, and the refund's amount, both in minor units."""
    refusals: list[Refusal] = field(default_factory=list)
    refund_ids_taken: set[str] = field(default_factory=set)
    """Ids of the refunds that the merchant took, whatever became of them."""
    refunds_due: dict[str, Promise] = field(default_factory=dict)
    """Refund id → why and since when the refund must be made; only those that the merchant took."""
    refunds_interrupted: set[str] = field(default_factory=set)
    """The refunds that the merchant took, and whose job was killed."""
    refunds_limited: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Refund id → the 429 that it met and nothing else, and the instant in milliseconds by which it must be made."""
    refunds_given_up: set[str] = field(default_factory=set)
    """The refunds that a merchant may have given up as `given_up` says, so that to request them again is in vain."""
    refund_is_untold: bool = False
    """Whether the merchant has not acknowledged the newest event of each refund, as far as that is known in the end."""
    worked_off: frozenset[tuple[str, int]] = frozenset()
    """Id and latest change of its objects, when the newest event of each was acknowledged and jobs have run since."""
    attempts_before: int | None = None
    """How many payments it had, all of them without money, when the customer last clicked again and another one had to
    follow; None when none has to."""
    key_has_stored_error: bool = False
    """Whether the service stored a 500 under the order's key, so that no retry under that key can succeed."""
    clicked_plainly: bool = False
    """Whether the customer's latest click met no trouble, and the merchant did not decline it and could find out what
    became of those before."""
    was_clicked: bool = False
    """Whether the customer has clicked on it before."""
    was_clicked_again: bool = False
    """Whether the customer has clicked on it more than once."""
    disturbed: bool = False
    """Whether a request about it met a trouble, so that the merchant may not know which object belongs to it."""
    disturbed_to_the_end: bool = False
    """Whether a trouble of its deposits lasts to the end of the play, so that none has to succeed."""
    refunds_disturbed_to_the_end: bool = False
    """The same of its refunds."""
    while_disputed: frozenset[Disputed] = frozenset()
    """What the merchant is held to while a dispute is open."""
    is_unreadable: bool = False
    """Whether each read about it is disturbed to the end, so that what the merchant shows for it is not judged."""
    status: str = "unpaid"
    """The status that the merchant showed last."""
    was_called_paid: bool = False
    """Whether it was shown as paid at some time, or as refunded in part."""
    received: set[str] = field(default_factory=set)
    """Ids of payments that were processing, as the merchant had acknowledged, while it called the order open."""
    was_closed: bool = False
    """Whether the merchant has closed it, since what it held for it may be free again."""
    is_reviewed_late: bool = False
    """Whether it is shown in review, and was not before what was held for it may have been free again."""
    shipped: int = 0
    """How often it was fulfilled when the merchant was looked at last."""
    was_shipped: bool = False
    """Whether it was fulfilled at some time."""
    was_charged_back: bool = False
    """Whether disputes had taken all of its money then, as the merchant had worked on."""
    held_for: set[frozenset[str]] = field(default_factory=set)
    """The ids of the disputes that were open, all of them known to the merchant, when it held goods back that it had
    handed out before."""
    held_with: frozenset[str] = frozenset()
    """The same of the last time that all disputes were known; empty when it held nothing back then."""
    known_disputes: frozenset[str] = frozenset()
    """The ids of the open disputes of which the merchant knew then, for one that holds goods back."""
    was_given_back: bool = False
    """Whether the merchant had asked then for all of its money to go back, or knew that its staff had."""

    @property
    def is_closed_unpaid(self) -> bool:
        """Return whether it was closed, and not taken up again: what comes for it may go back."""
        return self.was_closed and not self.was_sold

    @property
    def waits_for_a_person(self) -> bool:
        """Return whether a person has to decide about money of which the merchant has learned after its hold.

        It may learn of the money, and that the hold is over, in the same job.
        """
        return self.is_reviewed_late and not self.was_sold

    @property
    def was_sold(self) -> bool:
        """Return whether the merchant has shown that it has the order's money, or has fulfilled it."""
        return self.was_called_paid or self.was_shipped

    @property
    def refund_calls(self) -> int:
        """Return how often a refund was requested of the merchant before, the same one or another."""
        return self.refunds_asked.total()

    def is_held_to(self, what: Disputed) -> bool:
        """Return whether the merchant is held to this while a dispute of the order is open."""
        return what in self.while_disputed

    def owns(self, external_identifier: str | None) -> bool:
        """Return whether a deposit with this external identifier is for this order."""
        return external_identifier is not None and self.order_of(external_identifier) == self.id

    @property
    def money(self) -> Decimal:
        """Return the amount as the merchant is given it."""
        return Decimal(write_amount(self.amount, self.currency))

    @property
    def may_be_too_expensive(self) -> bool:
        """Return whether the merchant may decline it for its amount alone."""
        return self.amount > MOST_THAT_IS_SOLD


@dataclass(slots=True, frozen=True)
class ExpectedState:
    """The sandbox's resources of one order, newest first."""

    pay_ins: list[PayIn]
    refunds: list[Refund]
    disputes: list[Dispute]

    @property
    def paid(self) -> list[PayIn]:
        """Return the pay-ins that brought money."""
        return [each for each in self.pay_ins if each.status == PAID]

    @property
    def resources(self) -> list[PayIn | Refund | Dispute]:
        """Return all of them."""
        return [*self.pay_ins, *self.refunds, *self.disputes]


def expected_state(box: Sandbox, order: Order) -> ExpectedState:
    """Return the resources of an order."""
    pay_ins = [each for each in box.ledger.newest_first(PayIn) if order.owns(each.external_identifier)]
    ids = {each.id for each in pay_ins}
    refunds = [each for each in box.ledger.newest_first(Refund) if each.payin_id in ids] if ids else []
    disputes = [each for each in box.ledger.newest_first(Dispute) if each.payin_id in ids] if ids else []
    return ExpectedState(pay_ins, refunds, disputes)


def own_refunds(order: Order, state: ExpectedState) -> list[Refund]:
    """Return the refunds that the merchant's code has asked for."""
    return [each for each in state.refunds if each.id not in order.refunded_elsewhere]


def refundable(state: ExpectedState) -> int:
    """Return what was paid and neither refunded nor is being refunded, in minor units."""
    return sum(each.amount for each in state.paid) - _refunded(state) - _refunds_under_way(state)


def taken_by_disputes(state: ExpectedState) -> int:
    """Return what is disputed, or was charged back, in minor units."""
    return sum(each.amount for each in state.disputes if each.status != "won")


def is_given_back(state: ExpectedState) -> bool:
    """Return whether all money of an order has gone back, or is on its way, as the merchant has asked."""
    return bool(state.paid) and refundable(state) <= 0


def is_being_refunded(state: ExpectedState) -> bool:
    """Return whether a refund of an order is under way."""
    return _refunds_under_way(state) > 0


def is_asked_back(state: ExpectedState) -> bool:
    """Return whether the merchant has asked for all money of an order to go back, whatever became of that."""
    paid, asked = (sum(each.amount for each in group) for group in (state.paid, state.refunds))
    return bool(state.paid) and asked >= paid


def _is_taken_back(state: ExpectedState) -> bool:
    """Return whether open and lost disputes take all that was not asked back."""
    disputed = taken_by_disputes(state)
    asked = sum(each.amount for each in state.refunds)
    return bool(disputed) and disputed + asked >= sum(each.amount for each in state.paid)


def surplus(order: Order, state: ExpectedState) -> int:
    """Return the money, in minor units, that a merchant may give back though nobody has asked for it.

    That is what was paid beyond the order's price, and all of it when nobody waits for it any more, another amount was
    paid than was asked for, or the payer's bank has taken a part.
    """
    paid = sum(each.amount for each in state.paid)
    is_charged_back = any(each.status in CHARGED_BACK for each in state.disputes)
    is_free = is_unexpected(order, state) or amount_differs(state) or is_charged_back
    return paid if is_free else max(0, paid - order.amount)


def is_unexpected(order: Order, state: ExpectedState) -> bool:
    """Return whether an order was cancelled, or all of its money came, or was learned of, when its attempts had ended.

    Its goods may be sold to somebody else by then.
    """
    is_late = bool(state.paid and all(each.id in order.paid_late for each in state.paid))
    return order.is_cancelled or is_late or _is_learned_late(order, state)


def look(order: Order, status: str, state: ExpectedState, now: int) -> None:
    """Note the status that a merchant shows for an order; `now` is in milliseconds."""
    may_be_free = now - order.placed_at >= SHORTEST_HOLD
    # An attempt that has ended without money is another reason to show it as closed.
    has_ended = any(each.status in UNSUCCESSFUL for each in state.pay_ins)
    order.was_closed |= status in CLOSED and may_be_free and not has_ended
    order.was_called_paid |= status in {"paid", "partly_refunded"}
    order.is_reviewed_late = status == "review" and (
        may_be_free if order.status != "review" else order.is_reviewed_late
    )
    order.status = status


def being_received(state: ExpectedState) -> list[PayIn]:
    """Return the payments whose money is received and not there yet."""
    return [each for each in state.pay_ins if each.status == "processing"]


def note_received(order: Order, state: ExpectedState) -> None:
    """Note what is being received for an order, and known to the merchant, unless it calls the order closed."""
    if order.status not in CLOSED:
        order.received.update(each.id for each in being_received(state))


def is_charged_back(state: ExpectedState) -> bool:
    """Return whether disputes have taken all of an order's money."""
    lost = sum(each.amount for each in state.disputes if each.status in CHARGED_BACK)
    return bool(state.paid) and lost >= sum(each.amount for each in state.paid)


def open_disputes(state: ExpectedState) -> frozenset[str]:
    """Return the ids of the disputes of an order that are open."""
    return frozenset(each.id for each in state.disputes if each.status in unfinished(DISPUTE))


def is_reviewed_for_disputes(order: Order, state: ExpectedState) -> bool:
    """Return whether an order has to be shown in review, since open disputes take all of its money.

    That is so for a merchant that shows it without any trouble, when nothing else has happened to the order.
    """
    is_simple = not (state.refunds or order.is_cancelled or order.paid_late or order.was_beyond_the_contract)
    is_open = len(open_disputes(state)) == len(state.disputes)
    is_whole = 0 < sum(each.amount for each in state.paid) <= _disputed(state)
    return order.is_held_to("in review") and is_simple and is_open and is_whole


def _is_learned_late(order: Order, state: ExpectedState) -> bool:
    """Return whether the money of an order goes back that was never called paid while it may have been held."""
    if order.was_sold or order.refund_ids_taken:
        return False
    asked_at = [each.created_at for each in own_refunds(order, state)]
    return bool(asked_at) and min(asked_at) - order.placed_at >= SHORTEST_HOLD


def is_wrong(pay_in: PayIn) -> bool:
    """Return whether another amount was paid than was asked for; the customer may pay again, and it goes back."""
    return pay_in.status == PAID and pay_in.settles_at is not None


def is_returned(pay_in: PayIn, state: ExpectedState) -> bool:
    """Return whether the merchant has asked for all of a payment to go back."""
    return sum(each.amount for each in state.refunds if each.payin_id == pay_in.id) >= pay_in.amount


def amount_differs(state: ExpectedState) -> bool:
    """Return whether another amount was paid than the merchant asked for."""
    return any(each.settles_at is not None for each in state.paid)


def _gives_rest_back(order: Order, state: ExpectedState) -> bool:
    """Return whether more was paid than an order costs, and a refund of the rest was asked for, or may be under way."""
    rest = sum(each.amount for each in state.paid) - order.amount
    is_asked = sum(each.amount for each in state.refunds) >= rest
    return rest > 0 and (is_asked or order.refunds_disturbed_to_the_end)


def has_unknown_outcome(state: ExpectedState) -> bool:
    """Return whether a dispute has an outcome that a merchant may not know.

    The contract names none. Each merchant has words for one that is won and one that is lost, and may have none for one
    that the merchant's staff has accepted.
    """
    return any(each.status == "accepted" for each in state.disputes)


def allowed_statuses(order: Order, state: ExpectedState) -> frozenset[str]:
    """Return the statuses that a merchant may show for an order when nothing more will happen."""
    allowed = _of_payments(order, state)
    if order.is_cancelled:
        # Money that came all the same is known: the order is taken up again, or looked at, or the money goes back.
        allowed |= {"review"} if state.paid else {"cancelled"}
        if order.refunds_disturbed_to_the_end:
            allowed |= {"cancelled"}  # its refund may have been refused for good
    if any(each.status == "failed" for each in state.refunds):
        allowed |= {"review"}  # a person has to find another way to give the money back
    if order.refund_was_refused or order.was_wronged:
        allowed |= {"review"}  # a person has to find out why, and tell those who asked for it
    if order.was_beyond_the_contract or has_unknown_outcome(state):
        allowed |= {"review"}  # a person may want to see it
    if order.disturbed and order.refunds_given_up:
        allowed |= {"review"}  # a person has to find out whether a refund was made whose key is too old by now
    if order.refund_is_untold and any(each.updated_at - each.created_at > _LONGEST_WATCH for each in state.refunds):
        allowed |= {"review"}  # a person has to find out what became of it: the contract shows no way to ask
    is_closed = is_unexpected(order, state) or order.is_closed_unpaid
    if is_closed and (is_asked_back(state) or _is_taken_back(state)):
        allowed |= CLOSED
    return allowed - {"paid"} if is_reviewed_for_disputes(order, state) else allowed


def _of_payments(order: Order, state: ExpectedState) -> frozenset[str]:
    # Under a key that may have expired, or that is answered with the same error each time, nothing can be asked for
    # again, so a person may have to find out.
    is_unknown = order.key_has_stored_error or (order.disturbed and order.given_up)
    unpaid = _UNPAID | {"review"} if is_unknown else _UNPAID
    if not state.pay_ins:
        return unpaid
    if not state.paid:
        if is_under_way(state):
            return frozenset({"pending"})
        # An attempt under a key with a stored error is open for the shop until the key is a day old. One that was
        # disturbed, and of which there is no payment, may wait for the next click, as an order's first may.
        waits = order.disturbed and order.clicks > len(state.pay_ins) and not order.clicked_plainly
        is_open = order.key_has_stored_error or waits
        return unpaid if is_open else _UNPAID - {"pending"}
    if amount_differs(state):
        # The contract does not say what to do about it; `paid` alone is wrong.
        others = _UNPAID | {"review", "partly_refunded", "refunded", "charged_back"}
        return others | ({"paid"} if _gives_rest_back(order, state) else set())
    is_late = order.paid_late or order.waits_for_a_person
    return _after_payment(order, state) | ({"review"} if is_late else set())


def is_under_way(state: ExpectedState) -> bool:
    """Return whether nothing is paid yet, and a payment may still succeed."""
    return not state.paid and any(each.status in unfinished(PAY_IN) for each in state.pay_ins)


def _after_payment(order: Order, state: ExpectedState) -> frozenset[str]:
    charged_back = sum(each.amount for each in state.disputes if each.status in CHARGED_BACK)
    total = sum(each.amount for each in state.paid)
    statuses = set()
    # A refund under way may count already. Refunds are never more than what was paid.
    for refunded in {_refunded(state), _refunded(state) + _refunds_under_way(state)}:
        if refunded and refunded + charged_back >= total:
            statuses.add("refunded")
        if max(refunded, charged_back) < total:  # the rest is still paid
            statuses.add("partly_refunded" if refunded else "paid")
            if total - refunded >= order.amount:
                statuses.add("paid")  # what has gone back was paid twice
    if charged_back:
        statuses.add("charged_back")
    if _disputed(state):
        statuses.add("review")  # somebody has to answer the dispute
    return frozenset(statuses)


def allowed_balances(order: Order, state: ExpectedState) -> frozenset[Decimal]:
    """Return the money that a merchant may have of an order.

    It is what was paid, less refunds that have succeeded and disputes that were lost. When a refund and a dispute take
    the same money, the service's records have both, so a merchant may show the debt or 0. The contract does not say
    when money moves, so refunds and disputes that are under way may be taken off before, each kind as a whole. So may
    refunds that are asked for and answered with a stored error.
    """
    rest = sum(each.amount for each in state.paid) - _refunded(state)
    rest -= sum(each.amount for each in state.disputes if each.status in CHARGED_BACK)
    is_held = order.is_held_to("off the balance") and not order.was_beyond_the_contract
    disputed = {_disputed(state)} if is_held else {0, _disputed(state)}
    under_way = _refunds_under_way(state)
    taken_off = (0, under_way, under_way + order.refunds_with_stored_error)
    amounts = {rest - early - held for early in taken_off for held in disputed}
    shown = amounts | {max(0, amount) for amount in amounts}
    return frozenset(Decimal(amount).scaleb(-MINOR_DIGITS[order.currency]) for amount in shown)


def _refunded(state: ExpectedState) -> int:
    return sum(each.amount for each in state.refunds if each.status == REFUNDED)


def _refunds_under_way(state: ExpectedState) -> int:
    return sum(each.amount for each in state.refunds if each.status in unfinished(REFUND))


def _disputed(state: ExpectedState) -> int:
    return sum(each.amount for each in state.disputes if each.status in unfinished(DISPUTE))
