"""What the service offers: payment methods and exchange rates, both data and a setting (assumptions, "Payloads")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from functools import cache, cached_property, lru_cache
from typing import Any, Final

from paydouble.config import EVERY_CURRENCY, CatalogueSettings, MethodSettings
from paydouble.core.errors import ApiError
from paydouble.core.money import MINOR_DIGITS, to_minor
from paydouble.core.seeded_random import SeededRandom
from paydouble.payments.resources import PaymentMethod

RATE_WINDOW_MS = 15 * 60 * 1000
_WIDE = Context(prec=100)
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
    """Payment methods, currencies and exchange rates."""

    methods: tuple[Method, ...]
    per_dollar: dict[str, Decimal]
    """Units of each currency for one US dollar."""
    digits: Mapping[str, int]
    """Minor digits of each known currency."""

    @cached_property
    def currencies(self) -> frozenset[str]:
        """Return the currencies that some method takes."""
        return frozenset(currency for method in self.methods for currency in method.limits)

    @cached_property
    def by_choice(self) -> dict[tuple[str, str | None], list[Method]]:
        """Return the methods by type and code, and by type alone, each list in the catalogue's order."""
        found: dict[tuple[str, str | None], list[Method]] = {}
        for method in self.methods:
            for code in (None, method.code):
                found.setdefault((method.type, code), []).append(method)
        return found


_ANYTHING: Final = {EVERY_CURRENCY: (Decimal(0), Decimal(250_000))}
"""The limits of a method that gives none."""


@cache
def load_catalogue() -> Catalogue:
    """Return the catalogue that the package ships, read once."""
    return _build(None)


def catalogue_of(own: CatalogueSettings) -> Catalogue:
    """Return the shipped catalogue with the settings merged over it."""
    if own.shipped and not own.currencies and not own.payment_methods:
        return load_catalogue()
    return _built(own.model_dump_json())


# By text, so that sandboxes with equal settings share one; only the latest are kept.
@lru_cache(maxsize=16)
def _built(own: str) -> Catalogue:
    return _build(CatalogueSettings.model_validate_json(own))


@cache
def _shipped() -> dict[str, Any]:
    from importlib.resources import files  # noqa: PLC0415 - not needed until the first deposit

    import yaml  # noqa: PLC0415 - as above

    text = (files("paydouble.payments") / "catalogue.yaml").read_text("utf-8")
    data: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe loaders
    return data


@dataclass
class _Draft:
    """A method while catalogues are merged; its limits are not in minor units yet."""

    name: str
    countries: tuple[str, ...] = ()
    limits: dict[str, tuple[Decimal, Decimal]] = field(default_factory=dict)

    def apply(self, own: MethodSettings) -> None:
        """Apply the settings of the method."""
        self.name = own.name or self.name
        self.countries = self.countries if own.countries is None else own.countries
        for currency, limits in own.limits.items():
            if limits is None:
                self.limits.pop(currency, None)
            else:
                self.limits[currency] = limits


def _build(own: CatalogueSettings | None) -> Catalogue:
    data = _shipped()
    digits = MINOR_DIGITS if own is None else own.digits
    rates = iter(data["per_us_dollar"].split())
    per_dollar = {code: Decimal(rate) for code, rate in zip(rates, rates, strict=True) if code in digits}
    drafts = {
        (kind, code): _Draft(
            entry["name"],
            tuple(entry.get("countries", ())),
            {currency: (Decimal(low), Decimal(high)) for currency, (low, high) in entry["limits"].items()},
        )
        for kind, methods in data["payment_methods"].items()
        for code, entry in methods.items()
    }
    if own is not None:
        for code, currency in own.currencies.items():
            if currency is not None:
                per_dollar[code] = currency.per_us_dollar or per_dollar.get(code, Decimal(1))
        drafts = _merged(drafts, own)
    methods = tuple(
        Method(kind, code, draft.name, draft.countries, _limits(draft.limits, digits, per_dollar))
        for (kind, code), draft in drafts.items()
    )
    return Catalogue(methods, per_dollar, digits)


def _merged(shipped: dict[tuple[str, str], _Draft], own: CatalogueSettings) -> dict[tuple[str, str], _Draft]:
    drafts = dict(shipped) if own.shipped else {}
    for kind, methods in own.payment_methods.items():
        if methods is None:
            drafts = {place: draft for place, draft in drafts.items() if place[0] != kind}
            continue
        for code, method in methods.items():
            if method is None:
                drafts.pop((kind, code), None)
                continue
            draft = shipped.get((kind, code)) or _Draft(code, limits={} if method.limits else dict(_ANYTHING))
            draft.apply(method)
            drafts[kind, code] = draft
    return drafts


def _limits(
    given: Mapping[str, tuple[Decimal, Decimal]], digits: Mapping[str, int], per_dollar: Mapping[str, Decimal]
) -> dict[str, tuple[int, int]]:
    """Return the smallest and the largest amount of each currency that a method takes, in minor units."""
    limits = {}
    for currency, (low, high) in given.items():
        if currency in digits:
            limits[currency] = max(1, _minor(low, digits[currency], ROUND_CEILING)), _minor(high, digits[currency])
    dollars = given.get(EVERY_CURRENCY)
    if dollars is not None:
        for currency in digits.keys() - limits.keys():
            low, high = (amount * per_dollar[currency] for amount in dollars)
            least = max(1, _minor(low, digits[currency]))
            limits[currency] = least, max(least, _minor(_rounded_up(high), digits[currency]))
    # In the order of the currencies, the named ones first.
    return {code: limits[code] for code in (*given, *digits) if code in limits}


def _minor(amount: Decimal, digits: int, rounding: str = ROUND_FLOOR) -> int:
    return int(amount.scaleb(digits).to_integral_value(rounding))


def _rounded_up(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal(1).scaleb(amount.adjusted()), ROUND_CEILING)


def rate(catalogue: Catalogue, randomness: SeededRandom, source: str, target: str, now: int) -> tuple[Decimal, int]:
    """Return a rate and the instant at which it expires: the same for the same seed and quarter of an hour.

    The rate is within half a percent of the table's and changes with each window, so that a merchant who caches a quote
    for too long sees another one.
    """
    window = now // RATE_WINDOW_MS
    expires_at = (window + 1) * RATE_WINDOW_MS
    if source == target:
        return Decimal(1), expires_at
    drift = Decimal(randomness.whole("rate", f"{source}-{target}", window) % 10_001 - 5_000)
    table_rate = _RATE_DIGITS.divide(catalogue.per_dollar[target], catalogue.per_dollar[source])
    moved = _RATE_DIGITS.multiply(table_rate, 1 + drift / 1_000_000)
    # At least six digits and four decimal places, but never more than eight digits.
    size = moved.adjusted()
    last = max(min(size - 5, -4), size - 7)
    return moved.quantize(Decimal(1).scaleb(last), context=_RATE_DIGITS), expires_at


def convert(catalogue: Catalogue, amount: int, rate_value: Decimal, source: str, target: str) -> int:
    """Return an amount in the target's minor units, rounded half to even; VALIDATION_ERROR when it is too large."""
    # Eighteen digits times the eight of a rate fit the 28 of Decimal, so nothing is rounded twice.
    digits = catalogue.digits[target]
    exact = Decimal(amount).scaleb(-catalogue.digits[source]) * rate_value
    try:
        return to_minor(exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN, _WIDE), digits)
    except ValueError as error:
        raise ApiError("VALIDATION_ERROR", f"amount: in {target} it {error}.") from None
