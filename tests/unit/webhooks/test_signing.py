"""The signature header: what is sent, what is accepted, and each error."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paydouble.webhooks.signing import (
    SignatureError,
    SignatureHeaderMalformed,
    SignatureHeaderMissing,
    SignatureMismatch,
    SignatureTimestampOutOfTolerance,
    sign,
    signature_header,
    verify,
)

BODY = b'{"id":"evt_1","amount":49.90}'
SECRET = "whsec_sandbox"
AT = 1_700_000_000
# printf '1700000000.{"id":"evt_1","amount":49.90}' | openssl dgst -sha256 -hmac whsec_sandbox
DIGEST = "a148e01e259858db44af3ae554b830cede3d73a45c99b7ebddc3198872c53b15"

anything = st.text(st.characters(exclude_categories=()))
secrets = st.text(min_size=1).filter(lambda secret: bool(secret.strip()))
times = st.integers(0, 10**12)


def test_the_header_is_what_openssl_computes() -> None:
    """The header holds the time and the HMAC-SHA256 that another tool gives for the same text."""
    header = sign(BODY, SECRET, AT)

    assert header == f"t=1700000000,v1={DIGEST}"


@given(body=st.binary(), secret=secrets, at=times)
def test_the_digest_covers_the_time_a_dot_and_the_raw_body(body: bytes, secret: str, at: int) -> None:
    """The signed text is `<t>.<body>` for any bytes, and the key is the secret in UTF-8."""
    expected = hmac.new(secret.encode(), str(at).encode() + b"." + body, hashlib.sha256).hexdigest()

    assert sign(body, secret, at) == f"t={at},v1={expected}"


def test_text_is_signed_as_utf_8() -> None:
    """A body given as text is signed like its UTF-8 bytes."""
    assert sign("Zoë", SECRET, AT) == sign("Zoë".encode(), SECRET, AT)


def test_each_secret_gives_a_v1_the_current_first() -> None:
    """While a secret is being rotated the header carries one v1 for each, in the order given."""
    current = sign(BODY, "whsec_new", AT)
    former = sign(BODY, "whsec_old", AT)

    header = signature_header(BODY, ["whsec_new", "whsec_old"], AT)

    assert header == current + former.removeprefix(f"t={AT}")


@pytest.mark.parametrize("secret", ["", " ", "\n\t"])
def test_a_blank_secret_is_never_a_key(secret: str) -> None:
    """A blank secret is refused with a remedy, when signing and when verifying."""
    with pytest.raises(ValueError, match="the webhook secret is blank: give the secret"):
        sign(BODY, secret, AT)
    with pytest.raises(ValueError, match="the webhook secret is blank: give the secret"):
        verify(BODY, f"t={AT},v1={DIGEST}", secret, now=AT)


def test_no_secret_at_all_is_refused() -> None:
    """A header without any v1 is never made."""
    with pytest.raises(ValueError, match="no webhook secret to sign with"):
        signature_header(BODY, [], AT)


def test_a_negative_time_is_refused() -> None:
    """A time that no receiver could read is never sent."""
    with pytest.raises(ValueError, match="cannot be signed at -1: give the time in Unix seconds"):
        sign(BODY, SECRET, -1)


@given(body=st.binary() | anything, secret=secrets, at=times)
def test_what_was_signed_verifies(body: bytes | str, secret: str, at: int) -> None:
    """For any body, secret and time the header that was made is accepted, and its time returned."""
    header = sign(body, secret, at)

    assert verify(body, header, secret, now=at) == at


@given(body=st.binary(min_size=1), data=st.data())
def test_a_body_with_one_bit_changed_does_not_verify(body: bytes, data: st.DataObject) -> None:
    """Flipping any bit of the body makes the signature a mismatch."""
    bit = data.draw(st.integers(0, len(body) * 8 - 1))
    changed = bytearray(body)
    changed[bit // 8] ^= 1 << bit % 8

    with pytest.raises(SignatureMismatch):
        verify(bytes(changed), sign(body, SECRET, AT), SECRET, now=AT)


@given(header=anything | st.none() | st.builds("t={},v1={}".format, anything, anything), body=st.binary() | anything)
def test_any_header_and_body_raise_only_a_signature_error(header: str | None, body: bytes | str) -> None:
    """Random input raises SignatureError, and no ValueError, TypeError or UnicodeError."""
    with pytest.raises(SignatureError):
        verify(body, header, SECRET, now=AT)


@pytest.mark.parametrize("header", [None, "", "  "])
def test_a_header_that_is_not_there_is_missing(header: str | None) -> None:
    """No header and an empty one are missing: 400."""
    with pytest.raises(SignatureHeaderMissing) as refusal:
        verify(BODY, header, SECRET, now=AT)

    assert refusal.value.recommended_status == 400


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        (f"v1={DIGEST}", "holds 0 times"),
        (f"t={AT},t={AT},v1={DIGEST}", "holds 2 times"),
        (f"t,v1={DIGEST}", "t is ''"),
        (f"t=+{AT},v1={DIGEST}", r"t is '\+1700000000'"),
        (f"t=1_700_000_000,v1={DIGEST}", "decimal digits"),
        (f"t=٣,v1={DIGEST}", r"t is '\\u0663'"),
        (f"t={'9' * 5000},v1={DIGEST}", "decimal digits"),
        (f"t= {AT},v1={DIGEST}", "decimal digits"),
        (f"t={AT}", "holds no v1"),
        (f"t={AT},v1=", "holds no v1"),
        (f"t={AT},v0={DIGEST}", "holds no v1"),
        (f"t={AT}, v1={DIGEST}", "holds no v1"),
        (f"t={AT},V1={DIGEST}", "holds no v1"),
        (DIGEST, "holds 0 times"),
    ],
)
def test_a_header_that_cannot_be_read_is_malformed(header: str, complaint: str) -> None:
    """A header without exactly one decimal t and at least one v1 is malformed, and the message says which: 400."""
    with pytest.raises(SignatureHeaderMalformed, match=complaint) as refusal:
        verify(BODY, header, SECRET, now=AT)

    assert refusal.value.recommended_status == 400


@pytest.mark.parametrize("now", [AT - 300, AT, AT + 300])
def test_exactly_the_tolerance_is_accepted(now: int) -> None:
    """300 seconds off are still accepted, early or late."""
    assert verify(BODY, f"t={AT},v1={DIGEST}", SECRET, now=now) == AT


@pytest.mark.parametrize(
    ("now", "complaint"), [(AT - 301, "signed 301 s in the future"), (AT + 301, "signed 301 s ago")]
)
def test_one_second_more_than_the_tolerance_is_refused(now: int, complaint: str) -> None:
    """301 seconds off are refused in both directions, with the distance: 400."""
    with pytest.raises(SignatureTimestampOutOfTolerance, match=complaint) as refusal:
        verify(BODY, f"t={AT},v1={DIGEST}", SECRET, now=now)

    assert refusal.value.recommended_status == 400


def test_the_tolerance_can_be_set() -> None:
    """A tolerance of 0 accepts only the same second."""
    with pytest.raises(SignatureTimestampOutOfTolerance, match="the tolerance is 0 s"):
        verify(BODY, f"t={AT},v1={DIGEST}", SECRET, 0, now=AT + 1)


@pytest.mark.parametrize(
    ("header", "secret"),
    [
        (f"t={AT},v1={DIGEST}", "whsec_other"),
        (f"t={AT + 1},v1={DIGEST}", SECRET),
        (f"t=0{AT},v1={DIGEST}", SECRET),
        (f"t={AT},v1={DIGEST.upper()}", SECRET),
        (f"t={AT},v1={DIGEST[:-1]}", SECRET),
        (f"t={AT},v1={DIGEST}0", SECRET),
        (f"t={AT},v1={DIGEST[:-1]}é", SECRET),
        (f"t={AT},v1=\udcff", SECRET),
    ],
)
def test_a_digest_that_does_not_fit_is_a_mismatch(header: str, secret: str) -> None:
    """Another secret or time, a digest cut, lengthened, in capitals or beyond ASCII: 401."""
    with pytest.raises(SignatureMismatch) as refusal:
        verify(BODY, header, secret, now=AT)

    assert refusal.value.recommended_status == 401


@pytest.mark.parametrize(
    "header",
    [
        f"v1={DIGEST},t={AT}",
        f"t={AT},v1=0000,v1={DIGEST}",
        f"t={AT},v1={DIGEST},v1=0000",
        f"t={AT},v0=0000,v1={DIGEST},v2,=,",
        f" t={AT},v1={DIGEST}\t",
    ],
)
def test_any_v1_may_fit_and_other_parts_are_ignored(header: str) -> None:
    """The order of the parts is free, either v1 of a rotation counts, and unknown schemes are skipped."""
    assert verify(BODY, header, SECRET, now=AT) == AT


def test_an_old_time_is_reported_before_a_wrong_secret() -> None:
    """The contract checks the time first, so a stale webhook is 400 with any digest."""
    with pytest.raises(SignatureTimestampOutOfTolerance):
        verify(BODY, f"t={AT},v1=0000", SECRET, now=AT + 301)
