"""Who may call: credentials, permissions, addresses (contract section 5)."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from drive import DEPOSITS, Business, deposit_body, error_code, settings

from paydouble.guards.credentials import basic_header

KEY = "5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d"


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "authorization",
    [
        pytest.param(None, id="no header"),
        pytest.param(basic_header("key_default", "wrong"), id="wrong secret"),
        pytest.param(basic_header("key_other", "secret"), id="wrong key"),
        pytest.param(basic_header("key_default", ""), id="empty secret"),
        pytest.param(basic_header("KEY_DEFAULT", "secret"), id="key in capitals"),
        pytest.param(basic_header("key_default", "secret "), id="secret and a space"),
        pytest.param(f"Bearer {_encoded('key_default:secret')}", id="another scheme"),
        pytest.param("Basic", id="scheme alone"),
        pytest.param("Basic key_default:secret", id="not base64"),
        pytest.param("Basic " + _encoded("key_default:secret").rstrip("=") + "*", id="a character that is none"),
        pytest.param("Basic " + base64.b64encode(b"key_default:secret\xff").decode(), id="not UTF-8"),
        pytest.param("Basic " + _encoded("key_defaultsecret"), id="no colon"),
        pytest.param("Basic \udcff", id="a stray byte"),
        pytest.param("Basic é", id="not ASCII"),
    ],
)
def test_bad_credentials_are_unauthorized(authorization: str | None) -> None:
    """Whatever is wrong with the Authorization header, the answer is 401 and nothing is done."""
    business = Business()

    reply = business.post(DEPOSITS, deposit_body(), authorization=authorization)

    assert (reply.status, error_code(reply)) == (401, "UNAUTHORIZED")
    assert business.events() == []


@pytest.mark.parametrize("scheme", ["basic", "BASIC", "Basic"])
def test_the_scheme_is_of_either_case(scheme: str) -> None:
    """`basic` is written as a client likes."""
    reply = Business().get("/pay-in", authorization=f"{scheme} {_encoded('key_default:secret')}")

    assert reply.status == 200


def test_a_refused_request_stands_in_the_journal_of_the_business_it_named() -> None:
    """A team that mistypes its secret sees its requests arrive."""
    business = Business()

    business.get("/pay-in", authorization=basic_header("key_default", "wrong"))
    business.get("/pay-in", authorization=basic_header("nobody", "wrong"))

    assert [entry.status for entry in business.sandbox.journal.requests.entries] == [401]


@pytest.mark.parametrize(
    ("changes", "status"),
    [({"rate_limit": {"limit": 0}}, 429), ({"permissions": []}, 403), ({"allowed_addresses": []}, 403)],
    ids=["quota", "permission", "address"],
)
@pytest.mark.parametrize(
    ("key", "body", "expected"),
    [
        pytest.param(KEY.upper(), deposit_body(external_identifier="order-7"), (KEY, "order-7"), id="whole"),
        pytest.param("no key", deposit_body(external_identifier="order-7"), (None, "order-7"), id="no key"),
        pytest.param(KEY, b"{", (KEY, None), id="no JSON"),
        pytest.param(KEY, b"[1]", (KEY, None), id="no object"),
        pytest.param(KEY, deposit_body(external_identifier=7), (KEY, None), id="no text"),
        pytest.param(KEY, b"", (KEY, None), id="empty"),
    ],
)
def test_what_is_refused_early_keeps_its_key_and_its_order(
    changes: dict[str, Any], status: int, key: str, body: object, expected: tuple[str | None, str | None]
) -> None:
    """A request that the quota, a permission or an address stops can be found by its key and its order."""
    business = Business(**changes)

    reply = business.post(DEPOSITS, body, key=key)

    (entry,) = business.sandbox.journal.requests.entries
    assert (reply.status, entry.verdict) == (status, "none")
    assert expected == (entry.key, entry.external_identifier)
    assert expected[1] == entry.external_identifier  # and when it is asked again


def test_a_refused_request_about_a_pay_in_keeps_that_one_s_order() -> None:
    """The order of a cancellation is its pay-in's, also when the quota stops it."""
    business = Business()
    pay_in_id = business.deposit(external_identifier="order-7")
    business.sandbox.apply(settings(rate_limit={"limit": 0}))

    business.post(f"/pay-in/{pay_in_id}/cancellation", {}, key=KEY)

    entry = business.sandbox.journal.requests.entries[-1]
    assert (entry.key, entry.external_identifier, entry.object_id) == (KEY, "order-7", pay_in_id)


def test_businesses_do_not_see_each_other() -> None:
    """What one business creates is not found by another, nor listed."""
    one = Business("one")
    other = Business("other", beside=one)
    pay_in_id = one.deposit()

    assert other.get(f"/pay-in/{pay_in_id}").status == 404
    assert b'"items":[]' in other.get("/pay-in").body


@pytest.mark.parametrize(
    ("permissions", "path", "status"),
    [
        (None, "/pay-in", 200),
        (["*"], "/pay-in", 200),
        (["pay-in-list"], "/pay-in", 200),
        (["pay-in-*"], "/pay-in", 200),
        (["*-list"], "/pay-in", 200),
        (["refund-*", "pay-in-list"], "/pay-in", 200),
        ([], "/pay-in", 403),
        (["pay-in"], "/pay-in", 403),
        (["refund-*"], "/pay-in", 403),
        (["PAY-IN-LIST"], "/pay-in", 403),
        (["*-list"], "/pay-in/none", 403),
        (["pay-in-*"], "/pay-in/none", 404),
    ],
)
def test_permissions_name_operations(permissions: list[str] | None, path: str, status: int) -> None:
    """A permission is an operation's name, in which `*` stands for any run of characters."""
    reply = Business(permissions=permissions).get(path)

    assert status == reply.status


@pytest.mark.parametrize(
    ("allowed", "remote", "status"),
    [
        (None, "203.0.113.9", 200),
        (["203.0.113.9"], "203.0.113.9", 200),
        (["203.0.113.0/24"], "203.0.113.9", 200),
        (["203.0.113.9/24"], "203.0.113.1", 200),
        (["203.0.113.0/24"], "203.0.114.9", 403),
        (["203.0.113.0/24"], "::ffff:203.0.113.9", 200),
        (["203.0.113.0/24"], "::ffff:203.0.114.9", 403),
        (["2001:db8::/32"], "2001:db8::1", 200),
        (["2001:db8::/32"], "2001:db9::1", 403),
        (["2001:db8::/32"], "203.0.113.9", 403),
        (["0.0.0.0/0"], "2001:db8::1", 403),
        (["fe80::/10"], "fe80::1%eth0", 200),
        (["10.0.0.0/8", "::1"], "::1", 200),
        ([], "127.0.0.1", 403),
        (["0.0.0.0/0", "::/0"], None, 403),
        (["0.0.0.0/0", "::/0"], "unix", 403),
    ],
)
def test_the_allow_list_holds_addresses_and_networks(
    allowed: list[str] | None, remote: str | None, status: int
) -> None:
    """An address is let in when a network of its own family has it; IPv4 in IPv6 clothes counts as IPv4."""
    reply = Business(allowed_addresses=allowed).get("/pay-in", remote=remote)

    assert status == reply.status


def test_the_allow_list_and_permissions_can_change() -> None:
    """New settings decide about the next request."""
    business = Business()
    before = business.get("/pay-in").status
    business.sandbox.apply(settings(allowed_addresses=[]))

    assert [before, business.get("/pay-in").status] == [200, 403]
