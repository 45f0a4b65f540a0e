"""The workflows, ours and those to copy, are about files, commands and versions that exist; the sample runs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ports import free_port
from servers import running

from paydouble.runtime.host import ClockSpec, HostOptions
from paydouble.server import DEFAULT_SANDBOX, ServerOptions
from paydouble.version import __version__

ROOT = Path(__file__).parents[2]
OURS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SAMPLES = sorted((ROOT / "examples" / "github-actions").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def read(path: Path) -> dict[str, Any]:
    """Return a workflow; every value a text, since YAML 1.1 takes `on` for true."""
    document: dict[str, Any] = yaml.load(path.read_text("utf-8"), Loader=yaml.BaseLoader)  # noqa: S506 - it makes texts
    return document


def steps(path: Path) -> Iterator[dict[str, Any]]:
    """Yield each step of each job."""
    for job in read(path)["jobs"].values():
        yield from job.get("steps", ())


@pytest.mark.parametrize("path", [*OURS, *SAMPLES], ids=lambda path: path.stem)
def test_actions_are_pinned(path: Path) -> None:
    """Every action is named by a commit, with its version beside it, and the same one everywhere."""
    used = re.findall(r"uses: (\S+)(.*)", path.read_text("utf-8"))

    loose = [name for name, version in used if not re.fullmatch(r"[\w/.-]+@[0-9a-f]{40} # v[\d.]+", name + version)]

    assert loose == [name for name, _ in used if name.startswith("./")]


@pytest.mark.parametrize("path", [*OURS, *SAMPLES], ids=lambda path: path.stem)
def test_jobs_get_no_more_than_they_need(path: Path) -> None:
    """By default a job may read the repository and nothing else, and every job that runs steps ends some day."""
    workflow = read(path)

    assert workflow["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job for job in workflow["jobs"].values() if "steps" in job)


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_our_workflows_run_what_is_there(path: Path) -> None:
    """Every file of the repository and every make target that a step names exists."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    scripts = "\n".join(step.get("run", "") for step in steps(path))

    for name in re.findall(r"(?<![\w/])(?:tools|\.ci|examples)/[\w./-]+", scripts):
        assert (ROOT / name).exists(), name
    for target in re.findall(r"(?:\bmake|\.ci/run) ([\w-]+)", scripts):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for step in steps(path):
        assert "uses" in step or "run" in step


def test_ci_runs_every_supported_python() -> None:
    """The oldest Python of the matrix is the oldest that the package allows; one more job runs what is long."""
    jobs = read(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]
    check = jobs["check"]

    versions = check["strategy"]["matrix"]["python"]

    assert f">={versions[0]}" == PROJECT["requires-python"]
    assert [int(version.removeprefix("3.")) for version in versions] == list(range(11, 11 + len(versions)))
    assert check["steps"][-1]["run"] == ".ci/run"
    assert jobs["long"]["steps"][-1]["run"] == ".ci/run long"
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_a_release_needs_its_checks_first() -> None:
    """Nothing is published before the checks and the build have passed."""
    jobs = read(ROOT / ".github" / "workflows" / "release.yml")["jobs"]

    def before(name: str) -> set[str]:
        needs = jobs[name].get("needs", [])
        direct = {needs} if isinstance(needs, str) else set(needs)
        return direct.union(*(before(other) for other in direct))

    for name in ("image", "package", "announce"):
        assert {"check", "build"} <= before(name)
    assert "linux/amd64,linux/arm64" in (ROOT / ".github/workflows/release.yml").read_text("utf-8")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_samples_ask_for_this_version(path: Path) -> None:
    """The image and the package of a sample are of the present minor version, and its extras exist."""
    text = path.read_text("utf-8")
    minor = __version__.rpartition(".")[0]

    asked = re.findall(r"paydouble:([\d.]+)|paydouble(?:\[\w+\])?~=([\d.]+)\.0", text)

    assert [image or package for image, package in asked] == [minor]
    for extra in re.findall(r"paydouble\[(\w+)\]", text):
        assert extra in PROJECT["optional-dependencies"]


def test_the_page_shows_the_samples() -> None:
    """docs/how-to/run-in-ci.md holds each sample word for word."""
    shown = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/how-to/run-in-ci.md").read_text("utf-8"), re.DOTALL)

    assert shown == [path.read_text("utf-8") for path in SAMPLES]


async def test_the_image_sample_runs(tmp_path: Path) -> None:
    """The steps of the sample that uses the image pass, here against a server without a container."""
    if not shutil.which("curl"):
        pytest.skip("curl is not installed here; the steps of the sample are made of it")
    path = ROOT / "examples" / "github-actions" / "image.yml"
    assert read(path)["jobs"]["test"]["services"]["paydouble"]["env"]["PAYDOUBLE_CLOCK"] == "manual"
    script = "set -eo pipefail\n" + "\n".join(step["run"] for step in steps(path) if "run" in step)
    shop = f"http://127.0.0.1:{free_port()}"
    default = DEFAULT_SANDBOX._replace(notification_url=f"{shop}/webhooks")
    options = ServerOptions(port=0, default_sandbox=default, shared=HostOptions(clock=ClockSpec("manual")))
    said = tmp_path / "said.txt"
    async with running(options) as client:
        with said.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                *("bash", "-c", script),
                cwd=ROOT,
                env={**os.environ, "SERVICE": f"http://127.0.0.1:{client.server.port}", "SHOP": shop},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            status = await process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)  # the shop is still open, as it is in the job

    assert status == 0, said.read_text()
