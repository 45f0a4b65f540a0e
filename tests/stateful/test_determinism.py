"""Same settings, same seed, same commands: the same to the byte (assumptions, "Determinism")."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from random_runs import RandomRun
from scripts import Script, draw, play

from paydouble.config import Settings
from paydouble.core.seeded_random import SeededRandom

scripts = st.builds(lambda seed, length: draw(Random(seed), length), st.integers(0, 2**32), st.integers(1, 25))
seeds = st.integers(-(2**63), 2**63)
# Played by another process, whose hashes of texts are others.
PROGRAM = """
import sys
sys.path[:0] = sys.argv[1:]
from random import Random
from scripts import draw, play
from test_determinism import told
print(told(play(draw(Random(5), 60), 5)))
"""


def transcript(run: RandomRun) -> list[object]:
    """Return everything that a run has shown: answers, events, attempts, each in its order and to the byte."""
    return [
        [(entry.id, entry.at, entry.status, entry.response_body) for entry in run.sandbox.journal.requests.entries],
        [event.body for event in run.sandbox.journal.events.entries],
        [(each.number, each.due_at, each.url, each.headers, each.body) for each in run.business.received],
        [(each.id, each.status, len(each.attempts)) for each in run.sandbox.outbox.deliveries.values()],
    ]


def told(run: RandomRun) -> str:
    """Return a digest of a transcript."""
    return sha256(repr(transcript(run)).encode()).hexdigest()


@settings(max_examples=50)
@given(script=scripts, seed=seeds)
def test_a_run_can_be_repeated(script: Script, seed: int) -> None:
    """Two runs of the same commands with the same seed show the same."""
    assert transcript(play(script, seed)) == transcript(play(script, seed))


@settings(max_examples=30)
@given(seeds=st.lists(seeds, min_size=2, max_size=2, unique=True))
def test_another_seed_gives_other_ids(seeds: list[int]) -> None:
    """Runs of two seeds share no id."""
    script: Script = [("deposit", {"amount": 100, "scenario": "happy-path", "expires_in": 60})] * 3
    ids = [
        {event.id for event in run.sandbox.journal.events.entries}
        | {event.object_id for event in run.sandbox.journal.events.entries}
        | {entry.id for entry in run.sandbox.journal.requests.entries}
        for run in (play(script, seed) for seed in seeds)
    ]

    assert ids[0].isdisjoint(ids[1])
    assert len(ids[0]) == len(ids[1]) == 3 * (4 + 1 + 1)


@settings(max_examples=30)
@given(script=scripts, seed=seeds)
def test_a_full_reset_with_the_same_ids_begins_anew(script: Script, seed: int) -> None:
    """After a reset of everything with the same ids, the same commands show what they showed the first time."""
    fresh = play(script, seed)
    used = RandomRun(seed)
    used.deposit(amount=1, scenario="happy-path", expires_in=60)
    used.check()
    used.reset(["state", "faults", "requests", "deliveries", "clock", "scenarios"], same_ids=True)
    used.business.received.clear()
    used.keys = 0
    for name, arguments in script:
        getattr(used, name)(**arguments)
        used.check()
    used.end()

    assert transcript(fresh) == transcript(used)


def test_a_run_is_the_same_in_another_process() -> None:
    """No hash of a text, which each process salts in its own way, shows in a run."""
    here = Path(__file__).parent
    paths = [str(here), str(here.parent / "support")]
    found = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, *paths],
            env={"PYTHONHASHSEED": salt},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for salt in ("1", "2")
    ]

    assert found == [told(play(draw(Random(5), 60), 5))] * 2


def test_one_more_draw_shifts_no_other() -> None:
    """A draw depends on the seed, its purpose, its subject and its number alone."""
    randomness = SeededRandom(1)
    first = randomness.unit("delay", "dlv_1", 1)
    for number in range(10):
        randomness.unit("jitter", "dlv_1", number)

    assert first == randomness.unit("delay", "dlv_1", 1) == SeededRandom(1).unit("delay", "dlv_1", 1)


def test_the_default_settings_are_the_same_each_time() -> None:
    """Two businesses without settings of their own have equal ones."""
    assert Settings() == Settings()
