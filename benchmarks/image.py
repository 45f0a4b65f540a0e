"""A create on a server with the settings of `docker run`, against the bare handler.

The environment and the command are read from the Dockerfile and used for a process here. Somebody reads its log, as the
container engine does.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from typing import Final

from benchmarks.livelog import BURSTS, ROUNDS, piped
from benchmarks.machine import has_uvloop
from benchmarks.rows import Benchmark, Effort, Row, micros, ratios
from benchmarks.servers import ENVIRONMENT, ROOT, Loop, running
from benchmarks.turns import in_turn, scenario_seconds

_NAME: Final = "a create with the settings of `docker run` (processor time)"


def measure(effort: Effort) -> Iterator[Row]:
    """Yield the row."""
    # The image has the extra `fast`.
    loop: Loop = "uvloop" if has_uvloop() else "asyncio"
    with tempfile.TemporaryDirectory() as scenarios, piped() as log:
        environment = {**ENVIRONMENT, **_settings(), "PAYDOUBLE_SCENARIOS": scenarios}
        with (
            running("paydouble", loop, options=(), log=log, environment=environment) as double,
            running("bare", loop) as handler,
        ):
            ours, bare = in_turn(
                (double, handler),
                min(ROUNDS, effort.turns),
                BURSTS * effort.requests,
                idle_seconds=scenario_seconds(effort),
            )
    yield Row(_NAME, micros(ours), micros(bare), ratios(ours, bare), "×")


def _settings() -> dict[str, str]:
    """Return the environment of the image, apart from its PATH; ends the program if it starts anything but `serve`."""
    final = (ROOT / "Dockerfile").read_text("utf-8").rpartition("\nFROM ")[2]
    command = [word for name in ("ENTRYPOINT", "CMD") for word in json.loads(_instruction(final, name))]
    if command != ["paydouble", "serve"]:
        raise SystemExit(f"benchmarks: the image starts {command}, which this row does not measure")
    pairs = dict(pair.split("=", 1) for pair in _instruction(final, "ENV").replace("\\\n", " ").split())
    del pairs["PATH"]
    return pairs


def _instruction(text: str, name: str) -> str:
    """Return the arguments of an instruction, with its continuation lines."""
    found = re.search(rf"^{name} ((?:.*\\\n)*.*)$", text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"benchmarks: the Dockerfile has no {name}")
    return found[1]


BENCHMARK = Benchmark([_NAME], measure)
