"""What a body may look like before anybody asks what it means (400), and how money is read and written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from drive import API, DEPOSITS, Business, data, deposit_body, error_code, key, settled

GOOD = json.dumps(deposit_body()).encode()


def _message(body: bytes) -> str:
    text: str = json.loads(body)["error"]["message"]
    return text


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "Application/JSON", "application/json; charset=utf-8", "application/json;charset=latin-1"],
)
def test_json_is_taken_with_any_parameters(content_type: str) -> None:
    """The media type counts, not its case nor its parameters."""
    assert Business().post(DEPOSITS, GOOD, content_type=content_type).status == 200


@pytest.mark.parametrize(
    "content_type", [None, "", "text/plain", "application/x-www-form-urlencoded", "application/jsonp", "text/json"]
)
def test_another_content_type_is_refused(content_type: str | None) -> None:
    """A body that is not called JSON is 400, and the message names the type."""
    reply = Business().post(DEPOSITS, GOOD, content_type=content_type)

    assert (reply.status, error_code(reply)) == (400, "INVALID_INPUT")
    assert "Content-Type" in _message(reply.body)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"{", id="cut off"),
        pytest.param(b"{} {}", id="two texts"),
        pytest.param(b'{"amount": NaN}', id="NaN"),
        pytest.param(b'{"amount": Infinity}', id="infinity"),
        pytest.param(b'{"amount": 01}', id="leading zero"),
        pytest.param(b'{"a": 1, "a": 1}', id="a member twice"),
        pytest.param(b'{"a": "\xff"}', id="not UTF-8"),
        pytest.param(b'{"a": "\\ud800"}', id="half a pair"),
        pytest.param(b"\xef\xbb\xbf{}", id="byte order mark"),
        pytest.param(b"[" * 100_000, id="nested too deeply"),
        pytest.param(b'{"a":' * 400 + b"1" + b"}" * 400, id="nested more than any payment"),
        pytest.param(b"'{}'", id="not JSON at all"),
        pytest.param(b" ", id="blank"),
    ],
)
def test_what_is_not_json_is_refused(body: bytes) -> None:
    """Malformed JSON is 400 with envelope B, and the message says why."""
    reply = Business().post(DEPOSITS, body)

    assert (reply.status, error_code(reply)) == (400, "INVALID_INPUT")
    assert "JSON" in _message(reply.body)


@pytest.mark.parametrize("body", [b"[]", b"null", b'"text"', b"1", b"true"])
def test_a_body_is_an_object(body: bytes) -> None:
    """JSON that is no object is 400, also where no member is needed."""
    business = Business()
    pay_in_id = business.deposit()

    statuses = [business.post(path, body).status for path in (DEPOSITS, f"/pay-in/{pay_in_id}/cancellation")]

    assert statuses == [400, 400]


def test_a_body_may_be_as_large_as_the_limit_and_no_larger() -> None:
    """`body_limit` bytes are taken, one more is 400."""
    business = Business(body_limit=len(GOOD))

    statuses = [business.post(DEPOSITS, body).status for body in (GOOD, GOOD + b" ")]

    assert statuses == [200, 400]


def test_the_journal_keeps_no_more_of_a_body_than_the_limit() -> None:
    """What is refused for its size is kept to the limit, known order or none; what is taken is kept whole."""
    business = Business(body_limit=len(GOOD))

    business.post(DEPOSITS, GOOD)
    business.post(DEPOSITS, GOOD + b" " * 1000)
    business.post("/nowhere", GOOD + b" " * 1000)

    assert [entry.body for entry in business.sandbox.journal.requests.entries] == [GOOD] * 3


def test_the_limit_is_a_mebibyte_unless_set() -> None:
    """1 MiB passes, a byte more does not."""
    business = Business()
    padded = GOOD + b" " * (1_048_576 - len(GOOD))

    statuses = [business.post(DEPOSITS, body).status for body in (padded, padded + b" ")]

    assert statuses == [200, 400]


def test_a_body_that_could_not_be_read_is_refused() -> None:
    """What the shell could not read is 400 with the shell's reason."""
    reply = Business().post(DEPOSITS, b"", body_error="The body did not arrive.")

    assert (reply.status, _message(reply.body)) == (400, "The body did not arrive.")


@pytest.mark.parametrize("content_type", [None, "application/json", "text/plain"])
@pytest.mark.parametrize("body", [b"", b"{}"])
def test_no_body_is_an_empty_object(body: bytes, content_type: str | None) -> None:
    """An operation that needs no member takes no body at all, whatever its type is said to be."""
    business = Business()
    pay_in_id = business.deposit()
    content_type = "application/json" if body else content_type

    reply = business.post(f"/pay-in/{pay_in_id}/cancellation", body, content_type=content_type)

    assert reply.status == 200


def test_no_body_lacks_what_is_required() -> None:
    """An operation that needs members refuses no body by the first that is missing."""
    reply = Business().post(DEPOSITS)

    assert (reply.status, _message(reply.body)) == (400, "amount: is missing.")


@pytest.mark.parametrize("member", ["payment_method", "customer"])
def test_a_member_may_be_missing_where_the_settings_say_so(member: str) -> None:
    """The catalogue's first method, or a customer that is made up, stands in; what is sent is used, if it is valid."""
    body = deposit_body()
    sent = body.pop(member)
    usual = json.loads(Business().post(DEPOSITS, deposit_body()).body)["data"][member]

    assert _message(Business().post(DEPOSITS, body).body) == f"{member}: is missing."
    business = Business(optional_members=[member])
    answer = business.post(DEPOSITS, body)
    assert answer.status == 200
    assert json.loads(answer.body)["data"][member].keys() == usual.keys()
    assert json.loads(business.post(DEPOSITS, {**body, member: sent}).body)["data"][member] == usual
    assert _message(business.post(DEPOSITS, {**body, member: {}}).body).endswith("is missing.")
    assert _message(business.post(DEPOSITS).body) == "amount: is missing."


@pytest.mark.parametrize("optional", [["customer"], ["payment_method"]])
def test_nothing_stands_in_for_a_method_of_an_empty_catalogue(optional: list[str]) -> None:
    """The deposit is refused as any other one there, and the double does not fail."""
    business = Business(optional_members=optional, catalogue={"shipped": False})
    body = deposit_body()
    del body[optional[0]]

    answer = business.post(DEPOSITS, body)

    assert (answer.status, _message(answer.body)) == (422, "currency: EUR is not supported.")


@pytest.mark.parametrize(
    "extra", [{"colour": "red"}, {"customer": {**deposit_body()["customer"], "title": "Countess"}}]
)
@pytest.mark.parametrize(("mode", "status"), [("ignore", 200), ("refuse", 400)])
def test_unknown_members_are_ignored_or_refused(mode: str, status: int, extra: dict[str, Any]) -> None:
    """`unknown_fields` decides, at every depth."""
    business = Business(unknown_fields=mode)

    assert business.post(DEPOSITS, deposit_body(**extra)).status == status


def test_a_refused_unknown_member_is_named() -> None:
    """The message has the path of the member."""
    customer = {**deposit_body()["customer"], "title": "Countess"}

    reply = Business(unknown_fields="refuse").post(DEPOSITS, deposit_body(customer=customer))

    assert _message(reply.body) == "customer.title: this member is not known."


@pytest.mark.parametrize(
    ("amount", "currency", "written"),
    [
        ("49.90", "EUR", "49.90"),
        ("49.9", "EUR", "49.90"),
        ("50", "EUR", "50.00"),
        ("5e1", "EUR", "50.00"),
        ("4.99E+1", "EUR", "49.90"),
        ("0.01", "EUR", "0.01"),
        ("49.900000", "EUR", "49.90"),
        ("1500", "JPY", "1500"),
        ("1500.0", "JPY", "1500"),
        ("1.25", "KWD", "1.250"),
        ("0.001", "KWD", "0.001"),
        ("249999.99", "EUR", "249999.99"),
        ("0.1", "EUR", "0.10"),
    ],
)
def test_money_is_written_with_its_currencys_digits(amount: str, currency: str, written: str) -> None:
    """Whatever spelling an amount comes in, answer, retrieval and event have the same exact one (principle P4)."""
    business = Business()
    body = json.dumps(deposit_body(currency=currency, amount=0)).replace('"amount": 0', f'"amount": {amount}')

    reply = business.post(DEPOSITS, body.encode())
    again = business.get(f"/pay-in/{data(reply)['id']}")
    business.deliver_all()

    expected = f'"amount":{written},"currency"'.encode()
    assert [expected in each for each in (reply.body, again.body, business.received[0].body)] == [True] * 3


@pytest.mark.parametrize(
    ("amount", "currency", "status"),
    [
        ("49.901", "EUR", 400),
        ("1500.5", "JPY", 400),
        ("1.2345", "KWD", 400),
        ("0", "EUR", 400),
        ("-1", "EUR", 400),
        ("-0", "EUR", 400),
        ('"49.90"', "EUR", 400),
        ("true", "EUR", 400),
        ("null", "EUR", 400),
        ("1e17", "EUR", 400),
        ("1e999999999", "EUR", 400),
        ("1e9999999999999999999999", "EUR", 400),
        ("0.001", "EUR", 400),
        ("1e-999999999", "EUR", 400),
        ("250000.01", "EUR", 422),
        ("999999999999999.99", "EUR", 422),
        ("1", "eur", 400),
        ("1", "EURO", 400),
        ("1", "ZZZ", 422),
        ("1", "XAU", 422),
    ],
)
def test_money_that_cannot_be_is_refused(amount: str, currency: str, status: int) -> None:
    """A wrong shape, too many digits included, is 400; an amount or a currency that is not on offer is 422."""
    business = Business()
    body = json.dumps(deposit_body(currency=currency, amount=0)).replace('"amount": 0', f'"amount": {amount}')

    reply = business.post(DEPOSITS, body.encode())

    assert reply.status == status
    assert business.events() == []


@pytest.mark.parametrize("path", [API, "", "/pay-in/", "/Pay-in", "/pay-in/a/b", "/refund/x/cancellation"])
def test_unknown_paths_are_not_found(path: str) -> None:
    """What is not in the table is 404, a trailing slash and another case included."""
    reply = Business().get(path)

    assert (reply.status, error_code(reply)) == (404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("/pay-in", {}),
        ("/pay-in/{id}", {}),
        ("/pay-in?limit=0", {}),
        ("/pay-in/none", {}),
        ("/nowhere", {}),
        (DEPOSITS, {}),
        ("/pay-in", {"authorization": None}),
    ],
)
def test_head_is_answered_as_get(path: str, options: dict[str, Any]) -> None:
    """The pipeline gives the same status and headers, and a body of the same length."""
    business = Business()
    path = path.replace("{id}", business.deposit())

    asked, headed = (settled(business.request(method, path, **options)) for method in ("GET", "HEAD"))

    assert (asked.status, asked.headers, len(asked.body)) == (headed.status, headed.headers, len(headed.body))


def test_the_journal_says_that_it_was_head() -> None:
    """What came is kept as it came."""
    business = Business()

    business.request("HEAD", "/pay-in")

    assert [(entry.method, entry.operation) for entry in business.sandbox.journal.requests.entries] == [
        ("HEAD", "pay-in-list")
    ]


def test_a_fault_on_get_meets_head() -> None:
    """HEAD is a read like any other, and counts as GET where a fault asks for the method."""
    business = Business()
    business.arm("error", match={"method": "GET"}, status=503)

    assert settled(business.request("HEAD", "/pay-in")).status == 503


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", DEPOSITS),
        ("PUT", DEPOSITS),
        ("POST", "/pay-in"),
        ("DELETE", "/pay-in/payin_x"),
        ("HEAD", DEPOSITS),
        ("OPTIONS", "/pay-in"),
        ("GET", "/refund/refund-creation"),
    ],
)
def test_a_wrong_method_is_not_found(method: str, path: str) -> None:
    """The contract has no 405, so a known path under another method is 404."""
    business = Business()

    reply = business.request(method, path, keys=[key(1)])

    assert getattr(reply, "status", None) == 404
