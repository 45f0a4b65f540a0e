"""`paydouble explore`, `replay` and `shrink` with an adapter in Python in place of a file that describes a shop."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from described_shop import described_shop, write_merchant

from paydouble.cli.main import run

SUPPORT = Path(__file__).parents[1] / "support"
NAMES = "Base, Correct, AlwaysPaid, HasAPort, CannotStart"
FORMS = "write merchant.yaml, adapter.py:ShopAdapter or package.module:ShopAdapter"
NO_SHOP = f"names no shop; {FORMS}"
UNREADABLE = "merchant.yaml:1:1: this cannot be read (no such file or directory)"
NO_ADAPTER = "is not a class that derives from paydouble.stateful.Merchant"
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
    """What it imports counts where it has none of its own; its neighbours and the working folder can be imported."""
    write("shop/__init__.py", "")
    write("shop/neighbour.py", SHOPS)
    write("shop/adapter.py", "from .neighbour import Correct\nclass Own(Correct): pass\nAlias = Own\n")
    write("tests/test_shop.py", "from shop.adapter import Own\nfrom paydouble.stateful import Merchant\n")

    write("whole/__init__.py", "from shop.neighbour import Correct\nclass Own(Correct): pass\n")

    for named in ("shop/adapter.py", "tests/test_shop.py", "shop.adapter:Alias", "whole/__init__.py"):
        assert run(["explore", named, "--examples", "0", "--for", "1ms"]) == 0
        assert capsys.readouterr().out.startswith("Nothing was found in the time of --for 1ms")


FROM_FILE = """
from paydouble.conformance import HttpMerchant, merchant_of
Made = merchant_of("merchant.yaml")
class Derived(HttpMerchant, file="merchant.yaml"): pass
"""


def test_an_adapter_of_a_merchant_file_is_treated_as_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its process is told of, and several do not run at once at one port."""
    document = described_shop(tmp_path)
    write_merchant(tmp_path, document)
    write("of_file.py", FROM_FILE)

    for named in ("of_file.py:Made", "of_file.py:Derived"):
        assert run(["explore", named, "--examples", "0", "--for", "1ms"]) == 0
        assert "Starts of the shop: " in capsys.readouterr().out

    write_merchant(tmp_path, {**document, "service": {"port": 4999}})
    write("with_port.py", FROM_FILE)
    assert run(["explore", "with_port.py:Derived", "--jobs", "2"]) == 2
    assert "leave service.port out of the file" in capsys.readouterr().err


def test_several_parts_run_at_the_same_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Each imports the adapter itself, and knows its number."""
    write(
        "python_shops.py",
        f"{SHOPS}\nimport os, pathlib\npathlib.Path('part-' + os.environ.get('PAYDOUBLE_PART', 'none')).touch()\n",
    )

    assert run(["explore", "python_shops.py:AlwaysPaid", "--examples", "0", "--jobs", "2"]) == 1
    out = capsys.readouterr().out
    assert "    paydouble explore python_shops.py:AlwaysPaid --part 2/2 --from " in out
    assert out.endswith("✗ 2 of 2 parts found something.\n")
    assert sorted(path.name for path in Path.cwd().glob("part-*")) == ["part-1", "part-2", "part-none"]


def test_an_adapter_that_cannot_be_made_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """As a shop that cannot be tested, not as a finding."""
    write("python_shops.py", SHOPS)

    assert run(["explore", "python_shops.py:CannotStart", "--examples", "0"]) == 3
    why, advice = capsys.readouterr().out.splitlines()[:2]
    assert why.startswith("The adapter CannotStart raised ValueError: no")
    assert "database at python_shops.py:" in why
    assert advice == "The shop cannot be tested."


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["python_shops.py"],
            f"python_shops.py has these adapters: {NAMES}; name one, as in python_shops.py:Base",
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
        (["nowhere.py"], "nowhere.py is not there, or cannot be read"),
        (["folder.py"], "folder.py is no file; name a file in it, as in folder.py/adapter.py"),
        ([f"{'long' * 100}.py"], f"{'long' * 100}.py is not there, or cannot be read"),
        (["nowhere\nat_all.py"], f"'nowhere\\nat_all.py' {NO_SHOP}"),
        (["python_shops.py::Correct"], f"'python_shops.py::Correct' {NO_SHOP}"),
        (["python_shops.py:"], f"'python_shops.py:' {NO_SHOP}"),
        (["python_shops.Correct"], f"'python_shops.Correct' is not there; {FORMS}"),
        (["nowhere"], f"'nowhere' is not there; {FORMS}"),
        (["merchant.yaml:Shop"], f"'merchant.yaml:Shop' {NO_SHOP}"),
        (["my-shop.py"], "my-shop.py: Python cannot import my-shop; give the file another name"),
        (["nowhere:Shop"], "nowhere cannot be imported: ModuleNotFoundError: No module named 'nowhere'"),
        (["fails.py"], "fails.py cannot be imported: ZeroDivisionError: division by zero (FOLDER/fails.py, line 2)"),
        (["skips.py"], "skips.py cannot be imported: Skipped: no driver (FOLDER/skips.py, line 2)"),
        (
            ["of_file.py"],
            f"of_file.py cannot be imported: {UNREADABLE} (FOLDER/of_file.py, line 3)",
        ),
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
    Path("folder.py").mkdir()
    write("fails.py", "\nhalf = 1 / 0\n")
    write("skips.py", "import pytest\npytest.skip('no driver', allow_module_level=True)\n")
    write("of_file.py", FROM_FILE)
    write("my-shop.py", SHOPS)
    write("exits.py", "raise SystemExit(7)\n")
    write("broken.py", "def shop(:\n")

    assert run(["explore", *arguments]) == 2
    assert capsys.readouterr().err == f"paydouble explore: {told}\n".replace("FOLDER", str(tmp_path))
