"""Effects on the API: what a caller of `/api/v1` meets. Each is a value; `apply` notes in a `Plan` what it asks for."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from paydouble.config import Duration, Real, Whole
from paydouble.core.errors import STATUS
from paydouble.faults.base import Delaying, Effect, Json
from paydouble.faults.plan import Answer, Document, Limited, Plan, Wire
from paydouble.faults.roll import Roll

_CODES = {status: code for code, status in reversed(list(STATUS.items()))}


class ApiEffect(Effect):
    """Base of the effects on the API."""

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Note what this firing does."""
        raise NotImplementedError


class Error(ApiEffect):
    """Any documented or undocumented error, in either envelope."""

    exposes: ClassVar = "takes a 5xx for a failed payment, or retries it as a new one; loops on a 401"
    type: Literal["error"] = "error"
    status: Whole = Field(ge=400, le=599)
    code: str | None = Field(None, min_length=1, max_length=100)
    message: str | None = Field(None, min_length=1, max_length=1000)
    envelope: Literal["A", "B"] | None = None
    details: dict[str, Json] | None = None

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Answer with the error."""
        code = self.code or _CODES.get(self.status) or ("INTERNAL_ERROR" if self.status >= 500 else "INVALID_INPUT")  # noqa: PLR2004
        message = self.message or f"A fault answers {self.status}."
        plan.answer = Answer(self.status, code, message, self.envelope, self.details)


class RateLimit(ApiEffect):
    """One 429, with any variation of its headers."""

    exposes: ClassVar = "misreads the unit of the reset, trusts Remaining, stalls or spins on missing or past headers"
    type: Literal["rate_limit"] = "rate_limit"
    limit: Whole = Field(100, ge=0, le=1_000_000_000)
    remaining: Whole = Field(0, ge=0, le=1_000_000_000)
    reset: Duration = 30_000
    """How long from now until the window opens."""
    reset_unit: Literal["epoch_seconds", "delta_seconds", "epoch_milliseconds"] | None = None
    headers: Literal["full", "missing", "malformed", "past"] = "full"

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Answer 429; the pipeline writes the headers, which need the sandbox's time."""
        plan.answer = Answer(429, "RATE_LIMITED", "Too many requests.")
        plan.limited = Limited(self.limit, self.remaining, self.reset, self.reset_unit, self.headers)


class Latency(ApiEffect, Delaying):
    """A slow answer, in real time. Before the commit the request is in flight meanwhile, after it its state is kept."""

    exposes: ClassVar = "has no timeout, blocks every worker on a slow API, takes a new key after its own timeout"
    type: Literal["latency"] = "latency"

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Add the time."""
        plan.delay_ms += self.milliseconds(roll)


class NoResponse(ApiEffect):
    """The request is accepted and never answered; the connection stays open for `hold`, or until the client goes."""

    exposes: ClassVar = "waits for ever, or takes its own timeout for a failed payment"
    type: Literal["no_response"] = "no_response"
    hold: Duration | None = None

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Say nothing."""
        plan.wire = Wire("silence", seconds=None if self.hold is None else self.hold / 1000)


class ConnectionReset(ApiEffect):
    """The connection is reset (RST)."""

    exposes: ClassVar = "gives up on a lost request, or pays twice when only the reply was lost"
    type: Literal["connection_reset"] = "connection_reset"

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Abort."""
        plan.wire = Wire("reset")


class EmptyResponse(ApiEffect):
    """The connection is closed cleanly, without a byte."""

    exposes: ClassVar = "takes an empty reply for success, or pays twice"
    type: Literal["empty_response"] = "empty_response"

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Close."""
        plan.wire = Wire("empty")


class Truncate(ApiEffect):
    """The head and a part of the body, then a close."""

    exposes: ClassVar = "takes a truncated reply for success or failure"
    type: Literal["truncate"] = "truncate"
    fraction: Real = Field(0.5, ge=0, lt=1, allow_inf_nan=False)

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Cut."""
        plan.wire = Wire("cut", fraction=self.fraction)


def _wrong(by: int) -> int:
    if not by:
        message = "is the number of bytes by which the length is wrong, so it is not 0"
        raise ValueError(message)
    return by


class WrongContentLength(ApiEffect):
    """A Content-Length that is wrong by `by` bytes; the connection is closed after the body."""

    exposes: ClassVar = "takes a truncated reply for success or failure"
    type: Literal["wrong_content_length"] = "wrong_content_length"
    by: Annotated[Whole, AfterValidator(_wrong)] = Field(10, ge=-1_000_000, le=1_000_000)
    """Bytes too many, or negative: too few; never below 0."""

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Lie."""
        plan.wire = Wire("length", by=self.by)


class SlowBody(ApiEffect):
    """The body in drips: `chunks` of it, spread over a time."""

    exposes: ClassVar = "has a timeout for the first byte only"
    type: Literal["slow_body"] = "slow_body"
    chunks: Whole = Field(10, ge=2, le=10_000)
    over: Duration = 5000

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Drip."""
        plan.wire = Wire("drip", chunks=self.chunks, seconds=self.over / 1000)


def _base64_text(value: object) -> object:
    try:
        base64.b64decode(str(value).encode(), validate=True)
    except ValueError:
        message = "is the base64 of the bytes to send"
        raise ValueError(message) from None
    return value


class Garbage(ApiEffect):
    """Bytes that are no HTTP, or with `as: body` a body that is no JSON."""

    exposes: ClassVar = "crashes on what it cannot parse, and never finds out what became of the payment"
    type: Literal["garbage"] = "garbage"
    bytes: Annotated[str, BeforeValidator(_base64_text)] | None = Field(None, max_length=100_000)
    """Base64 of the bytes; drawn from the seed when absent."""
    as_: Literal["response", "body"] = Field("response", alias="as")

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Send rubbish."""
        data = (
            base64.b64decode(self.bytes) if self.bytes is not None else base64.b64encode(roll.text("garbage").encode())
        )
        if self.as_ == "body":
            plan.answer = Answer(200, "", "", raw=data)
        else:
            plan.wire = Wire("garbage", data=data)


class HtmlError(ApiEffect):
    """A proxy's HTML page instead of JSON."""

    exposes: ClassVar = "crashes on a proxy's HTML 502, 503 or 504"
    type: Literal["html_error"] = "html_error"
    status: Whole = Field(502, ge=400, le=599)

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Answer as a proxy does."""
        page = f"<html><head><title>{self.status}</title></head><body><h1>{self.status}</h1><hr>proxy</body></html>\n"
        plan.answer = Answer(self.status, "", "", raw=page.encode(), content_type="text/html")


class Redirect(ApiEffect):
    """A redirect to another host."""

    exposes: ClassVar = "sends its credentials along to another host"
    type: Literal["redirect"] = "redirect"
    to: str = Field(min_length=1, max_length=2048, pattern=r"^https?://[\x21-\x7e]+$")
    status: Literal[301, 302, 303, 307, 308] = 307

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Point elsewhere."""
        plan.answer = Answer(self.status, "", "", headers=(("Location", self.to),), raw=b"")


class StickyError(ApiEffect):
    """A 5xx that is itself stored under the key, so that every retry gets it again."""

    exposes: ClassVar = "retries a stored 500 for ever"
    type: Literal["sticky_5xx"] = "sticky_5xx"
    status: Whole = Field(500, ge=500, le=599)

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Answer, and keep that answer."""
        plan.answer = Answer(self.status, "INTERNAL_ERROR", "A fault answers this, and keeps it under the key.")
        plan.store_answer = True


class LostRecord(ApiEffect):
    """Carried out, and the key's record lost: a retry is carried out once more."""

    exposes: ClassVar = "relies on the key alone, and does not look whether the order has a payment already"
    type: Literal["lost_record"] = "lost_record"

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Forget."""
        plan.forget = True


class ForceConflict(ApiEffect):
    """409 for an identical body."""

    exposes: ClassVar = "takes a 409 for success, or loops on it"
    type: Literal["force_conflict"] = "force_conflict"

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Answer 409; the pipeline fills in the details."""
        plan.answer = Answer(409, "IDEMPOTENCY_CONFLICT", "This Idempotency-Key was used with a different request.")


class StaleRead(ApiEffect):
    """A read shows the older state of an object that has just changed."""

    exposes: ClassVar = "lets a stale read overwrite what it knew better"
    type: Literal["stale_read"] = "stale_read"
    for_: Duration | None = Field(None, alias="for")
    """How long after a change; without it, whenever there is an older state."""

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Look back."""
        plan.stale_for_ms = self.for_ or 0


class NotFoundYet(ApiEffect):
    """A read right after the creation finds nothing."""

    exposes: ClassVar = "takes a 404 right after its POST for the truth"
    type: Literal["not_found_yet"] = "not_found_yet"
    for_: Duration | None = Field(None, alias="for")
    """How long after the creation; without it, whatever the age."""

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Find nothing."""
        plan.unborn_for_ms = self.for_ or 0


class UnknownMembers(ApiEffect):
    """Members that no version so far has had."""

    exposes: ClassVar = "breaks on a member that it does not know"
    type: Literal["unknown_members"] = "unknown_members"
    members: dict[str, Json] = Field(default_factory=lambda: {"x_future": {"nested": [1, "two", None]}}, min_length=1)

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Add them to the envelope and to the resource."""
        members = self.members

        def rewrite(body: Document) -> None:
            body.update(members)
            if isinstance(body.get("data"), dict):
                body["data"].update(members)

        plan.rewrite.append(rewrite)


class UnknownStatus(ApiEffect):
    """A status that no version so far has had."""

    exposes: ClassVar = "breaks on, or guesses at, a status that it does not know"
    type: Literal["unknown_status"] = "unknown_status"
    value: str = Field("on_hold", min_length=1, max_length=64)

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Write it into the resource."""
        value = self.value

        def rewrite(body: Document) -> None:
            data: Any = body.get("data")
            for resource in data.get("items", [data]) if isinstance(data, dict) else ():
                if "status" in resource:
                    resource["status"] = value

        plan.rewrite.append(rewrite)


class UnknownCode(ApiEffect):
    """An error with a code that no catalogue has."""

    exposes: ClassVar = "breaks on an error code that it does not know"
    type: Literal["unknown_code"] = "unknown_code"
    code: str = Field("PAYER_ACTION_REQUIRED", min_length=1, max_length=100)
    status: Whole = Field(422, ge=400, le=599)

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Answer with it."""
        plan.answer = Answer(self.status, self.code, "Something that this version of your code has not heard of.")


class ExpireRate(ApiEffect):
    """The quote expires between two calls: rates arrive expired, and a deposit is refused for it."""

    exposes: ClassVar = "does not ask for a new quote"
    type: Literal["expire_rate"] = "expire_rate"

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Let quotes be over."""
        plan.expire_rate = True


class RemoveMethod(ApiEffect):
    """A payment method vanishes between the listing and the deposit."""

    exposes: ClassVar = "has no fallback for a method that is gone"
    type: Literal["remove_method"] = "remove_method"
    method: str = Field("*", min_length=1, max_length=64)
    """Type or code of the method; `*` for whichever is asked for."""

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Take it out of the catalogue."""
        plan.remove_method = self.method


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


class AmountDrift(ApiEffect):
    """The settled amount differs from the one that was asked for."""

    exposes: ClassVar = "calls an under- or overpaid order paid"
    type: Literal["amount_drift"] = "amount_drift"
    by: Annotated[str, BeforeValidator(_decimal_text)]
    """In the currency of the pay-in; negative for an underpayment."""

    def apply(self, plan: Plan, roll: Roll) -> None:
        """Let it drift."""
        plan.drift = self.by


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
    | AmountDrift,
    Field(discriminator="type"),
]
