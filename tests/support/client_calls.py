"""The table of calls that every client has (clients/calls.yaml), its gaps, and the answers to replay it with."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

CLIENTS = Path(__file__).parents[2] / "clients"


class Entry(NamedTuple):
    """One call with its arguments, and the request that it sends."""

    call: str
    operation: str
    given: dict[str, Any]
    method: str
    path: str
    query: dict[str, str]
    json: dict[str, Any] | None
    """None where no body is sent."""
    number: int
    """Its place among the entries of the same call, from 1."""

    def __str__(self) -> str:
        """Return a name of its own, for the report of a test."""
        return f"{self.call}-{self.number}"


@cache
def entries() -> tuple[Entry, ...]:
    """Return the table."""
    made = []
    seen: Counter[str] = Counter()
    for row in _read("calls.yaml"):
        sends = row["sends"]
        given, query, body = row.get("given", {}), sends.get("query", {}), sends.get("json")
        call: str = row["call"]
        seen[call] += 1
        made.append(Entry(call, row["operation"], given, sends["method"], sends["path"], query, body, seen[call]))
    return tuple(made)


@cache
def gaps() -> dict[str, list[str]]:
    """Return the ledger: by client the calls that it lacks, and under `operations` what no call sends."""
    ledger: dict[str, list[str]] = _read("gaps.yaml")
    return ledger


@cache
def answers() -> dict[str, dict[str, Any]]:
    """Return by operation the answer of a server: `status`, and `json` or `text`."""
    found: dict[str, dict[str, Any]] = json.loads((CLIENTS / "answers.json").read_text("utf-8"))
    return found


def write_as_json(folder: Path) -> None:
    """Write the table and the ledger as calls.json and gaps.json, for tests in a language without a YAML parser."""
    for name in ("calls", "gaps"):
        (folder / f"{name}.json").write_text(json.dumps(_read(f"{name}.yaml"), indent=1), "utf-8")


def _read(name: str) -> Any:  # noqa: ANN401 - a list or a mapping
    return yaml.safe_load((CLIENTS / name).read_text("utf-8"))
