"""Known vulnerabilities in the locked dependencies, through pip-audit.

With a registry that has no advisories, pip-audit says "no known vulnerabilities" with status 0 and a `skip_reason` for
every package. That is not an audit, so the report itself is read. If advisories cannot be read the step is skipped with
the reason; a vulnerability is a failure.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

from outcome import Outcome, failed, ok, skipped

LOCKS = ("requirements-runtime.lock", "requirements.lock")
# pip-audit's last line when its service does not answer; any other error is a failure.
UNREACHABLE = ("ConnectionError", "Could not connect", "Max retries", "Server Error", "timed out")


def audit_locks() -> Outcome:
    """Audit both locks; the more severe verdict counts (verdicts are ordered by severity)."""
    outcomes = [audit(lock) for lock in LOCKS]
    return max(outcomes, key=lambda outcome: outcome.verdict.value)


def audit(lock: str) -> Outcome:
    """Audit one lock; with its hashes nothing has to be resolved."""
    command = [
        "pip-audit",
        "--requirement",
        lock,
        "--disable-pip",
        "--progress-spinner=off",
        "--format=json",
        "--desc=off",
    ]
    try:
        done = subprocess.run(
            [*command, "--cache-dir=.cache/pip-audit"],
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=300,
        )
    except subprocess.TimeoutExpired:
        return skipped("the advisory service did not answer within 300 s")
    except OSError as error:
        return failed(f"pip-audit does not start: {error.strerror}; make setup installs it")
    try:
        dependencies = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        return without_report(done)
    return judge(lock, dependencies)


def without_report(done: subprocess.CompletedProcess[str]) -> Outcome:
    """Return a skip if the service could not be reached, otherwise a failure."""
    last = (done.stderr.strip().splitlines() or ["no output"])[-1]
    if any(sign in last for sign in UNREACHABLE):
        return skipped(f"the advisory service cannot be reached ({last.partition(':')[0]})")
    return failed(f"pip-audit ended with status {done.returncode}", done.stderr)


def judge(lock: str, dependencies: list[dict[str, Any]]) -> Outcome:
    """Return the outcome of a report about a lock."""
    audited = [dependency for dependency in dependencies if "skip_reason" not in dependency]
    vulnerable = [
        f"{dependency['name']} {dependency['version']}: {finding['id']}, mended in {finding['fix_versions'] or 'none'}"
        for dependency in audited
        for finding in dependency["vulns"]
    ]
    if vulnerable:
        return failed(
            f"{len(vulnerable)} known in {lock}; `make upgrade` takes the mended versions", "\n".join(vulnerable)
        )
    if not audited:
        return skipped(
            f"the package registry here serves no advisories (asked for {len(dependencies)} packages of {lock})"
        )
    if missing := len(dependencies) - len(audited):
        return ok(f"{missing} of {len(dependencies)} packages of {lock} have no advisory record")
    return ok()
