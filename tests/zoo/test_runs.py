"""The failing runs of the zoo as files; `python tests/zoo --runs` tries all variants."""

from __future__ import annotations

from pathlib import Path

import pytest
from bugzoo.changing import actions, changed
from bugzoo.runs import failing_run, replayed_elsewhere
from bugzoo.table import VARIANTS

from paydouble.runfile.files import write_run
from paydouble.runfile.redaction import redacted
from paydouble.stateful.run_files import tell

COUNTS = "RefundPerClick"
"""It counts its clicks from one play to the next, so its second run is another one."""
SOME = VARIANTS[::4]


@pytest.mark.timeout(480)
def test_failing_runs_are_repeated_in_a_fresh_process(tmp_path: Path) -> None:
    """The bytes are the same, with personal data and without; told to the merchant, the story fails in the same way."""
    for variant in SOME:
        run = failing_run(variant)
        write_run(run, tmp_path / f"{variant.name}.paydouble")
        write_run(redacted(run), tmp_path / f"{variant.name}-redacted.paydouble")
        if variant.test is None:
            told = tell(run, variant.merchant)
            assert told.verdict == "FAILED", variant.name
            assert told.difference is None or variant.name == COUNTS, variant.name
            assert told.finding

    assert replayed_elsewhere(tmp_path) == []


def test_a_change_is_named_by_its_line() -> None:
    """A merchant that does one thing differently is found at the line of that request, or of that answer."""
    for variant in SOME:
        if variant.test is None and variant.name != COUNTS:
            run = failing_run(variant)
            lines = actions(run)
            line = lines[len(lines) // 2][0]
            found = tell(run, changed(variant.merchant, run, line)).difference

            assert found is not None, variant.name
            assert found.line == line, variant.name
