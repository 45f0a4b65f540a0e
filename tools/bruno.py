"""Runs the Bruno collection against its own server, with Bruno's runner from npm.

The runner is installed once into `.cache/bruno`. Its dependencies are those of a fixed day (npm's `--before`), which is
as good as a lock and 190 KB smaller; their install scripts are not run. Without Node or npm's registry the step is
skipped.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from pathlib import Path

from outcome import Outcome, Verdict, failed, ok, skipped
from paydouble.server import Server, ServerOptions

COLLECTION = Path("bruno")
CACHE = Path(".cache/bruno").resolve()
VERSION, AS_OF = "4.1.0", "2026-11-20"
RUNNER = CACHE / "node_modules" / ".bin" / "bru"
INSTALL_SECONDS = 300


def check_bruno() -> Outcome:
    """Run the whole collection, in order, against a new server."""
    if (installed := install()).verdict is not Verdict.OK:
        return installed
    report = CACHE / "report.json"
    status, output = asyncio.run(send(report))
    if status:
        return failed("a request of the collection is not answered as it expects", output)
    summary = json.loads(report.read_text("utf-8"))[0]["summary"]
    return ok(f"{summary['passedRequests']} requests, {summary['passedAssertions']} assertions")


async def send(report: Path) -> tuple[int, str]:
    """Run the collection against a server on a free port; return the runner's status and output."""
    async with Server(ServerOptions(port=0)) as server:
        # Bruno's own sandbox for scripts is not always ready for the first request; the collection is ours, so
        # Node's is safe enough.
        options = ["--env=local", f"--env-var=server={server.base_url}", "--sandbox=developer", "--noproxy"]
        runner = await asyncio.create_subprocess_exec(
            *(str(RUNNER), "run", "-r", *options, f"--reporter-json={report}"),
            cwd=COLLECTION,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await runner.communicate()
        return runner.returncode or 0, output.decode(errors="replace")


def install() -> Outcome:
    """Install the runner if necessary; a skip says what is missing."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return skipped("node and npm are not installed here; Bruno's runner comes from npm")
    manifest = CACHE / "node_modules" / "@usebruno" / "cli" / "package.json"
    if RUNNER.exists() and manifest.exists() and json.loads(manifest.read_text("utf-8"))["version"] == VERSION:
        return ok()
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE / "package.json").write_text('{"name": "bruno-runner", "private": true}\n')
    quiet = ["--no-audit", "--no-fund", "--no-save", "--no-package-lock", "--ignore-scripts", "--fetch-retries=1"]
    place = [f"--cache={CACHE.parent / 'npm'}", f"--prefix={CACHE}", f"--before={AS_OF}"]
    try:
        done = subprocess.run(
            [npm, "install", *quiet, *place, f"@usebruno/cli@{VERSION}"],
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=INSTALL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return skipped(f"npm could not install Bruno's runner within {INSTALL_SECONDS} s")
    if done.returncode:
        return skipped(f"npm could not install Bruno's runner {VERSION} ({(done.stderr.split(chr(10)) or ['?'])[0]})")
    return ok()
