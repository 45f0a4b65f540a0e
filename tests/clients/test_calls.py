"""The table of calls (clients/calls.yaml): the Python handle sends what it says, and nothing is missing in it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from client_calls import Entry, answers, entries, gaps
from pydantic import BaseModel

import paydouble
from paydouble.core.documents import load, read_json
from paydouble.faults.model import API_EFFECTS, WEBHOOK_EFFECTS
from paydouble.records import SandboxState
from paydouble.testing import handles
from paydouble.testing.calls import Call, Exchange, Get, Handle, Sync, carry_out, encode
from paydouble.testing.executors import Address, SyncExecutor
from paydouble.testing.sandboxes import SandboxHandle, ServerHandle
from paydouble.web.control.app import find
from paydouble.web.control.routes import ROUTES

SANDBOX = "box 1"
PAGING = {"limit", "cursor"}
CLIENTS = ("node", "go", "java")


class Recorder(SyncExecutor):
    """Records what is sent, and answers as a server would."""

    def __init__(self) -> None:
        super().__init__(Address("http://127.0.0.1:8080"))
        self.sent: list[Exchange] = []

    def run(self, steps: Any) -> Any:  # noqa: ANN401 - as the executor that it replaces
        """Carry a call out without a server."""
        return carry_out(steps, self._answered)

    def _answered(self, exchange: Exchange) -> tuple[int, Any]:
        self.sent.append(exchange)
        route, _ = find(exchange.method, exchange.path.partition("?")[0])
        answer = answers()[route.name]
        if route.name == "sandbox-export":  # the handle reads it
            return answer["status"], paydouble.Sandbox().export_text()
        return answer["status"], answer.get("text", answer.get("json"))


class Parts:
    """The handles of a server and of a sandbox, by the first part of a call's name."""

    def __init__(self, executor: SyncExecutor) -> None:
        self._executor = executor
        state = load(SandboxState, {**answers()["sandbox-read"]["json"], "id": SANDBOX})
        self._sandbox: SandboxHandle[Sync] = SandboxHandle(executor, executor.address, state)

    def handle(self, part: str, given: dict[str, Any]) -> Handle[Sync]:
        """Return a handle; arguments that are needed to make it are taken out of the given ones."""
        if part == "server":
            return ServerHandle(self._executor)
        if part == "sandbox":
            return self._sandbox
        if part == "payer":
            return self._sandbox.payer(given.pop("pay_in", "pi_1"))
        found: Handle[Sync] = getattr(self._sandbox, part)
        return found

    def names(self) -> Iterator[str]:
        """Return the names of all calls."""
        handles = [name for name, value in vars(self._sandbox).items() if isinstance(value, Handle)]
        for part in ("server", "sandbox", "payer", *handles):
            for kind in type(self.handle(part, {})).__mro__:
                for name, member in vars(kind).items():
                    if isinstance(member, Call | Get):
                        yield f"{part}.{name}"


def made(entry: Entry) -> list[Exchange]:
    """Make the call of an entry with the Python handle, and return what it has sent."""
    recorder = Recorder()
    part, name = entry.call.split(".")
    given = exact(entry.given)
    handle = Parts(recorder).handle(part, given)
    if isinstance(inspect.getattr_static(handle, name), Get):
        getattr(handle, name)
        return recorder.sent
    call = getattr(handle, name)
    kinds = {each.name: each.kind for each in inspect.signature(call).parameters.values()}
    several = [each for each in given if kinds.get(each) is inspect.Parameter.VAR_POSITIONAL]
    call(*[value for each in several for value in given.pop(each)], **given)
    return recorder.sent


def exact(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    """Return a value of the table with a `Decimal` for each number with a fraction."""
    if isinstance(value, float):
        return Decimal(str(value))
    if isinstance(value, dict):
        return {name: exact(member) for name, member in value.items()}
    return [exact(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("entry", entries(), ids=str)
def test_the_handle_sends_what_an_entry_says(entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One request, with this method, path, query and body."""
    monkeypatch.chdir(tmp_path)  # where an exported run is written

    (sent,) = made(entry)

    path, _, query = sent.path.partition("?")
    wanted = entry.path.replace("{sandbox}", "box%201")
    queried = {name: value for name, value in parse_qsl(query) if name not in PAGING}
    body = None if sent.body is None else read_json(encode(sent.body))
    assert (sent.method, path, queried, body) == (entry.method, wanted, entry.query, exact(entry.json))


def test_each_call_of_the_handle_is_in_the_table() -> None:
    """A call that is added to the handle gets an entry, and an entry is about a call that exists."""
    calls, table = set(Parts(Recorder()).names()), {entry.call for entry in entries()}

    assert {"missing": calls - table, "unknown": table - calls} == {"missing": set(), "unknown": set()}


def test_each_handle_is_reached() -> None:
    """A class of handles with calls of its own is one of those in which the table looks for calls."""
    parts = Parts(Recorder())
    made = [type(parts.handle(name, {})) for name in {call.split(".")[0] for call in parts.names()}]
    ours = [each for each in vars(handles).values() if isinstance(each, type) and issubclass(each, Handle)]

    assert [each.__name__ for each in ours if not any(issubclass(kind, each) for kind in made)] == []


def test_each_operation_is_in_the_table() -> None:
    """A control call that is added gets an entry, or a line in the ledger of gaps that says why it has none."""
    table = {entry.operation for entry in entries()}
    gone = set(gaps()["operations"])

    assert {row.name for row in ROUTES} - table == gone


def test_each_kind_of_fault_is_in_the_table() -> None:
    """On the API, on webhooks, or on both where both have it."""
    armed = [entry.json or {} for entry in entries() if entry.call == "faults.add"]

    assert {each["effect"]["type"] for each in armed} == {*API_EFFECTS, *WEBHOOK_EFFECTS}
    assert {each["effect"]["type"] for each in armed if each.get("on") == "webhooks"} == {*API_EFFECTS} & {
        *WEBHOOK_EFFECTS
    }


@pytest.mark.parametrize("entry", entries(), ids=str)
def test_the_server_takes_what_an_entry_says(entry: Entry) -> None:
    """The request is the operation that the entry names, and its query and body are valid."""
    route, _ = find(entry.method, entry.path)

    assert route.name == entry.operation
    assert set(entry.query) <= set(route.queries) - PAGING
    assert (route.payload is None) == (entry.json is None)
    if route.payload is not None and issubclass(route.payload, BaseModel):
        route.payload.model_validate(exact(entry.json))


@pytest.mark.parametrize("call", ["faults.add", "scenarios.upload"])
def test_a_sandbox_takes_what_has_no_model(call: str) -> None:
    """Each fault and each scenario of the table is accepted."""
    with paydouble.Sandbox() as sandbox:
        for entry in entries():
            if entry.call == call:
                part, name = call.split(".")
                getattr(getattr(sandbox, part), name)(**exact(entry.given))


def test_a_gap_is_a_call_of_the_table() -> None:
    """The ledger names calls and operations that exist, each once, for the clients that there are."""
    table = {entry.call for entry in entries()}
    ledger = gaps()

    assert set(ledger) == {*CLIENTS, "operations"}
    assert [name for client in CLIENTS for name in ledger[client] if name not in table] == []
    assert [client for client, names in ledger.items() if len(set(names)) < len(names)] == []
