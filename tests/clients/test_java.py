"""The clients for Java: built, tested and packed by Maven against a server, and used from an empty project."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from paydouble.testing import Paydouble
from paydouble.version import __version__

ROOT = Path(__file__).parents[2]
JAVA = ROOT / "clients" / "java"
GUIDE = ROOT / "docs" / "how-to" / "use-from-java.md"
CACHE = ROOT / ".cache" / "clients" / "java"
# The local repository that tools/generators.py fills too, so that nothing is downloaded twice.
REPOSITORY = ROOT / ".cache" / "m2"
GROUP = REPOSITORY / "io" / "github" / "paydouble"
# What Maven says when it cannot fetch something.
UNREACHABLE = ("Could not transfer", "Unknown host", "Connection refused", "Connect timed out")
JARS = ("", "-sources", "-javadoc")

pytestmark = pytest.mark.timeout(600)  # a first run downloads the plugins


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a server."""
    with Paydouble.start() as server:
        yield server.url


@pytest.fixture(scope="module")
def built(url: str) -> str:
    """The output of the whole build, which ends with jars in the local repository."""
    CACHE.mkdir(parents=True, exist_ok=True)
    # Parallel processes of a run take turns; the first one builds.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    kept = CACHE / "built.txt"
    with (CACHE / "lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if run is not None and kept.exists():
            built_by, _, output = kept.read_text("utf-8").partition("\n")
            if built_by == run:
                return output
        output = mvn(
            JAVA, "--threads=2", "install", f"-Drevision={__version__}", f"-Dbuild.root={CACHE / 'build'}", url=url
        )
        kept.write_text(f"{run}\n{output}", "utf-8")
        return output


def mvn(folder: Path, *arguments: str, url: str) -> str:
    """Run Maven in a folder and return its output; skips the test where it or a download cannot be had."""
    if missing := [program for program in ("mvn", "javac") if shutil.which(program) is None]:
        pytest.skip(f"{' and '.join(missing)} not installed here")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PAYDOUBLE_")}
    path = os.pathsep.join((str(Path(sys.executable).parent), kept["PATH"]))
    done = subprocess.run(
        ["mvn", "--batch-mode", "--no-transfer-progress", f"-Dmaven.repo.local={REPOSITORY}", *arguments],
        cwd=folder,
        # Maven does not live long enough for its code to be worth compiling well.
        env={"MAVEN_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", **kept, "PATH": path, "PAYDOUBLE_URL": url},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    if done.returncode and any(sign in said for sign in UNREACHABLE):
        pytest.skip("Maven cannot fetch what it needs")
    assert done.returncode == 0, said
    return said


def counted(output: str) -> list[int]:
    """Return how many tests each module has run."""
    found = re.findall(r"Tests run: (\d+), Failures: 0, Errors: 0, Skipped: \d+$", output, re.MULTILINE)
    return [int(number) for number in found]


def test_the_clients_are_built_and_tested(built: str) -> None:
    """The format, Error Prone, javadoc and the tests of all three modules have nothing to report."""
    assert "BUILD SUCCESS" in built
    assert [line for line in re.findall(r"^\[WARNING\] .*$", built, re.MULTILINE) if "Tests run" not in line] == []
    assert len(counted(built)) == 3


@pytest.mark.parametrize("artifact", ["paydouble-junit5", "paydouble-testcontainers"])
def test_an_artifact_is_complete(built: str, artifact: str) -> None:
    """Its jar, its sources, its javadoc, and a pom that needs no other of ours than the client."""
    folder = GROUP / artifact / __version__
    pom = (folder / f"{artifact}-{__version__}.pom").read_text("utf-8")

    assert [jar for jar in JARS if not (folder / f"{artifact}-{__version__}{jar}.jar").is_file()] == []
    assert "<parent>" not in pom
    assert "${" not in pom


def test_at_run_time_there_is_jackson_alone(built: str) -> None:
    """The client brings no other dependency; JUnit is the project's own."""
    name = f"paydouble-junit5-{__version__}.pom"
    pom = (GROUP / "paydouble-junit5" / __version__ / name).read_text("utf-8")

    found = re.findall(r"<artifactId>(\S+)</artifactId>\s*<version>\S+</version>\s*<scope>(\w+)</scope>", pom)

    assert found == [("jackson-databind", "compile"), ("junit-jupiter-api", "provided")]


def test_the_first_example_passes_as_it_stands(built: str, url: str, tmp_path: Path) -> None:
    """In an empty project, with the installed jars: no line beyond those of the README."""
    page = (JAVA / "README.md").read_text("utf-8")
    for name, text in re.findall(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    output = mvn(tmp_path, "test", url=url)

    assert counted(output) == [1]


@pytest.mark.parametrize("page", [JAVA / "README.md", GUIDE], ids=lambda page: page.name)
def test_a_page_names_this_version(page: Path) -> None:
    """The dependency to copy has the server's version, in which it is released."""
    text = page.read_text("utf-8")

    assert re.findall(r"<artifactId>paydouble-junit5</artifactId>\s*<version>(.*?)</version>", text) == [__version__]


def test_the_page_shows_the_example() -> None:
    """Each Java block of the how-to is in the example, word for word."""
    code = "\n".join(path.read_text("utf-8") for path in (JAVA / "example").rglob("*.java"))
    blocks = re.findall(r"^```java\n(.*?)^```$", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)

    missing = [block for block in blocks if re.sub(r"^(?=.)", "  ", block, flags=re.MULTILINE) not in code]

    assert missing == []
    assert len(blocks) >= 5


def test_the_tests_of_the_example_are_short() -> None:
    """Four tests of at most fifteen lines each."""
    code = (JAVA / "example" / "src" / "test" / "java" / "shop" / "ShopTest.java").read_text("utf-8")

    tests = re.findall(r"^  @PaydoubleTest\n.*?^  }$", code, re.MULTILINE | re.DOTALL)

    assert len(tests) == 4
    assert max(test.count("\n") + 1 for test in tests) <= 15
