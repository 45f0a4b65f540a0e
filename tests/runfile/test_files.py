"""Files that are cut, edited, of another version or hostile get one clear message."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from drive import DEPOSITS, HOUR, Business, deposit_body

from paydouble.runfile import files
from paydouble.runfile.files import Run, pack, read_run, unpack, write_run
from paydouble.runfile.lines import RunFileError
from paydouble.runfile.player import Player
from paydouble.runfile.recorded import recorded_run
from paydouble.runfile.replaying import replay


def _run() -> Run:
    business = Business()
    business.post(DEPOSITS, deposit_body())
    business.advance(by=HOUR)
    business.sandbox.rotate_secret(1)
    return recorded_run(business.sandbox, business.pipeline, verdict="It is broken.")


# The bytes before the compressed ones say what they are, and no checksum covers them.
_GZIP_HEADER = 10


def _texts() -> list[bytes]:
    return gzip.decompress(pack(_run())).splitlines(keepends=True)


def _with(line: int, **members: object) -> bytes:
    texts = _texts()
    texts[line - 1] = json.dumps({**json.loads(texts[line - 1]), **members}).encode() + b"\n"
    return b"".join(texts)


def _refusal(data: bytes) -> str:
    with pytest.raises(RunFileError) as refused:
        replay(unpack(data))
    assert "\n" not in str(refused.value)
    return str(refused.value)


def _header(**members: object) -> bytes:
    header = json.loads(_texts()[0])
    return _with(1, sandbox={**header["sandbox"], **members})


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Compressed or as plain lines, with blank lines between them."""
    run = _run()
    write_run(run, tmp_path / "a.paydouble")
    (tmp_path / "plain").write_bytes(b"\n".join(_texts()))

    assert read_run(tmp_path / "a.paydouble") == read_run(tmp_path / "plain") == run
    assert run.end["verdict"] == "It is broken."
    assert replay(run) is None


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9, 0.999])
def test_a_cut_file_is_refused(share: float) -> None:
    """Wherever it was cut, with compression or without."""
    packed = pack(_run())
    assert "cut or damaged" in _refusal(packed[: int(len(packed) * share) + 2])
    lines = _texts()
    kept = lines[: max(1, int(len(lines) * share))]
    assert _refusal(b"".join(kept)) == f"line {len(kept) + 1}: the end is missing; the file is cut"


def test_damaged_bytes_are_refused() -> None:
    """A changed byte breaks the compression or its checksum, also where a line is wrong before that is read."""
    whole = pack(_run())
    for place in range(_GZIP_HEADER, len(whole), 7):
        packed = bytearray(whole)
        packed[place] ^= 0xFF
        assert "cut or damaged" in _refusal(bytes(packed)), place


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"hello", "line 1: this is not a line of a run file"),
        (b"[1]", "line 1: this is not a line of a run file: it is not a JSON object"),
        (b"{}", "line 1: this is not a run file of paydouble"),
        (b'{"kind":"paydouble-run","format":"1"}', "line 1: this is not a run file of paydouble"),
        (b'{"a":' + b"[" * 5_000, "line 1: this is not a line of a run file"),
        (
            b'{"kind":"paydouble-run","format":9,"version":"3.1"}',
            "line 1: the format is 9, of paydouble 3.1; this is paydouble",
        ),
        (b'{"kind":"paydouble-run","format":1}\n{"end":{}}\n{"note":"x"}', "line 3: there are lines after the end"),
        (b'{"kind":"paydouble-run","format":1}\n{"x":1}', "line 2: it has not exactly one of do, is, note and end"),
        (b'{"kind":"paydouble-run","format":1}\n{"do":1}', "line 2: it has not exactly one of do, is, note and end"),
        (
            b'{"kind":"paydouble-run","format":1}\n{"end":{}}',
            "line 1: the header cannot be used ('sandbox' is missing)",
        ),
        (b"PK\x03\x04", "line 1: this is not a line of a run file"),
    ],
)
def test_what_is_no_run_file_is_refused(data: bytes, message: str) -> None:
    """The line and the reason are named."""
    assert message in _refusal(data)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: _header(seed="x"), "line 1: the header cannot be used (the seed is not a whole number)"),
        (lambda: _header(id=7), "line 1: the header cannot be used (7 is not a text)"),
        (
            lambda: _header(clock={"mode": "odd", "rate": 1, "start": "2026-01-01T00:00:00Z"}),
            "line 1: the header cannot be used (there is no clock 'odd')",
        ),
        (lambda: _header(settings={"envelope": "C"}), "line 1: settings.envelope: "),
        (lambda: _header(settings={"scenario": "nowhere"}), "line 1: scenario: there is no scenario 'nowhere'"),
        (lambda: _header(scenarios=["name: 1"]), "line 1: "),
        (lambda: _header(paths={"nothing": "/x"}), "line 1: paths"),
        (lambda: _with(2, do="format-disk"), "line 2: the command 'format-disk' cannot be applied"),
        (lambda: _with(2, at="yesterday"), "line 2: the command 'request' cannot be applied ('yesterday' is not"),
        (lambda: _with(2, method=None, target=None), "line 2: the command 'request' cannot be"),
        (lambda: _with(2, body={"base64": 5}), "line 2: the command 'request' cannot be applied"),
        (lambda: b"".join(_texts()[:-1]) + b'{"end":{"at":"never"}}', "'never' is not an instant"),
    ],
)
def test_an_edited_file_is_refused(make: Callable[[], bytes], message: str) -> None:
    """What cannot be used is named with its line."""
    assert message in _refusal(make())


def test_an_edited_outcome_without_its_attempt_is_refused() -> None:
    """An outcome can only be applied to an attempt that was made."""
    run = _run()
    place = next(place for place, line in enumerate(run.lines) if line.get("do") == "outcome")
    lines = [dict(line) for line in run.lines]
    lines[place]["delivery"] = "dlv_other"
    with pytest.raises(RunFileError, match=f"line {place + 2}: the command 'outcome' cannot be applied"):
        replay(run._replace(lines=lines))


def test_a_refused_command_is_refused_again() -> None:
    """A command that the sandbox refused changes nothing when it is repeated, and is no error of the file."""
    run = _run()
    player = Player(run.header)
    player.apply({"do": "delivery-hold", "at": "2026-01-01T00:00:00Z", "id": "dlv_unknown"})
    with pytest.raises(RunFileError, match="line 7: the command 'event-emit' cannot be applied"):
        player.apply({"do": "event-emit", "at": "2026-01-01T00:00:00Z", "id": "payin_x", "type": "pay-in.created"}, 7)


def test_a_file_that_would_become_very_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not decompressed beyond the limit, whether as one line or as many."""
    bomb = gzip.compress(_texts()[0] + b'{"note":"' + b"x" * 20_000_000 + b'"}\n' + b'{"note":"x"}\n' * 1_000)
    assert len(bomb) < 30_000
    monkeypatch.setattr(files, "MOST_BYTES", 1_000_000)
    assert "larger than 1000000 bytes" in _refusal(bomb)
    monkeypatch.setattr(files, "MOST_LINES", 2)
    assert "or 2 lines" in _refusal(pack(_run()))
    monkeypatch.setattr(files, "MOST_PACKED", 20)
    assert "the file is larger than 20 bytes" in _refusal(pack(_run()))


def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    """A folder, a pipe, and no file at all."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "nothing"):
        with pytest.raises(RunFileError, match=f"{path}: the file cannot be read"):
            read_run(path)
    (tmp_path / "bad").write_bytes(b"{}")
    with pytest.raises(RunFileError, match=f"{tmp_path}/bad: line 1: this is not a run file"):
        read_run(tmp_path / "bad")
    with pytest.raises(RunFileError, match="the run cannot be written"):
        write_run(_run(), tmp_path)


def test_bytes_that_are_not_utf_8_are_kept() -> None:
    """A body, a header and a target of any bytes come again."""
    business = Business()
    odd = b"\xff\x00\xfe"
    business.request("POST", DEPOSITS + "?x=\udcff", odd, headers=[("X-Odd", "\udcff")])
    run: Any = unpack(pack(recorded_run(business.sandbox, business.pipeline)))

    assert run.lines[0]["body"] == {"base64": "/wD+"}
    assert replay(run) is None
