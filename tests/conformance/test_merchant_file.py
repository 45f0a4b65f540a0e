"""`merchant.yaml`: what a file may say, and how its mistakes are reported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml
from jsonschema import Draft202012Validator

from paydouble.conformance.merchant_file import MERCHANT, SCHEMA, MerchantFile, build, read_merchant
from paydouble.conformance.placeholders import fill
from paydouble.core.errors import UsageError
from paydouble.yamlfile.diagnostics import render
from paydouble.yamlfile.reading import read_text
from paydouble.yamlfile.schema import written

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """\
name: my-shop
webhook: {url: "http://127.0.0.1:3000/webhooks"}
start:
  command: [node, server.js]
  environment: {PAYMENTS_URL: "{base_url}", SECRET: "{webhook_secret}"}
  ready: GET http://127.0.0.1:3000/health
driver:
  place_order:
    POST: http://127.0.0.1:3000/test/orders
    json: {id: "{order}", price: {amount: "{amount}", minor: "{minor}", currency: "{currency}"}}
  pay: {POST: "http://127.0.0.1:3000/test/orders/{order}/pay"}
  order:
    GET: http://127.0.0.1:3000/test/orders/{order}
    status: /status
    words: {COMPLETED: paid}
  tick: [./manage, work]
"""


def _read(text: str) -> MerchantFile:
    reading = read_text(text, MERCHANT)
    assert reading.diagnostics == []
    assert reading.value is not None
    return reading.value


def _errors(text: str) -> list[str]:
    return [each.sentence for each in read_text(text, MERCHANT).diagnostics]


def test_a_file_is_read() -> None:
    """A list is the short form of a command."""
    file = _read(GOOD)

    assert (file.name, file.webhook.url) == ("my-shop", "http://127.0.0.1:3000/webhooks")
    assert file.driver is not None
    assert (file.driver.pay.method, file.driver.pay.url) == ("POST", "http://127.0.0.1:3000/test/orders/{order}/pay")
    assert file.driver.tick is not None
    assert file.driver.tick.command == ("./manage", "work")
    assert file.driver.order.words == {"COMPLETED": "paid"}
    assert file.driver.refund is None


def test_the_committed_schema_is_that_of_the_models() -> None:
    """After a change of the format, `python tools/reference.py` updates the schema."""
    assert SCHEMA.read_text("utf-8") == written(build())


def test_an_editor_takes_the_short_forms_too() -> None:
    """The schema has the text of a reason and the list of a command."""
    text = GOOD + "accepts: {paid: why, ships: {because: why, after: 'a day.*late'}}\n"
    plain = yaml.safe_load(text)

    Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).validate(plain)
    assert {key: (each.because, each.after) for key, each in _read(text).accepts.items()} == {
        "paid": ("why", ""),
        "ships": ("why", "a day.*late"),
    }


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("{base_url}", "{base}", "this has the unknown placeholder {base}; did you mean {base_url}?"),
        ("{order}/pay", "{ordr}/pay", "this has the unknown placeholder {ordr}; did you mean {order}?"),
        ("{order}/pay", "{order/pay", "this has a single {; write {{ for a brace"),
        ("  pay:", "  payy:", "the key 'payy' is not known here; expected pay, retry, refund, cancel, customer_returns, broken_rules, drain, reset, restart or set_time; did you mean 'pay'?"),  # noqa: E501 - one sentence
        ("COMPLETED: paid", "COMPLETED: payd", "'payd' is not a status; expected unpaid, pending, paid, failed, cancelled, partly_refunded, refunded, charged_back or review; did you mean 'paid'?"),  # noqa: E501 - one sentence
        ("GET http://127.0.0.1:3000/health", "http://x", "'http://x' is not valid here; expected GET and a URL, such as GET http://127.0.0.1:3000/health"),  # noqa: E501 - one sentence
        ("name: my-shop", "name: my-shop\ncurrencies: [EURO]", "'EURO' is no currency; did you mean EUR?"),
        ("name: my-shop", "name: my-shop\naccepts: {'(': why}", "this is no regular expression: missing ), unterminated subpattern at position 0; see the syntax of Python's re"),  # noqa: E501 - one sentence
        ("name: my-shop", "name: my-shop\naccepts: {a: {because: why, after: '('}}", "this is no regular expression: missing ), unterminated subpattern at position 0; see the syntax of Python's re"),  # noqa: E501 - one sentence
        ("name: my-shop", "name: my-shop\nservice: {paths: {refund-creation: refunds}}", "'refunds' is not a path such as /refund/refund-creation"),  # noqa: E501 - one sentence
        ("name: my-shop", "name: my-shop\norder_of_deposit: order-.+", "this has no group for the order's id; write for example (.+)-[0-9]+"),  # noqa: E501 - one sentence
        ("[./manage, work]", "{}", "it says neither a request nor a command; write for example {POST: 'http://127.0.0.1:3000/…'} or {command: [./script]}"),  # noqa: E501 - one sentence
        ('/test/orders/{order}/pay"', '/pay", declined: [500]', "the number 500 is too large; expected at most 499"),
        ('{POST: "http://127.0.0.1:3000/test/orders/{order}/pay"}', "{command: [./pay], declined: [409]}", "declined belongs to a request, not to a command, which has no HTTP status"),  # noqa: E501 - one sentence
        ("[./manage, work]", "[]", "this is too short; expected at least 1 item"),
        ("[./manage, work]", "{command: [x], GET: 'http://x'}", "GET and command exclude each other; write for example {POST: 'http://127.0.0.1:3000/…'} or {command: [./script]}"),  # noqa: E501 - one sentence
        ("[./manage, work]", "{command: [x], headers: {a: b}}", "json, form and headers belong to a request, not to a command"),  # noqa: E501 - one sentence
        ("[./manage, work]", "{POST: 'http://x', json: {}, form: {}}", "json and form exclude each other"),
        ("name: my-shop", "name: My Shop", "'My Shop' is not valid here; expected small letters and digits, with single hyphens between; did you mean 'my-shop'?"),  # noqa: E501 - one sentence
    ],
)  # fmt: skip
def test_a_mistake_is_reported_in_a_sentence(old: str, new: str, sentence: str) -> None:
    """One mistake has one diagnostic."""
    assert old in GOOD
    assert _errors(GOOD.replace(old, new, 1)) == [sentence]


def test_mistakes_have_their_place() -> None:
    """All mistakes of a file are found in one pass, each with line and column."""
    text = GOOD.replace("{base_url}", "{base}").replace("status: /status", "stats: /status")
    found = read_text(text, MERCHANT, "m.yaml").diagnostics

    assert [render(each)[0] for each in found] == [
        "m.yaml:5:31: error: this has the unknown placeholder {base}",
        "m.yaml:14:5: error: the key 'stats' is not known here",
    ]


def test_what_a_run_has_of_its_own_is_for_a_shop_that_it_starts() -> None:
    """A shop that is running has its port already."""
    at = GOOD.replace("127.0.0.1:3000", "127.0.0.1:{port}")
    running = at[: at.index("start:")] + at[at.index("driver:") :]
    lacks = "{port} has a value for a shop that is started; add start, or write the one of the shop that is running"

    assert _errors(at) == []
    found = read_text(running, MERCHANT, "m.yaml").diagnostics
    assert [render(each)[0] for each in found][:2] == [
        f"m.yaml:2:16: error: {lacks.partition('; ')[0]}",
        f"m.yaml:5:11: error: {lacks.partition('; ')[0]}",
    ]
    assert {each.sentence for each in found} == {lacks}
    assert _errors(GOOD.replace("3000/webhooks", "3000/{{webhooks}}")) == ["a URL has no braces; write %7B and %7D"]
    # The URL of the receiver is needed before there is a service.
    assert _errors(GOOD.replace("3000/webhooks", "3000/webhooks/{webhook_secret}")) == [
        "this has the unknown placeholder {webhook_secret}; expected port or temporary_folder"
    ]


def test_an_empty_file_says_how_one_begins() -> None:
    """The message names the first keys."""
    assert _errors("# nothing\n") == [
        "there is no merchant in here; a merchant begins with 'name: my-shop' and 'webhook: {url: …}'"
    ]


def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    """The refusal has the place of the first mistake."""
    path = tmp_path / "merchant.yaml"
    path.write_text("name: x\n")

    with pytest.raises(UsageError, match=r"merchant\.yaml:1:1: the key 'webhook' is missing"):
        read_merchant(path)


def test_placeholders_are_replaced_everywhere() -> None:
    """A placeholder alone keeps the type of its value, and doubled braces are braces."""
    values = {"minor": 4990, "order": "order-1"}

    filled = fill({"{order}": ["{minor}", "{minor} cents", "{{minor}}", 3, None]}, values)

    assert filled == {"order-1": [4990, "4990 cents", "{minor}", 3, None]}
