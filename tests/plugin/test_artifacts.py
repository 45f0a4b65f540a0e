"""`--paydouble-artifacts`: the timeline of each payment of a failed test as a file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from children import Child

from paydouble.runfile.files import read_run
from paydouble.runfile.replaying import replay

BODY = """
def order(box, order="order-1"):
    body = {
        "amount": 10, "currency": "EUR", "external_identifier": order, "payment_method": {"type": "CREDIT_CARD"},
        "customer": {"first_name": "Ada", "last_name": "Byron", "email": "ada@example.test"},
    }
    return box.handle("POST", "/pay-in/deposit-creation", body).status
"""
FAILING = (
    BODY
    + """
from paydouble import Sandbox

def test_served(paydouble):
    pay(paydouble)
    assert False

def test_passes(paydouble):
    pay(paydouble)

def test_nothing_was_paid(paydouble):
    assert False

@pytest.mark.parametrize("name", ["../../x y", "a" * 300])
def test_in_process(name):
    box = Sandbox()
    order(box, "order-1")
    order(box, "order-2")
    assert False

def test_both(paydouble):
    pay(paydouble)
    box = Sandbox()
    order(box, "order-3")
    assert False
"""
)


@pytest.mark.parametrize("parallel", [False, True])
def test_each_payment_of_a_failed_test_has_a_file(child: Child, tmp_path: Path, *, parallel: bool) -> None:
    """With a safe name that the report gives; of a server and in this process, and in several processes."""
    folder = tmp_path / "made" / "here"
    plugins, more = (("xdist",), ("-n2",)) if parallel else ((), ())
    run = child(FAILING, f"--paydouble-artifacts={folder}", *more, plugins=plugins)
    files = sorted(folder.iterdir())
    told = re.findall(r"^(/\S+\.(?:html|paydouble))$", run.text, re.MULTILINE)
    pages = [each for each in files if each.suffix == ".html"]
    runs = [each for each in files if each.suffix == ".paydouble"]

    assert run.counts == {"failed": 5, "passed": 1}, run.text
    assert sorted(told) == [str(each) for each in files]
    assert len(pages) == 1 + 2 + 2 + 2
    assert len(runs) == 1 + 1 + 1 + 2
    for each in runs:
        assert replay(read_run(each)) is None
    assert all(re.fullmatch(r"[A-Za-z0-9._-]{1,120}", each.name) for each in files)
    assert {len(list(folder.glob(f"test_shop.py-{name}-*.html"))) for name in ("test_served", "test_both")} == {1, 2}
    for each in pages:
        assert each.read_text("utf-8").startswith("<!doctype html>")
    again = child(FAILING, f"--paydouble-artifacts={folder}", "-k", "served")
    assert again.counts["failed"] == 1
    assert sorted(folder.iterdir()) == files


def test_the_ini_key_names_a_folder_of_the_project(child: Child, tmp_path: Path) -> None:
    """Relative to its root."""
    run = child(FAILING, "-k", "served", ini="paydouble_artifacts = artifacts")

    assert run.counts["failed"] == 1
    assert sorted(each.suffix for each in (tmp_path / "artifacts").iterdir()) == [".html", ".paydouble"]


def test_a_folder_that_cannot_be_written_is_said(child: Child, tmp_path: Path) -> None:
    """And the test's own failure is still shown."""
    (tmp_path / "taken").write_text("a file", "utf-8")
    run = child(FAILING, "-k", "served", f"--paydouble-artifacts={tmp_path / 'taken'}")

    assert "the timeline cannot be written to" in run.text
    assert "paydouble timeline" in run.text
    assert run.counts["failed"] == 1


def test_a_page_that_fails_does_not_end_the_run(child: Child, tmp_path: Path) -> None:
    """The report of the test says so, and the other tests go on."""
    breaks = """
    import paydouble.testing.artifacts as artifacts

    def broken(box):
        raise KeyError("page")

    artifacts._pages = broken
    """
    run = child(FAILING, f"--paydouble-artifacts={tmp_path / 'made'}", "-k", "served or passes", conftest=breaks)

    assert (run.counts["failed"], run.counts["passed"]) == (1, 1)
    assert "what happened cannot be shown: KeyError('page')" in run.text


LOST = """
from paydouble import Sandbox
from paydouble.stateful import Merchant, Play


def test_lost():
    box = Sandbox({"journal_limit": 1})
    box.handle("GET", "/pay-in")
    box.handle("GET", "/pay-in")
    assert False


class Shop(Merchant):
    def place_order(self, order_id, amount, currency):
        pass

    def pay(self, order_id):
        raise ValueError("no money today")

    def order_status(self, order_id):
        return "unpaid"

    def receive(self, webhook):
        return 200


def test_play():
    with Play(Shop) as play:
        play.order()
        play.pay()
"""


def test_a_play_has_a_run_file_and_a_lost_run_has_a_reason(child: Child, tmp_path: Path) -> None:
    """The story of the play is in its file; a run whose beginning is gone is named with the way to keep it."""
    run = child(LOST, f"--paydouble-artifacts={tmp_path / 'made'}")
    (story,) = (tmp_path / "made").glob("*test_play*.paydouble")

    assert run.counts["failed"] == 2
    assert "the run is not written: sandbox default has recorded more than its journals keep" in run.text
    assert read_run(story).header["play"]["calls"] == ["play.order('49.90', 'EUR')", "play.pay(1)"]
    assert "no money today" in read_run(story).end["verdict"]
