"""Every setting can be set, and a wrong value is refused with its place."""

from decimal import Decimal
from ipaddress import ip_network
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from paydouble.config import (
    CatalogueSettings,
    DisputeSettings,
    RateLimit,
    Real,
    RefundSettings,
    Settings,
    WebhookSettings,
    load_settings,
)
from paydouble.core.errors import UsageError

QUOTA = {"limit": 10, "window": "1m", "reset_unit": "delta_seconds", "headers": "always"}
# member -> (something other than the default, something wrong)
MEMBERS: dict[str, tuple[Any, Any]] = {
    "scenario": ("card-declined", 5),
    "api_version": ("v2", ""),
    "livemode": (True, "perhaps"),
    "timestamps": ("seconds", "minutes"),
    "event_request_id": ("omit", "never"),
    "envelope": ("alternate", "C"),
    "docs_url": ("https://docs.test/", "x" * 2049),
    "unknown_fields": ("refuse", "warn"),
    "optional_members": (["customer"], ["amount"]),
    "created_status": (201, 202),
    "fingerprint": ("raw", "none"),
    "in_flight": ("conflict", "wait"),
    "idempotency_validity": ("1h", "0s"),
    "processing_time": ("2s", "601s"),
    "body_limit": (1, 0),
    "permissions": (["pay-in.*"], "pay-in.*"),
    "allowed_addresses": (["10.0.0.0/8", "::1/128"], ["10.0.0.0/33"]),
    "rate_limit": (QUOTA, 10),
    "rate_limit.limit": (0, -1),
    "rate_limit.window": ("1h", "0s"),
    "rate_limit.reset_unit": ("epoch_milliseconds", "minutes"),
    "rate_limit.clock": ("sandbox_clock", "sundial"),
    "rate_limit.headers": ("always", "never"),
    "retry_after": (True, "perhaps"),
    "idempotent_replayed": (True, "perhaps"),
    "webhooks": ({"repeat_last": False}, "off"),
    "webhooks.schedule": (["0s", "1m"], []),
    "webhooks.repeat_last": (False, "perhaps"),
    "webhooks.window": ("1h", 3600),
    "webhooks.timeout": ("1s", "0s"),
    "webhooks.signature_header": ("X-Signature", "X Signature"),
    "webhooks.sign_with": ("sandbox_clock", "sundial"),
    "webhooks.require_https": (True, "perhaps"),
    "webhooks.allow_public_targets": (True, "perhaps"),
    "webhooks.response_limit": (0, -1),
    "webhooks.in_flight": (2, 0),
    "disputes": ({"decision": "lost"}, []),
    "disputes.response_window": ("1d", "0s"),
    "disputes.review": ("0s", "-1s"),
    "disputes.decision": ("lost", "accepted"),
    "auto_patience": ("0s", "601s"),
    "catalogue": ({"shipped": False}, []),
    "catalogue.shipped": (False, "perhaps"),
    "catalogue.currencies": ({"XTS": {"digits": 4, "per_us_dollar": "2.5"}}, []),
    "catalogue.payment_methods": (
        {"CASH": {"counter": {"name": "Cash", "countries": ["NO"], "limits": {"NOK": ["1", "99.50"]}}}},
        [],
    ),
    "pay_in_expires_in": ("1h", "59s"),
    "page_limit": (5, 101),
    "list_order": ("oldest_first", "random"),
    "refunds": ({"while_disputed": "allow"}, "allow"),
    "refunds.while_disputed": ("allow", "perhaps"),
    "duplicate_external_identifier": ("refuse", "warn"),
    "journal_limit": (1, 0),
    "journal_bytes": (65_536, 65_535),
}
NESTED: dict[str, type[BaseModel]] = {
    "rate_limit": RateLimit,
    "webhooks": WebhookSettings,
    "disputes": DisputeSettings,
    "refunds": RefundSettings,
    "catalogue": CatalogueSettings,
}


def nested(member: str, value: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON is any
    """Return settings with one member in them."""
    name, dot, below = member.partition(".")
    if not dot:
        return {name: value}
    # A quota has no default, so the other members of it are given too.
    return {name: {**(QUOTA if name == "rate_limit" else {}), below: value}}


def found(settings: Settings, member: str) -> Any:  # noqa: ANN401 - JSON is any
    """Return a member as JSON."""
    value: Any = settings.model_dump(mode="json")
    for name in member.split("."):
        value = value[name]
    return value


def test_every_member_has_a_case() -> None:
    """A new setting needs a line in the table above."""
    expected = set(Settings.model_fields)
    for name, model in NESTED.items():
        expected |= {f"{name}.{below}" for below in model.model_fields}

    assert set(MEMBERS) == expected


@pytest.mark.parametrize("member", sorted(MEMBERS))
def test_a_member_can_be_set(member: str) -> None:
    """The value is used, and differs from the default."""
    value = MEMBERS[member][0]

    settings = load_settings(nested(member, value))

    kept = found(settings, member)
    assert {**kept, **value} == kept if isinstance(value, dict) else kept == value
    assert settings != Settings()


@pytest.mark.parametrize("member", sorted(MEMBERS))
def test_a_wrong_member_is_refused_at_its_place(member: str) -> None:
    """The error names the path of the member, and the item inside it."""
    with pytest.raises(UsageError) as caught:
        load_settings(nested(member, MEMBERS[member][1]))

    place = f"settings.{member}.0" if member in {"allowed_addresses", "optional_members"} else f"settings.{member}"
    assert caught.value.member == place
    assert str(caught.value).startswith(f"{place}: ")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"webhook": {}}, "settings.webhook: this member is not known"),
        ({"webhooks": {"retries": 3}}, "settings.webhooks.retries: this member is not known"),
        ({"webhooks": {"timout": "2s"}}, "settings.webhooks.timout: this member is not known; did you mean 'timeout'?"),
        ({"envelop": "A"}, "settings.envelop: this member is not known; did you mean 'envelope'?"),
        ({"processing_time": "5"}, "settings.processing_time: '5' is not a duration (did you mean '5s'?); write it"),
        ({"allowed_addresses": ["x"]}, "settings.allowed_addresses.0: 'x' is neither an address nor a network such"),
        ({"webhooks": {"signature_header": ""}}, "settings.webhooks.signature_header: '' is not a header name"),
        ({"webhooks": {"signature_header": "Signätur"}}, "settings.webhooks.signature_header: 'Signätur' is not a"),
        ({"allowed_addresses": "x"}, "settings.allowed_addresses: is text; send a list"),
        ([], "settings: is a list; send an object"),
        (None, "settings: is null; send an object"),
        ({1: 2}, "settings.1: is the name of a member, and a name is a text"),
    ],
)
@pytest.mark.parametrize("base", [None, Settings()])
def test_any_value_is_accepted_or_refused_in_one_sentence(data: object, message: str, base: Settings | None) -> None:
    """This is true with and without settings to merge over."""
    with pytest.raises(UsageError) as caught:
        load_settings(data, base)

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "name", ["Host", "HOST", "Transfer-Encoding", "connection", "Content-Type", "Content-Length", "TE"]
)
def test_the_signature_header_cannot_be_one_that_http_needs(name: str) -> None:
    """A name that HTTP itself uses is refused in any letter case, with a suggestion."""
    with pytest.raises(UsageError) as caught:
        load_settings({"webhooks": {"signature_header": name}})

    assert str(caught.value) == (
        f"settings.webhooks.signature_header: {name!r} is a header that HTTP or the webhook's own body needs; "
        "choose another, such as X-Signature"
    )


def test_settings_are_merged_member_by_member() -> None:
    """A change of a nested member keeps its siblings; a list or null replaces the old value."""
    base = load_settings({"webhooks": {"timeout": "1s", "window": "1h"}, "permissions": ["*"], "rate_limit": QUOTA})

    settings = load_settings({"webhooks": {"timeout": "2s"}, "permissions": ["a", "b"], "rate_limit": None}, base)

    changed = (settings.webhooks.timeout, settings.webhooks.window, settings.permissions, settings.rate_limit)
    assert changed == (2_000, 3_600_000, ("a", "b"), None)
    assert base.webhooks.timeout == 1_000


def test_settings_written_and_read_are_equal() -> None:
    """Settings written as JSON are equal when read, with every member."""
    settings = load_settings({name: value for name, (value, _) in MEMBERS.items() if "." not in name})

    assert load_settings({}, settings) == settings
    assert load_settings(settings.model_dump(mode="json")) == settings


def test_addresses_are_networks() -> None:
    """A single address is a network, host bits are removed, and without a list every address is allowed."""
    settings = load_settings({"allowed_addresses": ["127.0.0.1", "10.1.2.3/8", "::1"]})

    expected = tuple(map(ip_network, ("127.0.0.1/32", "10.0.0.0/8", "::1/128")))
    assert (settings.networks, Settings().networks) == (expected, None)


def test_defaults_are_the_assumed_ones() -> None:
    """The most visible defaults are those of the contract and the assumptions."""
    settings = Settings()

    assert settings.webhooks.timeout == 10_000
    assert settings.webhooks.window == 72 * 3_600_000
    assert settings.webhooks.signature_header == "X-Service-Signature"
    assert settings.idempotency_validity == 86_400_000
    assert settings.body_limit == 2**20
    assert (settings.api_version, settings.livemode, settings.rate_limit) == ("v1", False, None)
    assert (settings.retry_after, settings.idempotent_replayed) == (False, False)


@pytest.mark.parametrize(("given", "taken"), [(Decimal("2.5"), 2.5), (3, 3.0), (0.25, 0.25)])
def test_a_real_number_is_taken_from_any_number(given: object, taken: float) -> None:
    """An exact number, as in bodies of control calls, is accepted too."""
    assert TypeAdapter(Real).validate_python(given) == taken


@pytest.mark.parametrize("given", [True, "2.5", ""])
def test_a_flag_or_a_text_is_not_a_real_number(given: object) -> None:
    """Neither true nor "2.5" is accepted as a rate."""
    with pytest.raises(ValidationError, match="; send a number"):
        TypeAdapter(Real).validate_python(given)
