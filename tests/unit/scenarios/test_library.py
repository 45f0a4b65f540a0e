"""Scenario files: the shipped ones, and what is wrong with others."""

from pathlib import Path

import pytest
from benches import DAY, advance, bench, deposit, timeline

from paydouble.core.errors import UsageError
from paydouble.scenarios.library import library, read_folder, read_scenario, shipped_folder

FILES = sorted(shipped_folder().rglob("*.yaml"))


def test_each_file_is_named_for_its_scenario() -> None:
    """A scenario is found by the name of its file, and no two share one."""
    assert sorted(library()) == sorted(path.stem for path in FILES)


@pytest.mark.parametrize("name", sorted(library()))
def test_a_shipped_scenario_does_what_it_promises(name: str) -> None:
    """Played on its own until nothing is left to happen, a pay-in gives off exactly the expected events."""
    box = bench(url=None)
    deposit(box, scenario=name)

    advance(box, 40 * DAY)

    assert [kind for _, kind in timeline(box)] == list(library()[name].expect)
    assert box.idle


def test_a_file_is_read(tmp_path: Path) -> None:
    """Steps have lengths of time, states, and reasons for failure."""
    path = tmp_path / "mine.yaml"
    path.write_text(
        "name: mine\nsummary: My own.\nlifecycle:\n  pay_in:\n"
        "    - {after: 1.5s, to: failed, failure: {code: x, message: Refused}}\n"
        "  dispute:\n    - {after: 1d, to: won, force: true}\n"
    )

    lifecycle = read_scenario(path).lifecycle

    step = lifecycle.pay_in[0]
    assert step.failure is not None
    assert (step.after, step.to, step.failure.code, step.failure.message) == (1_500, "failed", "x", "Refused")
    assert (lifecycle.refund, lifecycle.dispute[0].after, lifecycle.dispute[0].force) == (None, DAY, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"name: [", ": is not YAML: while parsing a flow node"),
        (b"a: !!python/object:os.system {}", ": is not YAML: could not determine a constructor for the tag"),
        (b"name: \xff", ": is not YAML: 'utf-8' codec can't decode byte 0xff"),
        (b"name: 2026-13-45", ": is not YAML: month must be in 1..12"),
        (b"", ": Input should be a valid dictionary or instance of Scenario"),
        (b"- name: mine", ": Input should be a valid dictionary or instance of Scenario"),
        (b"name: mine\nlifecycle: {}", ": summary: Field required"),
        (b"name: Mine\nsummary: x\nlifecycle: {}", ": name: String should match pattern"),
        (b"name: mine\nsummary: x\nlifecycle: {payin: []}", ": lifecycle.payin: this member is not known"),
        (
            b"name: mine\nsummary: x\nlifecycle: {pay_in: [{after: 5, to: failed}]}",
            ": lifecycle.pay_in.0.after: a duration is a text with a unit, such as '2s' or '1h30m', not 5",
        ),
        (
            b"name: mine\nsummary: x\nlifecycle: {refund: [{after: 5s, to: cancelled}]}",
            ": lifecycle.refund.0.to: Input should be 'created', 'processing', 'succeeded' or 'failed'",
        ),
    ],
)
def test_a_file_that_is_no_scenario_is_refused_at_its_place(tmp_path: Path, text: bytes, message: str) -> None:
    """The refusal names the file, the member and what is wrong with it."""
    path = tmp_path / "wrong.yaml"
    path.write_bytes(text)

    with pytest.raises(UsageError) as caught:
        read_scenario(path)

    assert str(caught.value).startswith(f"{path}{message}")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """A missing file is named."""
    path = tmp_path / "none.yaml"

    with pytest.raises(UsageError) as caught:
        read_scenario(path)

    assert str(caught.value) == f"{path}: cannot be read (No such file or directory)"


def test_the_shipped_folder_is_the_wheels_when_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside a wheel the files lie in the package, in a checkout at its top."""
    from paydouble.scenarios import library as module

    checkout = tmp_path / "src" / "paydouble" / "scenarios"
    checkout.mkdir(parents=True)
    monkeypatch.setattr(module, "__file__", str(checkout / "library.py"))
    before = shipped_folder()

    (checkout / "library").mkdir()

    assert (before, shipped_folder()) == (tmp_path / "scenarios", checkout / "library")


def test_a_file_must_be_called_like_its_scenario(tmp_path: Path) -> None:
    """A name is looked up among the files, so a scenario that hides in another file is refused with both names."""
    path = tmp_path / "mine.yaml"
    path.write_text("name: yours\nsummary: Mislaid.\nlifecycle: {}\n")

    with pytest.raises(UsageError, match=r"mine\.yaml: is called 'yours' inside"):
        read_folder(tmp_path)
