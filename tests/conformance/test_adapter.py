"""A merchant file drives a shop that runs in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from bounds import AT_MOST_SECONDS
from described_shop import described_shop
from ports import free_port
from pydantic import ValidationError

from paydouble.conformance import CommandMerchant, HttpMerchant, run_values
from paydouble.conformance.adapter import adapter_of, merchant_of
from paydouble.conformance.calling import CallFailed, perform, run
from paydouble.conformance.merchant_file import Call, MerchantFile, Start
from paydouble.conformance.process import ShopProcess
from paydouble.conformance.stage import staged
from paydouble.core.errors import UsageError
from paydouble.payments.resources import Refund
from paydouble.sandbox.identity import Secrets
from paydouble.stateful import Accepted, Merchant, MerchantBug, Play, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator


def _adapter(document: dict[str, Any], folder: Path) -> Any:  # noqa: ANN401 - a class of its own
    return adapter_of(MerchantFile.model_validate(document), folder)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Any]:
    """Yield the adapter of the correct shop, and stop the shop."""
    adapter = _adapter(described_shop(tmp_path), tmp_path)
    yield adapter
    adapter.process.kill()


def test_a_correct_shop_passes(shop: Any) -> None:  # noqa: ANN401 - see `_adapter`
    """It is started once, emptied for each play, and asked for its books."""
    for _ in range(2):
        with Play(shop) as play:
            play.order()
            play.pay(1, "reply lost")
            play.retry(1)
            play.wait("10s")
            assert (play.status(), play.shipments()) == ("paid", 1)


def _told(adapter: Any, *steps: tuple[str, *tuple[Any, ...]]) -> str:  # noqa: ANN401 - see `_adapter`
    """Return the report of a play that fails."""
    try:
        with Play(adapter) as play:
            for name, *arguments in steps:
                getattr(play, name)(*arguments)
    except MerchantBug as bug:
        return str(bug)
    finally:
        adapter.process.kill()
    return ""


def test_a_mistake_is_found(tmp_path: Path) -> None:
    """The machine's rules hold for a shop that a file describes."""
    adapter = _adapter(described_shop(tmp_path, "believes everybody"), tmp_path)

    told = _told(adapter, ("order",), ("pay",), ("wait", "10s"), ("inject", "wrong secret"))

    assert told.startswith("The merchant answers 200 to a webhook whose signature does not hold")


def test_what_a_file_lacks_is_not_there(shop: Any) -> None:  # noqa: ANN401 - see `_adapter`
    """The machine then reports it as never tried."""
    assert shop.refund is Merchant.refund
    assert shop.tick is not Merchant.tick
    with Play(shop) as play:
        play.order()
        assert play.shipments() == 0


@pytest.mark.parametrize(
    "key",
    [
        "reconciles",
        "rotates_secrets",
        "interleaves",
        "retries_by_itself",
        "refunds_can_fail_late",
        "disputes_can_reopen",
    ],
)
def test_a_file_says_what_the_shop_does(key: str, tmp_path: Path) -> None:
    """As an adapter in Python does, with the same name, and with the same default."""
    document = described_shop(tmp_path)
    plain = getattr(Merchant, key)

    assert getattr(_adapter(document, tmp_path), key) is plain
    assert getattr(_adapter({**document, key: not plain}, tmp_path), key) is not plain


def test_a_file_says_where_the_shop_finds_an_operation(tmp_path: Path) -> None:
    """As an adapter in Python does."""
    document = {**described_shop(tmp_path), "service": {"paths": {"refund-creation": "/refunds"}}}
    assert _adapter(document, tmp_path).paths == {"refund-creation": "/refunds"}


def test_a_shop_whose_clock_a_file_sets_lives_through_days(tmp_path: Path) -> None:
    """Its key is too old after a day, so it looks first; a process that was killed is told the time again."""
    document = described_shop(tmp_path)
    own = document["driver"]["reset"]["json"] | {"clock_url": "", "pause_scale": 0.01}
    document["driver"]["reset"]["json"] = own
    assert _adapter(document, tmp_path).set_time is Merchant.set_time

    document["driver"]["set_time"] = {"POST": "http://127.0.0.1:{port}/test/time", "json": {"unix": "{unix}"}}
    adapter = _adapter(document, tmp_path)
    try:
        with Play(adapter) as play:
            play.order()
            play.pay(1, "reply lost", lasts=6)
            play.wait("25h")
            play.restart()
            play.retry(1)
            play.wait("10s")
            assert (play.status(), play.shipments()) == ("paid", 1)
    finally:
        adapter.process.kill()


def test_a_file_says_what_the_deployment_does_otherwise(tmp_path: Path) -> None:
    """Plays and clauses run with it; a setting that cannot be is refused at its place."""
    own = {"created_status": 201, "webhooks": {"timeout": "3s"}}
    file = MerchantFile.model_validate({**described_shop(tmp_path), "service": {"settings": own}})

    assert adapter_of(file, tmp_path).settings == own
    with staged(file, tmp_path, seed=0) as stage:
        shown = stage.sandbox.read().settings
        assert (shown["created_status"], shown["webhooks"]["timeout"]) == (201, "3s")
        assert shown["webhooks"]["sign_with"] == "sandbox_clock"
    with pytest.raises(ValidationError, match="created_status"):
        MerchantFile.model_validate({**described_shop(tmp_path), "service": {"settings": {"created_status": 202}}})


def test_a_file_names_the_policies_that_the_shop_promises(tmp_path: Path) -> None:
    """Those that an adapter can demand; another name is refused with the list."""
    document = {**described_shop(tmp_path), "demands": ["double payment"]}
    assert list(_adapter(document, tmp_path).demands) == ["double payment"]
    with pytest.raises(ValidationError, match="'double' is not a policy; there are: double payment"):
        MerchantFile.model_validate({**document, "demands": ["double"]})


def test_findings_of_a_file_are_accepted_after_its_steps(tmp_path: Path) -> None:
    """A text is the reason alone."""
    accepts = {"paid": "why", "ships": {"because": "why not", "after": "a day"}}
    document = {**described_shop(tmp_path), "accepts": accepts}
    assert _adapter(document, tmp_path).accepts == {"paid": Accepted("why"), "ships": Accepted("why not", "a day")}


def test_a_file_names_the_effects_that_an_order_needs(tmp_path: Path) -> None:
    """Those that it can read; another name is refused with the list."""
    document = described_shop(tmp_path)
    document["driver"]["order"] |= {"effects": {"mails": "/mails"}, "needed_effects": ["mails"]}
    assert list(_adapter(document, tmp_path).needed_effects) == ["mails"]
    document["driver"]["order"]["needed_effects"] = ["mail"]
    with pytest.raises(ValidationError, match="needed_effects has 'mail', which is none of effects; there are: mails"):
        MerchantFile.model_validate(document)


def test_a_file_tells_the_order_of_a_deposit(tmp_path: Path) -> None:
    """By a regular expression; an identifier of another form is what it is."""
    file = MerchantFile.model_validate({**described_shop(tmp_path), "order_of_deposit": "(.+)-a[0-9]+"})
    told = adapter_of(file, tmp_path)
    found = [file.order_named(each) for each in ("order-1-a2", "order-1", "elsewhere")]

    assert found == ["order-1", "order-1", "elsewhere"]
    assert told.order_of_deposit is not Merchant.order_of_deposit
    assert _adapter(described_shop(tmp_path), tmp_path).order_of_deposit is Merchant.order_of_deposit


def _makes_its_own_ids(folder: Path, pointer: str = "/order/id") -> dict[str, Any]:
    """Return the document of a file for a shop that is given no ids."""
    document = described_shop(folder)
    document["driver"]["place_order"] |= {"json": {"amount": "{amount}", "currency": "{currency}"}, "id": pointer}
    return document


def test_a_shop_may_make_the_ids_of_its_orders(tmp_path: Path) -> None:
    """Each is paid, read and found again by the shop's own id, and told by the one of the play."""
    adapter = _adapter(_makes_its_own_ids(tmp_path), tmp_path)
    try:
        with Play(adapter) as play:
            for number in (1, 2):
                play.order()
                play.pay(number, "reply lost")
            play.wait("10s")
            assert [play.status(each) for each in (1, 2)] == ["paid", "paid"]
            named = {entry.external_identifier for entry in play.sandbox.journal.requests.entries}
            assert named >= {"own-1", "own-2"}
    finally:
        adapter.process.kill()


@pytest.mark.parametrize(
    ("pointer", "message"),
    [("/order/seen", "has True at /order/seen, which is no id"), ("/id", "which has no /id")],
)
def test_an_id_that_is_none_is_quoted(pointer: str, message: str, tmp_path: Path) -> None:
    """With the answer."""
    adapter = _adapter(_makes_its_own_ids(tmp_path, pointer), tmp_path)
    assert message in _told(adapter, ("order",))


def test_a_shop_without_refunds_meets_none(shop: Any) -> None:  # noqa: ANN401 - see `_adapter`
    """Also none that staff makes on the provider's own pages."""
    with Play(shop) as play:
        play.pay()
        play.wait("10s")
        play.provider("refund half")

        assert play.sandbox.ledger.count(Refund) == 0


def test_an_unknown_status_says_where_it_is_translated(tmp_path: Path) -> None:
    """The message names the shop's word, the place in the file and the words that are known."""
    document = described_shop(tmp_path)
    document["driver"]["order"]["status"] = "/shipped"

    told = _told(_adapter(document, tmp_path), ("order",), ("pay",))

    assert "has the status '0'; say in driver.order.words which of these it is: unpaid, " in told


def test_a_file_is_a_merchant(tmp_path: Path) -> None:
    """`merchant_of` reads the file, and names the class after the shop."""
    path = tmp_path / "merchant.yaml"
    path.write_text(json.dumps(described_shop(tmp_path)))  # JSON is YAML

    assert merchant_of(path).__name__ == "PythonShop"


def test_an_adapter_adds_to_a_file(tmp_path: Path) -> None:
    """A subclass that names a file drives its shop, and its own methods come before those of the file."""
    path = tmp_path / "merchant.yaml"
    path.write_text(json.dumps(described_shop(tmp_path)))

    class Shop(HttpMerchant, file=path):
        ticks = 0

        def tick(self) -> None:
            type(self).ticks += 1
            super().tick()

    try:
        with Play(Shop) as play:
            play.order()
            play.pay(1)
            play.wait("1h")
            assert play.status() == "paid"
            assert Shop.ticks
    finally:
        assert Shop.process is not None
        Shop.process.kill()
    assert CommandMerchant is HttpMerchant


# A shop that works on after it has answered


class _Shop:
    """Answers with the status that `answers` has for a path, and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers: dict[str, int] = {}
        self.left = b'"49.90"'
        shop = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"] or 0))
                self.answer()

            def do_GET(self) -> None:
                self.answer()

            def answer(self) -> None:
                shop.asked.append(self.path)
                left = shop.left
                body = b'{"status": "paid", "shipped": 1, "left": %b, "mails": 1, "rules": ["two tickets"]}' % left
                self.send_response(shop.answers.get(self.path, 200))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.at = f"http://127.0.0.1:{self.server.server_port}"

    def adapter(
        self, *, drains: bool = True, broken_rules: dict[str, str] | None = None, declined: tuple[int, ...] = ()
    ) -> Any:  # noqa: ANN401 - see `_adapter`
        """Return an adapter that drives this shop."""
        calls = ("place_order", "pay", "retry", "refund", "cancel", "customer_returns", "tick", "restart")
        driver: dict[str, Any] = {name: {"POST": f"{self.at}/{name}"} for name in calls}
        pointers = {"status": "/status", "shipments": "/shipped", "balance": "/left", "effects": {"mails": "/mails"}}
        driver["order"] = {"GET": self.at + "/order/{order}", **pointers}
        if drains:
            driver["drain"] = {"POST": f"{self.at}/drain"}
        if broken_rules is not None:
            driver["broken_rules"] = {"GET": f"{self.at}/rules", **broken_rules}
        driver["pay"]["declined"] = list(declined)
        document = {"name": "shop", "webhook": {"url": f"{self.at}/webhooks"}, "driver": driver}
        service = SimpleNamespace(
            base_url="x", clock_url="x", business_key="x", business_secret="x", webhook_secret="x"
        )
        return _adapter(document, Path())(service)


@pytest.fixture
def answering() -> Iterator[_Shop]:
    """Yield a shop that answers."""
    shop = _Shop()
    thread = Thread(target=shop.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield shop
    shop.server.shutdown()
    thread.join()
    shop.server.server_close()


def test_a_shop_is_drained_by_its_own_call(answering: _Shop) -> None:
    """The machine says when; no other call does it by itself."""
    shop = answering.adapter()
    answering.answers["/cancel"] = 409

    shop.pay("order-1")
    with pytest.raises(Refused):
        shop.cancel("order-1")
    shop.drain()
    answering.answers["/drain"] = 404
    with pytest.raises(CallFailed, match="/drain was answered with 404"):
        shop.drain()

    assert answering.asked == ["/pay", "/cancel", "/drain", "/drain"]


def test_a_click_is_declined_by_the_statuses_of_the_file(answering: _Shop) -> None:
    """Any other answer is a page for the customer; a button of its own has statuses of its own."""
    shop = answering.adapter(declined=(409, 410))

    answering.answers["/pay"] = 404
    shop.pay("order-1")
    answering.answers["/pay"] = 410
    with pytest.raises(Refused, match="410"):
        shop.pay("order-1")
    answering.answers["/retry"] = 410
    shop.retry("order-1")


def test_a_file_without_a_drain_has_none(answering: _Shop) -> None:
    """So the machine leaves out what needs one."""
    assert type(answering.adapter(drains=False)).drain is Merchant.drain


def test_no_balance_may_be_kept_of_an_order(answering: _Shop) -> None:
    """`null` says so, as None does in Python; a word is no amount."""
    shop = answering.adapter()

    answering.left = b"null"
    assert shop.balance("o") is None
    answering.left = b'"much"'
    with pytest.raises(CallFailed, match="has 'much' at /left, which is no amount"):
        shop.balance("o")


def test_an_order_is_read_once_at_a_moment(answering: _Shop) -> None:
    """Where somebody says when a moment is over, as the machine does; otherwise each time."""
    shop = answering.adapter()

    def read() -> int:
        start = len(answering.asked)
        values = [shop.order_status("o"), shop.shipments("o"), shop.balance("o"), shop.effects("o")]
        assert values == ["paid", 1, Decimal("49.90"), {"mails": 1}]
        return len(answering.asked) - start

    assert read() == 4
    shop.look_again()
    assert (read(), read()) == (1, 0)
    shop.look_again()
    assert read() == 1


@pytest.mark.parametrize(
    ("rules", "texts"),
    [({"texts": "/rules"}, ["two tickets"]), ({"texts": "/left"}, None), ({}, None)],
)
def test_rules_of_the_shop_are_a_list_of_texts(
    answering: _Shop, rules: dict[str, str], texts: list[str] | None
) -> None:
    """Anything else is told with its place."""
    shop = answering.adapter(broken_rules=rules)

    if texts is not None:
        assert shop.broken_rules() == texts
    else:
        with pytest.raises(CallFailed, match="which is no list of texts"):
            shop.broken_rules()


def test_a_file_without_rules_has_none_that_are_broken(answering: _Shop) -> None:
    """And asks nothing."""
    assert (answering.adapter().broken_rules(), answering.asked) == ((), [])


# The process


def _start(folder: Path, *command: str, within: str = "60s") -> tuple[ShopProcess, str]:
    process = ShopProcess(
        Start.model_validate({"command": command, "ready": f"GET http://127.0.0.1:{free_port()}/", "within": within}),
        folder,
    )
    with pytest.raises(CallFailed) as failed:
        process.start({})
    assert not process.running
    return process, str(failed.value)


def test_a_program_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    """The message has the command."""
    _, text = _start(tmp_path, "./no-such-program", "x")

    assert text == "start: ./no-such-program x cannot be run: No such file or directory"


def test_a_shop_that_ends_at_once_is_quoted(tmp_path: Path) -> None:
    """The message has the exit status, and the last lines that the shop has printed, without control characters."""
    _, text = _start(tmp_path, sys.executable, "-S", "-c", "print('no \\x1b[31mdatabase'); raise SystemExit(3)")

    assert "ended with 3 before it was ready; it printed:\n    no " in text
    assert "\x1b" not in text


def test_a_shop_that_is_not_ready_is_named(tmp_path: Path) -> None:
    """The message has the request and its latest result."""
    _, text = _start(tmp_path, sys.executable, "-S", "-c", "import time; time.sleep(600)", within="500ms")

    assert "was not ready after 0.5 s: GET http://127.0.0.1:" in text


_WORKER = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Ready(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(204)
        self.end_headers()
HTTPServer(("127.0.0.1", int(sys.argv[1])), Ready).serve_forever()
"""


def test_workers_are_killed_with_the_shop(tmp_path: Path) -> None:
    """The whole process group is killed, since workers outlive their parent and keep its port."""
    port = free_port()
    (tmp_path / "worker.py").write_text(_WORKER)
    parent = f"import subprocess, sys; subprocess.Popen([sys.executable, '-S', 'worker.py', '{port}']).wait()"
    command = [sys.executable, "-S", "-c", parent]
    process = ShopProcess(
        Start.model_validate({"command": command, "ready": f"GET http://127.0.0.1:{port}/"}), tmp_path
    )
    process.start({})
    assert process.running

    process.kill()

    with socket.create_server(("127.0.0.1", port)):
        pass


def test_a_shop_runs_with_the_values_it_was_started_with(tmp_path: Path) -> None:
    """A second play has another service: the shop that was started for the first one would call what is gone."""
    port = free_port()
    (tmp_path / "worker.py").write_text(_WORKER)
    settings = {
        "command": [sys.executable, "-S", "worker.py", str(port)],
        "environment": {"PAYMENTS": "{base_url}"},
        "ready": f"GET http://127.0.0.1:{port}/",
    }
    process = ShopProcess(Start.model_validate(settings), tmp_path)
    first, second = {"base_url": "http://first", "order": "1"}, {"base_url": "http://second"}
    assert not process.runs_with(first)
    process.start(first)

    assert process.runs_with(first)
    assert process.runs_with({**first, "order": "2"})
    assert not process.runs_with(second)

    process.kill()
    assert not process.runs_with(first)


_KEEPS = """
import os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
open(os.path.join(os.environ["DATA"], f"start-{os.getpid()}"), "w").close()
class Books(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"status": "unpaid", "kept": %d}' % len(os.listdir(os.environ["DATA"])))
HTTPServer(("127.0.0.1", int(sys.argv[1])), Books).serve_forever()
"""


def _keeping(folder: Path, **driver: object) -> Any:  # noqa: ANN401 - see `_adapter`
    """Return the adapter of a shop that keeps a file of each start in the folder of its run."""
    (folder / "shop.py").write_text(_KEEPS)
    at = "http://127.0.0.1:{port}"
    books = {"GET": f"{at}/", "status": "/status", "shipments": "/kept"}
    start = {
        "command": [sys.executable, "-S", "shop.py", "{port}"],
        "environment": {"DATA": "{temporary_folder}", "BRACES": "{{port}}"},
        "ready": f"GET {at}/",
    }
    call = {"GET": f"{at}/"}
    given = {"place_order": call, "pay": call, "order": books, **driver}
    return _adapter({"name": "keeper", "webhook": {"url": f"{at}/w"}, "start": start, "driver": given}, folder)


def test_a_play_without_reset_finds_the_folder_empty(tmp_path: Path) -> None:
    """What the shop has kept is there after a restart within the play, and is not when the next play begins."""
    adapter = _keeping(tmp_path)
    try:
        for _ in range(2):
            shop = adapter(SimpleNamespace(base_url="", clock_url="", **Secrets()._asdict()))
            assert shop.shipments("order-1") == 1
            shop.restart()
            assert shop.shipments("order-1") == 2
    finally:
        adapter.process.kill()


def test_runs_at_once_have_ports_and_folders_of_their_own(tmp_path: Path) -> None:
    """Each is started beside the others, and a brace that is doubled stays one."""
    shops = [_keeping(tmp_path) for _ in range(3)]
    try:
        for each in shops:
            each.process.start({})
        assert len({each.receiver_url for each in shops}) == 3
        assert len({each.temporary_folder for each in shops}) == 3
        assert [len(list(each.temporary_folder.iterdir())) for each in shops] == [1, 1, 1]
        assert shops[0].process.runs_with({})
    finally:
        for each in shops:
            each.process.kill()


def test_a_port_that_somebody_uses_is_not_given_to_a_shop(tmp_path: Path) -> None:
    """When no other one is left, this is an error in words."""
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.MonkeyPatch.context() as changed:
        at = taken.getsockname()[1]
        changed.setattr(run_values, "_PORTS", range(at, at + 1))
        with pytest.raises(UsageError, match=f"no port from {at} to {at} of 127.0.0.1 is free for the shop"):
            _keeping(tmp_path)


_KILLED = """
import os, signal, sys
from pathlib import Path
from paydouble.conformance.merchant_file import Start
from paydouble.conformance.process import ShopProcess
at = f"http://127.0.0.1:{sys.argv[1]}/"
start = Start.model_validate({"command": [sys.executable, "-S", "worker.py", sys.argv[1]], "ready": f"GET {at}"})
ShopProcess(start, Path()).start({})
print("started", flush=True)
sys.stdin.readline()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_shop_is_killed_with_a_test_that_is_killed(tmp_path: Path) -> None:
    """Otherwise the next run would find its port taken. Its connection ends with its process."""
    port = free_port()
    (tmp_path / "worker.py").write_text(_WORKER)

    command = [sys.executable, "-c", _KILLED, str(port)]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as test:
        assert test.stdout is not None
        assert test.stdout.readline() == "started\n"
        with socket.create_connection(("127.0.0.1", port), AT_MOST_SECONDS) as connection:
            test.communicate("go\n")
            with suppress(ConnectionResetError):
                assert connection.recv(1) == b""

    assert test.returncode == -signal.SIGKILL


def test_a_start_ends_the_one_before(shop: Any) -> None:  # noqa: ANN401 - see `_adapter`
    """The port is free again for the new process."""
    values = dict.fromkeys(("base_url", "clock_url", "business_key", "business_secret", "webhook_secret"), "x")
    shop.process.start(values)
    first = shop.process._process.pid  # noqa: SLF001 - to see that it is gone
    shop.process.start(values)

    assert shop.process.running
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


# Calls


def test_a_command_answers_by_its_output(tmp_path: Path) -> None:
    """Its standard output is the answer, and its exit status says whether it is one."""
    good = perform(
        Call.model_validate({"command": [sys.executable, "-S", "-c", "print('[{order}]')"]}), {"order": 7}, tmp_path
    )
    bad = run([sys.executable, "-S", "-c", "import sys; sys.exit('no such order')"], tmp_path, 30)

    assert (good.ok, good.json(), good.at("/0")) == (True, [7], 7)
    assert (bad.ok, bad.answer) == (False, "500, no such order")


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["./nothing"], "./nothing cannot be run: No such file or directory"),
        (
            [sys.executable, "-S", "-c", "while True: pass"],
            f"{sys.executable} -S -c while True: pass had not ended after 0.2 s",
        ),
    ],
)
def test_a_command_without_an_end_is_refused(command: list[str], text: str, tmp_path: Path) -> None:
    """So is one that cannot be run."""
    with pytest.raises(CallFailed) as failed:
        run(command, tmp_path, 0.2)

    assert str(failed.value) == text


def test_an_answer_that_cannot_be_used_is_quoted(tmp_path: Path) -> None:
    """The message has the call, what came, and what was expected."""
    words = run([sys.executable, "-S", "-c", "print('<html>')"], tmp_path, 30)
    other = run([sys.executable, "-S", "-c", "print('{}')"], tmp_path, 30)

    with pytest.raises(CallFailed, match=r"was answered with 200, <html>; the answer must be JSON$"):
        words.json()
    with pytest.raises(CallFailed, match=r"was answered with 200, \{\}, which has no /status$"):
        other.at("/status")


def test_a_shop_that_does_not_listen_is_named(tmp_path: Path) -> None:
    """The message has the request."""
    port = free_port()
    call = Call.model_validate({"POST": f"http://127.0.0.1:{port}/x", "form": {"a": "{order}"}})

    with pytest.raises(CallFailed, match=rf"^POST http://127\.0\.0\.1:{port}/x had no answer: Connection refused$"):
        perform(call, {"order": 1}, tmp_path)


def test_a_shop_is_not_started_beside_another_program(tmp_path: Path) -> None:
    """What listens at its address would be taken for the shop."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        start = Start(command=(sys.executable, "-c", "pass"), ready=f"GET http://127.0.0.1:{port}/health")
        with pytest.raises(CallFailed, match=f"another program listens at 127.0.0.1:{port} already; stop it, or leave"):
            ShopProcess(start, tmp_path).start({})
