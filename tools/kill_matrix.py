"""Which clause finds which mistake: `python tools/kill_matrix.py --write`.

Plays all clauses against each shop of `conformance-shops`, once without a mistake and once with each of its mistakes
switched on, and writes the page docs/kill-matrix.md. A clause kills a mistake when it is broken with it and kept
without it. Results are kept in `.cache/kill-matrix` for as long as neither the clauses nor the shop change, so a run
that was ended goes on where it was; `--again` forgets them. Mistakes that no clause kills are given to `paydouble
explore`. `--correct 10` plays the correct shops ten times.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

from paydouble.conformance.levels import Level
from paydouble.conformance.run import BINDING, CLAUSES

ROOT: Final = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "support"))

from language_shops import SHOPS, environment, placed  # noqa: E402 - from the folder that was just added

RESULTS: Final = ROOT / ".cache" / "kill-matrix"
PAGE: Final = ROOT / "docs" / "kill-matrix.md"
# A shop that answers each webhook after eleven seconds takes half an hour.
_SECONDS: Final = 600
_MISTAKE: Final = re.compile(r"^\| `([^`]+)` \| ([^|]+) \|", re.MULTILINE)
# The heading of the mistakes that count for no share: they were written for a clause.
_ADDED: Final = "## Added so that a clause can fail"
_IDLE: Final = {
    "W1.13": "it cannot be seen over a network; the report says so",
    "W7.1": "these shops have no https; `tests/conformance` plays it against receivers with old and with new TLS",
}
_COULD_RUN: Final = frozenset({0, 1, 130})


class Outcome(NamedTuple):
    """What the clauses, and the search after them, have found in one variant of a shop."""

    broken: dict[str, str]
    """The broken clauses → the level of their worst problem."""
    seconds: float
    explored: bool | None
    """Whether `paydouble explore` has found something; None when it was not asked."""


def shops() -> list[str]:
    """Return the shops of the folder."""
    return sorted(path.parent.name for path in SHOPS.glob("*/merchant.yaml"))


def mistakes(shop: str) -> dict[str, tuple[str, bool]]:
    """Return the mistakes of a shop: what each does, and whether it was written without a look at the clauses."""
    blind, _, added = (SHOPS / shop / "mistakes.md").read_text("utf-8").partition(_ADDED)
    return {
        name: (what.strip(), is_blind)
        for text, is_blind in ((blind, True), (added, False))
        for name, what in _MISTAKE.findall(text)
    }


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "paydouble", *arguments]


def _run(command: list[str], shop: str, mistake: str) -> int:
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(shop, mistake), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as running:
        try:
            _, said = running.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGINT)  # what was found so far is reported
            _, said = running.communicate()
    if running.returncode not in _COULD_RUN:
        sys.exit(f"{' '.join(command)} ended with {running.returncode}: {said.decode()}")
    return running.returncode


def _clauses(shop: str, mistake: str, seed: int) -> tuple[dict[str, str], float]:
    """Play all clauses; return those that are broken, and the seconds."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        file = str(placed(shop, Path(folder)))
        _run(_command("conformance", "merchant", file, "--seed", str(seed), "--json", str(out)), shop, mistake)
        document: dict[str, Any] = json.loads(out.read_text("utf-8"))
    broken = {each["id"]: each["problems"][0]["level"] for each in document["clauses"] if each["verdict"] == "broken"}
    return broken, document["seconds"]


def _state(shop: str) -> str:
    """Return the name of a folder for results: those of other clauses, or of a changed shop, are not used."""
    digest = hashlib.sha256()
    for folder in (ROOT / "src" / "paydouble" / "conformance", SHOPS / shop):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                digest.update(path.read_bytes())
    return f"{shop}-{digest.hexdigest()[:12]}"


def outcome(shop: str, mistake: str, *, explore: bool) -> Outcome:
    """Return what is found in a variant of a shop, from the results that are kept or by a run."""
    kept = RESULTS / _state(shop) / f"{mistake or 'correct'}.json"
    found = Outcome(**json.loads(kept.read_text("utf-8"))) if kept.exists() else None
    if found is None:
        broken, seconds = _clauses(shop, mistake, 1)
        found = Outcome(broken, seconds, None)
    correct = {} if not mistake else outcome(shop, "", explore=False).broken
    if explore and mistake and found.explored is None and not kills(found, correct):
        with tempfile.TemporaryDirectory() as folder:
            command = _command("explore", str(placed(shop, Path(folder))), "--for", "4m")
            found = found._replace(explored=_run(command, shop, mistake) == 1)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(found._asdict()), encoding="utf-8")
    return found


def kills(found: Outcome, correct: dict[str, str]) -> list[str]:
    """Return the clauses that are broken by the mistake: kept without it, or broken at a milder level."""
    order = list(Level)
    return [
        each
        for each, level in found.broken.items()
        if each not in correct or order.index(Level(level)) < order.index(Level(correct[each]))
    ]


def binds(found: Outcome, names: list[str]) -> bool:
    """Return whether one of the clauses fails a run by itself."""
    return any(found.broken[each] in BINDING for each in names)


class Row(NamedTuple):
    """A mistake, and what finds it."""

    mistake: str
    what: str
    is_blind: bool
    found: Outcome
    clauses: list[str]

    @property
    def by(self) -> str:
        """Return what finds it, for a table."""
        return ", ".join(self.clauses) or ("explore" if self.found.explored else "**nothing**")


def _rows(shop: str, *, explore: bool) -> Iterator[Row]:
    correct = outcome(shop, "", explore=False).broken
    for mistake, (what, is_blind) in mistakes(shop).items():
        found = outcome(shop, mistake, explore=explore and is_blind)
        row = Row(mistake, what, is_blind, found, kills(found, correct))
        print(f"{shop:8} {mistake:32} {row.by}", flush=True)
        yield row


def page(chosen: list[str], *, explore: bool) -> str:
    """Return the page, after all runs that are still to be made."""
    with ThreadPoolExecutor(len(chosen)) as pool:
        # All shops at the same time, since they wait more than they work.
        tables = dict(zip(chosen, pool.map(lambda shop: list(_rows(shop, explore=explore)), chosen), strict=True))
    parts = [_table(shop, rows) for shop, rows in tables.items()]
    everything = [row for rows in tables.values() for row in rows]
    summary = "\n".join(_summary(shop, rows) for shop, rows in [*tables.items(), ("all", everything)])
    used = {name for row in everything for name in row.clauses}
    idle = [
        f"- `{name}` {clause.title}: {_IDLE.get(name, 'no mistake of these shops breaks it')}."
        for name, clause in CLAUSES.items()
        if name not in used
    ]
    searched = "What no clause kills is given to `paydouble explore` for at most four minutes."
    if not explore:
        searched = "The search that follows, `paydouble explore`, was left out (`--no-explore`)."
    return f"""# Which clause finds which mistake

Made by `python tools/kill_matrix.py --write` on our own shops in `conformance-shops`. They were written from the
contract, without a look at [the clauses](reference/clauses.md), each with mistakes that are switched on one at a time.
A clause kills a mistake when it is broken with it and kept without it. {searched}

The clauses were improved with all of these shops in sight, so the shares say little about other shops. Mistakes marked
"added" were written for a clause that killed nothing else; they count for no share.

| shop | mistakes | killed by clauses | of them by M or B | by clauses and explore |
|---|---|---|---|---|
{summary}

{chr(10).join(parts)}
## Clauses that killed nothing here

{chr(10).join(idle) or "None."}
"""


def _summary(shop: str, rows: list[Row]) -> str:
    rows = [row for row in rows if row.is_blind]
    killed = [row for row in rows if row.clauses]
    hard = [row for row in killed if binds(row.found, row.clauses)]
    both = len(killed) + sum(bool(row.found.explored) for row in rows if not row.clauses)
    return f"| {shop} | {len(rows)} | {_share(len(killed), rows)} | {len(hard)} | {_share(both, rows)} |"


def _share(number: int, rows: list[Any]) -> str:
    return f"{number} ({number / len(rows):.0%})" if rows else "0"


def _table(shop: str, rows: list[Row]) -> str:
    lines = [f"| `{row.mistake}`{'' if row.is_blind else ' (added)'} | {row.what} | {row.by} |" for row in rows]
    return f"## {shop}\n\n| mistake | what it does | killed by |\n|---|---|---|\n" + "\n".join(lines) + "\n"


def correct_runs(chosen: list[str], runs: int) -> int:
    """Play the correct shops; return how many runs found something that binds."""
    alarms = 0
    for shop in chosen:
        for seed in range(1, runs + 1):
            broken, seconds = _clauses(shop, "", seed)
            alarms += any(level in BINDING for level in broken.values())
            print(f"{shop:8} seed {seed}: {broken or 'nothing broken'}, {seconds:.0f} s", flush=True)
    print(f"{alarms} of {runs * len(chosen)} runs of correct shops found something that binds.")
    return alarms


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shop", action="append", choices=shops(), help="some shops instead of all")
    parser.add_argument("--correct", type=int, metavar="N", help="play the correct shops N times instead")
    parser.add_argument("--no-explore", action="store_true", help="leave the search out")
    parser.add_argument("--again", action="store_true", help="forget what earlier runs have found")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()
    # A job in the background ignores it, and so would the runs that it has to end.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    chosen = options.shop or shops()
    if options.again:
        for shop in chosen:
            shutil.rmtree(RESULTS / _state(shop), ignore_errors=True)
    if options.correct:
        return 1 if correct_runs(chosen, options.correct) else 0
    started = time.monotonic()
    text = page(chosen, explore=not options.no_explore)
    if options.write:
        PAGE.write_text(text, encoding="utf-8")
    print(text)
    print(f"{time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
