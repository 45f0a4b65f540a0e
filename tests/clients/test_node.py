"""The client for Node: its checks, its own suite, and its package as a new user installs it."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import npm
import pytest

from paydouble.testing import Paydouble

pytestmark = pytest.mark.timeout(600)  # the first time its packages have to be fetched
ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / "clients"
SOURCE = CLIENTS / "node"
CACHE = ROOT / ".cache" / "clients" / "node"
SECONDS = 300
VITEST = ("node", str(CACHE / "node_modules" / "vitest" / "vitest.mjs"), "run")
# One realistic change to the shop of the example, and the test that is there for it.
MISTAKES = {
    "a lost reply is asked for again, and charged once": ('"Idempotency-Key": key', '"Idempotency-Key": randomUUID()'),
    "an event that comes twice ships once": ("&& !seen.has(event.id)", ""),
    "a shop that is down for two days learns within 72 hours that it was paid": (
        "if (app.locals.isDown) return response.sendStatus(503);",
        "if (app.locals.isDown) return response.sendStatus(200);",
    ),
    "a shop that asks too often waits as long as the 429 says": ("? pauseAfter(response)", "? 1000"),
}


def _files() -> list[Path]:
    left_out = {"node_modules", "dist"}
    found = [path for path in SOURCE.rglob("*") if path.is_file() and not left_out & {*path.relative_to(SOURCE).parts}]
    return sorted([*found, *CLIENTS.glob("*.yaml"), *CLIENTS.glob("*.json")])


@pytest.fixture(scope="session")
def client() -> Path:
    """Return a copy of the client, built and packed. The packages that it is developed with are in the folder above."""
    npm.install("clients/node", *((SOURCE / name).read_text("utf-8") for name in ("package.json", "package-lock.json")))
    digest = sha256(_run(SOURCE, "node", "--version").encode())
    for path in _files():
        digest.update(f"{path.relative_to(CLIENTS)}\n".encode() + path.read_bytes())
    copy, folder, made = CACHE / "copy", CACHE / "copy" / "node", CACHE / "copy" / "made-of"
    with (CACHE / "lock").open("w") as turn:  # parallel test processes take turns
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not made.exists() or made.read_text("utf-8") != digest.hexdigest():
            shutil.rmtree(copy, ignore_errors=True)
            for path in _files():
                target = copy / path.relative_to(CLIENTS)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
            shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
            _run(folder, "npm", "run", "build")
            _run(folder, "npm", "pack", "--ignore-scripts")
            made.write_text(digest.hexdigest(), "utf-8")
    return folder


@pytest.fixture(scope="module")
def server() -> Iterator[Paydouble]:
    """Give what `paydouble serve` would be."""
    with Paydouble.start() as running:
        yield running


@pytest.fixture
def project(client: Path, tmp_path: Path) -> Path:
    """Give an empty folder in which the packed client is installed; Vitest and Express are there too."""
    (tmp_path / "package.json").write_text('{"private": true}', "utf-8")
    # The package has no dependency, so nothing has to be fetched.
    _run(tmp_path, "npm", "install", "--offline", "--no-audit", "--no-fund", str(next(client.glob("*.tgz"))))
    for name in ("vitest", "express"):
        (tmp_path / "node_modules" / name).symlink_to(CACHE / "node_modules" / name)
    return tmp_path


def _start(folder: Path, command: tuple[str, ...], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command of Node's in a folder, without what our own environment says about servers."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PAYDOUBLE_", "NODE_"))}
    path = os.pathsep.join((str(Path(sys.executable).parent), inherited["PATH"]))
    program = shutil.which(command[0])
    assert program is not None
    return subprocess.run(
        [program, *command[1:]],
        cwd=folder,
        env={**inherited, "PATH": path, "NO_COLOR": "1", "npm_config_cache": str(CACHE / "npm"), **environment},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def _run(folder: Path, *command: str, **environment: str) -> str:
    """Run a command that must succeed; return what it has printed."""
    done = _start(folder, command, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def _mapped(url: str) -> Iterator[str]:
    """Give another address of a server, as a container engine maps a port."""

    class Forward(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as far:
                back = threading.Thread(target=_pump, args=(far, self.request))
                back.start()
                _pump(self.request, far)
                back.join()

    class Forwarder(socketserver.ThreadingTCPServer):
        request_queue_size = 256  # with the default of 5, many connections at once would wait for seconds

    with Forwarder(("127.0.0.1", 0), Forward) as forwarder:
        threading.Thread(target=forwarder.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{forwarder.server_address[1]}"
        finally:
            forwarder.shutdown()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _examples() -> list[str]:
    """Return the programs of the README."""
    return re.findall(r"^```js\n(.*?)^```$", (SOURCE / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)


def _outcomes(folder: Path, server: Paydouble) -> dict[tuple[str, str], str]:
    """Run Vitest; return the outcome of each test by its folder and its name."""
    report = folder / "report.json"
    _start(folder, (*VITEST, "--reporter=json", f"--outputFile={report}"), PAYDOUBLE_URL=server.url)
    results: list[dict[str, Any]] = json.loads(report.read_text("utf-8"))["testResults"]
    return {
        (Path(file["name"]).parent.name, test["title"]): test["status"]
        for file in results
        for test in file["assertionResults"]
    }


def test_the_code_is_clean(client: Path) -> None:
    """Prettier, eslint with its strictest rules, and `tsc --strict` have nothing to say.

    They take a quarter of a minute, and have nothing else to say of the same files: a new copy has no mark.
    """
    mark = client.parent / "clean"
    if not mark.exists():
        _run(client, "npm", "run", "--silent", "lint:built")
        mark.touch()


def test_the_types_are_those_of_the_served_document(client: Path, server: Paydouble) -> None:
    """The committed types of the control API are what openapi-typescript makes now."""
    done = _start(client, ("npm", "run", "types:check"), PAYDOUBLE_URL=server.url)

    assert done.returncode == 0, (
        f"{done.stderr}\nRun `paydouble serve`, and `npm run types` in clients/node; commit src/control-api.ts."
    )


def test_its_suite_passes(client: Path, server: Paydouble) -> None:
    """Against a server at PAYDOUBLE_URL."""
    _run(client, *VITEST, PAYDOUBLE_URL=server.url)


@pytest.mark.long
def test_its_suite_passes_at_a_mapped_port(client: Path, server: Paydouble) -> None:
    """The addresses in answers are those by which the client has reached the server."""
    with _mapped(server.url) as url:
        _run(client, *VITEST, "test/sandbox", "test/receiver", "example", PAYDOUBLE_URL=url)


def test_the_examples_of_the_readme_run_as_they_are(project: Path, server: Paydouble) -> None:
    """A new user installs the package, saves the first example, and it is green; so is the one for Vitest."""
    first, second, _ = re.findall(
        r"^```js\n(.*?)^```$", (SOURCE / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    (project / "payment.test.mjs").write_text(first, "utf-8")
    (project / "webhooks.test.js").write_text(second, "utf-8")

    report = _run(project, "node", "--test", "payment.test.mjs", PAYDOUBLE_URL=server.url)

    assert re.search("^. pass 1$", report, re.MULTILINE), report
    _run(project, *VITEST, "webhooks", PAYDOUBLE_URL=server.url)


def test_the_package_starts_a_server_by_itself(project: Path) -> None:
    """Without PAYDOUBLE_URL, the command `paydouble` on the PATH is started, once for all files if so configured."""
    first, second, _ = _examples()
    (project / "payment.test.mjs").write_text(first, "utf-8")
    for name in ("one", "two"):
        (project / f"{name}.test.js").write_text(f"{second}\nconsole.log('at', process.env.PAYDOUBLE_URL);\n", "utf-8")
    setup = '{ globalSetup: ["paydouble/global-setup"], include: ["*.test.js"] }'
    (project / "vitest.config.js").write_text(f"export default {{ test: {setup} }};\n", "utf-8")

    _run(project, "node", "--test", "payment.test.mjs")
    printed = _run(project, *VITEST)

    assert len(re.findall(r"^at http://\S+$", printed, re.MULTILINE)) == 2
    assert len(set(re.findall(r"^at (http://\S+)$", printed, re.MULTILINE))) == 1


def test_a_container_needs_a_package_more(project: Path) -> None:
    """Without `testcontainers`, an image is refused with what to do."""
    program = 'import { Paydouble } from "paydouble"; await Paydouble.start({ image: "paydouble" });'

    done = _start(project, ("node", "--input-type=module", "--eval", program))

    assert "ServerNotFound: the image paydouble needs the package testcontainers: npm install" in done.stderr


def test_the_example_finds_mistakes(project: Path, server: Paydouble) -> None:
    """The four tests pass with the shop as it is; each fails when the shop makes the mistake that it is there for."""
    shop = (SOURCE / "example" / "shop.js").read_text("utf-8")
    shops = {"right": shop}
    for number, (old, new) in enumerate(MISTAKES.values()):
        assert shop.count(old) == 1, old
        shops[f"wrong-{number}"] = shop.replace(old, new)
    for name, text in shops.items():
        shutil.copytree(SOURCE / "example", project / name, ignore=shutil.ignore_patterns("node_modules"))
        (project / name / "shop.js").write_text(text, "utf-8")
        (project / name / "package.json").unlink()

    outcomes = _outcomes(project, server)

    failed = {place for place, status in outcomes.items() if status != "passed"}
    assert len(outcomes) == len(shops) * len(MISTAKES)
    assert {title for place, title in outcomes if place == "right"} == set(MISTAKES)
    assert [place for place in failed if place[0] == "right"] == []
    assert failed >= {(f"wrong-{number}", title) for number, title in enumerate(MISTAKES)}


def test_the_guide_shows_what_is_tested() -> None:
    """Each block is in the example or in the README, and each of the four tests has at most fifteen lines."""
    page = (ROOT / "docs" / "how-to" / "use-from-node.md").read_text("utf-8")
    files = [*(SOURCE / "example").glob("*.js"), SOURCE / "README.md"]
    tried = "\n".join(path.read_text("utf-8") for path in files)
    shown = re.findall(r"^```(?:js|sh)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)

    assert [block for block in shown if block not in tried and "globalSetup" not in block] == []
    tests = {block.split('"')[1]: block.count("\n") for block in shown if block.startswith("test(")}
    assert set(MISTAKES) <= set(tests)
    assert max(tests[title] for title in MISTAKES) <= 15


def test_the_package_has_no_dependency() -> None:
    """At run time there is Node alone; what the entries for Vitest and Testcontainers need is optional."""
    package = json.loads((SOURCE / "package.json").read_text("utf-8"))

    assert "dependencies" not in package
    assert all(package["peerDependenciesMeta"][name]["optional"] for name in package["peerDependencies"])
