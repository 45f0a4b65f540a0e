"""Tests a built image by running it: what only a container can show.

    python tools/image_proof.py ENGINE IMAGE        ENGINE is docker, or podman

The container has a read-only root, no capabilities and a mounted folder of scenarios, and takes its options from the
environment. A deposit is made in it, its webhook arrives at a receiver on this machine through
`host.docker.internal`, the control API requires its token, and SIGTERM ends it within a second with status 0.
The exit status is 1, with one line, if any of that fails.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp

from paydouble.stateful.watchdog import load_factor
from paydouble.testing import Receiver

SCENARIOS = Path("examples/scenarios").resolve()
SCENARIO = "pays-after-lunch"
TOKEN = "steer-it"  # noqa: S105 - of a container that lives for seconds
KEY, SECRET, WEBHOOK_SECRET = "shop_key", "shop_secret", "whsec_of_the_proof"
STOPS_WITHIN_SECONDS = 1.0
STARTS_WITHIN_SECONDS = 60.0
HARDENED = ("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")
_POLL_SECONDS = 0.05


class Disproved(Exception):
    """The image does not behave as it should; the text says how."""


@dataclass(frozen=True)
class Engine:
    """A container engine with docker's command line, and the image that it runs."""

    program: str
    image: str

    def __call__(self, *arguments: str, check: bool = True) -> str:
        """Run a command of the engine and return its output; `Disproved` if it fails."""
        done = subprocess.run([self.program, *arguments], check=False, capture_output=True, text=True)
        if check and done.returncode:
            said = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
            raise Disproved(f"{self.program} {arguments[0]} ended with {done.returncode}: {said}")
        return done.stdout + done.stderr

    @contextmanager
    def container(self, *flags: str) -> Iterator[str]:
        """Run the image with its own command, hardened; yield the container's id, and remove it at the end."""
        name = self("run", "--detach", *HARDENED, *flags, self.image).split()[0]
        try:
            yield name
        finally:
            self("rm", "--force", name, check=False)

    def url(self, name: str) -> str:
        """Return where a container's port 8080 is published."""
        return f"http://{self('port', name, '8080/tcp').split()[0]}"

    def gateway(self) -> str:
        """Return the name of this machine for `--add-host`; podman only knows docker's name since 4.7."""
        if self.program != "podman":
            return "host-gateway"
        gateway: str = json.loads(self("network", "inspect", "podman"))[0]["subnets"][0]["gateway"]
        return gateway

    def status(self, name: str) -> int:
        """Wait for a container to end and return its exit status."""
        return int(self("wait", name).split()[-1])

    def ended_at(self, name: str) -> float:
        """Return when a container ended, in Unix seconds."""
        finished = json.loads(self("inspect", name))[0]["State"]["FinishedAt"]
        # Both engines write nanoseconds, which Python parses since 3.11.
        return datetime.fromisoformat(finished).timestamp()


async def prove(engine: Engine) -> None:
    """Run all checks; `Disproved` says which one failed."""
    refused(engine)
    await as_pasted(engine)
    async with Receiver(WEBHOOK_SECRET, host="0.0.0.0") as receiver:  # noqa: S104 - containers come from outside
        options = {
            "PAYDOUBLE_NOTIFICATION_URL": f"http://host.docker.internal:{receiver.port}/hooks",
            "PAYDOUBLE_BUSINESS_KEY": KEY,
            "PAYDOUBLE_BUSINESS_SECRET": SECRET,
            "PAYDOUBLE_WEBHOOK_SECRET": WEBHOOK_SECRET,
            "PAYDOUBLE_CONTROL_TOKEN": TOKEN,
            "PAYDOUBLE_CLOCK": "manual",
            "PAYDOUBLE_START": "2026-01-01T00:00:00Z",
            "PAYDOUBLE_SEED": "7",
        }
        flags = [
            *("--publish", "127.0.0.1::8080"),
            *("--add-host", f"host.docker.internal:{engine.gateway()}"),
            *("--volume", f"{SCENARIOS}:/scenarios:ro"),
            *itertools.chain.from_iterable(("--env", f"{name}={value}") for name, value in options.items()),
        ]
        with engine.container(*flags) as name:
            async with aiohttp.ClientSession(engine.url(name)) as session:
                await healthy(session, engine, name)
                engine("exec", name, "paydouble", "healthcheck")
                report("healthy by its own check")
                await deposit_and_webhooks(session, receiver)
            stops(engine, name)


def refused(engine: Engine) -> None:
    """A wrong option in the environment is one line and status 2."""
    with engine.container("--env", "PAYDOUBLE_CLOCK=sundial") as name:
        status, said = engine.status(name), engine("logs", name).strip()
    expect(status == 2, f"a wrong PAYDOUBLE_CLOCK ended it with {status}, not 2")  # noqa: PLR2004 - as documented
    expect("PAYDOUBLE_CLOCK" in said or "--clock" in said, f"a wrong PAYDOUBLE_CLOCK is not named: {said!r}")
    expect("Traceback" not in said, f"a wrong PAYDOUBLE_CLOCK shows a traceback: {said!r}")
    report("a wrong option is one line and status 2")


async def as_pasted(engine: Engine) -> None:
    """With only a published port the control API can be used, and the folder of scenarios is empty."""
    with engine.container("--publish", "127.0.0.1::8080") as name:
        async with aiohttp.ClientSession(engine.url(name)) as session:
            await healthy(session, engine, name)
            await answered(session, "/_paydouble/sandboxes/default/clock/advance", {"by": "1s"})
    report("without any option it is steered at once")


async def healthy(session: aiohttp.ClientSession, engine: Engine, name: str) -> None:
    """Wait until it answers."""
    until = time.monotonic() + STARTS_WITHIN_SECONDS
    while time.monotonic() < until:
        try:
            async with session.get("/_paydouble/health") as response:
                if response.status == 200:  # noqa: PLR2004 - HTTP
                    return
        except aiohttp.ClientError:
            pass
        await asyncio.sleep(_POLL_SECONDS)
    raise Disproved(f"no answer within {STARTS_WITHIN_SECONDS:g} s; it said: {engine('logs', name).strip()}")


async def deposit_and_webhooks(session: aiohttp.ClientSession, receiver: Receiver) -> None:
    """A deposit plays the scenario of the mounted file, and its webhooks verify on this machine."""
    sandbox = "/_paydouble/sandboxes/default"
    async with session.get(sandbox) as response:
        expect(response.status == 401, f"a control call without the token got {response.status}")  # noqa: PLR2004
    body = {
        "amount": 49.9,
        "currency": "EUR",
        "external_identifier": "order-1",
        "payment_method": {"type": "CREDIT_CARD"},
        "customer": {"first_name": "Ada", "last_name": "Byron", "email": f"{SCENARIO}@scenario.test"},
    }
    made = await answered(
        session,
        "/api/v1/pay-in/deposit-creation",
        body,
        {"Authorization": aiohttp.encode_basic_auth(KEY, SECRET), "Idempotency-Key": str(uuid4())},
    )
    report(f"deposit {made['data']['id']} by a business of the environment's")
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    now = (await answered(session, f"{sandbox}/clock/advance", {"by": "2h"}, bearer))["now"]
    expect(now == "2026-01-01T02:00:00.000Z", f"the clock of the environment shows {now} after two hours")
    got = [(received.event.get("type"), received.verified) for received in receiver.received]
    wanted = [(f"pay-in.{state}", True) for state in ("created", "pending", "processing", "succeeded")]
    expect(got == wanted, f"the receiver at host.docker.internal got {got}, not {wanted}")
    report(f"{len(got)} webhooks verified by way of host.docker.internal, in the life of the mounted {SCENARIO}")


async def answered(
    session: aiohttp.ClientSession, path: str, body: object, headers: dict[str, str] | None = None
) -> Any:  # noqa: ANN401 - JSON is any
    """Return the answer to a POST that must succeed."""
    async with session.post(path, json=body, headers=headers) as response:
        text = await response.text()
        expect(response.ok, f"POST {path} got {response.status}: {text}")
        return json.loads(text)


def stops(engine: Engine, name: str) -> None:
    """SIGTERM ends it quickly with status 0."""
    asked = time.time()
    engine("kill", "--signal", "TERM", name)
    status = engine.status(name)
    seconds = engine.ended_at(name) - asked
    expect(status == 0, f"SIGTERM ended it with {status}: {engine('logs', name).strip()}")
    # Where the other steps keep the processors busy, all of it takes longer, the engine's command too.
    expect(seconds < STOPS_WITHIN_SECONDS * load_factor(), f"SIGTERM took {seconds:.2f} s")
    report(f"SIGTERM ended it with status 0 in {seconds:.2f} s")


def expect(holds: bool, what: str) -> None:  # noqa: FBT001 - reads as an assertion
    """Raise `Disproved` unless a condition is true."""
    if not holds:
        raise Disproved(what)


def report(what: str) -> None:
    """Print a step that succeeded."""
    print(f"  {what}", flush=True)


if __name__ == "__main__":
    try:
        asyncio.run(prove(Engine(*sys.argv[1:3])))
    except Disproved as problem:
        sys.exit(f"image proof: {problem}")
