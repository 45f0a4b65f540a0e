"""The pages of `docs/` as a reader takes them: their blocks in order, and a terminal to type the commands into.

A comment before a block says what a test does with it; Markdown shows none of it:

    <!-- run -->                       type it into the page's terminal (sh), or run it (python); it must succeed
    <!-- run: exits 1 -->              the same, and it must end with this status
    <!-- run: background NAME -->      start it, and go on when it has printed its first line
    <!-- file: NAME -->                save it under this name
    <!-- append: NAME -->              put it at the end of that file
    <!-- prints -->                    what the command before has printed, `…` for any text, alone for any lines
    <!-- prints: NAME -->              what a background command has printed by and by
    <!-- needs: PROGRAM -->            anywhere: without this program the page is skipped
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Self

from bounds import AT_MOST_SECONDS
from ports import free_port

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[a-z]+)(?:: (?P<argument>[^\n]+?))? -->\n+)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# A first `go test` compiles its standard library.
_PATIENCE_SECONDS = 300.0
# Where the pages say that servers listen; each page of a test run gets ports of its own instead.
_SERVER, _RECEIVER, _OTHERS = "8080", "8081", ("8000", "8443")


class Block(NamedTuple):
    """One fenced block."""

    line: int
    mark: str
    argument: str
    language: str
    text: str


def pages() -> list[Path]:
    """Return every page of the documentation."""
    return sorted(DOCS.rglob("*.md"))


def blocks(page: Path) -> Iterator[Block]:
    """Yield a page's blocks in their order."""
    text = page.read_text("utf-8")
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        yield Block(line, found["mark"] or "", found["argument"] or "", found["language"], found["text"])


def needs(page: Path) -> list[str]:
    """Return the programs that a page cannot be tried without."""
    return re.findall(r"^<!-- needs: (\S+) -->$", page.read_text("utf-8"), re.MULTILINE)


def prose(page: Path) -> str:
    """Return a page without its blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def shape(expected: str) -> re.Pattern[str]:
    """Return what a printed text looks like: `…` is any text of a line, alone any lines; blanks may be more."""
    lines = [
        r"(?:.*\n)*" if line == "…" else re.sub(r"(?:\\ )+", " +", re.escape(line)).replace("…", ".*") + r" *\n"
        for line in expected.splitlines()
    ]
    return re.compile("".join(lines))


class Program:
    """A process whose output is read as it comes."""

    def __init__(self, command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
        """Start it, as the head of a process group of its own."""
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
        )
        self._changed = threading.Condition()
        self._ended = False
        self.printed = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def type(self, text: str) -> None:
        """Write to its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write(text)
        self._process.stdin.flush()

    def wait(self, pattern: re.Pattern[str], start: int = 0, seconds: float = AT_MOST_SECONDS) -> re.Match[str] | None:
        """Return where a pattern has come up in what is printed after `start`, or None when it does not in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or pattern.search(self.printed, start), seconds)
            return pattern.search(self.printed, start)

    def end(self) -> None:
        """Stop it and all that it has started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(AT_MOST_SECONDS)
        self._reader.join(AT_MOST_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self.printed += line
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class Terminal:
    """A shell in an empty folder, as a reader of one page has it, and the programs that run beside it."""

    def __init__(self, folder: Path) -> None:
        """Open it; every port that the pages name stands for a free one."""
        self._folder = folder / "here"
        home = folder / "home"
        for each in (self._folder, home):
            each.mkdir()
        self._ports = {name: free_port() for name in (_SERVER, _RECEIVER, *_OTHERS)}
        # A page shows what works; whether every branch of ours is taken, faster tests say.
        others = ("PAYDOUBLE_", "PYTEST_", "COVERAGE_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
        self._environment = {
            **kept,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}",
            "HOME": str(home),  # some programs leave something there
            "PYTHONUNBUFFERED": "1",
            # A reader has pytest and paydouble, and not the plugins that this repository is tested with.
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_ADDOPTS": "-p paydouble.testing.plugin",
            "GOCACHE": str(ROOT / ".cache" / "go-build"),
        }
        # What the reader does not type, because there the ports are the usual ones.
        self._before = (
            'paydouble() { case "$1" in '
            f'serve) command paydouble "$@" --port {self._ports[_SERVER]} ;; '
            f'receive) command paydouble "$@" --port {self._ports[_RECEIVER]} ;; '
            f'trigger) command paydouble "$@" --server http://127.0.0.1:{self._ports[_SERVER]} ;; '
            '*) command paydouble "$@" ;; esac; }\n'
        )
        self._shell = Program(["bash"], self._folder, self._environment)
        self._shell.type(self._before)
        self._beside: dict[str, Program] = {}
        self.printed = ""

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all that runs."""
        for program in (self._shell, *self._beside.values()):
            program.end()

    def follow(self, block: Block) -> None:
        """Do what a block is marked with; `AssertionError` when it does not come out as the page says."""
        text = self._with_ports(block.text)
        if block.mark in {"file", "append"}:
            path = self._folder / block.argument
            path.parent.mkdir(parents=True, exist_ok=True)
            before = path.read_text("utf-8") if block.mark == "append" else ""
            path.write_text(before + text, "utf-8")
        elif block.mark == "prints":
            self._compare(text, block.argument)
        elif block.argument.startswith("background "):
            self._start(block.argument.removeprefix("background "), text)
        elif block.mark == "run":
            self._run(text, block.language, int(block.argument.removeprefix("exits ") or 0))
        else:
            raise AssertionError(f"the mark {block.mark!r} is not known")

    def _run(self, text: str, language: str, wanted: int) -> None:
        if language == "python":
            text = f"python - <<'END OF SNIPPET'\n{text}END OF SNIPPET\n"
        seal = secrets.token_hex(8)
        start = len(self._shell.printed)
        self._shell.type(f'{text}\nprintf "\\n{seal} %s\\n" "$?"\n')
        ended = self._shell.wait(re.compile(rf"\n{seal} (\d+)\n"), start, _PATIENCE_SECONDS)
        self.printed = self._shell.printed[start : ended.start() if ended else None]
        assert ended is not None, f"it does not end; so far it has printed\n{self.printed}"
        assert int(ended[1]) == wanted, f"it ends with status {ended[1]}, not {wanted}, and has printed\n{self.printed}"

    def _start(self, name: str, text: str) -> None:
        program = Program(["bash", "-c", self._before + text], self._folder, self._environment)
        self._beside[name] = program
        assert program.wait(re.compile(r"\n")), f"{name} does not start: {program.printed}"

    def _compare(self, expected: str, name: str) -> None:
        pattern = shape(expected)
        if name:
            program = self._beside[name]
            assert program.wait(pattern), f"{name} should have printed\n{expected}\nand has printed\n{program.printed}"
        else:
            printed = self.printed.removesuffix("\n") + "\n"
            assert pattern.fullmatch(printed), f"it should have printed\n{expected}\nand has printed\n{printed}"

    def _with_ports(self, text: str) -> str:
        return re.sub(r"\b(80(?:80|81|00)|8443)\b", lambda found: str(self._ports[found[0]]), text)
