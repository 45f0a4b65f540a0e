"""Runs linters and client generators on both OpenAPI documents, and each generated client against a running server.

The clients' programs are in `tools/clients`: each creates a sandbox, adds a fault, meets it in a deposit, tries again,
and reads the journal. Their dependencies are pinned there and installed once into `.cache`; without a toolchain or its
packages that part is skipped with the reason.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

import aiohttp

from outcome import Outcome, Verdict, failed, ok, skipped
from paydouble.api.operations import OPERATIONS
from paydouble.openapi import document as openapi
from paydouble.server import Server, ServerOptions
from paydouble.web.control import openapi as control_openapi

SOURCES = Path(__file__).resolve().with_name("clients")
CACHE = Path(__file__).resolve().parents[1] / ".cache"
SECONDS = 600
NOTHING: Mapping[str, str] = MappingProxyType({})
# What each client must have sent, digit by digit.
AMOUNT = '"amount":131072.99'
# Output of package managers that cannot reach their registry.
UNREACHABLE = (
    "ENOTFOUND",
    "ECONNREFUSED",
    "ETIMEDOUT",
    "dial tcp",
    "Could not transfer",
    "Unknown host",
    "no such host",
)


def check_generators() -> Outcome:
    """Lint, generate, compile and run, all toolchains in parallel; the more severe verdict counts."""
    outcomes = asyncio.run(run_all())
    reasons = "; ".join(f"{name}: {outcome.reason}" for name, outcome in outcomes.items())
    worst = max((outcome.verdict for outcome in outcomes.values()), key=lambda verdict: verdict.value)
    output = "\n".join(outcome.output for outcome in outcomes.values() if outcome.verdict is worst)
    return Outcome(worst, reasons, output)


async def run_all() -> dict[str, Outcome]:
    """Return the outcome of each toolchain."""
    async with Server(ServerOptions(port=0)) as server:
        outcomes = await asyncio.gather(*(each.check(server.base_url) for each in TOOLCHAINS))
        return {each.name: outcome for each, outcome in zip(TOOLCHAINS, outcomes, strict=True)}


@dataclass(frozen=True)
class Toolchain:
    """Makes clients in one language and runs them; a client has the name of its generator."""

    name: str
    programs: tuple[str, ...]
    make: Callable[[Path], Awaitable[Outcome]]
    clients: Mapping[str, tuple[str, ...]]

    async def check(self, server: str) -> Outcome:
        """Make the clients, unless they are up to date, and run them against a server."""
        if missing := [program for program in self.programs if shutil.which(program) is None]:
            return skipped(f"{' and '.join(missing)} not installed here")
        folder = CACHE / "generators" / self.name
        made = folder / "made"
        state = self.write_sources(folder)
        if not made.exists() or made.read_text("utf-8") != state:
            made.unlink(missing_ok=True)
            if (outcome := await self.make(folder)).verdict is not Verdict.OK:
                return outcome
            made.write_text(state, "utf-8")
        for client, command in self.clients.items():
            if (outcome := await steer(folder, server, client, command)).verdict is not Verdict.OK:
                return outcome
        return ok(" and ".join(self.clients))

    def write_sources(self, folder: Path) -> str:
        """Write the programs and both documents into a folder; return a digest of them."""
        sources = SOURCES / self.name
        texts = {path.relative_to(sources): path.read_text("utf-8") for path in sources.rglob("*.*") if path.is_file()}
        texts |= {Path(f"{name}.json"): text for name, text in documents().items()}
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
        return sha256(repr(sorted(texts.items())).encode()).hexdigest()


@cache
def documents() -> dict[str, str]:
    """Return both documents, without the address, which changes with every run."""
    return {
        "api": json.dumps(openapi.document(OPERATIONS, server_url="/")),
        "control": json.dumps(control_openapi.document()),
    }


async def with_node(folder: Path) -> Outcome:
    """Lint with redocly and spectral; compile what openapi-typescript and @hey-api/openapi-ts make."""
    quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1", f"--cache={CACHE / 'npm'}")
    outcome = await run(folder, "npm", "ci", *quiet, fetches=True)
    plugins = ("-p", "@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk")
    commands: list[tuple[str, ...]] = []
    for file in documents():
        commands += [
            ("redocly", "lint", "--extends=recommended", f"{file}.json"),
            ("spectral", "lint", "--fail-severity=error", f"{file}.json"),
            ("openapi-typescript", f"{file}.json", "-o", f"generated/{file}.d.ts"),
            ("openapi-ts", "-i", f"{file}.json", "-o", f"generated/hey-{file}", *plugins, "--silent"),
        ]
    silent = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    for tool, *arguments in [*commands, ("tsc", "-p", ".")]:
        if outcome.verdict is Verdict.OK:
            outcome = await run(folder, f"node_modules/.bin/{tool}", *arguments, environment=silent)
    return outcome


async def with_go(folder: Path) -> Outcome:
    """Compile what oapi-codegen makes."""
    # The installed toolchain, or none; nothing outside the clone is written.
    own = {
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-mod=readonly -modcacherw",
        "GOMODCACHE": str(CACHE / "go" / "mod"),
        "GOCACHE": str(CACHE / "go" / "build"),
    }
    outcome = await run(folder, "go", "mod", "download", fetches=True, environment=own)
    commands: list[tuple[str, ...]] = []
    for package in documents():
        (folder / package).mkdir(exist_ok=True)
        commands.append(("tool", "oapi-codegen", "-config", f"{package}.yaml", f"{package}.json"))
    for command in [*commands, ("build", "-o", "client", ".")]:
        if outcome.verdict is Verdict.OK:
            outcome = await run(folder, "go", *command, environment=own)
    return outcome


async def with_maven(folder: Path) -> Outcome:
    """Compile what openapi-generator makes for Java."""
    return await run(folder, *MAVEN, "compile", fetches=True)


MAVEN = ("mvn", "--batch-mode", "--quiet", f"-Dmaven.repo.local={CACHE / 'm2'}")
# In the arguments of a client, these are replaced by the server's address and the name of its sandbox.
STEERED = ("{server}", "{sandbox}")
TOOLCHAINS = (
    Toolchain(
        "node",
        ("node", "npm"),
        with_node,
        {program: ("node", f"built/{program}.js", *STEERED) for program in ("openapi-typescript", "hey-api")},
    ),
    Toolchain("go", ("go",), with_go, {"oapi-codegen": ("./client", *STEERED)}),
    Toolchain(
        "java",
        ("mvn", "javac"),
        with_maven,
        {"openapi-generator": (*MAVEN, "exec:java", f"-Dexec.args={' '.join(STEERED)}")},
    ),
)


async def steer(folder: Path, server: str, client: str, command: Sequence[str]) -> Outcome:
    """Run a client against the server: it must meet its fault once, and send its amount with exact digits."""
    arguments = [each.format(server=server, sandbox=client) for each in command]
    # Maven fetches its exec plugin at the first run.
    outcome = await run(folder, *arguments, fetches=True)
    if outcome.verdict is not Verdict.OK:
        return outcome
    # Maven ends its output with colour escape codes, with any options.
    if re.sub("\x1b\\[[0-9;]*m", "", outcome.output).split() != ["503", "200"]:
        return failed(f"{client} should meet 503 and 200", outcome.output)
    here = f"{server}/_paydouble/sandboxes/{client}"
    fired = [fault["times_fired"] for fault in await items(f"{here}/faults")]
    exact = [AMOUNT in request["body"].replace(" ", "") for request in await items(f"{here}/requests")]
    if (fired, exact) != ([1], [True, True]):
        return failed(f"{client} has faults that fired {fired} times, and its amounts are exact: {exact}")
    return ok()


async def items(url: str) -> list[dict[str, Any]]:
    """Return the items of a list of the control API."""
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        found: list[dict[str, Any]] = (await response.json())["items"]
        return found


async def run(folder: Path, *command: str, fetches: bool = False, environment: Mapping[str, str] = NOTHING) -> Outcome:
    """Run a command in a folder and capture its output; if packages cannot be fetched it is a skip."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={**os.environ, **environment},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    called = f"{Path(command[0]).name} {command[1]}"
    try:
        async with asyncio.timeout(SECONDS):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return (skipped if fetches else failed)(f"{called} did not end within {SECONDS} s")
    text = output.decode(errors="replace")
    if not process.returncode:
        return Outcome(Verdict.OK, output=text)
    if fetches and any(sign in text for sign in UNREACHABLE):
        return skipped(f"{called} cannot reach the registry of its packages")
    return failed(f"status {process.returncode} from {called}", text)
