"""Files of earlier releases can still be read; `format-N.paydouble` was written by a release with the format N."""

from __future__ import annotations

from pathlib import Path

import pytest

from paydouble.runfile.files import read_run
from paydouble.runfile.headers import FORMAT
from paydouble.runfile.redaction import redacted
from paydouble.runfile.replaying import replay
from paydouble.runfile.restoring import restored

FILES = sorted(Path(__file__).parent.glob("format-*.paydouble"))


def test_each_format_has_a_file() -> None:
    """A new format keeps the file of the one before, and adds its own."""
    assert [path.stem for path in FILES] == [f"format-{number}" for number in range(1, FORMAT + 1)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_an_earlier_release_is_read(path: Path) -> None:
    """Its commands can be applied, its personal data replaced; the result replays."""
    run = read_run(path)

    assert len(restored(run).journal.events.entries) > 0
    assert replay(redacted(run)) is None
