"""An independent reader of the OpenAPI document against the live server.

What is excluded, and why, stands in `schemathesis.toml` beside this file.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from paydouble.payments.catalogue import load_catalogue
from paydouble.payments.resources import Customer, Order
from paydouble.runtime.host import ClockSpec
from paydouble.sandbox import Sandbox
from paydouble.server import DEFAULT_SANDBOX, Server, ServerOptions

HERE = Path(__file__).parent
START = 1_767_225_600_000  # 2026-01-01T00:00:00.000Z


def populate(sandbox: Sandbox) -> dict[str, str]:
    """Make one resource of each kind; returns their identifiers."""
    method = load_catalogue().methods[0]
    customer = Customer("Ada", "Lovelace", "ada@example.test")
    order = Order(
        expires_in_ms=86_400_000,
        external_identifier="order-1",
        amount=10_000_000_00,
        currency="EUR",
        digits=2,
        payment_method=method.named,
        customer=customer,
        return_url=None,
        notification_url=None,
        metadata=None,
    )
    pay_in, _ = sandbox.create_pay_in(sandbox.scenario("happy-path"), order)
    for status in ("pending", "processing", "succeeded"):
        sandbox.force_transition(pay_in, status)
    refund = sandbox.create_refund(pay_in, amount=100, reason=None, external_identifier=None)
    dispute = sandbox.open_dispute(pay_in)
    payout = sandbox.create_payout(
        external_identifier="x-1", amount=100, currency="EUR", beneficiary_name="Ada", beneficiary_account="DE02"
    )
    transaction = sandbox.ledger.create_transaction(
        sandbox.now, kind="ADJUSTMENT", external_identifier="x-1", amount=100, currency="EUR", description=None
    )
    return {
        "pay-in": pay_in.id,
        "refund": refund.id,
        "dispute": dispute.id,
        "payout": payout.id,
        "transaction": transaction.id,
    }


@pytest.mark.parametrize("examples", [3, pytest.param(25, marks=[pytest.mark.long, pytest.mark.timeout(480)])])
async def test_schemathesis_finds_nothing_that_the_contract_does_not_explain(examples: int, tmp_path: Path) -> None:
    """All checks of schemathesis, in all its phases, pass against the live server."""
    default = DEFAULT_SANDBOX._replace(clock=ClockSpec("manual", start=START))
    async with Server(ServerOptions(port=0, default_sandbox=default)) as server:
        assert server.default is not None
        living = populate(server.default)

        process = await asyncio.create_subprocess_exec(
            Path(sys.executable).with_name("schemathesis"),
            *("--config-file", str(HERE / "schemathesis.toml"), "run", f"{server.base_url}/_paydouble/openapi.json"),
            *("--no-color", "--continue-on-failure", f"--max-examples={examples}"),
            cwd=tmp_path,
            env={
                # None of our code runs over there, so measuring its coverage would only cost time.
                **{name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")},
                "PAYDOUBLE_TEST_LIVING": json.dumps(living),
                "PYTHONPATH": str(HERE),
                "SCHEMATHESIS_HOOKS": "schemathesis_hooks",
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()

    report = output.decode()
    assert process.returncode == 0, report
    assert "Tested: 19" in report, report
