"""What the service offers: payment methods and exchange rates, both read from data (assumptions, "Payloads")."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cache, cached_property

from paydouble.core.draws import Draws
from paydouble.core.errors import ApiError
from paydouble.core.money import MINOR_DIGITS, parse_amount, to_minor
from paydouble.payments.resources import PaymentMethod

RATE_WINDOW_MS = 15 * 60 * 1000
_RATE_DIGITS = Context(prec=8, rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True)
class Method:
    """A payment method, with the currencies, countries and amounts it takes."""

    type: str
    code: str
    name: str
    countries: tuple[str, ...]
    limits: dict[str, tuple[int, int]]
    """Smallest and largest amount in minor units, by currency."""

    @cached_property
    def named(self) -> PaymentMethod:
        """Return what a pay-in shows of it."""
        return PaymentMethod(self.type, self.code, self.name)

    def takes(self, currency: str, country: str | None, amount: int | None) -> bool:
        """Return whether this method can be offered."""
        limits = self.limits.get(currency)
        if limits is None or not self.serves(country):
            return False
        return amount is None or limits[0] <= amount <= limits[1]

    def serves(self, country: str | None) -> bool:
        """Return whether a payer of this country can use it; an empty list means every country."""
        return country is None or not self.countries or country in self.countries


@dataclass(frozen=True)
class Catalogue:
    """Everything on offer."""

    methods: tuple[Method, ...]
    per_dollar: dict[str, Decimal]
    """Units of each currency for one US dollar."""

    @cached_property
    def currencies(self) -> frozenset[str]:
        """Return the currencies that some method takes."""
        return frozenset(currency for method in self.methods for currency in method.limits)

    def called(self, kind: str, code: str | None) -> list[Method]:
        """Return the methods of a type, or the one of them with a code, in the catalogue's order."""
        return [method for method in self.methods if method.type == kind and code in {None, method.code}]

    @cached_property
    def takers(self) -> dict[tuple[str, str | None, str], list[Method]]:
        """Return the methods by type, code or none, and currency, each list in the catalogue's order."""
        takers: dict[tuple[str, str | None, str], list[Method]] = {}
        for method in self.methods:
            for code in (None, method.code):
                for currency in method.limits:
                    takers.setdefault((method.type, code, currency), []).append(method)
        return takers


@cache
def load_catalogue() -> Catalogue:
    """Read the catalogue that is shipped with the package, once."""
    from importlib.resources import files  # noqa: PLC0415 - a server that creates no deposit yet starts without them

    import yaml  # noqa: PLC0415 - likewise

    text = (files("paydouble.payments") / "catalogue.yaml").read_text("utf-8")
    data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe loaders
    methods = tuple(
        Method(
            type=entry["type"],
            code=entry["code"],
            name=entry["name"],
            countries=tuple(entry.get("countries", ())),
            limits={
                currency: (parse_amount(low, currency), parse_amount(high, currency))
                for currency, (low, high) in entry["limits"].items()
            },
        )
        for entry in data["payment_methods"]
    )
    return Catalogue(methods, {currency: Decimal(rate) for currency, rate in data["per_us_dollar"].items()})


def rate(catalogue: Catalogue, draws: Draws, source: str, target: str, now: int) -> tuple[Decimal, int]:
    """Return a rate and the instant at which it expires: the same for the same seed and quarter of an hour.

    The rate stays within half a percent of the table's and is another one in each window, so that a merchant who
    caches a quote for too long can see it change.
    """
    window = now // RATE_WINDOW_MS
    expires_at = (window + 1) * RATE_WINDOW_MS
    if source == target:
        return Decimal(1), expires_at
    drift = Decimal(draws.whole("rate", f"{source}-{target}", window) % 10_001 - 5_000)
    table_rate = _RATE_DIGITS.divide(catalogue.per_dollar[target], catalogue.per_dollar[source])
    moved = _RATE_DIGITS.multiply(table_rate, 1 + drift / 1_000_000)
    return moved.quantize(Decimal(1).scaleb(min(moved.adjusted() - 5, -4)), context=_RATE_DIGITS), expires_at


def convert(amount: int, rate_value: Decimal, source: str, target: str) -> int:
    """Return an amount in the target's minor units, rounded half to even; VALIDATION_ERROR when it is too large."""
    # Eighteen digits times the eight of a rate fit the 28 that Decimal computes with, so nothing is rounded twice.
    exact = Decimal(amount).scaleb(-MINOR_DIGITS[source]) * rate_value
    try:
        return to_minor(exact.quantize(Decimal(1).scaleb(-MINOR_DIGITS[target]), ROUND_HALF_EVEN), MINOR_DIGITS[target])
    except ValueError as error:
        raise ApiError("VALIDATION_ERROR", f"amount: in {target} it {error}.") from None
