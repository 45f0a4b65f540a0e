"""Each usual mistake, made on purpose, is diagnosed by name."""

import base64
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.webhooks import diagnosis as module
from paydouble.webhooks.diagnosis import diagnose
from paydouble.webhooks.signing import SignatureError, sign, verify
from paydouble.webhooks.trials import BODY_TRIALS, HEADER_SHAPES, HEADER_TRIALS, SECRET_TRIALS, Mistake

SECRET = "whsec_c2FuZGJveA"
AT = 1_700_000_000
BODY = (
    '{"id":"evt_1","object":"event","type":"pay-in.created","created_at":"2023-11-14T22:13:20.000Z","data":{"object":'
    '{"id":"payin_1","object":"payin","amount":49.90,"currency":"EUR","customer":{"first_name":"Zoë","last_name":'
    '"<&> a/b"},"lines":[1,{},[true,null]]},"previous_attributes":{}},"livemode":false}'
).encode()
HEADER = sign(BODY, SECRET, AT)
DIGEST = HEADER.partition("v1=")[2]
PARSED = json.loads(BODY)
KEY = SECRET.removeprefix("whsec_")


class Case(NamedTuple):
    """What a receiver has after one mistake."""

    cause: str
    body: bytes = BODY
    header: Mapping[str, str] | str | None = HEADER
    secret: str = SECRET
    now: int = AT


def _dumped(value: Any = PARSED, **options: Any) -> bytes:  # noqa: ANN401 - JSON, and the options of json.dumps
    return json.dumps(value, **options).encode("utf-8", "surrogatepass")


def _signed(body: bytes = BODY, secret: str = SECRET, t: int = AT) -> str:
    return sign(body, secret, t)


CASES = [
    Case("verified"),
    Case("verified", now=AT + 300),
    Case("verified", header={"x-service-signature": HEADER}),
    Case("header-name-included", header=f"x-service-signature: {HEADER}"),
    # The body was parsed and serialised again.
    Case("reserialised-body", _dumped()),
    Case("reserialised-body", _dumped(separators=(",", ":"))),
    Case("reserialised-body", _dumped(sort_keys=True, ensure_ascii=False)),
    Case("reserialised-body", _dumped(indent=2)),
    Case("reserialised-body", _dumped(indent=4, sort_keys=True)),
    Case("reserialised-body", _dumped(indent=2) + b"\n"),
    Case("reserialised-body", BODY.replace(b"49.90", b"49.9")),
    Case("reserialised-body", BODY.replace(b"a/b", rb"a\/b")),
    Case("reserialised-body", BODY, _signed(BODY.replace(b"a/b", rb"a\/b"))),
    Case("reserialised-body", BODY, _signed(BODY.replace(b"<&>", rb"\u003c\u0026\u003e"))),
    Case("reserialised-body", BODY, _signed(_dumped(indent="\t", ensure_ascii=False).replace(b"49.9", b"49.90"))),
    Case("reserialised-body", b'{"amount": 1500.0}', _signed(b'{"amount":1500}')),
    Case("reserialised-body", b'{"amount": 1.25}', _signed(b'{"amount":1.250}')),
    Case("reserialised-body", b'{"amount": 50}', _signed(b'{"amount":50.00}')),
    Case("reserialised-body", b'{"amount": 1e2}', _signed(b'{"amount":1e2}')),
    # The body was changed at its beginning or end, or in its letters.
    Case("trailing-newline-added", BODY + b"\n"),
    Case("trailing-newline-added", BODY + b"\r\n"),
    Case("trailing-newline-added", BODY + b" \t"),
    Case("trailing-newline-lost", BODY, _signed(BODY + b"\n")),
    Case("trailing-newline-lost", b"no json", _signed(b"no json\r\n")),
    Case("line-ends-changed", b"{\r\n}\r\n", _signed(b"{\n}\n")),
    Case("line-ends-changed", b"a\nb", _signed(b"a\r\nb")),
    Case("bom-added", b"\xef\xbb\xbf" + BODY),
    Case("bom-lost", BODY, _signed(b"\xef\xbb\xbf" + BODY)),
    Case("leading-white-space", b"\n " + BODY),
    Case("leading-white-space", b"\n" + BODY + b"\n"),
    Case("charset-misread", BODY.decode("latin-1").encode()),
    Case("charset-misread", "5 €".encode().decode("cp1252").encode(), _signed("5 €".encode())),
    Case("charset-changed", BODY.decode().encode("latin-1")),
    Case("charset-changed", "5 €".encode("cp1252"), _signed("5 €".encode())),
    Case("charset-changed", BODY.decode().encode("utf-16")),
    Case("body-in-json-string", _dumped(BODY.decode())),
    Case("empty-body", b""),
    # The secret.
    Case("wrong-secret", secret="whsec_other"),
    Case("wrong-secret", BODY.replace(b"49.90", b"49.00")),
    Case("wrong-secret", b"[" * 100_000, secret="whsec_other"),
    Case("wrong-secret", b"[" * 900 + b"]" * 900, secret="whsec_other"),
    Case("wrong-secret", _dumped(["x" * 70_000]), _signed(_dumped(["x" * 70_000], indent=2))),
    Case("blank-secret", secret=" "),
    Case("secret-white-space", secret=SECRET + "\n"),
    Case("secret-white-space", secret=" " + SECRET),
    Case("secret-white-space-lost", header=_signed(secret=SECRET + "\n")),
    Case("secret-white-space-lost", header=_signed(secret=SECRET + "\r\n")),
    Case("secret-quoted", secret=f'"{SECRET}"'),
    Case("secret-quoted", secret=f"'{SECRET}'\n"),
    Case("secret-quotes-lost", header=_signed(secret=f"'{SECRET}'")),
    Case("secret-prefix-lost", secret=KEY),
    Case("secret-prefix-added", header=_signed(secret=KEY)),
    Case("secret-base64-decoded", secret="sandbox"),
    Case("secret-base64-decoded", header=_signed(secret=base64.b64encode(SECRET.encode()).decode())),
    Case("secret-base64-encoded", header=_signed(secret="sandbox")),
    Case("secret-base64-encoded", secret=base64.urlsafe_b64encode(SECRET.encode()).decode()),
    Case("secret-hex-decoded", header=_signed(secret=SECRET.encode().hex())),
    Case("secret-hex-encoded", secret=SECRET.encode().hex()),
    Case("secret-hex-encoded", secret="whsec_" + SECRET.encode().hex()),
    # The header.
    Case("missing-header", header=None),
    Case("missing-header", header={"Content-Type": "application/json"}),
    Case("empty-header", header=" "),
    Case("empty-header", header="X-Service-Signature:"),
    Case("other-header", header=f"Stripe-Signature: {HEADER}"),
    Case("other-header", header={"Accept": "*/*", "Stripe-Signature": HEADER}),
    Case("other-header", header={"X-Hub-Signature-256": f"sha256={DIGEST}"}),
    Case("other-scheme", header=f"sha256={DIGEST}"),
    Case("other-scheme", header="v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
    Case("digest-alone", header=DIGEST),
    Case("digest-alone", header=f"v1={DIGEST}"),
    Case("digest-not-sha256", header=HEADER[:-1]),
    Case("header-quoted", header=f'"{HEADER}"'),
    Case("header-white-space", header=HEADER.replace(",", ", ")),
    Case("header-white-space", header=HEADER.replace(",", ", "), secret="whsec_other"),
    Case("header-separator", header=HEADER.replace(",", ";")),
    Case("header-separator", header=HEADER.replace(",", " & "), secret="whsec_other"),
    Case("uppercase-hex", header=HEADER.replace(DIGEST, DIGEST.upper())),
    Case("digest-base64", header=HEADER.replace(DIGEST, base64.b64encode(bytes.fromhex(DIGEST)).decode())),
    Case("digest-base64", header=f"t={AT},v1={base64.urlsafe_b64encode(bytes.fromhex(DIGEST)).decode().rstrip('=')}"),
    Case("t-and-v1-swapped", header=f"t={DIGEST},v1={AT}"),
    Case("t-and-v1-swapped", header=f"v1={AT},t={DIGEST}", secret="whsec_other"),
    Case("v0-only", header=f"t={AT},v0={DIGEST}"),
    Case("v0-only", header=f"t={AT},v0={DIGEST}", secret="whsec_other"),
    Case("two-times", header=f"t={AT},{HEADER}"),
    Case("t-not-a-number", header=f"t=2023-11-14T22:13:20Z,v1={DIGEST}"),
    Case("t-not-a-number", header=f"v1={DIGEST},t="),
    Case("v1-missing", header=f"t={AT}"),
    Case("v1-missing", header=f"t={AT},v1="),
    Case("malformed-header", header="it's signed, trust me"),
    # The time.
    Case("milliseconds", header=_signed(t=AT * 1000)),
    Case("milliseconds", header=HEADER.replace(f"{AT}", f"{AT}000")),
    Case("stale", now=AT + 301),
    Case("future", now=AT - 301),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{case.cause}-{row}" for row, case in enumerate(CASES)])
def test_a_mistake_is_named(case: Case) -> None:
    """The cause is what was done to the body, the header, the secret or the clock."""
    diagnosis = diagnose(case.body, case.header, case.secret, now=case.now)

    assert case.cause == diagnosis.cause
    assert diagnosis.verified == (case.cause in {"verified", "header-name-included"})
    assert diagnosis.message
    assert bool(diagnosis.remedy) == (case.cause != "verified")


def test_every_cause_that_can_be_named_has_a_case() -> None:
    """Each row of the tables has a case above that it explains."""
    named = {row.cause for table in (BODY_TRIALS, SECRET_TRIALS, HEADER_TRIALS, HEADER_SHAPES) for row in table}
    named |= {value.cause for value in vars(module).values() if isinstance(value, Mistake)}

    assert named - {case.cause for case in CASES} == set()


def test_a_secret_never_appears_in_a_message() -> None:
    """Messages may be pasted into a ticket, so they have no secret in them."""
    cases = [case for case in CASES if "secret" in case.cause]

    told = [diagnose(case.body, case.header, case.secret, now=case.now) for case in cases]

    assert [each for each in told if KEY in each.message + each.remedy] == []


def test_several_mistakes_are_all_named_the_clock_last() -> None:
    """A body serialised again, a quoted secret and a late check give three sentences, the body's first."""
    diagnosis = diagnose(_dumped(), HEADER, f'"{SECRET}"', now=AT + 1000)

    assert diagnosis.cause == "reserialised-body"
    assert [part[:31] for part in diagnosis.message.split("; also, ")] == [
        "the body was parsed and seriali",
        "the secret was given with quota",
        "it was signed 1000 s ago, and t",
    ]


def test_the_name_of_the_header_can_be_set() -> None:
    """A sandbox that sends the signature under another name is diagnosed under that name."""
    diagnosis = diagnose(BODY, {"X-Pay-Sig": HEADER}, SECRET, now=AT, header_name="x-pay-sig")

    assert diagnosis.verified


def test_a_newer_digest_of_a_rotation_is_enough() -> None:
    """With two v1 in the header, the one that fits decides."""
    diagnosis = diagnose(BODY, f"t={AT},v1={'0' * 64},v1={DIGEST}", SECRET, now=AT)

    assert diagnosis.verified


def test_a_future_signature_says_how_far() -> None:
    """The distance and the tolerance are part of the message."""
    diagnosis = diagnose(BODY, HEADER, SECRET, 10, now=AT - 20)

    assert diagnosis.message == "it was signed 20 s in the future, and the tolerance is 10 s"


JSON_TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(tree=JSON_TREES, indent=st.sampled_from([None, 2, 4]), ascii_only=st.booleans())
def test_a_body_serialised_again_by_pythons_json_is_always_found(
    tree: object, indent: int | None, *, ascii_only: bool
) -> None:
    """Any document that was signed compact is recognised after json.dumps, with any of its options."""
    original = json.dumps(tree, ensure_ascii=False, separators=(",", ":")).encode()
    received = json.dumps(tree, ensure_ascii=ascii_only, indent=indent).encode()

    diagnosis = diagnose(received, sign(original, SECRET, AT), SECRET, now=AT)

    # A string alone may also pass as one that was encoded twice; a text without any blank is unchanged.
    assert diagnosis.verified == (received == original)
    assert diagnosis.cause != "wrong-secret"


@given(tree=JSON_TREES, indent=st.sampled_from([None, 2]))
def test_a_body_that_was_signed_with_escapes_is_found_too(tree: object, indent: int | None) -> None:
    """The signer may escape non-ASCII characters that the receiver's serialiser does not escape."""
    original = json.dumps(tree, ensure_ascii=True, separators=(",", ":")).encode()
    received = json.dumps(tree, ensure_ascii=False, indent=indent).encode("utf-8", "surrogatepass")

    diagnosis = diagnose(received, sign(original, SECRET, AT), SECRET, now=AT)

    assert diagnosis.verified == (received == original)
    assert diagnosis.cause != "wrong-secret"


def test_escapes_in_what_was_signed_are_named() -> None:
    """The JSON is the same, but its bytes differ."""
    signed = _dumped({"first_name": "Zoë"}, ensure_ascii=True, separators=(",", ":"))
    received = _dumped({"first_name": "Zoë"}, ensure_ascii=False, separators=(",", ":"))

    assert diagnose(received, sign(signed, SECRET, AT), SECRET, now=AT).cause == "reserialised-body"


@given(
    body=st.binary() | JSON_TREES.map(lambda tree: json.dumps(tree).encode()),
    header=st.text(st.characters(exclude_categories=())) | st.from_regex(r"(t=[0-9]{9,14}|v[01]=[0-9a-f]+)(,v1=.*)?"),
    secret=st.text(st.characters(exclude_categories=())),
)
def test_nothing_makes_a_diagnosis_fail(body: bytes, header: str, secret: str) -> None:
    """Any input gives a verdict, a message and a remedy."""
    diagnosis = diagnose(body, header, secret, now=AT)

    assert not diagnosis.verified
    assert diagnosis.message
    assert diagnosis.remedy


@pytest.mark.parametrize("case", [case for case in CASES if isinstance(case.header, str) and case.secret.strip()])
def test_the_verdict_is_that_of_verify(case: Case) -> None:
    """The diagnosis verifies a signature exactly when `verify` does."""
    header = str(case.header).removeprefix("x-service-signature: ")
    try:
        accepted = verify(case.body, header, case.secret, now=case.now) == AT
    except SignatureError:
        accepted = False

    assert diagnose(case.body, header, case.secret, now=case.now).verified == accepted
