"""`paydouble explore`: the machine on a shop that a file describes."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from bounds import AT_MOST_SECONDS
from described_shop import described_shop, hold_jobs, write_merchant

from paydouble.cli.main import run
from paydouble.conformance import CallFailed
from paydouble.stateful.catalogue_run import CatalogueRun
from paydouble.stateful.steps import CataloguePlay, step
from paydouble.stateful.verdicts import MerchantBug

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def few_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the catalogue have two payments, and two webhooks that the service has not sent."""
    bought = (step("order"), step("pay"))
    ends = (step("wait", "10s"), step("wait", "1m"), *(step("inject", what) for what in ("v0", "changed body")))
    plays = [CataloguePlay((*bought, end)) for end in ends]
    monkeypatch.setattr("paydouble.stateful.catalogue_run.catalogue", lambda: plays)


def test_a_correct_shop_passes_for_the_time_that_is_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was tried is summed up, and what was not, with the reason, and how more is tried."""
    monkeypatch.setattr("paydouble.stateful.processors.processors", lambda: 4)
    path = write_merchant(tmp_path, described_shop(tmp_path))

    assert run(["explore", path, "--for", "2s", "--examples", "3"]) == 0
    out = " ".join(capsys.readouterr().out.split())

    assert out.startswith("Nothing was found in the time of --for 2s; without it, all is played, and --from ")
    assert " plays of the catalogue and " in out
    assert re.search(r"There was no time for \d+ more plays of the catalogue and 3 more examples of the hunt\.", out)
    assert "Never tried (there was no time for all of its plays): POST " in out
    assert re.search(
        r"Starts of the shop: [1-9]\d*, which took \d+ of the run's \d+ s\. "
        r"This computer has 4 processors: --jobs 4 uses all of them\.$",
        out,
    )


@pytest.mark.parametrize(
    ("phase", "tried"),
    [
        ("hunt", "0 plays of the catalogue and 2 examples of the hunt tried"),
        ("catalogue", "1 plays of the catalogue and 0 examples of the hunt tried"),
    ],
)
def test_one_phase_alone_is_played(phase: str, tried: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Such as random plays at night, where each push has run the catalogue."""
    path = write_merchant(tmp_path, described_shop(tmp_path))
    limit = ["--for", "1ms"] if phase == "catalogue" else []

    assert run(["explore", path, "--only", phase, "--examples", "2", *limit]) == 0

    assert tried in " ".join(capsys.readouterr().out.split())


def test_one_play_at_least_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where the time is over before: nothing could be said of the shop otherwise."""
    assert run(["explore", write_merchant(tmp_path, described_shop(tmp_path)), "--for", "1ms"]) == 0

    assert "1 plays of the catalogue and 0 examples of the hunt tried" in " ".join(capsys.readouterr().out.split())


@pytest.mark.usefixtures("few_plays")
def test_a_mistake_is_told_with_what_to_paste(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report has the steps, how the test finds the shop, and which play to go on with."""
    path = write_merchant(tmp_path, described_shop(tmp_path, "believes everybody"))

    assert run(["explore", path, "--examples", "0"]) == 1
    out = capsys.readouterr().out

    assert out.startswith("✗ The merchant answers 200 to a webhook whose signature does not hold")
    assert "What happened:\n  1. order-1 is placed: 49.90 EUR.\n" in out
    assert f"    PythonShop = merchant_of({path!r})\n\n" in out
    told = " ".join(out.split("merchant_of", 1)[1].split())
    assert " plays of the catalogue and 0 examples of the hunt tried " in told

    said = re.search(
        r"Play ([1-9]\d*) of [\d,]+ found this. After a fix, go on with it:\n    paydouble explore (\S+) --from \1\n",
        out,
    )
    assert said is not None
    assert said[2] == path
    assert run(["explore", path, "--from", said[1], "--findings", "2", "--for", "1ms"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("✗ The merchant answers 200 to a webhook whose signature does not hold")
    assert "\n1 finding, in 1 of 1 plays of the catalogue.\n1 plays of the catalogue and " in out
    assert "There was no time for " in out
    assert out.endswith(f"\nTo go on:\n    paydouble explore {path} --from {int(said[1]) + 1}\n")


@pytest.mark.usefixtures("few_plays")
def test_several_findings_are_told_one_after_the_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each with its play and a file of its own; the commands have the seed, with which alone they play the same."""
    folder = tmp_path / "a shop"
    folder.mkdir()
    path = write_merchant(folder, described_shop(folder, "believes everybody"))

    assert run(["explore", path, "--part", "2/2"]) == 1
    assert f"    paydouble explore '{path}' --part 2/2 --from 4\n" in capsys.readouterr().out

    assert run(["explore", path, "--seed", "3", "--findings", "9", "--artifacts", str(tmp_path / "runs")]) == 1

    out = capsys.readouterr().out
    assert re.findall(r"^Finding .*", out, re.MULTILINE) == ["Finding 1 of 2", "Finding 2 of 2"]
    assert f"    paydouble explore '{path}' --seed 3 --from 3\n" in out
    assert f"    paydouble explore '{path}' --seed 3 --from 4\n" in out
    assert "\n2 findings, in 2 of 4 plays of the catalogue.\n4 plays of the catalogue and " in out
    assert "\n2 of these ended with a finding.\n" in out
    assert len(list((tmp_path / "runs").iterdir())) == 2


@pytest.mark.usefixtures("few_plays")
def test_what_a_reset_leaves_behind_is_told_as_that(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The play fails after others only; a mistake of the shop itself is none of the reset's."""
    assert (
        run(
            [
                "explore",
                write_merchant(tmp_path, described_shop(tmp_path, "a cache outlives the reset")),
                "--examples",
                "0",
            ]
        )
        == 1
    )
    out = " ".join(capsys.readouterr().out.split())
    assert "In a shop that was just started this play finds nothing. So driver.reset leaves something" in out

    document = described_shop(tmp_path, "believes everybody")
    assert run(["explore", write_merchant(tmp_path, document), "--examples", "0"]) == 1
    assert "In a shop that was just started" not in capsys.readouterr().out


@pytest.mark.usefixtures("few_plays")
def test_what_was_found_is_a_file_that_can_be_told_to_the_shop_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """FAILED as long as the mistake is there, FIXED without it; the story can be made shorter."""
    path = write_merchant(tmp_path, described_shop(tmp_path, "believes everybody"))
    folder = tmp_path / "made" / "here"
    assert run(["explore", path, "--examples", "0", "--artifacts", str(folder)]) == 1
    (made,) = folder.iterdir()
    out = capsys.readouterr().out
    assert f"The run is {made}; after a fix:\n    paydouble replay {made} --merchant {path}\n" in out

    assert run(["replay", str(made)]) == 0
    assert run(["replay", str(made), "--merchant", path]) == 1
    out = capsys.readouterr().out
    assert "✓ The same bytes: " in out
    assert "✗ FAILED: The merchant answers 200 to a webhook whose signature does not hold" in out

    assert run(["shrink", str(made), "--merchant", path, "-o", str(tmp_path / "short.paydouble")]) == 0
    out = capsys.readouterr().out
    assert re.search(r"✓ \d+ steps became \d: ", out)
    assert "    play." in out

    path = write_merchant(tmp_path, described_shop(tmp_path))
    code = run(["replay", str(tmp_path / "short.paydouble"), "--merchant", path])
    out = capsys.readouterr().out
    assert code == 0, out
    assert out.startswith("✓ FIXED: nothing is broken any more.\nThe first difference to the recorded run is at line ")

    document = described_shop(tmp_path)
    document["start"]["command"] = ["./no-such-shop"]
    assert run(["replay", str(made), "--merchant", write_merchant(tmp_path, document)]) == 3


def test_what_there_was_no_time_for_can_be_played_later(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first line says how."""
    assert run(["explore", write_merchant(tmp_path, described_shop(tmp_path)), "--for", "1ms"]) == 0

    said = "Nothing was found in the time of --for 1ms; without it, all is played, and --from 2 goes on.\n"
    assert capsys.readouterr().out.startswith(said)


@pytest.mark.usefixtures("few_plays")
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And what was found is reported all the same."""
    path = write_merchant(tmp_path, described_shop(tmp_path, "believes everybody"))
    (tmp_path / "taken").write_text("a file", "utf-8")
    assert run(["explore", path, "--examples", "0", "--artifacts", str(tmp_path / "taken")]) == 1
    assert "The run is not written: " in capsys.readouterr().out


def test_a_shop_that_does_not_start_cannot_be_tested(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message has why, and which command says more."""
    document = described_shop(tmp_path)
    document["start"]["command"] = ["./no-such-shop"]
    path = write_merchant(tmp_path, document)

    assert run(["explore", path]) == 3
    out = capsys.readouterr().out

    assert "./no-such-shop cannot be run: No such file or directory" in out
    assert f"Try its calls with: paydouble conformance doctor {path}\n" in out


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (["--for", "soon"], "'soon' is not a duration"),
        (["--examples", "-1"], "-1 is not in the range"),
        (["--only", "random"], "--only: 'random' is not a phase; there are: catalogue, hunt"),
        (["--only", "hunt", "--examples", "0"], "--only: the hunt has no plays with --examples 0"),
        (["--from", "0"], "0 is not in the range"),
        (["--from", "99999"], "--from: there is no play 99,999; this adapter allows "),
        (["--from", "2", "--only", "hunt"], "--from: the hunt has no numbered plays; leave it out"),
        (["--part", "2"], "--part: '2' is no part; write 2/4 for the second of four"),
        (["--part", "5/4"], "--part: there is no part 5 of 4; the first is 1, and the last is 4"),
        (["--part", "2/4", "--only", "hunt"], "--part: the hunt has no parts; leave it out"),
        (["--findings", "0"], "0 is not in the range"),
        (["--jobs", "0"], "0 is not in the range"),
        (["--jobs", "2", "--part", "1/2"], "--jobs: it makes the parts itself; leave --part out"),
        (["--jobs", "2", "--only", "hunt"], "--jobs: the hunt has no parts; leave it out"),
        (["no-such-file.yaml"], "this cannot be read (no such file or directory)"),
    ],
)
def test_unusable_arguments_are_refused(
    arguments: list[str], refusal: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, and nothing is started."""
    path = [] if arguments[0].endswith(".yaml") else [write_merchant(tmp_path, described_shop(tmp_path))]

    assert run(["explore", *path, *arguments]) == 2
    assert refusal in capsys.readouterr().err


def test_an_interruption_says_what_was_tried(tmp_path: Path) -> None:
    """Ctrl-C ends it with 130, and leaves no process behind."""
    document = described_shop(tmp_path)
    # The job does not end before the signal is sent: the search would find that it does nothing.
    ticked, go = hold_jobs(tmp_path, document)
    command = [sys.executable, "-m", "paydouble", "explore", write_merchant(tmp_path, document)]
    # A job in the background of a shell ignores the signal, and so would the command.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    with started as process:
        try:
            assert select.select([ticked], [], [], AT_MOST_SECONDS)[0], "it does not come to the first job"
            process.send_signal(signal.SIGINT)
            os.close(go)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
            os.close(ticked)

    assert (process.returncode, err) == (130, "")
    assert "Interrupted. Nothing was found so far." in out
    assert " plays of the catalogue and 0 examples of the hunt tried" in out


@pytest.mark.usefixtures("few_plays")
def test_a_signal_during_the_search_for_a_shorter_play_loses_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of CI sends SIGTERM; what was found is told as it was found, with its place."""

    def killed(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()

    monkeypatch.setattr(CatalogueRun, "shortest", killed)
    path = write_merchant(tmp_path, described_shop(tmp_path, mistake="believes everybody"))
    before = signal.getsignal(signal.SIGTERM)

    assert run(["explore", path, "--examples", "0"]) == 130
    out = capsys.readouterr().out

    assert "The merchant answers 200 to a webhook whose signature does not hold" in out
    assert re.search(r"Play [\d,]+ of [\d,]+ found this", out)
    interrupted = r"Interrupted, maybe before the shortest play was found\.\nTo go on:\n"
    assert re.search(rf"\n{interrupted}    paydouble explore \S+merchant\.yaml --from \d+\n$", out)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.usefixtures("few_plays")
def test_a_shop_that_fails_in_the_middle_loses_no_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The findings come first, then what failed, and where to go on."""
    once = CatalogueRun.one
    found: list[MerchantBug] = []

    def one(self: CatalogueRun, play: CataloguePlay, known: Any = None) -> Any:  # noqa: ANN401 - as the method's
        if found:
            raise CallFailed("GET /orders/order-1 had no answer")
        try:
            return once(self, play, known)
        except MerchantBug as bug:
            found.append(bug)
            raise

    monkeypatch.setattr(CatalogueRun, "one", one)
    monkeypatch.setattr(CatalogueRun, "shortest", lambda _self, _play, bug: bug)
    path = write_merchant(tmp_path, described_shop(tmp_path, mistake="believes everybody"))

    assert run(["explore", path, "--examples", "0", "--findings", "2"]) == 3
    out = capsys.readouterr().out

    assert "The merchant answers 200 to a webhook whose signature does not hold" in out
    place = found[0].place
    assert place is not None
    failed = "GET /orders/order-1 had no answer\nThe shop cannot be tested. Try its calls with: paydouble conformance "
    assert failed in out
    assert out.endswith(f" --from {place.number + 1}\n")
