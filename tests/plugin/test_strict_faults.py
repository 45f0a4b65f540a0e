"""A fault that never fires proves nothing: `--paydouble-strict` fails the test that has armed it."""

from __future__ import annotations

import pytest
from children import Child

TESTS = """
from paydouble import Sandbox

def test_fires(paydouble):
    paydouble.faults.add("html_error", times=1)
    with pytest.raises(urllib.error.HTTPError) as caught:
        pay(paydouble)
    caught.value.close()


def test_never_fires(paydouble):
    pay(paydouble)
    paydouble.faults.add("html_error", id="late", operation="deposit-creation")
    paydouble.faults.add("drop", id="nothing")


def test_without_sockets():
    box = Sandbox()
    box.faults.add("html_error", id="local")


@pytest.mark.paydouble(strict_faults=False)
def test_may_fire(paydouble):
    paydouble.faults.add("html_error")


def test_takes_it_out(paydouble):
    paydouble.faults.remove(paydouble.faults.add("html_error").id)
    paydouble.faults.add("html_error", enabled=False)


@pytest.mark.paydouble(scenario="lost-request")
def test_a_scenario_s_own(paydouble):
    paydouble.scenarios.play("lost-request")
    assert [fault.document["order"] for fault in paydouble.faults.list()] == ["scenario-lost-request-1"]


def test_has_deleted_its_sandbox(paydouble):
    paydouble.faults.add("html_error")
    paydouble.delete()


def test_fails_anyway(paydouble):
    paydouble.faults.add("html_error", id="besides")
    assert "its own reason" == ""


def test_does_not_use_it():
    pass
"""


@pytest.mark.parametrize(
    ("arguments", "ini"),
    [(("--paydouble-strict",), ""), ((), "paydouble_strict_faults = true\n")],
    ids=["option", "ini"],
)
def test_a_fault_that_never_fires_fails_its_test(child: Child, arguments: tuple[str, ...], ini: str) -> None:
    """The message says why it did not; a test that fails anyway fails for its own reason."""
    run = child(TESTS, *arguments, ini=ini)

    assert run.counts == {"failed": 3, "passed": 6}, run.text
    assert (
        "strict_faults: the test has armed faults that never fired:\n"
        "  late (html_error): 1 request came, before it was armed\n"
        "  nothing (drop): 1 event was made, before it was armed\n"
        "Take them out, or mark the test with @pytest.mark.paydouble(strict_faults=False).\n"
    ) in run.text
    assert "  local (html_error): no request came\n" in run.text
    assert "  besides (html_error)" not in run.text
    assert "its own reason" in run.text
    assert run.text.count("paydouble timeline") == 3


def test_otherwise_it_is_only_told(child: Child) -> None:
    """In the report of a test that fails; a marker can want more for one test alone."""
    run = child(
        """
        def test_passes(paydouble):
            paydouble.faults.add("html_error")

        @pytest.mark.paydouble(strict_faults=True)
        def test_fails(paydouble):
            paydouble.faults.add("html_error", id="idle")
        """
    )

    assert run.counts == {"failed": 1, "passed": 1}, run.text
    assert "  idle (html_error): no request came\n" in run.text


def test_a_property_is_not_judged_by_its_last_example(child: Child) -> None:
    """Another example may have met the fault."""
    run = child(
        """
        from hypothesis import given, settings, strategies as st
        from paydouble import Sandbox

        @settings(database=None, deadline=None)
        @given(st.booleans())
        def test_passes(use):
            box = Sandbox()
            box.faults.add("html_error")
            if use:
                box.handle("GET", "/pay-in")
        """,
        "--paydouble-strict",
    )

    assert run.counts == {"passed": 1}, run.text
