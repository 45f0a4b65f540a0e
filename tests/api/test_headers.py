"""No header that nobody documented (principle P1), to the exact set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from drive import DEPOSITS, SECOND, START, Business, deposit_body, key

from paydouble.api.values import Reply
from paydouble.guards.credentials import basic_header
from paydouble.web.replies import render

WINDOW_END = START // 1000 + 60
LIMITED = {"limit": 3}
# The machine's time, long after the sandbox's.
WALL = START + 300 * 86_400_000


def headers(reply: Reply) -> dict[str, str]:
    """Return what is sent, less what is on every answer: its type, its request id and the server's name."""
    sent = dict(render(reply).headers)
    assert sent.pop("Content-Type") == "application/json"
    assert sent.pop("X-Request-Id") == reply.request_id
    assert sent.pop("Server") == "paydouble"
    return sent


@pytest.mark.parametrize(
    "send",
    [
        pytest.param(lambda business: business.post(DEPOSITS, deposit_body()), id="200"),
        pytest.param(lambda business: business.get("/pay-in"), id="200 of a list"),
        pytest.param(lambda business: business.post(DEPOSITS, {}), id="400"),
        pytest.param(lambda business: business.post(DEPOSITS, {}, key="x"), id="400 of the key"),
        pytest.param(lambda business: business.post("/payout/payout-initiation", {}), id="403"),
        pytest.param(lambda business: business.get("/nowhere"), id="404 of the edge"),
        pytest.param(lambda business: business.get("/pay-in/none"), id="404"),
        pytest.param(lambda business: business.post(DEPOSITS, deposit_body(), key=key(1)), id="200 again"),
        pytest.param(lambda business: business.post(DEPOSITS, deposit_body(amount=1), key=key(1)), id="409"),
        pytest.param(lambda business: business.post(DEPOSITS, deposit_body(currency="ZZZ")), id="422"),
    ],
)
def test_no_answer_but_a_401_and_a_429_carries_anything_undocumented(send: Callable[[Business], Reply]) -> None:
    """Even with a quota and a replay, no answer has a header beyond type, request id and server."""
    business = Business(rate_limit=LIMITED, permissions=["pay-in-*", "deposit-*"])
    business.post(DEPOSITS, deposit_body(), key=key(1))

    reply = send(business)

    assert headers(reply) == {}


@pytest.mark.parametrize(
    "send",
    [
        pytest.param(lambda box: box.get("/pay-in", authorization=basic_header("key_default", "wrong")), id="secret"),
        pytest.param(lambda box: box.get("/pay-in", authorization=None), id="stranger"),
        pytest.param(lambda box: box.post(DEPOSITS, deposit_body()), id="fault"),
    ],
)
def test_a_401_says_how_to_authenticate(send: Callable[[Business], Reply]) -> None:
    """A 401 has the challenge that HTTP Basic requires, whatever the reason, and nothing else."""
    business = Business()
    business.arm("error", status=401)

    reply = send(business)

    assert reply.status == 401
    assert headers(reply) == {"WWW-Authenticate": 'Basic realm="paydouble", charset="UTF-8"'}


def test_a_429_carries_the_three_documented_headers() -> None:
    """Quota, what is left of it and when it is renewed: these three and no `Retry-After`."""
    business = Business(rate_limit={"limit": 0})

    reply = business.get("/pay-in")

    expected = {"X-RateLimit-Limit": "0", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(WINDOW_END)}
    assert expected == headers(reply)


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        pytest.param({}, str(WALL // 1000 + 60), id="default"),
        pytest.param({"reset_unit": "epoch_milliseconds"}, str(WALL + 60_000), id="milliseconds"),
        pytest.param({"reset_unit": "delta_seconds"}, "60", id="delta"),
        pytest.param({"clock": "sandbox_clock"}, str(WINDOW_END), id="sandbox"),
        pytest.param(
            {"clock": "sandbox_clock", "reset_unit": "epoch_milliseconds"},
            str(WINDOW_END * 1000),
            id="sandbox in milliseconds",
        ),
    ],
)
def test_a_client_sleeps_by_its_own_clock(changes: dict[str, Any], shown: str) -> None:
    """In epoch units the reset is the machine's time plus what is left of the window, unless the setting says not."""
    business = Business(wall=lambda: WALL, rate_limit={"limit": 0, **changes})

    reply = business.get("/pay-in")

    assert headers(reply)["X-RateLimit-Reset"] == shown


@pytest.mark.parametrize(
    ("effect", "changes", "shown"),
    [
        pytest.param({}, {}, WALL // 1000 + 30, id="default"),
        pytest.param({"headers": "past"}, {}, WALL // 1000 - 30, id="past"),
        pytest.param({"reset_unit": "delta_seconds"}, {}, 30, id="delta"),
        pytest.param({"reset_unit": "epoch_milliseconds"}, {}, WALL + 30_000, id="milliseconds"),
        pytest.param({}, {"rate_limit": {"limit": 9, "clock": "sandbox_clock"}}, START // 1000 + 30, id="sandbox"),
    ],
)
def test_an_injected_429_counts_on_the_same_clock(effect: dict[str, Any], changes: dict[str, Any], shown: int) -> None:
    """A fault's reset counts as that of the business's quota would."""
    business = Business(wall=lambda: WALL, **changes)
    business.arm("rate_limit", **effect)

    assert headers(business.get("/pay-in"))["X-RateLimit-Reset"] == str(shown)


def test_retry_after_is_an_extra() -> None:
    """With `retry_after` a 429 says how many whole seconds to wait, rounded up."""
    business = Business(rate_limit={"limit": 1}, retry_after=True)
    business.advance(5 * SECOND)
    business.get("/pay-in")
    business.advance(10 * SECOND + 1)

    reply = business.get("/pay-in")

    assert headers(reply)["Retry-After"] == "50"


def test_rate_limit_headers_on_every_answer_are_an_extra() -> None:
    """With `headers: always` each answer of the business counts down."""
    business = Business(rate_limit={"limit": 2, "headers": "always"})

    left = [headers(business.get(path))["X-RateLimit-Remaining"] for path in ("/pay-in", "/pay-in/none", "/pay-in")]

    assert left == ["1", "0", "0"]


def test_the_mark_of_a_replay_is_an_extra() -> None:
    """With `idempotent_replayed` a replay says so, and the first answer does not."""
    business = Business(idempotent_replayed=True)

    first = business.post(DEPOSITS, deposit_body(), key=key(1))
    second = business.post(DEPOSITS, deposit_body(), key=key(1))

    assert [headers(first), headers(second)] == [{}, {"Idempotent-Replayed": "true"}]


def test_events_carry_their_type_and_signature_alone() -> None:
    """An attempt has exactly the two headers that the contract shows."""
    business = Business()
    business.deposit()

    business.deliver_all()

    assert [[name for name, _ in each.headers] for each in business.received] == [
        ["Content-Type", "X-Service-Signature"]
    ]
