"""Effects on the API, each a value with its attributes. `apply` writes into a `Plan` what the effect does."""

from __future__ import annotations

import base64
from abc import abstractmethod
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pydantic import AfterValidator, BeforeValidator, Field

from paydouble.config import CurrencyCode, Duration, Real, Whole
from paydouble.core.errors import STATUS
from paydouble.faults.base import Delaying, Effect, Json
from paydouble.faults.names import OperationName
from paydouble.faults.plans import Answer, Document, Limited, Plan
from paydouble.faults.seeded_values import SeededValues
from paydouble.faults.wire import Wire

_CODES = {status: code for code, status in reversed(list(STATUS.items()))}


Phase = Literal["before_commit", "after_commit"]
Point = Literal["before", "after"]
"""The injection points of a request: before its checks, or after the operation has answered."""


class RequestFacts(Protocol):
    """What an effect can find out about a request before it acts on it."""

    @property
    def method(self) -> str:
        """Return the request's method."""

    @property
    def operation(self) -> OperationName:
        """Return the name of the operation that is called."""

    def can_be_stored(self) -> bool:
        """Return whether an answer would be stored under the key: it is new, or this request has claimed it."""

    def since_creation_ms(self) -> int | None:
        """Return the age of the object that is read, in milliseconds; None when the request reads none."""

    def since_change_ms(self) -> int | None:
        """Return how many milliseconds ago the object that is read changed.

        None when it has no older state, or when the request reads none.
        """


class ApiEffect(Effect):
    """Base of the effects on the API. Each derives from one of the three classes below, which say when it acts."""

    @classmethod
    @abstractmethod
    def point(cls, phase: Phase | None) -> Point:
        """Return the injection point of a fault with this effect and phase."""

    @classmethod
    @abstractmethod
    def summary(cls, phase: Phase | None) -> str:
        """Return what was done to a request and its reply, as a short label for timelines."""

    @abstractmethod
    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Write into the plan what the effect does; `seeded` has the random values of this firing."""

    def can_act(self, request: RequestFacts) -> bool:
        """Return whether the effect has something to act on."""
        return True


class PhasedEffect(ApiEffect):
    """Acts before the commit, when nothing has been done, or after it, when only the reply must still be sent.

    Without a phase it acts before the commit.
    """

    reply: ClassVar[str]
    """What happens to the reply, as a label."""

    @classmethod
    def point(cls, phase: Phase | None) -> Point:
        """Return `before`, unless the phase says otherwise."""
        return "after" if phase == "after_commit" else "before"

    @classmethod
    def summary(cls, phase: Phase | None) -> str:
        """Return what happened to the reply, or that nothing was done."""
        return f"reply {cls.reply}" if phase == "after_commit" else "nothing done"


class DistortionEffect(ApiEffect):
    """Distorts the bytes of an answer: those of the true answer, or with `before_commit` those of a 500."""

    reply: ClassVar[str]
    """What happens to the reply, as a label."""

    @classmethod
    def point(cls, phase: Phase | None) -> Point:
        """Return `after`, unless the phase says otherwise."""
        return "before" if phase == "before_commit" else "after"

    @classmethod
    def summary(cls, phase: Phase | None) -> str:
        """Return what happened to the reply, and whether anything was done."""
        return f"nothing done, reply {cls.reply}" if phase == "before_commit" else f"reply {cls.reply}"


class OperationEffect(ApiEffect):
    """Changes what the operation itself does or answers, so it has no phase."""

    @classmethod
    def point(cls, phase: Phase | None) -> Point:
        """Return `before`, since it changes what happens after that."""
        return "before"

    @classmethod
    def summary(cls, phase: Phase | None) -> str:
        """Return its name."""
        return str(cls.model_fields["type"].default)


class Error(PhasedEffect):
    """Any documented or undocumented error, in either envelope."""

    exposes: ClassVar = "treats a 5xx as a failed payment, or retries it as a new one; loops on a 401"
    reply: ClassVar = "replaced"
    type: Literal["error"] = "error"
    status: Whole = Field(ge=400, le=599)
    code: str | None = Field(None, min_length=1, max_length=100)
    message: str | None = Field(None, min_length=1, max_length=1000)
    envelope: Literal["A", "B"] | None = None
    details: dict[str, Json] | None = None

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Answer with the error."""
        code = self.code or _CODES.get(self.status) or ("INTERNAL_ERROR" if self.status >= 500 else "INVALID_INPUT")  # noqa: PLR2004
        message = self.message or f"A fault answers {self.status}."
        plan.answer = Answer(self.status, code, message, self.envelope, self.details)


class RateLimit(PhasedEffect):
    """One 429, with any variation of its headers."""

    exposes: ClassVar = "misreads the unit of the reset, trusts Remaining, stalls or spins on missing or past headers"
    reply: ClassVar = "replaced"
    type: Literal["rate_limit"] = "rate_limit"
    limit: Whole = Field(100, ge=0, le=1_000_000_000)
    remaining: Whole = Field(0, ge=0, le=1_000_000_000)
    reset: Duration = 30_000
    """Time from now until the next window begins."""
    reset_unit: Literal["epoch_seconds", "delta_seconds", "epoch_milliseconds"] | None = None
    headers: Literal["full", "missing", "malformed", "past"] = "full"

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Answer 429; the pipeline adds the headers, since they need the sandbox's time."""
        plan.answer = Answer(429, "RATE_LIMITED", "Too many requests.")
        plan.limited = Limited(self.limit, self.remaining, self.reset, self.reset_unit, self.headers)


class Latency(PhasedEffect, Delaying):
    """A slow answer, in real time. Before the commit the request is in flight meanwhile; after it, all is stored."""

    exposes: ClassVar = "has no timeout, blocks every worker on a slow API, uses a new key after its own timeout"
    reply: ClassVar = "delayed"
    type: Literal["latency"] = "latency"

    @classmethod
    def summary(cls, phase: Phase | None) -> str:
        """Return `delayed`: in both phases the operation is carried out."""
        return "delayed"

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Add the delay."""
        plan.delay_ms += self.milliseconds(seeded)


class NoResponse(PhasedEffect):
    """The request is accepted and never answered. The connection stays open for `hold`, or until the client closes."""

    exposes: ClassVar = "waits without a limit, or treats its own timeout as a failed payment"
    reply: ClassVar = "lost"
    type: Literal["no_response"] = "no_response"
    hold: Duration | None = None

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Send nothing."""
        plan.wire = Wire("silence", seconds=None if self.hold is None else self.hold / 1000)


class ConnectionReset(PhasedEffect):
    """The connection is reset (RST)."""

    exposes: ClassVar = "gives up on a lost request, or pays twice when only the reply was lost"
    reply: ClassVar = "lost"
    type: Literal["connection_reset"] = "connection_reset"

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Reset the connection."""
        plan.wire = Wire("reset")


class EmptyResponse(PhasedEffect):
    """The connection is closed cleanly before any byte is sent."""

    exposes: ClassVar = "treats an empty reply as success, or pays twice"
    reply: ClassVar = "lost"
    type: Literal["empty_response"] = "empty_response"

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Close the connection."""
        plan.wire = Wire("empty")


class Truncate(DistortionEffect):
    """The head and a part of the body are sent, then the connection is closed."""

    exposes: ClassVar = "treats a truncated reply as success or failure"
    reply: ClassVar = "cut short"
    type: Literal["truncate"] = "truncate"
    fraction: Real = Field(0.5, ge=0, lt=1, allow_inf_nan=False)

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Cut the body short."""
        plan.wire = Wire("cut", fraction=self.fraction)


def _wrong(by: int) -> int:
    if not by:
        message = "is a number of bytes other than 0"
        raise ValueError(message)
    return by


class WrongContentLength(DistortionEffect):
    """A Content-Length that is wrong by `by` bytes; the connection is closed after the body."""

    exposes: ClassVar = "treats a truncated reply as success or failure"
    reply: ClassVar = "of a wrong length"
    type: Literal["wrong_content_length"] = "wrong_content_length"
    by: Annotated[Whole, AfterValidator(_wrong)] = Field(10, ge=-1_000_000, le=1_000_000)
    """Bytes too many, or too few when negative; the length itself is never below 0."""

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Announce a wrong length."""
        plan.wire = Wire("length", by=self.by)


class SlowBody(DistortionEffect):
    """The body arrives slowly: in `chunks` parts, spread over the time `over`."""

    exposes: ClassVar = "has a timeout for the first byte only"
    reply: ClassVar = "in drips"
    type: Literal["slow_body"] = "slow_body"
    chunks: Whole = Field(10, ge=2, le=10_000)
    over: Duration = 5000

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Send the body in parts."""
        plan.wire = Wire("drip", chunks=self.chunks, seconds=self.over / 1000)


def _base64_text(value: object) -> object:
    try:
        base64.b64decode(str(value).encode(), validate=True)
    except ValueError:
        message = "is the base64 of the bytes to send"
        raise ValueError(message) from None
    return value


class Garbage(PhasedEffect):
    """Bytes that are not HTTP, or with `as: body` a body that is not JSON."""

    exposes: ClassVar = "crashes on what it cannot parse, and never finds out whether the payment was made"
    reply: ClassVar = "garbled"
    type: Literal["garbage"] = "garbage"
    bytes: Annotated[str, BeforeValidator(_base64_text)] | None = Field(None, max_length=100_000)
    """Base64 of the bytes; derived from the seed when absent."""
    as_: Literal["response", "body"] = Field("response", alias="as")

    @classmethod
    def summary(cls, phase: Phase | None) -> str:
        """Return what was sent, and whether anything was done."""
        return super().summary(phase) if phase == "after_commit" else "nothing done, garbage sent"

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Send the bytes."""
        data = (
            base64.b64decode(self.bytes)
            if self.bytes is not None
            else base64.b64encode(seeded.text("garbage").encode())
        )
        if self.as_ == "body":
            plan.answer = Answer(200, "", "", raw=data)
        else:
            plan.wire = Wire("garbage", data=data)


class HtmlError(PhasedEffect):
    """A proxy's HTML page instead of JSON."""

    exposes: ClassVar = "crashes on a proxy's HTML 502, 503 or 504"
    reply: ClassVar = "replaced"
    type: Literal["html_error"] = "html_error"
    status: Whole = Field(502, ge=400, le=599)

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Answer with the page."""
        page = f"<html><head><title>{self.status}</title></head><body><h1>{self.status}</h1><hr>proxy</body></html>\n"
        plan.answer = Answer(self.status, "", "", raw=page.encode(), content_type="text/html")


class Redirect(PhasedEffect):
    """A redirect to another host."""

    exposes: ClassVar = "sends its credentials to another host"
    reply: ClassVar = "replaced"
    type: Literal["redirect"] = "redirect"
    to: str = Field(min_length=1, max_length=2048, pattern=r"^https?://[\x21-\x7e]+$")
    status: Literal[301, 302, 303, 307, 308] = 307

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Answer with the redirect."""
        plan.answer = Answer(self.status, "", "", headers=(("Location", self.to),), raw=b"")


class StickyError(PhasedEffect):
    """A 5xx that is itself stored under the key, so that every retry gets it again."""

    exposes: ClassVar = "retries a stored 500 without end"
    reply: ClassVar = "replaced"
    type: Literal["sticky_5xx"] = "sticky_5xx"
    status: Whole = Field(500, ge=500, le=599)

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Answer with the error, and store it under the key."""
        plan.answer = Answer(self.status, "INTERNAL_ERROR", "A fault answers this, and keeps it under the key.")
        plan.store_answer = True

    def can_act(self, request: RequestFacts) -> bool:
        """Return whether the answer would be stored under the request's key."""
        return request.method == "POST" and request.can_be_stored()


class LostRecord(OperationEffect):
    """The operation is carried out, but the key is not recorded, so a retry is carried out again."""

    exposes: ClassVar = "relies on the key alone, and does not check whether the order has a payment already"
    type: Literal["lost_record"] = "lost_record"

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Forget the key."""
        plan.forget = True

    def can_act(self, request: RequestFacts) -> bool:
        """Return whether the request has a key."""
        return request.method == "POST"


class ForceConflict(PhasedEffect):
    """409 for an identical body."""

    exposes: ClassVar = "treats a 409 as success, or loops on it"
    reply: ClassVar = "replaced"
    type: Literal["force_conflict"] = "force_conflict"

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Answer 409; the pipeline fills in the details."""
        plan.answer = Answer(409, "IDEMPOTENCY_CONFLICT", "This Idempotency-Key was used with a different request.")

    def can_act(self, request: RequestFacts) -> bool:
        """Return whether the request has a key."""
        return request.method == "POST"


class StaleRead(OperationEffect):
    """A read shows the older state of an object that has just changed; a list shows it of each."""

    exposes: ClassVar = "overwrites newer data with a stale read"
    type: Literal["stale_read"] = "stale_read"
    for_: Duration | None = Field(None, alias="for")
    """How long after a change; without it, whenever there is an older state."""

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Show the older state."""
        plan.stale_for_ms = self.for_ or 0

    def can_act(self, request: RequestFacts) -> bool:
        """Return whether the request reads an object that has an older state and changed recently enough."""
        age = request.since_change_ms()
        return age is not None and (self.for_ is None or age < self.for_)


class NotFoundYet(OperationEffect):
    """A read right after the creation finds nothing; a list lacks the object."""

    exposes: ClassVar = "believes a 404 right after its own POST"
    type: Literal["not_found_yet"] = "not_found_yet"
    for_: Duration | None = Field(None, alias="for")
    """How long after the creation; without it, at any age."""

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Hide the object."""
        plan.not_found_for_ms = self.for_ or 0

    def can_act(self, request: RequestFacts) -> bool:
        """Return whether the request reads an object that was created recently enough."""
        age = request.since_creation_ms()
        return age is not None and (self.for_ is None or age < self.for_)


class UnknownMembers(OperationEffect):
    """Members that no version of the API has had so far."""

    exposes: ClassVar = "breaks on a member that it does not know"
    type: Literal["unknown_members"] = "unknown_members"
    members: dict[str, Json] = Field(default_factory=lambda: {"x_future": {"nested": [1, "two", None]}}, min_length=1)

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Add the members to the envelope and to the resource."""
        members = self.members

        def rewrite(body: Document) -> None:
            body.update(members)
            if isinstance(body.get("data"), dict):
                body["data"].update(members)

        plan.rewrite.append(rewrite)


class UnknownStatus(OperationEffect):
    """A status that no version of the API has had so far."""

    exposes: ClassVar = "breaks on a status that it does not know, or guesses what it means"
    type: Literal["unknown_status"] = "unknown_status"
    value: str = Field("on_hold", min_length=1, max_length=64)

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Write the status into the resource."""
        value = self.value

        def rewrite(body: Document) -> None:
            data: Any = body.get("data")
            for resource in data.get("items", [data]) if isinstance(data, dict) else ():
                if "status" in resource:
                    resource["status"] = value

        plan.rewrite.append(rewrite)


class UnknownCode(PhasedEffect):
    """An error with a code that is in no catalogue."""

    exposes: ClassVar = "breaks on an error code that it does not know"
    reply: ClassVar = "replaced"
    type: Literal["unknown_code"] = "unknown_code"
    code: str = Field("PAYER_ACTION_REQUIRED", min_length=1, max_length=100)
    status: Whole = Field(422, ge=400, le=599)

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Answer with the code."""
        plan.answer = Answer(self.status, self.code, "Something that this version of your code has not heard of.")


class ExpireRate(OperationEffect):
    """The quote expires between two calls: rates arrive expired, and a deposit is refused for it."""

    exposes: ClassVar = "does not ask for a new quote"
    type: Literal["expire_rate"] = "expire_rate"

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Treat quotes as expired."""
        plan.expire_rate = True

    def can_act(self, request: RequestFacts) -> bool:
        """Return whether the operation is about a quote."""
        return request.operation in {"deposit-creation", "exchange-rates"}


class RemoveMethod(OperationEffect):
    """A payment method vanishes between the listing and the deposit."""

    exposes: ClassVar = "has no fallback for a method that is no longer offered"
    type: Literal["remove_method"] = "remove_method"
    method: str = Field("*", min_length=1, max_length=64)
    """Type or code of the method; `*` for any."""

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Remove the method from the catalogue."""
        plan.remove_method = self.method

    def can_act(self, request: RequestFacts) -> bool:
        """Return whether the operation is about a payment method."""
        return request.operation in {"deposit-creation", "available-payment-methods"}


def _decimal_text(value: object) -> object:
    text = str(value) if isinstance(value, str | int | Decimal) and not isinstance(value, bool) else ""
    try:
        amount = Decimal(text)
    except ArithmeticError:
        amount = Decimal("NaN")
    if not amount.is_finite() or not amount or amount.adjusted() > 15:  # noqa: PLR2004 - more than any payment
        message = "is an amount other than 0, such as -0.10"
        raise ValueError(message)
    return format(amount, "f")


class AmountDrift(OperationEffect):
    """The settled amount differs from the requested one."""

    exposes: ClassVar = "marks an under- or overpaid order as paid"
    type: Literal["amount_drift"] = "amount_drift"
    by: Annotated[str, BeforeValidator(_decimal_text)]
    """In the currency of the pay-in; negative for an underpayment."""

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Change the amount that is settled."""
        plan.drift = self.by

    def can_act(self, request: RequestFacts) -> bool:
        """Return whether the operation creates a pay-in, whose amount can then differ."""
        return request.operation == "deposit-creation"


class CurrencyDrift(OperationEffect):
    """The requested amount is settled in another currency."""

    exposes: ClassVar = "looks at the amount alone, and marks an order as paid whose money is worth less"
    type: Literal["currency_drift"] = "currency_drift"
    to: CurrencyCode

    def apply(self, plan: Plan, seeded: SeededValues) -> None:
        """Change the currency in which the amount is settled."""
        plan.settled_in = self.to

    def can_act(self, request: RequestFacts) -> bool:
        """Return whether the operation creates a pay-in, whose currency can then differ."""
        return request.operation == "deposit-creation"


AnyApiEffect = Annotated[
    Error
    | RateLimit
    | Latency
    | NoResponse
    | ConnectionReset
    | EmptyResponse
    | Truncate
    | WrongContentLength
    | SlowBody
    | Garbage
    | HtmlError
    | Redirect
    | StickyError
    | LostRecord
    | ForceConflict
    | StaleRead
    | NotFoundYet
    | UnknownMembers
    | UnknownStatus
    | UnknownCode
    | ExpireRate
    | RemoveMethod
    | AmountDrift
    | CurrencyDrift,
    Field(discriminator="type"),
]
