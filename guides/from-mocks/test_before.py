"""The shop's tests with mocks of one's own: they hold what their author believed of the service."""

import httpx
import pytest
from shop import Shop


class FakeService:
    """Answers what it is told, and keeps what was sent."""

    def __init__(self):
        self.answers = []
        self.sent = []

    def __call__(self, request):
        self.sent.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


DEPOSIT = {"success": True, "data": {"id": "payin_1", "payment_url": "https://pay.example/1"}}


@pytest.fixture
def fake():
    return FakeService()


@pytest.fixture
def shop(fake):
    return Shop(httpx.Client(transport=httpx.MockTransport(fake), base_url="https://service.example/api/v1"))


def test_paying(shop, fake):
    fake.answers = [httpx.Response(200, json=DEPOSIT)]

    assert shop.pay("order-1", 20) == "https://pay.example/1"
    assert fake.sent[0].headers["Idempotency-Key"]


def test_a_timeout_is_tried_again(shop, fake):
    fake.answers = [httpx.ReadTimeout("timed out"), httpx.Response(200, json=DEPOSIT)]

    shop.pay("order-1", 20)

    assert len(fake.sent) == 2


def test_a_paid_order_is_shipped(shop):
    shop.hear({"type": "payin.succeeded", "data": {"object": {"external_identifier": "order-1"}}})

    assert shop.shipped == {"order-1"}
