"""An independent implementation of the same scheme agrees: the official `stripe` Python SDK.

Where the two differ on purpose, and the tests therefore keep away:
- stripe looks only into the past: a time in the future is accepted, and a tolerance of 0 means no check at all;
- stripe reads `t` with `int`, so it takes " 5", "+5", "1_0" and leading zeros, and signs the number's plain form; of
  two `t` it takes the first; what follows a second `=` in a part it drops. Here each of these is refused;
- stripe refuses blanks before the first part, which are no part of an HTTP header's value; here they are ignored;
- stripe refuses the whole header for a `v1` without `=`, even if another one fits; here it is ignored;
- stripe raises TypeError for a `v1` beyond ASCII; here it is a mismatch;
- stripe decodes the body as UTF-8 first, and so raises for bytes that are not; here any bytes verify.
"""

from types import SimpleNamespace
from unittest.mock import patch

import stripe
from hypothesis import given
from hypothesis import strategies as st

from paydouble.webhooks.signing import SignatureError, sign, signature_header, verify

NOW = 1_700_000_000
SECRET = "whsec_sandbox"
BODY = b'{"id":"evt_1","amount":49.90}'
GOOD = sign(BODY, SECRET, NOW).partition("v1=")[2]

bodies = st.text().map(str.encode)
secrets = st.text(min_size=1).filter(lambda secret: bool(secret.strip()))
times = st.integers(1, 10**11)


def _stripe_accepts(body: bytes, header: str, secret: str, now: int) -> bool:
    with patch("stripe._webhook.time", SimpleNamespace(time=lambda: now)):
        try:
            return bool(stripe.WebhookSignature.verify_header(body, header, secret, 300))
        except stripe.SignatureVerificationError:
            return False


def _we_accept(body: bytes, header: str, secret: str, now: int) -> bool:
    try:
        verify(body, header, secret, now=now)
    except SignatureError:
        return False
    return True


@given(body=bodies, secret=secrets, at=times, age=st.integers(0, 300))
def test_stripe_accepts_every_header_that_we_make(body: bytes, secret: str, at: int, age: int) -> None:
    """Any UTF-8 body, secret and time, read up to 300 seconds later, passes the SDK's own check."""
    assert _stripe_accepts(body, sign(body, secret, at), secret, at + age)


@given(body=bodies, current=secrets, former=secrets, at=times)
def test_stripe_accepts_either_secret_of_a_rotation(body: bytes, current: str, former: str, at: int) -> None:
    """A header with two v1 passes with the new secret and with the old one."""
    header = signature_header(body, [current, former], at)

    assert _stripe_accepts(body, header, current, at)
    assert _stripe_accepts(body, header, former, at)


@given(body=bodies, secret=secrets, at=times, data=st.data())
def test_stripe_refuses_each_header_that_we_break(body: bytes, secret: str, at: int, data: st.DataObject) -> None:
    """One character of a right header replaced by another: the SDK refuses it, and so do we."""
    header = sign(body, secret, at)
    place = data.draw(st.integers(0, len(header) - 1))
    other = data.draw(st.sampled_from("0123456789abcdefABCDEFtv=,. ").filter(lambda new: new != header[place]))
    broken = header[:place] + other + header[place + 1 :]

    assert not _stripe_accepts(body, broken, secret, at)
    assert not _we_accept(body, broken, secret, at)


@given(body=bodies, other_body=bodies, secret=secrets, other_secret=secrets, at=times)
def test_stripe_refuses_another_body_secret_or_time(
    body: bytes, other_body: bytes, secret: str, other_secret: str, at: int
) -> None:
    """A body, a secret or a time that was not the signed one is refused by the SDK, and by us."""
    header = sign(body, secret, at)

    for verdict in (_stripe_accepts, _we_accept):
        assert verdict(other_body, header, secret, at) == (other_body == body)
        # An HMAC pads its key with zero bytes, so secrets that differ in those alone are one key.
        same_key = other_secret.encode().rstrip(b"\0") == secret.encode().rstrip(b"\0")
        assert verdict(body, header, other_secret, at) == same_key
        assert not verdict(body, header.replace(f"t={at}", f"t={at + 1}"), secret, at + 1)
        assert not verdict(body, header, secret, at + 301)


parts = st.sampled_from(
    [
        f"v1={GOOD}",
        f"v1={GOOD.upper()}",
        f"v1={GOOD[:-1]}",
        "v1=",
        f"v0={GOOD}",
        f"V1={GOOD}",
        "x",
        "",
        "=",
        "v10=1",
    ]
)
time_parts = st.lists(
    st.sampled_from([f"t={NOW}", f"t={NOW + 1}", f"t=-{NOW}", "t=", "t=x", "t", "T=1", f"t={NOW}.0", "t=0x10"]),
    max_size=1,
)


@given(
    pieces=st.tuples(time_parts, st.lists(parts, max_size=4)).flatmap(lambda both: st.permutations(both[0] + both[1])),
    age=st.sampled_from([0, 299, 300, 301, 100_000]),
)
def test_we_agree_with_stripe_on_any_mixture_of_parts(pieces: list[str], age: int) -> None:
    """Parts in any order, missing, repeated, of other schemes, cut or in capitals, fresh or stale: one verdict."""
    header = ",".join(pieces)

    assert _stripe_accepts(BODY, header, SECRET, NOW + age) == _we_accept(BODY, header, SECRET, NOW + age)
