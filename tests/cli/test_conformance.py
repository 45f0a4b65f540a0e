"""`paydouble conformance`: a commented merchant file, and what is wrong with one."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from described_shop import described_shop

from paydouble.cli.main import run
from paydouble.conformance.merchant_file import MERCHANT
from paydouble.conformance.starting import FRAMEWORKS, starting_file
from paydouble.yamlfile.reading import read_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Change: TypeAlias = "Callable[[dict[str, Any]], object]"


def _keys(text: str) -> set[str]:
    return set(re.findall(r"^(\w+):", text, re.MULTILINE))


@pytest.mark.parametrize("framework", [None, *FRAMEWORKS])
def test_a_new_file_is_right(framework: str | None) -> None:
    """It is a merchant file as it stands, and its optional lines are right when they are uncommented."""
    text = starting_file("my-shop", framework)
    with_all = re.sub(r"^( *)# (?=\w+:(?: |$)|  - )", r"\1", text, flags=re.MULTILINE)
    assert set(re.findall(r"^# (\w+):", text, re.MULTILINE)) == _keys(with_all) - _keys(text)

    for each in (text, with_all):
        assert read_text(each, MERCHANT).diagnostics == []
    assert max(map(len, text.splitlines())) <= 130


def test_init_writes_a_file_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The shop has the folder's name; an existing file is refused and stays as it was."""
    folder = tmp_path / "My Shop 2"
    folder.mkdir()
    monkeypatch.chdir(folder)

    assert run(["conformance", "init"]) == 0
    assert "\nname: my-shop-2\n" in (folder / "merchant.yaml").read_text()
    assert "paydouble conformance doctor merchant.yaml" in capsys.readouterr().out
    assert run(["conformance", "init", "--for", "go"]) == 2
    assert "merchant.yaml exists already; give another name, or - to print the file" in capsys.readouterr().err
    assert run(["conformance", "init", "--for", "go", "-"]) == 0
    assert "command: [./shop]" in capsys.readouterr().out
    assert run(["conformance", "init", "no/such/folder.yaml"]) == 2
    assert "no/such/folder.yaml cannot be written: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["doctor", "merchant"])
@pytest.mark.parametrize("shop", ["adapter.py", "adapter.py:ShopAdapter", "shop.adapter:ShopAdapter"])
def test_an_adapter_in_python_has_another_command(command: str, shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its calls are written down nowhere."""
    assert run(["conformance", command, shop]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"'{shop}' is an adapter in Python, and this command takes a merchant.yaml; paydouble explore {shop}" in said


def _doctor(folder: Path, change: Change = lambda _: None) -> int:
    document = described_shop(folder)
    change(document)
    path = folder / "merchant.yaml"
    path.write_text(json.dumps(document))  # JSON is YAML
    return run(["conformance", "doctor", str(path)])


def test_doctor_tries_each_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each call has what was sent and answered; what the file lacks is only mentioned."""
    assert _doctor(tmp_path) == 0
    out = capsys.readouterr().out

    for line in (
        "✓ place_order  POST http://127.0.0.1:",
        ": /status is unpaid",
        "✓ the shop's deposit\n    order-1, answered with 200\n",
        "✓ webhook  POST http://127.0.0.1:",
        ": /status is paid",
        "✓ order.shipments\n    1\n",
        "✓ customer_returns  POST http://127.0.0.1:",
        "– order.balance: not given; the money of an order is not tested",
        "– refund: not given; refunds are not tested",
        "✓ The shop can be driven and read by ",
    ):
        assert line in out
    assert "✗" not in out


def test_doctor_cancels_another_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The call is tried on an order that is not paid, where the file has it."""

    def with_cancel(document: dict[str, Any]) -> None:
        paid = document["driver"]["pay"]["POST"]
        document["driver"]["cancel"] = {"POST": paid.replace("/pay", "/cancel")}

    assert _doctor(tmp_path, with_cancel) == 0
    assert re.search(r"✓ cancel  POST http://127.0.0.1:\d+/orders/order-2/cancel\n", capsys.readouterr().out)


@pytest.mark.parametrize(("status", "exit_status"), [(409, 0), (422, 0), (404, 1), (500, 1)])
def test_doctor_lets_a_shop_refuse(status: int, exit_status: int, tmp_path: Path) -> None:
    """A 4xx is an answer, except one that says that there is no such route."""

    def refuses(document: dict[str, Any]) -> None:
        ready = document["start"]["ready"].removeprefix("GET ")
        document["driver"]["cancel"] = {"POST": ready.replace("/health", f"/test/refuse/{status}")}

    assert _doctor(tmp_path, refuses) == exit_status


def _no_secret(document: dict[str, Any]) -> None:
    document["driver"]["reset"]["json"]["webhook_secret"] = "another"


def _no_key(document: dict[str, Any]) -> None:
    document["driver"]["reset"]["json"]["key"] = "another"


def _no_address(document: dict[str, Any]) -> None:
    document["driver"]["reset"]["json"]["url"] = "http://127.0.0.1:9"


def _no_pointer(document: dict[str, Any]) -> None:
    document["driver"]["order"]["status"] = "/state"


def _no_start(document: dict[str, Any]) -> None:
    document["start"]["command"] = [sys.executable, "-S", "-c", "raise SystemExit('no database')"]


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (_no_secret, ("✗ webhook  POST http://127.0.0.1:", "    got       401\n    expected  2xx\n")),
        (_no_key, ("✗ the shop's deposit\n", "does it use the address, the key and the secret of the file?")),
        (_no_address, ("✗ the shop's deposit\n    got       the shop sent none to http://127.0.0.1:",)),
        (_no_pointer, ("✗ order before the payment", "which has no /state\n    expected  unpaid or pending\n")),
        (_no_start, ("✗ start\n", "ended with 1 before it was ready; it printed:\n", "no database\n")),
    ],
)
def test_doctor_says_what_is_wrong(
    change: Change, lines: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The call has what came, and what was expected; the exit status is 1."""
    assert _doctor(tmp_path, change) == 1
    out = capsys.readouterr().out

    for line in lines:
        assert line in out
    assert " of " in out.splitlines()[-1]


def test_doctor_refuses_a_file_that_cannot_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every mistake has its place; nothing is started."""

    def change(document: dict[str, Any]) -> None:
        document["driver"]["order"]["stats"] = "/x"
        del document["webhook"]

    assert _doctor(tmp_path, change) == 2
    captured = capsys.readouterr()

    assert "error: the key 'webhook' is missing" in captured.err
    assert "error: the key 'stats' is not known here" in captured.err
    assert captured.out == ""
