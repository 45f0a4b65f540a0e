"""`verify` and `wait`: what the journals hold, why they do not hold what was expected, and when they do."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from bounds import AT_MOST_SECONDS, FAR_LONGER
from drive import deposit_body
from receivers import receiving
from servers import Answer, Box, Client

LONG = FAR_LONGER  # a wait that is meant to end by itself


async def verify(box: Box, what: str = "requests", **question: object) -> dict[str, Any]:
    """Return the answer to a question."""
    answer = await box.control("POST", f"/{what}/verify", question)
    assert answer.status == 200, answer.document
    document: dict[str, Any] = answer.document
    return document


def waiting(box: Box, what: str = "requests", **question: object) -> asyncio.Task[Answer]:
    """Start to wait."""
    return asyncio.create_task(box.control("POST", f"/{what}/wait", question))


MATCHES: list[tuple[dict[str, object], int]] = [
    ({}, 3),
    ({"operation": "deposit-creation"}, 2),
    ({"operation": "*"}, 3),
    ({"operation": "pay-in-retrieval"}, 0),
    ({"operation": "pay-in-*"}, 1),
    ({"method": "GET"}, 1),
    ({"path": "/api/v1/pay-in/deposit-*"}, 2),
    ({"status": 200}, 2),
    ({"status": 400}, 1),
    ({"external_identifier": "order-1"}, 1),
    ({"idempotency_key": "00000000-0000-4000-8000-00000000000*"}, 2),
    ({"verdict": "new"}, 2),
    ({"verdict": "none"}, 1),
    ({"headers": {"CONTENT-TYPE": "application/*"}}, 2),
    ({"headers": {"x-none": "*"}}, 0),
    ({"body": {"amount": 49.90}}, 1),
    ({"body": {"amount": 49.91}}, 0),
    ({"body": {"tags": [1.50, "s*"]}}, 1),
    ({"body": {"customer": {"first_name": "A*"}}}, 1),
    ({"body": {"customer": {"first_name": None}}}, 0),
    ({"method": "POST", "status": 200, "operation": None}, 1),
]


@pytest.mark.parametrize(("match", "count"), MATCHES)
async def test_requests_are_counted_by_every_member(client: Client, match: dict[str, object], count: int) -> None:
    """All that a match gives must hold; a member that is null asks nothing."""
    box = await client.sandbox()
    await box.deposit()
    await box.api("POST", "/pay-in/deposit-creation", {"tags": [1.5, "sale"]})
    await box.api("GET", "/pay-in")

    assert (await verify(box, match=match, count=count))["count"] == count


async def test_an_object_is_found_in_requests_and_deliveries(client: Client) -> None:
    """The object that a request made or named is a criterion of both journals."""
    box = await client.sandbox()
    pay_in = await box.deposit()
    await box.api("GET", f"/pay-in/{pay_in['id']}")

    assert (await verify(box, match={"object_id": pay_in["id"]}, count=2))["passed"] is True
    assert (await verify(box, "deliveries", match={"object_id": pay_in["id"], "status": "no_endpoint"}))["count"] == 1


@pytest.mark.parametrize("name", ["event_type", "type"])
async def test_deliveries_are_counted_by_type(client: Client, name: str) -> None:
    """`type` is another name of `event_type`."""
    box = await client.sandbox()
    await box.deposit()
    await box.advance(until_idle=True)

    assert (await verify(box, "deliveries", match={name: "pay-in.succeeded", "attempt_count": 0}))["count"] == 1


async def test_a_near_miss_of_a_delivery_is_shown_whole(client: Client) -> None:
    """By what identifies it, and the members that differ."""
    box = await client.sandbox()
    pay_in = await box.deposit()

    answer = await verify(box, "deliveries", match={"event_type": "pay-in.created", "status": "delivered"})

    (delivery,) = await box.deliveries()
    assert answer["closest"] == [
        {
            "id": delivery["id"],
            "event_type": "pay-in.created",
            "object_id": pay_in["id"],
            "differences": [{"member": "status", "wanted": "delivered", "got": "no_endpoint"}],
        }
    ]


async def test_a_near_miss_is_explained_criterion_by_criterion(client: Client) -> None:
    """What did not pass names its closest requests, and for each the members with what was wanted and got."""
    box = await client.sandbox()
    await box.deposit()
    match = {"operation": "deposit-creation", "status": 201, "body": {"amount": 50}}

    answer = await verify(box, match=match, count=1)

    (request,) = (await box.get("/requests"))["items"]
    assert (answer["passed"], answer["count"], answer["expected"]) == (False, 0, "exactly 1")
    (miss,) = answer["closest"]
    assert {name: miss[name] for name in ("id", "at", "method", "target")} == {
        name: request[name] for name in ("id", "at", "method", "target")
    }
    assert miss["differences"] == [
        {"member": "status", "wanted": 201, "got": 200},
        {"member": "body.amount", "wanted": 50, "got": 49.90},
    ]


async def test_a_near_miss_names_the_member_inside_of_the_body_and_keeps_its_digits(client: Client) -> None:
    """What differs is named with its path, what agrees is not, and an amount is shown as it was written."""
    box = await client.sandbox()
    sent = b'{"amount":49.90,"lines":[{"price":1.10},{"price":20e1}],"customer":{"email":"ada@example.test"}}'
    headers = {**box.credentials, "Content-Type": "application/json"}
    await client.call("POST", "/api/v1/pay-in/deposit-creation", data=sent, headers=headers)
    body = {
        "amount": 49.9,
        "customer": {"email": "b*", "first_name": "Ada"},
        "lines": [{"price": 1.5}, {"price": 200}],
        "currency": None,
    }

    answer = await verify(box, match={"body": body})
    url = f"http://127.0.0.1:{client.server.port}/_paydouble/sandboxes/{box.id}/requests/verify"
    question = {"match": {"body": {"lines": [1], "amount": 50}}}
    async with client.session.post(url, json=question) as response:
        digits = await response.text()

    assert answer["closest"][0]["differences"] == [
        {"member": "body.customer.email", "wanted": "b*", "got": "ada@example.test"},
        {"member": "body.customer.first_name", "wanted": "Ada", "got": None},
        {"member": "body.lines.0.price", "wanted": 1.5, "got": 1.1},
        {"member": "body.currency", "wanted": None, "got": None},
    ]
    assert '{"member":"body.lines","wanted":[1],"got":[{"price":1.10},{"price":2.0E+2}]}' in digits
    assert '{"member":"body.amount","wanted":50,"got":49.90}' in digits


async def test_deliveries_are_found_by_the_order_that_they_are_about(client: Client) -> None:
    """Those of a pay-in, of its refund and of its dispute; other orders and samples are not among them."""
    box = await client.sandbox()
    await box.api("POST", "/pay-in/deposit-creation", deposit_body(external_identifier="order-2"))
    pay_in = await box.deposit(external_identifier="order-1")
    await box.advance(until_idle=True)
    await box.api("POST", "/refund/refund-creation", {"payin_id": pay_in["id"], "amount": 1})
    await box.control("POST", f"/pay-ins/{pay_in['id']}/disputes", {"amount": 1})
    await box.control("POST", "/webhook/test", {})

    for_refund = {"external_identifier": "order-1", "event_type": "refund.created"}
    counts = [
        (await verify(box, "deliveries", match=match))["count"]
        for match in ({"external_identifier": "order-1"}, {"external_identifier": "order-*"}, for_refund)
    ]
    listed = (await box.get("/deliveries?external_identifier=order-2"))["items"]
    none = await verify(box, "deliveries", match={"external_identifier": "order-3", "event_type": "refund.created"})

    assert counts == [6, 10, 1]
    assert [each["event_type"] for each in listed] == [
        "pay-in.created",
        "pay-in.pending",
        "pay-in.processing",
        "pay-in.succeeded",
    ]
    assert {"member": "external_identifier", "wanted": "order-3", "got": "order-1"} in none["closest"][0]["differences"]


async def test_a_huge_value_is_cut_in_an_explanation(client: Client) -> None:
    """An explanation stays readable whatever was sent."""
    box = await client.sandbox()
    await box.api("POST", "/pay-in/deposit-creation", deposit_body(metadata={"note": "x" * 9_000}))

    answer = await verify(box, match={"body": {"metadata": 1}})

    got = answer["closest"][0]["differences"][0]["got"]
    assert (type(got), len(got)) == (str, 2_000)


async def test_a_body_that_is_no_json_is_no_match(client: Client) -> None:
    """A request whose body cannot be read is a miss, not a failure."""
    box = await client.sandbox()
    await client.call("POST", "/api/v1/pay-in/deposit-creation", data=b"{", headers=box.credentials)

    answer = await verify(box, match={"body": {"amount": 1}})

    assert answer["closest"][0]["differences"] == [{"member": "body", "wanted": {"amount": 1}, "got": None}]


async def test_bytes_that_are_no_text_travel_in_base64(client: Client) -> None:
    """The journal shows exactly what came, also when it is not UTF-8."""
    box = await client.sandbox()
    await client.call("POST", "/api/v1/pay-in/deposit-creation", data=b"\xff{", headers=box.credentials)

    assert (await box.get("/requests"))["items"][0]["body"] == {"base64": "/3s="}


async def test_a_sequence_is_found_in_order(client: Client) -> None:
    """The steps may have others between them; in the wrong order the missing step is named."""
    box = await client.sandbox()
    for order in ("a", "b", "c"):
        await box.deposit(external_identifier=order)

    right = await verify(box, sequence=[{"external_identifier": "a"}, {"external_identifier": "c"}])
    wrong = await verify(box, sequence=[{"external_identifier": "c"}, {"external_identifier": "a"}])

    assert (right["passed"], right["count"]) == (True, 2)
    assert (wrong["passed"], wrong["count"], wrong["expected"]) == (False, 1, "2 in this order; number 2 is missing")


async def test_a_sequence_of_deliveries(client: Client) -> None:
    """Deliveries take a sequence as well."""
    box = await client.sandbox()
    await box.deposit()
    await box.advance(until_idle=True)
    types = ["pay-in.created", "pay-in.pending", "pay-in.processing", "pay-in.succeeded"]

    answer = await verify(box, "deliveries", sequence=[{"type": each} for each in types])

    assert (answer["passed"], answer["count"]) == (True, 4)


async def test_an_evicted_journal_says_that_the_answer_may_be_lost(client: Client) -> None:
    """When entries were evicted the answer counts them and says what to do."""
    box = await client.sandbox(settings={"journal_limit": 2})
    for _ in range(5):
        await box.api("GET", "/pay-in")

    answer = await verify(box, count=5)

    assert (answer["passed"], answer["count"], answer["evicted"]) == (False, 2, 3)
    assert answer["note"].startswith("The journal has evicted 3 older entries")
    assert "journal_limit" in answer["note"]


BAD = [
    ({"match": {"colour": "red"}}, "match.colour"),
    ({"match": {"verdict": "maybe"}}, "match.verdict"),
    ({"match": "deposit"}, "match"),
    ({"count": -1}, "count"),
    ({"count": 1, "at_least": 1}, "at_least"),
    ({"count": 1, "at_most": 1}, "at_most"),
    ({"at_least": 2, "at_most": 1}, "at_most"),
    ({"sequence": []}, "sequence"),
    ({"sequence": [{"colour": "red"}]}, "sequence.0.colour"),
    ({"sequence": [{}], "count": 1}, "sequence"),
    ({"sequence": [{}], "match": {"status": 200}}, "sequence"),
    ({"timeout": 5}, "timeout"),
    ({"timeout": "11m"}, "timeout"),
    ({"colour": "red"}, "colour"),
]


@pytest.mark.parametrize("call", ["/requests/verify", "/requests/wait", "/deliveries/verify", "/deliveries/wait"])
@pytest.mark.parametrize(("question", "member"), BAD)
async def test_a_bad_question_is_refused_by_its_member(
    client: Client, call: str, question: dict[str, Any], member: str
) -> None:
    """A question that makes no sense is 400 with the member, at once."""
    if call.startswith("/deliveries") and question.get("match") == {"verdict": "maybe"}:
        question, member = {"match": {"status": "maybe"}}, "match.status"
    if call.startswith("/deliveries") and "sequence" in question and "match" in question:
        question = {**question, "match": {"status": "held"}}
    box = await client.sandbox()

    answer = await box.control("POST", call, question)

    assert answer.error == (400, "invalid", member)


@pytest.mark.parametrize("how", ["verify", "wait"])
@pytest.mark.parametrize(
    ("what", "match", "message"),
    [
        (
            "requests",
            {"operation": "deposit-creatoin"},
            "operation: there is no operation 'deposit-creatoin'; did you mean 'deposit-creation'?",
        ),
        ("requests", {"operation": "/v1*"}, "operation: there is no operation '/v1*'; there are: deposit-creation, "),
        (
            "deliveries",
            {"event_type": "pay-in.succeded"},
            "event_type: there is no event type 'pay-in.succeded'; did you mean 'pay-in.succeeded'?",
        ),
        (
            "deliveries",
            {"type": "pay-in.succeded"},
            "type: there is no event type 'pay-in.succeded'; did you mean 'pay-in.succeeded'?",
        ),
        ("deliveries", {"type": "deposit.*"}, "type: there is no event type 'deposit.*'; there are: pay-in.created, "),
    ],
)
async def test_a_name_that_nothing_has_is_refused(
    client: Client, how: str, what: str, match: dict[str, str], message: str
) -> None:
    """A misspelt name can never match, so it would prove nothing; also within a sequence."""
    box = await client.sandbox()
    [name] = match

    alone = await box.control("POST", f"/{what}/{how}", {"match": match, "at_most": 0})
    listed = await box.control("POST", f"/{what}/{how}", {"sequence": [{}, match]})

    assert alone.error == (400, "invalid", f"match.{name}")
    assert listed.error == (400, "invalid", f"sequence.1.{name}")
    for answer, place in ((alone, "match."), (listed, "sequence.1.")):
        said = answer.document["error"]["message"]
        assert said.startswith(place + message)
        assert said.endswith("?" if message.endswith("?") else ".")


async def test_both_names_of_the_type_contradict_each_other(client: Client) -> None:
    """`type` and `event_type` together are refused."""
    box = await client.sandbox()

    answer = await box.control("POST", "/deliveries/verify", {"match": {"type": "*", "event_type": "*"}})

    assert answer.error == (400, "invalid", "match.type")


async def test_a_wait_ends_the_moment_it_holds(client: Client) -> None:
    """A wait that could take a minute ends with the request that it waits for."""
    box = await client.sandbox()
    task = waiting(box, match={"operation": "deposit-creation"}, at_least=2, timeout=LONG)
    began = time.monotonic()

    await box.deposit()
    assert not task.done()
    await box.deposit()
    answer = await task

    assert (answer.document["passed"], answer.document["count"]) == (True, 2)
    assert "timed_out" not in answer.document
    assert time.monotonic() - began < AT_MOST_SECONDS


async def test_a_wait_sees_a_request_that_is_in_flight(client: Client) -> None:
    """A request counts from its arrival, long before it is answered."""
    box = await client.sandbox(settings={"processing_time": "10m"})
    task = waiting(box, match={"operation": "deposit-creation"}, timeout=LONG)
    request = asyncio.create_task(box.deposit())

    answer = await task

    assert answer.document["passed"] is True
    request.cancel()


async def test_a_wait_sees_a_delivery_arrive(client: Client) -> None:
    """A delivery that a receiver takes ends the wait for it."""
    async with receiving() as receiver:
        box = await client.sandbox(notification_url=receiver.url)
        task = waiting(box, "deliveries", match={"status": "delivered"}, timeout=LONG)
        await box.deposit()
        answer = await task

    assert answer.document["passed"] is True


@pytest.mark.parametrize(
    ("effect", "status"),
    [({"type": "hold"}, "held"), ({"type": "drop"}, "dropped"), ({"type": "delay", "fixed": "1h"}, "waiting")],
)
async def test_a_wait_sees_what_a_fault_does_to_a_delivery(client: Client, effect: dict[str, str], status: str) -> None:
    """What is held, dropped or late without any attempt ends the wait for it as well."""
    box = await client.sandbox(notification_url="http://127.0.0.1:9/hooks")
    await box.control("POST", "/faults", {"on": "webhooks", "effect": effect})
    task = waiting(box, "deliveries", match={"status": status}, timeout=LONG)

    await box.deposit()

    assert (await task).document["passed"] is True


async def test_a_wait_sees_deletions_of_the_journal(client: Client) -> None:
    """A wait for few is met when the journal is emptied."""
    box = await client.sandbox()
    await box.deposit()
    task = waiting(box, at_most=0, timeout=LONG)

    await box.control("DELETE", "/requests")

    assert (await task).document["passed"] is True


async def test_a_wait_that_times_out_explains(client: Client) -> None:
    """After its timeout a wait answers 200 with the same explanation as verify, and says that the time is over."""
    box = await client.sandbox()
    await box.deposit()

    waited = await waiting(box, match={"status": 500}, count=1, timeout="20ms")
    asked = await verify(box, match={"status": 500}, count=1)

    assert waited.status == 200
    assert waited.document == {**asked, "timed_out": True}
    assert asked["closest"][0]["differences"] == [{"member": "status", "wanted": 500, "got": 200}]


async def test_a_wait_ends_with_its_sandbox(client: Client) -> None:
    """When the sandbox is deleted a wait ends at once, with 404."""
    box = await client.sandbox()
    signal = client.server.host.signal(client.server.host.registry.get(box.id))
    tasks = [waiting(box, timeout=LONG), waiting(box, "deliveries", timeout=LONG)]
    while signal.waiting < len(tasks):  # noqa: ASYNC110 - nothing else tells that a call has come so far
        await asyncio.sleep(0)

    await box.control("DELETE")

    for task in tasks:
        answer = await task
        assert answer.error == (404, "not_found", None)
        assert "has gone meanwhile" in answer.document["error"]["message"]
