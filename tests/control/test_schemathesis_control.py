"""An independent reader of the control API's document against the running server.

What is excluded, and why, stands in `schemathesis_control.toml` beside this file.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from servers import Box, running

from paydouble.runtime.host import ClockSpec
from paydouble.server import DEFAULT_SANDBOX, ServerOptions
from paydouble.web.control.routes import ROUTES

HERE = Path(__file__).parent
START = 1_767_225_600_000  # 2026-01-01T00:00:00.000Z


async def populate(box: Box) -> dict[str, str]:
    """Make one of everything; returns their identifiers by the part of a path under which they are."""
    pay_in = await box.deposit()
    for state in ("pending", "processing", "succeeded"):
        await box.control("POST", f"/pay-ins/{pay_in['id']}/transition", {"to": state})
    refund = await box.api("POST", "/refund/refund-creation", {"payin_id": pay_in["id"], "amount": 1})
    beneficiary = {"name": "Ada Byron", "account": "DE89370400440532013000"}
    wanted = {"amount": 1, "currency": "EUR", "external_identifier": "out-1", "beneficiary": beneficiary}
    payout = await box.api("POST", "/payout/payout-initiation", wanted)
    dispute = await box.control("POST", f"/pay-ins/{pay_in['id']}/disputes", {"amount": 2})
    # It fires never, so that it is in nobody's way.
    fault = await box.control("POST", "/faults", {"probability": 0, "effect": {"type": "error", "status": 500}})
    return {
        "pay-ins": pay_in["id"],
        "refunds": refund.document["data"]["id"],
        "payouts": payout.document["data"]["id"],
        "disputes": dispute.document["id"],
        "faults": fault.document["id"],
        "events": (await box.get("/events"))["items"][0]["id"],
        "deliveries": (await box.deliveries())[0]["id"],
    }


@pytest.mark.long
@pytest.mark.timeout(480)  # some two thousand requests; beside the rest of the suite that takes its time
async def test_schemathesis_finds_no_failure_of_ours_and_no_refusal_without_a_name(tmp_path: Path) -> None:
    """All checks of schemathesis and one of ours pass against the running server."""
    default = DEFAULT_SANDBOX._replace(clock=ClockSpec("manual", start=START))
    async with running(ServerOptions(port=0, default_sandbox=default)) as client:
        living = await populate(Box(client, (await client.control("GET", "/sandboxes/default")).document))

        process = await asyncio.create_subprocess_exec(
            Path(sys.executable).with_name("schemathesis"),
            *("--config-file", str(HERE / "schemathesis_control.toml"), "run"),
            *(f"{client.server.base_url}/_paydouble/control-openapi.json", "--no-color", "--continue-on-failure"),
            cwd=tmp_path,
            env={
                # None of our code runs over there, so measuring its coverage would only cost time.
                **{name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")},
                "PAYDOUBLE_TEST_LIVING": json.dumps(living),
                "PYTHONPATH": str(HERE),
                "SCHEMATHESIS_HOOKS": "schemathesis_control_hooks",
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()

    report = output.decode()
    assert process.returncode == 0, report
    streams = [route for route in ROUTES if route.media == "text/event-stream"]
    assert f"Tested: {len(ROUTES) - len(streams)}" in report, report
