"""The plugin in a merchant's test runs: plain, async in every fashion, unittest, parallel and in random order."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from children import Child

from paydouble.testing import Paydouble
from paydouble.testing.fixtures import this_millisecond

PLAIN = """
def test_each_test_has_its_own_sandbox(paydouble):
    pay(paydouble)
    assert paydouble.requests.verify(operation="deposit-creation", count=1) == 1


def test_events_come_to_the_receiver(paydouble, webhook_receiver):
    webhook_receiver.answer_next(500)
    pay_in = pay(paydouble)
    paydouble.clock.advance("72h")
    received = webhook_receiver.wait(5)
    assert {each.event["data"]["object"]["id"] for each in received} == {pay_in}
    assert all(each.verified for each in received)
    paydouble.deliveries.verify(status="delivered", count=4)


@pytest.mark.paydouble(scenario="card-declined", seed=7, settings={"created_status": 201})
class TestMarked:
    @pytest.mark.paydouble(seed=8, clock={"mode": "manual", "start": "2026-01-01T00:00:00Z"})
    def test_the_closest_marker_decides(self, paydouble):
        state = paydouble.read()
        assert (state.scenario, state.seed, state.settings["created_status"]) == ("card-declined", 8, 201)
        assert state.clock.now.year == 2026

    def test_a_class_can_be_marked(self, paydouble):
        assert paydouble.seed == 7


def test_the_server_is_the_session_s(paydouble_server, paydouble):
    assert paydouble.id in [each.id for each in paydouble_server.sandboxes()]
    paydouble.delete()  # a test may let its sandbox go itself
"""


def test_a_plain_run_passes(child: Child) -> None:
    """Fixtures, marker and receiver, with every warning an error."""
    run = child(PLAIN)

    assert run.counts == {"passed": 5}, run.text


def test_a_failure_shows_what_happened(child: Child) -> None:
    """The timeline of the test's own sandbox in order, the seed that repeats it, the faults, and the receiver's bug."""
    run = child(
        """
        @pytest.mark.paydouble(clock={"mode": "manual", "start": "2026-01-01T00:00:00Z"})
        def test_fails(paydouble, webhook_receiver):
            paydouble.faults.add("html_error", times=1, id="proxy")
            paydouble.faults.add("connection_reset", operation="refund-creation", phase="after_commit", id="late")
            webhook_receiver.answer_next(lambda received: 1 / 0)
            try:
                pay(paydouble)
            except urllib.error.HTTPError:
                pay_in = pay(paydouble)
            paydouble.clock.advance("1m")
            paydouble.pay_ins.transition(pay_in, "failed", force=True)
            paydouble.requests.verify(count=3)


        def test_nothing_happened(paydouble):
            paydouble.faults.add("html_error", id="waiting")
            assert False
        """,
        "--paydouble-seed=11",
        plugins=(),
    )
    report = run.text.partition("paydouble timeline")[2]

    assert run.counts == {"failed": 2}, run.text
    assert "expected exactly 3 of the requests, found 2" in run.text
    assert "seed 11; repeat it with --paydouble-seed=11" in report
    steps = (
        r"00:00:00\.000  merchant →  POST /pay-in/deposit-creation order-1  ✗ 502, nothing done \(proxy\)\n"
        r"00:00:00\.000  merchant →  POST /pay-in/deposit-creation order-1 10\.00 EUR  ✓ 200 new\n"
        r"00:00:00\.000  service     pay-in\.created order-1 +payin_\w+\n"
        r"00:00:00\.000  → merchant  pay-in\.created order-1 +✗ 500 in .* ms  to http://127\.0\.0\.1:\d+/\n"
        r"00:00:02\.000  service     pay-in\.pending order-1 +10\.00 EUR\n"
    )
    assert re.search(steps, report), report
    assert "fault proxy (html_error) fired once" in report
    assert (
        "fault late (connection_reset) never fired: 2 requests came, none matched operation=refund-creation" in report
    )
    assert "the test's own receiver function has raised ZeroDivisionError" in report
    assert "nothing has happened: no request came with its business key, and no event was made" in report
    assert "fault waiting (html_error) never fired: no request came" in report


def test_a_failure_shows_what_no_sandbox_has_claimed(child: Child) -> None:
    """Code that sends another business key than the test's sandbox has is seen; what came before the test is not."""
    run = child(
        """
        from base64 import b64encode

        def knock(box, key):
            url = f"{box.base_url}/pay-in?key={key}"
            credentials = {} if key is None else {"Authorization": "Basic " + b64encode(f"{key}:x".encode()).decode()}
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(urllib.request.Request(url, headers=credentials))
            caught.value.close()

        def test_passes(paydouble):
            knock(paydouble, "earlier")

        def test_fails(paydouble):
            for number in range(5):
                knock(paydouble, f"live_{number}")
            knock(paydouble, None)
            assert False
        """
    )
    report = run.text.partition("paydouble timeline")[2]

    assert run.counts == {"passed": 1, "failed": 1}, run.text
    assert "6 requests came meanwhile that no sandbox claims; this one's business key is 'key_sandbox-2_" in report
    assert (
        "GET /pay-in?key=live_4  ✗ 401  no sandbox claims it (business key 'live_4')  unauthorized: "
        "The business key or the business secret is wrong." in report
    )
    stranger = "GET /pay-in?key=None  ✗ 401  no sandbox claims it (no business key)"
    assert f"{stranger}  unauthorized: The Authorization header is" in report
    assert "earlier" not in report
    assert "live_0" not in report


def test_what_comes_in_the_same_millisecond_is_not_earlier() -> None:
    """The server writes whole milliseconds, so the beginning of a test is one too."""
    before = datetime.now(UTC)
    began = this_millisecond()
    after = datetime.now(UTC)

    assert began.microsecond % 1000 == 0
    assert before - timedelta(milliseconds=1) < began <= after


def test_a_long_story_is_shortened(child: Child) -> None:
    """The newest lines are those that tell why."""
    run = child(
        """
        def test_fails(paydouble):
            for _ in range(250):
                paydouble.webhook.test()
            assert False
        """
    )

    assert "50 earlier lines are left out" in run.text
    assert run.text.count("service     pay-in.succeeded") == 200


def test_a_passing_test_says_nothing(child: Child) -> None:
    """A report is longer only when a test fails, in its set-up too."""
    run = child(
        """
        def test_ok(paydouble):
            pay(paydouble)

        @pytest.fixture
        def paid(paydouble):
            pay(paydouble)
            raise LookupError

        def test_set_up(paid):
            pass
        """,
        "-rA",
    )

    assert run.counts == {"passed": 1, "error": 1}, run.text
    assert run.text.count("paydouble timeline") == 1
    assert "merchant →  POST" in run.text


ASYNC = """
async def story(box, receiver):
    import asyncio
    waiting = asyncio.ensure_future(box.asynchronous.requests.wait(count=1))
    await asyncio.to_thread(pay, box)
    assert await waiting == 1
    await box.asynchronous.clock.advance("1h")
    receiver.wait(4)
"""


def test_pytest_asyncio_is_at_ease(child: Child) -> None:
    """In either of its modes, under its default loop scope."""
    source = ASYNC + "\nasync def test_it(paydouble, webhook_receiver):\n    await story(paydouble, webhook_receiver)\n"
    ini = "asyncio_default_fixture_loop_scope = function\n"

    auto = child(source, ini=ini + "asyncio_mode = auto\n", plugins=("asyncio",))
    strict = child("pytestmark = pytest.mark.asyncio\n" + source, ini=ini, plugins=("asyncio",))

    assert (auto.counts, strict.counts) == ({"passed": 1}, {"passed": 1}), auto.text + strict.text


def test_anyio_is_at_ease(child: Child) -> None:
    """With its own runner."""
    source = (
        ASYNC
        + """
@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.mark.anyio
async def test_it(paydouble, webhook_receiver):
    await story(paydouble, webhook_receiver)
"""
    )
    run = child(source, plugins=("anyio",))

    assert run.counts == {"passed": 1}, run.text


def test_pytest_aiohttp_is_at_ease(child: Child) -> None:
    """Beside its loop, its client, and a merchant's application in it."""
    source = (
        ASYNC
        + """
from aiohttp import web

async def test_it(paydouble, webhook_receiver, aiohttp_client):
    async def shop(request):
        return web.Response(text="open")
    app = web.Application()
    app.router.add_get("/", shop)
    client = await aiohttp_client(app)
    assert await (await client.get("/")).text() == "open"
    await story(paydouble, webhook_receiver)
"""
    )
    ini = "asyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
    run = child(source, ini=ini, plugins=("asyncio", "aiohttp"))

    assert run.counts == {"passed": 1}, run.text


def test_unittest_is_at_ease(child: Child) -> None:
    """Fixtures reach its classes the usual way, and so does the timeline."""
    run = child(
        """
        import unittest

        class TestShop(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def _double(self, paydouble):
                self.paydouble = paydouble

            def test_passes(self):
                pay(self.paydouble)
                self.paydouble.requests.verify(count=1)

            def test_fails(self):
                pay(self.paydouble)
                self.fail("on purpose")
        """
    )

    assert run.counts == {"passed": 1, "failed": 1}, run.text
    assert run.text.count("merchant →  POST") == 1


def test_workers_and_random_order_meet_nobody(child: Child) -> None:
    """Under xdist and in any order, on one shared server even: each test sees its own sandbox alone."""
    source = """
    @pytest.mark.parametrize("number", range(12))
    def test_alone(paydouble, number):
        pay(paydouble)
        paydouble.clock.advance("1h")
        paydouble.requests.verify(count=1)
        assert len(paydouble.events.list()) == 4

    def test_fails(paydouble):
        pay(paydouble)
        assert False
    """
    with Paydouble.start() as server:
        shared = child(source, "-n2", f"--paydouble-url={server.url}", plugins=("xdist", "random"))
        left = [each.id for each in server.sandboxes()]
    own = child(source, "-n2", plugins=("xdist", "random"))

    assert (shared.counts, own.counts) == ({"passed": 12, "failed": 1},) * 2, shared.text + own.text
    assert left == ["default"]
    assert "paydouble timeline" in own.text


def test_a_remote_server_is_named_in_the_ini_file_too(child: Child) -> None:
    """With its token and a seed; an option goes before."""
    source = """
    def test_it(paydouble, paydouble_server):
        assert (paydouble_server.find().seed, paydouble.seed) == (OWN, 5)
    """
    with Paydouble.start(token="secret", seed=4) as server:
        own = server.find().seed
        ini = f"paydouble_url = {server.url}\npaydouble_token = secret\npaydouble_seed = 4\n"
        run = child(source.replace("OWN", str(own)), "--paydouble-seed=5", ini=ini)

    assert run.counts == {"passed": 1}, run.text


def test_the_parts_of_a_machine_run_at_the_same_time(child: Child) -> None:
    """Each worker of xdist has a part of the catalogue, and what all of them have tried is told at the end."""
    plays = """
        from paydouble.stateful import catalogue_run
        from paydouble.stateful.steps import CataloguePlay, step

        catalogue_run.catalogue = lambda: tuple(
            CataloguePlay((step("order", price, "EUR"), step("wait", "1s"))) for price in ("1.15", "10", "12", "49.90")
        )
    """
    source = """
        from paydouble.stateful import Merchant, MerchantMachine

        class Shop(Merchant):
            def place_order(self, order_id, amount, currency):
                self.is_cheap = amount < 2

            def pay(self, order_id):
                pass

            def receive(self, webhook):
                return 200

            def order_status(self, order_id):
                return "unpaid"

            def broken_rules(self):
                return ["too cheap"] * self.is_cheap

        class ShopMachine(MerchantMachine):
            merchant = Shop
            phases = ("catalogue",)
            parts = 2

        TestShop = ShopMachine.TestCase
    """
    run = child(source, "-n2", "-v", conftest=plays, plugins=("xdist",))

    assert run.counts == {"failed": 1, "passed": 1}, run.text
    workers = dict(re.findall(r"\[(gw\d)\].* (?:PASSED|FAILED) test_shop\.py::TestShop::test_part_(\d)", run.text))
    assert sorted(workers) == ["gw0", "gw1"]
    assert sorted(workers.values()) == ["1", "2"]
    assert "breaks a rule of its own: too cheap" in run.text
    told = re.findall(r"^ShopMachine, with its finding: 3 plays .*\n(.*)", run.text, re.MULTILINE)
    assert told == ["These were parts 1 and 2 of 2 of the catalogue."], run.text
    assert "its plays are in another part" not in run.text
