"""The table of failure modes is complete, and each call in it is one that the double takes."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from urllib.parse import unquote

import pytest
from drive import Business
from pydantic import BaseModel

from paydouble.api.operations import OPERATIONS
from paydouble.config import Settings, load_settings
from paydouble.core.durations import parse_duration
from paydouble.faults.model import API_EFFECTS, WEBHOOK_EFFECTS, document, parse_fault
from paydouble.records import ClockState, SandboxState
from paydouble.testing.calls import Exchange, Steps, Sync, encode
from paydouble.testing.executors import Address
from paydouble.testing.sandboxes import SandboxHandle
from paydouble.web.control.routes import ROUTES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "failure-modes.md"
MODES = 84
BOX = "/sandboxes/{s}"
# Public threads that a row stands on; a row that loses its own loses its evidence.
THREADS = 22


class Call(NamedTuple):
    """One call of the page."""

    row: int
    place: int
    """Which call of its row, from 1."""
    method: str
    path: str
    body: Any


def _rows() -> dict[int, list[str]]:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if re.match(r"\| \d", line)]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {int(each[0]): each[1:] for each in cells}


def _calls() -> list[Call]:
    calls = []
    for row, (_, provoked_by, _) in _rows().items():
        for place, text in enumerate(re.findall(r"`((?:GET|POST|PUT|PATCH|DELETE) [^`]+)`", provoked_by), 1):
            method, path, body = [*text.split(" ", 2), ""][:3]
            calls.append(Call(row, place, method, path.partition("?")[0], json.loads(body) if body else None))
    return calls


def _label(call: Call) -> str:
    return f"{call.row}.{call.place}"


CALLS = _calls()
FAULTS = [call for call in CALLS if call.path == "…/faults"]
CONTROL = [call for call in CALLS if call.path.startswith("…")]


def test_every_mode_has_one_row_with_a_call() -> None:
    """The numbers run from 1 to 84, every cell is filled, and each row holds a call."""
    rows = _rows()

    assert list(rows) == list(range(1, MODES + 1))
    assert all(len(cells) == 3 and all(cells) for cells in rows.values())
    assert {call.row for call in CALLS} == set(rows)


def test_the_public_threads_are_kept() -> None:
    """Each is named as owner/repository and number, or by number after one of the same repository."""
    text = PAGE.read_text("utf-8")

    assert len(re.findall(r"[\w.-]+/[\w.-]+#\d+|, #\d+", text)) == THREADS


@pytest.mark.parametrize("call", FAULTS, ids=_label)
def test_every_fault_can_be_armed(call: Call) -> None:
    """It is read as it stands, and names a side."""
    fault = parse_fault(call.body)

    assert fault.on == call.body["on"]


@pytest.mark.parametrize("call", CONTROL, ids=_label)
def test_every_control_call_exists_and_takes_its_body(call: Call) -> None:
    """The route is in the table, and its model accepts the body."""
    path = call.path.replace("…", BOX, 1)
    (route,) = [each for each in ROUTES if (each.method, each.path) == (call.method, path)]

    if route.payload is None:
        assert call.body is None
    elif issubclass(route.payload, BaseModel):
        route.payload.model_validate(call.body or {})
    else:
        assert isinstance(call.body, dict)


@pytest.mark.parametrize("call", [call for call in CONTROL if call.method == "PATCH" and call.path == "…"], ids=_label)
def test_every_setting_exists_and_is_changed(call: Call) -> None:
    """Each setting is known, and what the page says differs from the default."""
    assert load_settings(call.body["settings"], Settings()) != Settings()


@pytest.mark.parametrize("call", [call for call in CALLS if call.path.startswith("/api/v1")], ids=_label)
def test_every_call_of_the_api_is_an_operation(call: Call) -> None:
    """Method and path are those of an operation."""
    known = {(each.method, f"/api/v1{each.path}") for each in OPERATIONS}

    assert (call.method, call.path) in known


@pytest.mark.parametrize(
    "call", [call for call in CALLS if call.path.endswith("deposit-creation") and call.body], ids=_label
)
def test_every_deposit_of_the_page_is_taken(call: Call) -> None:
    """The bodies can be posted as they are."""
    reply = Business().post("/pay-in/deposit-creation", call.body)

    assert reply.status == 200


def test_nearly_every_effect_is_somebodys_provocation() -> None:
    """The effects that no row names are those that another row's effect stands for."""
    named = {call.body["effect"]["type"] for call in FAULTS}

    spare = {"no_response", "garbage", "lost_record", "delay", "drop"}
    assert (set(API_EFFECTS) | set(WEBHOOK_EFFECTS)) - named == spare


class _Asked(Exception):
    """Carries what a call of the handle asks of the server."""

    def __init__(self, exchange: Exchange) -> None:
        super().__init__()
        self.exchange = exchange


class _Recorder:
    """An executor that answers nothing, and tells what is asked."""

    def run(self, steps: Steps[Any]) -> NoReturn:
        raise _Asked(next(steps))

    def blocked_ports(self) -> frozenset[int]:
        return frozenset()


_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_STATE = SandboxState(
    id="s",
    base_url="http://127.0.0.1:8080/api/v1",
    business_key="k",
    business_secret="s",
    webhook_secret="w",
    notification_url=None,
    seed=1,
    clock=ClockState("manual", _NOW, 1.0, None, 0, idle=True),
    scenario="happy-path",
    settings={},
    ttl=None,
    expires_at=None,
    labels={},
)
_NAMES = {f"{name}_id": "{id}" for name in ("pay_in", "refund", "dispute", "payout", "delivery")}


def _in_python(row: int) -> list[str]:
    return re.findall(r"`(sandbox\.[^`]+)`", _rows()[row][1].partition("<br>in Python: ")[2])


def _asked(form: str) -> tuple[str, str, Any]:
    """Return method, path and body of what a Python form asks of the control API."""
    handle: SandboxHandle[Sync] = SandboxHandle(_Recorder(), Address("http://127.0.0.1:8080"), _STATE)
    with pytest.raises(_Asked) as asked:
        eval(form, {"sandbox": handle, **_NAMES})  # noqa: S307 - the page's own words
    exchange = asked.value.exchange
    path = unquote(exchange.path).replace("/sandboxes/s", "…", 1)
    return exchange.method, path, json.loads(encode(exchange.body)) if exchange.body else None


@pytest.mark.parametrize("row", sorted({call.row for call in CONTROL}))
def test_the_python_form_asks_the_same(row: int) -> None:
    """Each call of the control API stands there for Python too, and sends what the JSON says."""
    in_json = [_normal(call.method, call.path, call.body) for call in CONTROL if call.row == row]

    in_python = [_normal(*_asked(form)) for form in _in_python(row)]

    assert in_python == list(dict.fromkeys(in_json))


def _normal(method: str, path: str, body: Any) -> tuple[str, str, str]:  # noqa: ANN401 - JSON is any
    # Where only one side has an effect, `on` says nothing; an instant of nothing is written as 0s, or 80h as 3d8h.
    if path == "…/faults":
        body = document(parse_fault(body))
    elif isinstance(body, dict):
        lengths = ("by", "window", "grace")
        body = {name: parse_duration(value) if name in lengths else value for name, value in body.items()}
    return method, path, json.dumps(body or {}, sort_keys=True, default=str)
