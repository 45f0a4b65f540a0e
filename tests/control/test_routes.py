"""Every row of the control table, called as it is meant to be, and in every way in which it is not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from receivers import closed_port
from servers import CONTROL, Box, Client, running

from paydouble.server import ServerOptions
from paydouble.web.control.calls import ControlRoute
from paydouble.web.control.routes import ROUTES

BY_NAME = {route.name: route for route in ROUTES}
BOXED = [route for route in ROUTES if "{s}" in route.path]
OBJECTS = [route for route in BOXED if "{id}" in route.path or "{name}" in route.path]


@dataclass(frozen=True)
class Case:
    """One call as it is meant to be: which object its path names, its body, and what must stand in the answer."""

    subject: str = ""
    body: dict[str, Any] | None = None
    shows: tuple[str, ...] = ()


LISTING = ("items", "next_cursor", "evicted")
SANDBOX = ("id", "base_url", "business_key", "business_secret", "webhook_secret", "notification_url", "clock")
CLOCK = ("mode", "now", "rate", "next_due_at", "pending", "idle")
WEBHOOK = ("notification_url", "secret", "previous_secret", "previous_valid_until", "signature_header")
RESOURCE = ("id", "object", "status")
MONEY = ("refunded_amount", "refund_pending_amount", "disputed_amount", "charged_back_amount")
FAULT = ("id", "on", "match", "effect", "enabled", "times_matched", "times_fired", "expires_at", "active")
VERDICT = ("passed", "count", "expected", "closest", "evicted")
EVENT = ("id", "type", "object_id", "created_at", "request_id", "body")
SCENARIO = ("name", "summary", "source", "active")
CASES = {
    "health": Case(shows=("status", "version", "uptime_seconds", "sandboxes")),
    "sandbox-create": Case(body={"id": "fresh", "seed": 7, "clock": "manual", "scenario": "abandoned"}, shows=SANDBOX),
    "sandbox-list": Case(shows=LISTING),
    "sandbox-read": Case(shows=SANDBOX),
    "sandbox-change": Case(body={"settings": {"livemode": True}}, shows=SANDBOX),
    "sandbox-delete": Case(shows=("deleted",)),
    "sandbox-reset": Case(body={"scope": ["requests"]}, shows=("scope", "removed")),
    "sandbox-checkpoint": Case(body={}, shows=("id", "at")),
    "sandbox-fork": Case(body={"id": "forked"}, shows=SANDBOX),
    "sandbox-export": Case(body={"raw": True}),
    "clock-read": Case(shows=CLOCK),
    "clock-set": Case(body={"mode": "auto"}, shows=CLOCK),
    "clock-advance": Case(body={"by": "1s"}, shows=("now", "fired", "attempts", "idle")),
    "metrics": Case(),
    "stream": Case(),
    "stream-all": Case(),
    "fault-list": Case(shows=LISTING),
    "fault-add": Case(body={"effect": {"type": "latency", "fixed": "2s"}}, shows=FAULT),
    "fault-clear": Case(shows=("deleted",)),
    "fault-read": Case("fault", shows=FAULT),
    "fault-change": Case("fault", {"enabled": False}, FAULT),
    "fault-remove": Case("fault", shows=("deleted", "times_fired")),
    "quota-set": Case(body={"limit": 3}, shows=("limit", "window", "reset_unit", "headers")),
    "quota-clear": Case(shows=("deleted",)),
    "request-verify": Case(body={"match": {"operation": "deposit-creation"}}, shows=VERDICT),
    "request-wait": Case(body={"timeout": "0s"}, shows=VERDICT),
    "delivery-verify": Case(body={"match": {"event_type": "pay-in.*"}, "at_most": 9}, shows=VERDICT),
    "delivery-wait": Case(body={"count": 0, "timeout": "0s"}, shows=VERDICT),
    "delivery-redeliver-failed": Case(body={"since": "2026-01-01T00:00:00Z"}, shows=("redelivered",)),
    "delivery-redeliver": Case("delivery", shows=("id", "status", "attempts")),
    "delivery-hold": Case("late_delivery", shows=("id", "status", "attempts")),
    "delivery-release": Case("held_delivery", shows=("id", "status", "attempts")),
    "event-emit": Case(body={"type": "pay-in.succeeded", "object_id": "{pay_in}"}, shows=EVENT),
    "webhook-test": Case(body={"type": "dispute.created"}, shows=EVENT),
    "request-list": Case(shows=LISTING),
    "request-forget": Case(shows=("removed",)),
    "unclaimed-request-list": Case(shows=LISTING),
    "event-list": Case(shows=LISTING),
    "event-read": Case("event", shows=("id", "type", "object_id", "created_at", "request_id", "body")),
    "delivery-list": Case(shows=LISTING),
    "delivery-read": Case("delivery", shows=("id", "event_id", "event_type", "object_id", "target", "status")),
    "webhook-read": Case(shows=WEBHOOK),
    "webhook-change": Case(body={"notification_url": None, "secret": "whsec_new"}, shows=WEBHOOK),
    "webhook-rotate": Case(body={"grace": "1h"}, shows=WEBHOOK),
    "pay-in-list": Case(shows=LISTING),
    "pay-in-read": Case("pay_in", shows=(*RESOURCE, *MONEY)),
    "pay-in-timeline": Case("pay_in"),
    "pay-in-transition": Case("fresh_pay_in", {"to": "pending"}, (*RESOURCE, *MONEY)),
    "pay-in-payer": Case("asked_pay_in", {"action": "decline"}, (*RESOURCE, *MONEY)),
    "refund-transition": Case("refund", {"to": "processing"}, RESOURCE),
    "dispute-transition": Case("dispute", {"to": "under_review"}, RESOURCE),
    "payout-transition": Case("payout", {"to": "processing"}, RESOURCE),
    "scenario-list": Case(shows=LISTING),
    "scenario-active": Case(shows=("name",)),
    "scenario-read": Case("scenario", shows=SCENARIO),
    "scenario-add": Case(body={"name": "mine", "summary": "My own.", "lifecycle": {}}, shows=SCENARIO),
    "scenario-activate": Case(body={"name": "abandoned"}, shows=SCENARIO),
    "scenario-deactivate": Case(shows=("deleted",)),
    "scenario-play": Case("scenario", {"deposit": {"amount": 5}}, (*RESOURCE, *MONEY)),
    "refund-open": Case("pay_in", {"reason": "damaged"}, RESOURCE),
    "dispute-open": Case("pay_in", {"reason": "fraudulent"}, RESOURCE),
}


NO_JSON = {"metrics", "stream", "stream-all", "pay-in-timeline", "sandbox-export"}
"""Calls whose answers are tested elsewhere."""


def test_every_route_has_a_case() -> None:
    """A new row of the table needs a case here, and a case needs its row."""
    assert set(CASES) == set(BY_NAME)


@dataclass
class Shop:
    """A business that has one of everything, and the ids of it."""

    box: Box
    ids: dict[str, str]

    def path(self, route: ControlRoute) -> str:
        """Return a route's path with its variables filled in."""
        subject = CASES[route.name].subject
        subject = self.ids.get(subject, "")
        return route.path.replace("{s}", self.box.id).replace("{id}", subject).replace("{name}", subject)

    def body(self, name: str) -> dict[str, Any] | None:
        """Return a case's body with the ids that it speaks of."""
        body = CASES[name].body
        return body and {
            member: value.format(**self.ids) if isinstance(value, str) else value for member, value in body.items()
        }


@pytest.fixture
async def shop(client: Client) -> Shop:
    """Give a business with a paid pay-in, a refund, a dispute, a payout, a new pay-in and one that waits."""
    # Nobody listens there: whatever is sent fails at once.
    box = await client.sandbox(notification_url=f"http://127.0.0.1:{closed_port()}/hooks")
    pay_in = await box.deposit()
    await box.advance(until_idle=True)
    refund = await box.api("POST", "/refund/refund-creation", {"payin_id": pay_in["id"], "amount": 1})
    beneficiary = {"name": "Ada Byron", "account": "DE89370400440532013000"}
    wanted = {"amount": 1, "currency": "EUR", "external_identifier": "out-1", "beneficiary": beneficiary}
    payout = await box.api("POST", "/payout/payout-initiation", wanted)
    dispute = await box.control("POST", f"/pay-ins/{pay_in['id']}/disputes", {"amount": 2})
    fresh = await box.deposit()
    asks = {"name": "asks", "summary": "At once.", "lifecycle": {"pay_in": [{"await": "payer"}]}}
    await box.control("POST", "/scenarios", asks)
    asked = await box.control("POST", "/scenarios/asks/play")
    fault = await box.control("POST", "/faults", {"on": "webhooks", "effect": {"type": "hold"}, "times": 1})
    later = [await box.control("POST", "/webhook/test", {}) for _ in range(2)]
    late = await box.control("POST", "/faults", {"on": "webhooks", "effect": {"type": "delay", "fixed": "1h"}})
    later.append(await box.control("POST", "/webhook/test", {}))
    assert [answer.status for answer in (fault, late, *later)] == [201] * 5
    await box.control("POST", "/scenarios", {"name": "own", "summary": "Its own.", "lifecycle": {}})
    ids = {
        "scenario": "own",
        "fault": fault.document["id"],
        "held_delivery": f"dlv_{later[0].document['id'][4:]}",
        "late_delivery": f"dlv_{later[2].document['id'][4:]}",
        "pay_in": pay_in["id"],
        "fresh_pay_in": fresh["id"],
        "asked_pay_in": asked.document["id"],
        "refund": refund.document["data"]["id"],
        "payout": payout.document["data"]["id"],
        "dispute": dispute.document["id"],
        "event": (await box.get("/events"))["items"][0]["id"],
        "delivery": (await box.deliveries())[0]["id"],
    }
    return Shop(box, ids)


@pytest.mark.parametrize("name", sorted(CASES.keys() - NO_JSON))
async def test_a_call_answers_as_the_table_says(client: Client, shop: Shop, name: str) -> None:
    """A good call gets the status of its row and a document with the promised members."""
    route, case = BY_NAME[name], CASES[name]

    answer = await client.control(route.method, shop.path(route), shop.body(name))

    assert (answer.status, answer.headers["Content-Type"]) == (route.status, "application/json")
    assert [member for member in case.shows if member not in answer.document] == []


@pytest.mark.parametrize("route", BOXED, ids=lambda route: route.name)
async def test_an_unknown_sandbox_is_not_found(client: Client, shop: Shop, route: ControlRoute) -> None:
    """A path that names no existing sandbox is 404, whatever else it names."""
    path = shop.path(route).replace(shop.box.id, "nobody", 1)

    answer = await client.control(route.method, path, CASES[route.name].body)

    assert answer.error == (404, "not_found", None)
    assert "'nobody'" in answer.document["error"]["message"]


@pytest.mark.parametrize("route", OBJECTS, ids=lambda route: route.name)
async def test_an_unknown_object_is_not_found(client: Client, shop: Shop, route: ControlRoute) -> None:
    """An id that does not exist in the sandbox is 404."""
    path = route.path.replace("{s}", shop.box.id).replace("{id}", "payin_nobody").replace("{name}", "nobody")

    answer = await client.control(route.method, path, CASES[route.name].body)

    assert answer.error[:2] == (404, "not_found")


@pytest.mark.parametrize("route", OBJECTS, ids=lambda route: route.name)
async def test_an_object_of_another_sandbox_is_not_found(client: Client, shop: Shop, route: ControlRoute) -> None:
    """Sandboxes are isolated: another's id is unknown here."""
    other = await client.sandbox()
    path = shop.path(route).replace(shop.box.id, other.id, 1)

    answer = await client.control(route.method, path, CASES[route.name].body)

    assert answer.error[:2] == (404, "not_found")


@pytest.mark.parametrize("route", [route for route in ROUTES if route.payload], ids=lambda route: route.name)
async def test_an_unknown_member_is_refused(client: Client, shop: Shop, route: ControlRoute) -> None:
    """A member that no model names is 400 with its path, and the call does nothing."""
    answer = await client.control(route.method, shop.path(route), {**(CASES[route.name].body or {}), "colour": "red"})

    assert answer.error == (400, "invalid", "colour")
    assert "not known" in answer.document["error"]["message"]


@pytest.mark.parametrize("route", [route for route in ROUTES if not route.payload], ids=lambda route: route.name)
async def test_a_body_where_none_belongs_is_refused(client: Client, shop: Shop, route: ControlRoute) -> None:
    """A call without a body's model takes no body."""
    answer = await client.control(route.method, shop.path(route), {"colour": "red"})

    assert answer.error == (400, "invalid", None)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
async def test_an_unknown_query_parameter_is_refused(client: Client, shop: Shop, route: ControlRoute) -> None:
    """A query parameter that a call does not take is 400 with its name."""
    answer = await client.control(route.method, shop.path(route) + "?colour=red", CASES[route.name].body)

    assert answer.error == (400, "invalid", "colour")


METHODS = {path: sorted(route.method for route in ROUTES if route.path == path) for path in (r.path for r in ROUTES)}
WRONG = [
    (method, path)
    for path, taken in METHODS.items()
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
    if method not in taken
]


@pytest.mark.parametrize(("method", "path"), WRONG)
async def test_a_wrong_method_says_which_are_right(client: Client, method: str, path: str) -> None:
    """A method that a known path does not take is 405 and names those that it takes."""
    answer = await client.control(method, path.replace("{s}", "default").replace("{id}", "x").replace("{name}", "x"))

    assert answer.error == (405, "wrong_method", None)
    allowed = {*METHODS[path], "HEAD"} if "GET" in METHODS[path] else METHODS[path]
    assert answer.headers["Allow"] == ", ".join(sorted(allowed))
    assert f"takes {', '.join(METHODS[path])}, not {method}" in answer.document["error"]["message"]


BAD_JSON = {
    "not JSON": b"{",
    "no object": b"[]",
    "a text": b'"x"',
    "null": b"null",
    "NaN": b'{"rate": NaN}',
    "twice": b'{"mode": "real", "mode": "auto"}',
    "not UTF-8": b'{"mode": "\xff"}',
    "half a pair": b'{"mode": "\\ud800"}',
    "deep": b"[" * 100_000,
    "long number": b'{"rate": ' + b"9" * 5000 + b"}",
}


@pytest.mark.parametrize("data", BAD_JSON.values(), ids=BAD_JSON.keys())
async def test_bad_json_is_one_clear_refusal(client: Client, data: bytes) -> None:
    """Bytes that are no JSON object of the wanted shape are 400, never a 5xx."""
    path = f"{CONTROL}/sandboxes/default/clock"
    answer = await client.call("PUT", path, data=data)

    assert answer.error[:2] == (400, "invalid")


async def test_another_content_type_is_refused(client: Client) -> None:
    """A body is JSON and says so; parameters of the type do not matter."""
    path = f"{CONTROL}/sandboxes/default/clock"
    data = b'{"mode": "manual"}'
    form = await client.call("PUT", path, data=data, headers={"Content-Type": "text/plain"})
    plain = await client.call("PUT", path, data=data, headers={"Content-Type": "Application/JSON; charset=utf-8"})

    assert form.error == (400, "invalid", None)
    assert plain.status == 200


@pytest.mark.parametrize("path", ["/nothing", "/sandboxes/default/nothing", "/sandboxes//clock", "/Health"])
async def test_a_call_that_does_not_exist_is_not_found(client: Client, path: str) -> None:
    """Any other path under the prefix is 404 in the control API's own words."""
    answer = await client.control("GET", path)

    assert answer.error == (404, "not_found", None)


async def test_control_calls_are_not_journalled(client: Client, shop: Shop) -> None:
    """The request journal holds calls of the API alone."""
    before = (await shop.box.get("/requests"))["items"]
    await shop.box.get("/clock")

    assert (await shop.box.get("/requests"))["items"] == before
    assert {item["path"].startswith("/api/v1/") for item in before} == {True}


@pytest.fixture
async def separate() -> AsyncIterator[Client]:
    """Give a client of a server with a control port of its own."""
    async with running(ServerOptions(port=0, control_port=0)) as client:
        yield client


async def test_a_control_port_takes_the_control_calls_away(separate: Client) -> None:
    """With `control_port` the API port knows no control call, and the other port nothing else."""
    control_port = separate.server.control_port
    there = await separate.call("GET", f"{CONTROL}/health", port=control_port)
    here = await separate.call("GET", f"{CONTROL}/health")
    api_there = await separate.call("GET", "/api/v1/pay-in", port=control_port)
    api_here = await separate.call("GET", "/api/v1/pay-in")

    assert (there.status, here.status) == (200, 404)
    assert here.document["error"] | {"request_id": "", "docs": "", "message": ""} == {
        "code": "not_found",
        "message": "",
        "status": 404,
        "request_id": "",
        "docs": "",
    }
    assert api_there.error == (404, "not_found", None)
    assert api_here.status == 401
