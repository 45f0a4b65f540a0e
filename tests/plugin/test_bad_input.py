"""What goes wrong around the plugin fails the test with one message that says whose fault it is; the suite goes on."""

from __future__ import annotations

import socket

import pytest
from children import Child

from paydouble.testing import Paydouble

OTHER = "\n\ndef test_other():\n    pass\n"


MARKERS = {
    "sed=1": "@pytest.mark.paydouble: 'sed' is not known; there are: scenario, clock, seed",
    "'manual'": "@pytest.mark.paydouble: members are given by name; there are: scenario, clock, seed",
    "scenario='none'": "the test's sandbox cannot be made: scenario: there is no scenario 'none'",
    "seed=object()": "the test's sandbox cannot be made: Type is not JSON serializable: object",
}


def test_a_marker_that_cannot_be(child: Child) -> None:
    """The error says what a marker takes."""
    tests = [
        f"@pytest.mark.paydouble({marker})\ndef test_{number}(paydouble):\n    pass\n"
        for number, marker in enumerate(MARKERS)
    ]
    run = child("\n".join(tests) + OTHER)

    assert run.counts == {"passed": 1, "error": 4}, run.text
    assert [message for message in MARKERS.values() if message not in run.text] == []
    assert "Traceback" not in run.text


def test_a_server_that_is_not_there(child: Child) -> None:
    """Each test that wants it says so; the others run."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        run = child(f"def test_it(paydouble):\n    pass\n{OTHER}", f"--paydouble-url={url}")

    assert run.counts == {"passed": 1, "error": 1}, run.text
    assert f"the paydouble server at {url} does not answer GET /health" in run.text
    assert "Start it with `paydouble serve`, or leave --paydouble-url out." in run.text
    assert "Traceback" not in run.text


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--paydouble-url=localhost", "--paydouble-url: url: 'localhost' is not a server's URL"),
        ("--paydouble-seed=x", "--paydouble-seed: 'x' is not a whole number"),
    ],
)
def test_an_option_that_cannot_be(child: Child, option: str, message: str) -> None:
    """It is named as it was given."""
    run = child(f"def test_it(paydouble):\n    pass\n{OTHER}", option)

    assert run.counts == {"passed": 1, "error": 1}, run.text
    assert message in run.text


def test_a_missing_token(child: Child) -> None:
    """The way out is an option."""
    with Paydouble.start(token="secret") as server:
        run = child("def test_it(paydouble):\n    pass\n", f"--paydouble-url={server.url}")

    assert run.counts == {"error": 1}, run.text
    assert "The control token is missing" in run.text
    assert "give --paydouble-token" in run.text


def test_a_server_that_dies_in_mid_test(child: Child) -> None:
    """That test fails once, whether it notices or not; the next one says that there is no server; the rest goes on."""
    run = child(
        """
        def test_notices(paydouble, paydouble_server):
            paydouble_server.close()
            paydouble.clock.read()

        def test_next(paydouble, webhook_receiver):
            pass

        def test_other():
            pass
        """
    )
    unnoticed = child(
        """
        def test_does_not_notice(paydouble, paydouble_server):
            paydouble_server.close()

        def test_other():
            pass
        """
    )

    assert run.counts == {"failed": 1, "passed": 1, "error": 1}, run.text
    assert "what happened cannot be shown: the paydouble server at" in run.text
    assert "the test's sandbox cannot be made: the paydouble server at" in run.text
    assert unnoticed.counts == {"passed": 2, "error": 1}, unnoticed.text
    assert "does not answer DELETE" in unnoticed.text


def test_a_sandbox_that_cannot_be_pointed_anywhere(child: Child) -> None:
    """A test that has deleted its sandbox before it asks for the receiver."""
    run = child(
        """
        @pytest.fixture
        def gone(paydouble):
            paydouble.delete()

        def test_it(gone, webhook_receiver):
            pass
        """
    )

    assert run.counts == {"error": 1}, run.text
    assert "the sandbox cannot be pointed to the test's receiver: There is no sandbox" in run.text


@pytest.mark.parametrize(
    ("name", "wanted"), [("paydouble_server", "a Paydouble"), ("paydouble", "a sandbox")], ids=["server", "sandbox"]
)
def test_two_fixtures_of_one_name(child: Child, name: str, wanted: str) -> None:
    """The message names the fixture, what it gave, and how to find the other one."""
    run = child(
        f"def test_it(paydouble, webhook_receiver):\n    pass\n{OTHER}",
        conftest=f"import pytest\n\n@pytest.fixture\ndef {name}():\n    return 42\n",
    )

    assert run.counts == {"passed": 1, "error": 1}, run.text
    assert f"the fixture {name!r} gave int, and paydouble's plugin needs {wanted}" in run.text
    assert "`pytest --fixtures -v` shows where" in run.text


def test_a_receiver_that_never_answers(child: Child) -> None:
    """A function that never returns keeps neither its test nor the run from ending."""
    run = child(
        """
        def test_hangs(paydouble, webhook_receiver):
            import threading
            webhook_receiver.answer_next(lambda received: threading.Event().wait())
            paydouble.change(settings={"webhooks": {"timeout": "50ms"}})
            pay(paydouble)
            paydouble.clock.advance("0s")
            paydouble.deliveries.verify(status="delivered")

        def test_other():
            pass
        """
    )

    assert run.counts == {"failed": 1, "passed": 1}, run.text
    assert "no answer within 0.05 s" in run.text


def test_a_report_that_cannot_be_made_does_not_end_the_run(child: Child) -> None:
    """A defect in what makes the timeline is told in the report of the failed test; the tests after it still run."""
    run = child(
        """
        from paydouble.testing import fixtures

        def test_fails(paydouble):
            def broken(*_):
                raise KeyError("member")

            fixtures.timeline = broken
            assert False, "as it should"

        def test_other():
            pass
        """
    )

    assert run.counts == {"failed": 1, "passed": 1}, run.text
    assert "what happened cannot be shown: KeyError('member')" in run.text
