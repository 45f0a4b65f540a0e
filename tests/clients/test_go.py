"""The Go modules of `clients/go`: their own checks and tests run against a server, as their users run them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from client_calls import write_as_json

from paydouble.testing import Paydouble
from paydouble.version import __version__

ROOT = Path(__file__).parents[2]
GO = ROOT / "clients" / "go"
GUIDE = ROOT / "docs" / "how-to" / "use-from-go.md"
CACHE = ROOT / ".cache" / "clients" / "go"
MODULES = ("paydoubletest", "paydoublecontainer", "example")
# The modules that need nothing but the standard library.
OWN = ("paydoubletest", "example")
# A mistake of the example's shop, for each of its tests.
MISTAKES = {
    "TestALostReplyIsNotChargedTwice": ("s.deposit(order.Key,", "s.deposit(strconv.Itoa(attempt)+order.Key[1:],"),
    "TestADuplicateIsBookedOnce": ("|| s.seen[event.ID]", ""),
    "TestTwoDaysOfDowntimeLoseNothing": ("s.seen[event.ID]", "s.seen[event.Data.Object.ExternalIdentifier]"),
    "TestARateLimitIsWaitedFor": ("time.Duration(max(seconds, 1)) * time.Second", "time.Duration(min(seconds, 1))"),
}
NOTHING: Mapping[str, str] = MappingProxyType({})
# What `go` says when a module cannot be fetched.
UNREACHABLE = ("dial tcp", "no such host", "server response:", "i/o timeout", "TLS handshake timeout")

pytestmark = pytest.mark.timeout(480)  # a first run compiles the standard library


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a server."""
    with Paydouble.start() as server:
        yield server.url


def go(folder: Path, *command: str, environment: Mapping[str, str] = NOTHING, fetches: bool = False) -> str:
    """Run a command in a folder and return its output; skips the test where Go or a module cannot be had."""
    if shutil.which("go") is None:
        pytest.skip("go is not installed here")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PAYDOUBLE_")}
    own = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # has the command paydouble
        "GOTOOLCHAIN": "local",  # the installed one, or none
        "GOFLAGS": "-modcacherw -buildvcs=false",
        "GOMODCACHE": str(CACHE / "mod"),
        "GOCACHE": str(CACHE / "build"),
    }
    done = subprocess.run(
        command,
        cwd=folder,
        env={**kept, **own, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    if done.returncode and fetches and any(sign in said for sign in UNREACHABLE):
        pytest.skip(f"{' '.join(command[:3])} cannot fetch its modules")
    if done.returncode and "requires go >=" in said:
        pytest.skip(f"the installed Go is too old: {said.strip()}")
    assert done.returncode == 0, said
    return done.stdout


def fetched(module: str) -> Path:
    """Return the folder of a module whose dependencies are there; skips the test where they cannot be had."""
    if module not in OWN:
        go(GO / module, "go", "mod", "download", fetches=True)
    return GO / module


def test_the_code_is_formatted() -> None:
    """Gofmt would change nothing."""
    assert go(GO, "gofmt", "-l", ".") == ""


@pytest.mark.parametrize("module", MODULES)
def test_vet_finds_nothing(module: str) -> None:
    """Neither in the code nor in the tests, and the go.mod is complete."""
    go(fetched(module), "go", "vet", "./...")


def test_staticcheck_finds_nothing() -> None:
    """With the pinned version, in every module without dependencies."""
    tool = CACHE / "bin" / "staticcheck"
    go(fetched("checks"), "go", "build", "-o", str(tool), "honnef.co/go/tools/cmd/staticcheck")

    for module in OWN:
        go(
            GO / module,
            str(tool),
            "-checks",
            "all",
            "./...",
            environment={"STATICCHECK_CACHE": str(CACHE / "staticcheck")},
        )


@pytest.mark.parametrize("module", MODULES)
def test_the_tests_pass(module: str, url: str, tmp_path: Path) -> None:
    """With the table of calls, against a server at an address."""
    write_as_json(tmp_path)

    printed = go(
        fetched(module),
        *("go", "test", "-count=1", "-vet=off", "-v", "./..."),
        environment={"PAYDOUBLE_URL": url, "PAYDOUBLE_CALLS": str(tmp_path)},
    )

    skipped = re.findall(r"^\s*--- SKIP: (\S+)", printed, re.MULTILINE)
    assert skipped == (["TestAContainerServesAndReachesTheReceiver"] if module == "paydoublecontainer" else [])


@pytest.mark.parametrize(
    "test", [pytest.param(each, marks=[pytest.mark.long] if at else []) for at, each in enumerate(MISTAKES)]
)
def test_the_tests_of_the_shop_find_a_mistake(test: str, url: str, tmp_path: Path) -> None:
    """Each of the four fails when the shop makes the mistake that it is there for."""
    right, wrong = MISTAKES[test]
    folder = tmp_path / "example"
    shutil.copytree(GO / "example", folder)
    for name, old, new in (("go.mod", "=> ..", f"=> {GO}"), ("shop.go", right, wrong)):
        text = (folder / name).read_text("utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new), "utf-8")

    with pytest.raises(AssertionError, match=f"(?s)--- FAIL: {test}.*paydouble timeline of sandbox"):
        go(folder, "go", "test", "-vet=off", "-run", f"^{test}$", environment={"PAYDOUBLE_URL": url})


def test_the_guide_shows_the_example() -> None:
    """Each block of Go is in the example, each command in the README, and no test is longer than 15 lines."""
    page = GUIDE.read_text("utf-8")
    sources = [path.read_text("utf-8") for path in (GO / "example").glob("*.go")]
    shown = _blocks(page, "go")

    assert [block for block in shown if not any(block in source for source in sources)] == []
    tests = [block for block in shown if block.startswith("func Test")]
    assert [re.findall(r"func (\w+)", block)[0] for block in tests] == list(MISTAKES)
    assert max(len(block.splitlines()) - 2 for block in tests) <= 15
    readme = (GO / "README.md").read_text("utf-8")
    assert _blocks(page, "sh")[:2] == [_blocks(readme, "")[0], *_blocks(readme, "sh")]


def _blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def proxy(folder: Path) -> Mapping[str, str]:
    """Return the environment of somebody who gets the released modules, and nothing else, in an empty cache."""
    made = subprocess.run(
        [sys.executable, ROOT / "tools" / "go_modules.py", folder / "proxy"], capture_output=True, text=True, check=True
    )
    assert len(made.stdout.split()) == 2
    return {
        "GOPROXY": f"file://{folder / 'proxy'}",
        "GONOSUMDB": "*",
        "GOMODCACHE": str(folder / "mod"),
    }


def test_the_first_example_passes_from_the_released_module(tmp_path: Path) -> None:
    """In an empty folder, with the command on the PATH: no line beyond those of the README."""
    environment = proxy(tmp_path)
    page = (GO / "README.md").read_text("utf-8")
    [example] = _blocks(page, "go")
    folder = tmp_path / "payments"
    folder.mkdir()
    (folder / "payments_test.go").write_text(example, "utf-8")

    go(folder, "go", "mod", "init", "example.test/payments", environment=environment)
    go(folder, *_blocks(page, "")[0].split(), environment=environment)
    printed = go(folder, "go", "test", "-v", "./...", environment=environment)

    assert "--- PASS: TestALostReplyIsNotChargedTwice" in printed
    assert f"paydoubletest v{__version__}" in (folder / "go.mod").read_text("utf-8")


def test_the_first_example_passes_from_a_clone(url: str, tmp_path: Path) -> None:
    """With the command of the README, which names the clone in the folder beside; nothing is fetched."""
    page = (GO / "README.md").read_text("utf-8")
    [command] = _blocks(page, "sh")
    (tmp_path / "paydouble").symlink_to(ROOT)
    folder = tmp_path / "payments"
    folder.mkdir()
    (folder / "payments_test.go").write_text(_blocks(page, "go")[0], "utf-8")
    environment = {"GOPROXY": "off", "PAYDOUBLE_URL": url}

    go(folder, "go", "mod", "init", "example.test/payments", environment=environment)
    go(folder, "sh", "-c", command, environment=environment)
    printed = go(folder, "go", "test", "-v", "./...", environment=environment)

    assert "--- PASS: TestALostReplyIsNotChargedTwice" in printed
    assert f"@v{__version__} " in command


def test_the_modules_have_the_servers_version() -> None:
    """What requires `paydoubletest` requires the version that is released with it."""
    for module in MODULES[1:]:
        found = re.findall(r"paydoubletest (v\S+)", (GO / module / "go.mod").read_text("utf-8"))
        assert found == [f"v{__version__}"], module


def test_the_repository_of_a_release_is_checked(tmp_path: Path) -> None:
    """A repository in which `go get` would not find the modules is refused, with what to change."""
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "go_modules.py", tmp_path, "--repository", "git.example.test/pay"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "git.example.test/pay/clients/go/paydoubletest" in done.stderr
    assert list(tmp_path.iterdir()) == []
