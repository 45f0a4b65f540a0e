"""`paydouble explore`, `replay` and `shrink` with an adapter in Python in place of a file that describes a shop."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from paydouble.cli.main import run

SUPPORT = Path(__file__).parents[1] / "support"
NAMES = "Base, Correct, AlwaysPaid, HasAPort, CannotStart"
NO_ADAPTER = "is no class that derives from paydouble.stateful.Merchant"
SHOPS = f"""
import sys
sys.path.append({str(SUPPORT)!r})
from small_shop import SmallShop


class Base(SmallShop):
    pass


class Correct(Base):
    pass


class AlwaysPaid(Base):
    def order_status(self, order_id):
        return "paid"


class HasAPort(Base):
    served, service_port = True, 4999


class CannotStart(Base):
    def __init__(self, service):
        raise ValueError("no\\tdatabase")


number = 1
"""


@pytest.fixture(autouse=True)
def own_modules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Run in a folder of the test, and forget what it has imported from there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def write(name: str, text: str) -> None:
    """Write a module of the test's folder."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text), "utf-8")


@pytest.mark.parametrize("named", ["python_shops.py:AlwaysPaid", "python_shops:AlwaysPaid"])
def test_a_finding_says_how_to_go_on(named: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its commands name the shop as it was named, and its test imports it; its run is played with it."""
    write("python_shops.py", SHOPS)

    assert run(["explore", named, "--examples", "0", "--artifacts", "runs"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("✗ The merchant calls order-1 paid, but no money has come.\n")
    assert "A test to paste begins with:\n    from python_shops import AlwaysPaid\n" in out
    assert re.search(rf"    paydouble explore {re.escape(named)} --from \d+\n", out)
    assert f"    paydouble replay runs/AlwaysPaid-unpaid.paydouble --merchant {named}\n" in out

    assert run(["replay", "runs/AlwaysPaid-unpaid.paydouble", "--merchant", named]) == 1
    assert capsys.readouterr().out.startswith("✗ FAILED: The merchant calls order-1 paid, but no money has come.\n")
    assert run(["shrink", "runs/AlwaysPaid-unpaid.paydouble", "--merchant", named]) == 0
    assert capsys.readouterr().out.startswith("✓ 1 step became 1: ")


def test_a_file_with_one_adapter_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    """A base class in it is none, and a file in a package may import its neighbours."""
    write("shop/__init__.py", "")
    write("shop/neighbour.py", SHOPS)
    write("shop/adapter.py", "from .neighbour import Correct\nclass Base(Correct): pass\nclass Own(Base): pass\n")

    assert run(["explore", "shop/adapter.py", "--examples", "0", "--for", "1ms"]) == 0
    assert capsys.readouterr().out.startswith("Nothing was found in the time of --for 1ms")


def test_several_parts_run_at_the_same_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Each imports the adapter itself."""
    write("python_shops.py", SHOPS)

    assert run(["explore", "python_shops.py:AlwaysPaid", "--examples", "0", "--jobs", "2"]) == 1
    out = capsys.readouterr().out
    assert "    paydouble explore python_shops.py:AlwaysPaid --part 2/2 --from " in out
    assert out.endswith("✗ 2 of 2 parts found something.\n")


def test_an_adapter_that_cannot_be_made_is_told() -> None:
    """As a shop that cannot be tested, not as a finding."""
    write("python_shops.py", SHOPS)

    assert run(["explore", "python_shops.py:CannotStart", "--examples", "0"]) == 3


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["python_shops.py"],
            f"python_shops.py has these adapters: {NAMES}; name one, as in python_shops.py:Correct",
        ),
        (
            ["python_shops.py:Nowhere"],
            f"python_shops.py: 'Nowhere' is not there; its adapters are: {NAMES}",
        ),
        (
            ["python_shops.py:number"],
            f"python_shops.py: 'number' {NO_ADAPTER}; its adapters are: {NAMES}",
        ),
        (["empty.py"], "empty.py has no adapter: no class in it derives from paydouble.stateful.Merchant"),
        (["nowhere.py"], "nowhere.py: there is no such file"),
        (["nowhere\n.py"], "nowhere\\n.py: there is no such file"),
        (["nowhere:Shop"], "nowhere cannot be imported: ModuleNotFoundError: No module named 'nowhere'"),
        (["fails.py"], "fails.py cannot be imported: ZeroDivisionError: division by zero (FOLDER/fails.py, line 2)"),
        (["exits.py"], "exits.py cannot be imported: SystemExit: 7 (FOLDER/exits.py, line 1)"),
        (["broken.py"], "broken.py cannot be imported: SyntaxError: invalid syntax (broken.py, line 1)"),
        (
            ["json.py"],
            f"json.py: the name json is that of {sys.modules['json'].__file__}; give the file another name",
        ),
        (
            ["python_shops.py:HasAPort", "--jobs", "2"],
            "--jobs: leave service_port out of HasAPort, so that each part has a port of its own",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_line(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says what is wrong, where, and what there is instead."""
    write("python_shops.py", SHOPS)
    write("json.py", SHOPS)
    write("empty.py", "")
    write("fails.py", "\nhalf = 1 / 0\n")
    write("exits.py", "raise SystemExit(7)\n")
    write("broken.py", "def shop(:\n")

    assert run(["explore", *arguments]) == 2
    assert capsys.readouterr().err == f"paydouble explore: {told}\n".replace("FOLDER", str(tmp_path))
