"""Random sequences of control calls and requests against a plain model of what they should leave behind."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from drive import deposit_body
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from servers import Box, Client, running

ORDERS = ("order-1", "order-2", "other")
SCOPES = ("state", "faults", "requests", "deliveries")


@dataclass
class Armed:
    """A fault as the model knows it."""

    id: str
    order: str | None
    status: int
    skip: int
    times: int | None
    matched: int = 0
    fired: int = 0

    def meets(self, order: str | None) -> bool:
        """Return whether it fires for a request, and count it."""
        if self.fired == self.times or (self.order is not None and (order is None or not _fits(order, self.order))):
            return False
        self.matched += 1
        if self.matched <= self.skip:
            return False
        self.fired += 1
        return True


def _fits(text: str, pattern: str) -> bool:
    return text.startswith(pattern[:-1]) if pattern.endswith("*") else text == pattern


@dataclass
class Model:
    """What one sandbox should have."""

    box: Box
    requests: list[tuple[str, str | None, int, list[str]]] = field(default_factory=list)
    faults: list[Armed] = field(default_factory=list)
    pay_ins: list[str] = field(default_factory=list)
    events_of: set[str] = field(default_factory=set)

    def expect(self, operation: str, order: str | None) -> int:
        """Return the status that a request should get, and journal it."""
        hit = next((fault for fault in self.faults if fault.meets(order)), None)
        status = hit.status if hit else 200
        self.requests.append((operation, order, status, [hit.id] if hit else []))
        return status


class ControlMachine(RuleBasedStateMachine):
    """A server, some sandboxes, and a model of each."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.client: Client = self.runner.run(self.stack.enter_async_context(running()))
        self.models: list[Model] = []

    def teardown(self) -> None:
        """Stop the server."""
        self.runner.run(self.stack.aclose())
        self.runner.close()

    def control(self, model: Model, method: str, path: str, body: object = None, *, status: int = 200) -> Any:  # noqa: ANN401 - JSON is any
        """Make a control call that is meant to succeed."""
        answer = self.runner.run(model.box.control(method, path, body))
        assert answer.status == status, answer.document
        return answer.document

    @initialize()
    def two_sandboxes(self) -> None:
        """Begin with two."""
        for _ in range(2):
            self.models.append(Model(self.runner.run(self.client.sandbox(seed=1))))

    @precondition(lambda self: len(self.models) > 1)
    @rule(at=st.integers(0, 9))
    def replace_sandbox(self, at: int) -> None:
        """Delete a sandbox and make another; the new one has nothing of the old."""
        gone = self.models.pop(at % len(self.models))
        self.control(gone, "DELETE", "")
        self.models.append(Model(self.runner.run(self.client.sandbox())))
        assert self.runner.run(gone.box.control("GET", "")).status == 404
        assert self.runner.run(gone.box.api("GET", "/pay-in")).status == 401

    @rule(
        at=st.integers(0, 9),
        order=st.sampled_from([None, "order-1", "order-*"]),
        status=st.sampled_from([500, 503]),
        skip=st.integers(0, 2),
        times=st.none() | st.integers(1, 2),
    )
    def arm(self, at: int, order: str | None, status: int, skip: int, times: int | None) -> None:
        """Add a fault."""
        model = self.models[at % len(self.models)]
        match = {"external_identifier": order} if order else {}
        body = {"match": match, "skip": skip, "times": times, "effect": {"type": "error", "status": status}}
        made = self.control(
            model, "POST", "/faults", {name: value for name, value in body.items() if value is not None}, status=201
        )
        model.faults.append(Armed(made["id"], order, status, skip, times))

    @rule(at=st.integers(0, 9), which=st.integers(0, 9))
    def disarm(self, at: int, which: int) -> None:
        """Remove a fault."""
        model = self.models[at % len(self.models)]
        if model.faults:
            fault = model.faults.pop(which % len(model.faults))
            answer = self.control(model, "DELETE", f"/faults/{fault.id}")
            assert answer == {"deleted": fault.id, "times_fired": fault.fired}

    @rule(at=st.integers(0, 9), order=st.sampled_from(ORDERS))
    def deposit(self, at: int, order: str) -> None:
        """Create a deposit, or meet a fault."""
        model = self.models[at % len(self.models)]
        expected = model.expect("deposit-creation", order)
        body = deposit_body(external_identifier=order)
        answer = self.runner.run(model.box.api("POST", "/pay-in/deposit-creation", body))
        assert answer.status == expected
        if expected == 200:
            model.pay_ins.append(answer.document["data"]["id"])
            model.events_of.add(answer.document["data"]["id"])

    @rule(at=st.integers(0, 9))
    def list_pay_ins(self, at: int) -> None:
        """The API shows what was created, newest first, or a fault."""
        model = self.models[at % len(self.models)]
        expected = model.expect("pay-in-list", None)
        answer = self.runner.run(model.box.api("GET", "/pay-in?limit=100"))
        assert answer.status == expected
        if expected == 200:
            assert [item["id"] for item in answer.document["data"]["items"]] == model.pay_ins[::-1]

    @rule(at=st.integers(0, 9), by=st.sampled_from(["0s", "2s", "1h"]))
    def advance(self, at: int, by: str) -> None:
        """Let time pass in one sandbox."""
        self.control(self.models[at % len(self.models)], "POST", "/clock/advance", {"by": by})

    @rule(at=st.integers(0, 9), scope=st.sets(st.sampled_from(SCOPES), min_size=1))
    def reset(self, at: int, scope: set[str]) -> None:
        """Forget a part, and be told how much that was."""
        model = self.models[at % len(self.models)]
        removed = self.control(model, "POST", "/reset", {"scope": sorted(scope)})["removed"]
        for part, name, kept in (
            ("requests", "requests", model.requests),
            ("faults", "faults", model.faults),
            ("state", "pay_ins", model.pay_ins),
        ):
            if part in scope:
                assert removed[name] == len(kept)
                kept.clear()
        if "deliveries" in scope:
            model.events_of.clear()
        # What lives on may tell more events later.
        model.events_of.update(model.pay_ins)

    @rule(
        at=st.integers(0, 9),
        operation=st.none() | st.sampled_from(["deposit-creation", "*-list"]),
        order=st.none() | st.sampled_from(ORDERS),
        status=st.none() | st.sampled_from([200, 503]),
        count=st.integers(0, 3),
    )
    def verify(self, at: int, operation: str | None, order: str | None, status: int | None, count: int) -> None:
        """A verdict equals plain counting."""
        model = self.models[at % len(self.models)]
        match = {"operation": operation, "external_identifier": order, "status": status}
        answer = self.control(model, "POST", "/requests/verify", {"match": match, "count": count})
        expected = sum(
            (operation is None or request[0].endswith(operation.removeprefix("*")))
            and order in (None, request[1])
            and status in (None, request[2])
            for request in model.requests
        )
        assert (answer["count"], answer["passed"]) == (expected, expected == count)
        assert len(answer["closest"]) == (0 if answer["passed"] else min(3, len(model.requests) - expected))

    @invariant()
    def journals_and_counters_agree_with_the_model(self) -> None:
        """In every sandbox, whatever was done in the others."""
        for model in self.models:
            requests = self.control(model, "GET", "/requests?limit=1000")["items"]
            shown = [(item["operation"], item["status"], item["faults"]) for item in requests]
            assert shown == [(operation, status, faults) for operation, _, status, faults in model.requests]
            counts = [
                (fault["id"], fault["times_matched"], fault["times_fired"])
                for fault in self.control(model, "GET", "/faults?limit=1000")["items"]
            ]
            assert counts == [(fault.id, fault.matched, fault.fired) for fault in model.faults]
            events = self.control(model, "GET", "/events?limit=1000")["items"]
            deliveries = self.control(model, "GET", "/deliveries?limit=1000")["items"]
            assert [each["event_id"] for each in deliveries] == [each["id"] for each in events]
            assert {each["object_id"] for each in events} <= model.events_of


def test_control_calls_keep_sandboxes_apart_and_their_books_right() -> None:
    """Isolation, counters that add up, journals that agree with the state, verdicts that equal plain counting."""
    run_state_machine_as_test(ControlMachine, settings=settings(max_examples=30, stateful_step_count=25))
