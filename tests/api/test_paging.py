"""Lists: newest first, in pages that do not slip when something is created between two of them."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote

import pytest
from drive import DEPOSITS, Business, data, deposit_body, error_code
from hypothesis import given
from hypothesis import strategies as st

ORDER = {"amount": 5, "currency": "EUR", "external_identifier": "out-1"}
PAYOUT = {**ORDER, "beneficiary": {"name": "Ada", "account": "DE02"}}
TRANSACTION = {**ORDER, "type": "FEE"}
LISTS = ["/pay-in", "/refund", "/dispute", "/payout", "/transaction"]


def _walk(business: Business, path: str, limit: int) -> list[str]:
    ids: list[str] = []
    cursor = None
    while True:
        page = data(business.get(f"{path}limit={limit}" + (f"&cursor={cursor}" if cursor else "")))
        ids += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            return ids
        assert len(page["items"]) == limit


@given(count=st.integers(0, 12), limit=st.integers(1, 13))
def test_the_pages_together_are_the_whole_list(count: int, limit: int) -> None:
    """Every item comes once, newest first, and the last page has no cursor."""
    business = Business()
    made = [business.deposit() for _ in range(count)]

    assert made[::-1] == _walk(business, "/pay-in?", limit)


def _refunds(business: Business, count: int) -> list[str]:
    paid = business.paid()
    ask = {"payin_id": paid, "amount": 1}
    return [data(business.post("/refund/refund-creation", ask))["id"] for _ in range(count)]


def _disputes(business: Business, count: int) -> list[str]:
    return [business.sandbox.open_dispute(business.pay_in(business.paid())).id for _ in range(count)]


def _payouts(business: Business, count: int) -> list[str]:
    return [data(business.post("/payout/payout-initiation", PAYOUT))["id"] for _ in range(count)]


def _transactions(business: Business, count: int) -> list[str]:
    return [data(business.post("/transaction/transaction-creation", TRANSACTION))["id"] for _ in range(count)]


@pytest.mark.parametrize(
    ("path", "make"),
    [("/refund", _refunds), ("/dispute", _disputes), ("/payout", _payouts), ("/transaction", _transactions)],
)
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_the_pages_of_every_list_are_the_whole(
    path: str, make: Callable[[Business, int], list[str]], limit: int
) -> None:
    """Each kind of resource has cursors of its own, which neither repeat nor skip one."""
    business = Business()
    made = make(business, 5)

    assert _walk(business, f"{path}?", limit) == made[::-1]


@given(creations=st.lists(st.integers(0, 3), min_size=3, max_size=3), limit=st.integers(1, 4))
def test_what_is_created_between_pages_neither_repeats_nor_hides(creations: list[int], limit: int) -> None:
    """Who walks on with a cursor sees exactly what there was when the walk began."""
    business = Business()
    made = [business.deposit() for _ in range(7)]

    seen: list[str] = []
    cursor = ""
    for between in (*creations, *[0] * 7):
        page = data(business.get(f"/pay-in?limit={limit}{cursor}"))
        seen += [item["id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
        for _ in range(between):
            business.deposit()

    assert made[::-1] == seen


@given(count=st.integers(0, 9), limit=st.integers(1, 10))
def test_the_order_of_a_list_is_a_setting(count: int, limit: int) -> None:
    """Oldest first, the pages together are the whole list too, with what comes meanwhile at its end."""
    business = Business(list_order="oldest_first")
    made = [business.deposit() for _ in range(count)]

    assert made == _walk(business, "/pay-in?", limit)


def test_twenty_items_are_a_page_unless_said_otherwise() -> None:
    """The default limit is 20."""
    business = Business()
    for _ in range(21):
        business.deposit()

    page = data(business.get("/pay-in"))

    assert (len(page["items"]), page["next_cursor"] is None) == (20, False)


def test_a_full_last_page_has_no_cursor() -> None:
    """When the items end with the page there is nothing to go on with."""
    business = Business()
    business.deposit()

    assert data(business.get("/pay-in?limit=1"))["next_cursor"] is None


@pytest.mark.parametrize("path", LISTS)
def test_an_empty_list_is_a_page(path: str) -> None:
    """Nothing there is a success."""
    assert data(Business().get(path)) == {"items": [], "next_cursor": None}


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("limit", ["0", "101", "-1", "1.5", "ten", "", "+5", "%D9%A3", "1e1", "0x5", " 5", "00000005"])
def test_a_limit_is_a_whole_number_from_1_to_100(path: str, limit: str) -> None:
    """Any other limit is 400."""
    reply = Business().get(f"{path}?limit={limit}")

    assert (reply.status, error_code(reply)) == (400, "INVALID_INPUT")


@pytest.mark.parametrize("limit", ["1", "100"])
def test_the_ends_of_the_limit_are_taken(limit: str) -> None:
    """1 and 100 are limits."""
    assert Business().get(f"/pay-in?limit={limit}").status == 200


GARBAGE = ["x", "", "%00", "5", "%F0%9F%92%B6"]
GARBAGE += [
    urlsafe_b64encode(text).decode()
    for text in (b"payin:", b"after:5", b"refund:-5", b"payout:" + b"9" * 40, b"\xff:5")
]


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("cursor", GARBAGE)
def test_a_cursor_that_nobody_gave_out_is_refused(path: str, cursor: str) -> None:
    """Garbage is 400, never a page from anywhere."""
    reply = Business().get(f"{path}?cursor={cursor}")

    assert (reply.status, error_code(reply)) == (400, "INVALID_INPUT")


def _one_of_each(business: Business) -> None:
    paid = business.paid()
    business.post("/refund/refund-creation", {"payin_id": paid, "amount": 1})
    business.sandbox.open_dispute(business.pay_in(paid))
    money = {"amount": 1, "currency": "EUR", "external_identifier": "x-1"}
    business.post("/payout/payout-initiation", {**money, "beneficiary": {"name": "Ada", "account": "DE02"}})
    business.post("/transaction/transaction-creation", {**money, "type": "ADJUSTMENT"})


@pytest.mark.parametrize("path", LISTS)
def test_every_list_is_walked_with_its_own_cursor_alone(path: str) -> None:
    """A list goes on at its own cursor, and refuses one that another list gave out."""
    business = Business()
    for _ in range(3):
        _one_of_each(business)
    cursors = {each: data(business.get(f"{each}?limit=1"))["next_cursor"] for each in LISTS}

    answers = {each: business.get(f"{path}?limit=1&cursor={cursor}").status for each, cursor in cursors.items()}

    assert answers == {each: 200 if each == path else 400 for each in LISTS}
    whole = [item["id"] for item in data(business.get(path))["items"]]
    assert (len(whole), whole) == (3, _walk(business, f"{path}?", 1))


@given(st.text())
def test_no_cursor_breaks_anything(cursor: str) -> None:
    """Any text is a page or a 400."""
    reply = Business().get("/pay-in?cursor=" + quote(cursor, errors="replace"))

    assert reply.status in {200, 400}


def test_pay_ins_are_filtered_by_order_and_status() -> None:
    """Both filters together take what fits both, and paging goes on within it."""
    business = Business()
    wanted = [business.deposit(external_identifier="order é/1") for _ in range(3)]
    business.deposit(external_identifier="order-2")
    business.sandbox.force_transition(business.pay_in(wanted[0]), "pending")

    by_order = _walk(business, f"/pay-in?external_identifier={quote('order é/1')}&", 2)
    by_both = _walk(business, f"/pay-in?external_identifier={quote('order é/1')}&status=created&", 1)
    by_other = _walk(business, "/pay-in?external_identifier=order&", 1)

    assert [wanted[::-1], wanted[:0:-1], []] == [by_order, by_both, by_other]


def test_a_status_that_no_pay_in_has_is_refused() -> None:
    """A misspelt status is 400, not an empty list that looks like an answer."""
    reply = Business().get("/pay-in?status=suceeded")

    assert (reply.status, error_code(reply)) == (400, "INVALID_INPUT")


def test_refunds_and_disputes_are_filtered_by_pay_in() -> None:
    """`payin_id` takes those of one pay-in alone."""
    business = Business()
    one, other = business.paid(), business.paid()
    refund = data(business.post("/refund/refund-creation", {"payin_id": one, "amount": 1}))["id"]
    business.post("/refund/refund-creation", {"payin_id": other})
    dispute = business.sandbox.open_dispute(business.pay_in(one)).id
    business.sandbox.open_dispute(business.pay_in(other))

    found = [_walk(business, f"/{kind}?payin_id={one}&", 5) for kind in ("refund", "dispute")]

    assert [[refund], [dispute]] == found


def test_queries_that_nobody_knows_are_ignored() -> None:
    """Another member of the query changes nothing."""
    business = Business()
    pay_in_id = business.deposit()

    assert [pay_in_id] == [item["id"] for item in data(business.get("/pay-in?colour=red&limit=5"))["items"]]


def test_a_list_shows_what_retrieval_shows() -> None:
    """An item of a list is the document of its retrieval."""
    business = Business()
    created = data(business.post(DEPOSITS, deposit_body(metadata={"a": "b"})))

    assert [[created], created] == [
        data(business.get("/pay-in"))["items"],
        data(business.get(f"/pay-in/{created['id']}")),
    ]


@given(count=st.integers(0, 9), limit=st.integers(1, 10), most=st.integers(1, 5))
def test_a_page_may_be_shorter_than_was_asked_for(count: int, limit: int, most: int) -> None:
    """The setting `page_limit` is the most; the cursor says whether there are more, and leads to each item."""
    business = Business(page_limit=most)
    made = [business.deposit() for _ in range(count)]

    page = data(business.get(f"/pay-in?limit={limit}"))

    assert (len(page["items"]), page["next_cursor"] is None) == (min(count, limit, most), count <= min(limit, most))
    assert made[::-1] == _walk(business, "/pay-in?", min(limit, most))
