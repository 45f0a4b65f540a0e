"""A shop that knows an operation by another path: it says so, or is told that nothing is there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, ClassVar

import pytest
from small_shop import SmallShop

from paydouble.core.errors import UsageError
from paydouble.stateful import Merchant, MerchantBug, Play, ServiceLike
from paydouble.testing import Sandbox

USUAL, OWN = "/refund/refund-creation", "/refunds"
TOLD = (
    "POST /api/v1/refunds, for which the service has no operation. The base URL ends with /api/v1. Where the shop "
    "knows an operation by another path, say so in `paths` of the adapter, or in a merchant file under `service`."
)


class _Renamed:
    """The service, as a shop calls it that knows another path."""

    def __init__(self, service: ServiceLike) -> None:
        self._service = service

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the service has
        return getattr(self._service, name)

    def call(self, method: str, path: str, *rest: Any) -> Any:  # noqa: ANN401 - as the service's
        return self._service.call(method, path.replace(USUAL, OWN), *rest)


class Lost(SmallShop):
    """Requests refunds at its own path, and does not say so."""

    def __init__(self, service: ServiceLike) -> None:
        """Take the service under another path."""
        super().__init__(_Renamed(service))


class Found(Lost):
    """Says so."""

    paths: ClassVar[Mapping[str, str]] = MappingProxyType({"refund-creation": OWN})


def refunded(merchant: type[Merchant]) -> str:
    """Return the status of an order after its refund."""
    with Play(merchant) as play:
        play.order()
        play.pay()
        play.wait("10s")
        play.refund()
        play.wait("1d")
        return play.status()


def test_an_adapter_says_where_its_shop_finds_an_operation() -> None:
    """Its requests are then those of that operation, for all rules."""
    assert refunded(Found) == "refunded"


def test_a_report_names_a_request_that_reaches_nothing() -> None:
    """Otherwise only what follows from it is told: a refund that was never made."""
    with pytest.raises(MerchantBug) as caught:
        refunded(Lost)
    assert f"\n\nThe shop sent {TOLD}\n\n" in str(caught.value)


def test_a_path_that_cannot_be_is_refused() -> None:
    """Before anything is played, with its place."""
    for paths, message in (
        ({"refund-creation": "refunds"}, "paths.refund-creation: 'refunds' is not a path such as /refund/refund-crea"),
        ({"refunding": "/refunds"}, "paths.refunding: there is no such operation; there are: pay-in-list, "),
    ):
        with pytest.raises(UsageError, match=message):
            Play(type("Shop", (SmallShop,), {"paths": paths}))


def test_a_sandbox_in_a_test_has_them_too() -> None:
    """As a server has."""
    sandbox = Sandbox(paths={"pay-in-list": "/payments"})
    assert sandbox.handle("GET", "/api/v1/payments").status == 200
    assert sandbox.handle("GET", "/api/v1/pay-in").status == 404


class _WithoutCustomer(_Renamed):
    """The service, as a shop calls it whose provider asks for no customer."""

    def call(self, method: str, path: str, *rest: Any) -> Any:  # noqa: ANN401 - as above
        if method == "POST":
            headers, body, *others = rest
            sent = json.loads(body)
            sent.pop("customer", None)
            rest = (headers, json.dumps(sent).encode(), *others)
        return self._service.call(method, path, *rest)


class Demanded(SmallShop):
    """Sends no customer, and does not say so."""

    def __init__(self, service: ServiceLike) -> None:
        """Take the service that asks for less."""
        super().__init__(_WithoutCustomer(service))


class NotDemanded(Demanded):
    """Says so."""

    settings: ClassVar[Mapping[str, object]] = MappingProxyType({"optional_members": ["customer"]})


def test_a_shop_says_what_its_deployment_does_otherwise() -> None:
    """By the service's settings; each dialect changes only what it is about."""
    assert _paid(NotDemanded) == _paid(NotDemanded, dialect="201") == "paid"
    assert _paid(Demanded) != "paid"


@pytest.mark.parametrize(
    ("settings", "told"),
    [({"optional_members": ["amount"]}, r"settings\.optional_members\.0: "), ("optional_members", "settings: ")],
)
def test_a_setting_that_cannot_be_is_named(settings: object, told: str) -> None:
    """Before anything is played."""
    wrong = type("Wrong", (SmallShop,), {"settings": settings})
    with pytest.raises(UsageError, match=told):
        Play(wrong)


def _paid(merchant: type[Merchant], **options: Any) -> str:  # noqa: ANN401 - those of `Play`
    with suppress(MerchantBug), Play(merchant, **options) as play:
        play.order()
        play.pay()
        play.wait("10s")
        return play.status()
    return ""
