"""Runs as files: what a sandbox went through, written as lines, and played again in another process.

A sandbox is deterministic. Its identity, its settings, the commands that it gets with their instants, and what
receivers answer decide every id, every byte and their order. A run file has exactly that, and what followed from it:

    header    the version of the format, and how the sandbox began                       `headers.py`
    command   `do`: a request, a control command, an attempt that was taken, its outcome  `commands.py`
    result    `is`: the answer to a request, an event
    note      `note`: a text for people, such as a step of the state machine
    end       `end`: the last instant, and the verdict

Each line is a JSON object, and a file is the lines compressed by gzip (`files.py`). The core records a run while it
happens (`sandbox/recording.py`); `commands.py` writes the entries of a recording as lines.

**To apply a command** is to give it to a fresh sandbox of the same beginning, at its instant (`player.py`). There is no
socket: a recorded attempt is taken from the queue but not sent, and its recorded outcome is the answer. The clock of
the original may have run by itself; here it stands still and is moved to the instant of each command.

**To replay a run** is to apply its commands and to compare (`replaying.py`). The fresh sandbox records too, so its
recording, written as lines, must be the file's lines. The first that differs is where the run has diverged. The
machine's time is part of the commands (`wall`), therefore signatures are the same as well.

The commands alone rebuild a sandbox: a start state, a store (`store.py`) and a copy of a sandbox need no results.
Personal data is replaced by applying changed commands and recording what follows (`redaction.py`).
"""
