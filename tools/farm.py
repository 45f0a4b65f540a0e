"""Four servers behind nginx under load: `python tools/farm.py --minutes 10 --shards 50`.

Each shard is a process of CI that makes a sandbox, pays, moves the clock, checks that it sees its own requests and
events and nobody else's, and deletes the sandbox; then it begins again. Halfway one server is killed with SIGKILL: its
sandboxes have to end with an error that says so, and all others must not notice. Printed are the rounds, what went
wrong, the memory of each server, and the rate against one server without a proxy.
"""

from __future__ import annotations

import argparse
import http.client
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from paydouble.testing import ControlRefused, Paydouble, ServerGone

ROOT: Final = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "support"))

from ports import free_ports  # noqa: E402 - from the folder that was just added

SERVERS: Final = 4
_PAYMENTS: Final = 5


@dataclass(slots=True)
class Found:
    """What all shards have seen together."""

    rounds: int = 0
    after_kill: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    """The errors of sandboxes whose server was killed."""
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def server(port: int, instance: str | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server, and end it."""
    more = [] if instance is None else ["--instance", instance]
    with subprocess.Popen(
        [sys.executable, "-m", "paydouble", "serve", "--port", str(port), "--quiet", "--clock", "manual", *more],
        stdout=subprocess.DEVNULL,
    ) as process:
        try:
            wait_for(f"http://127.0.0.1:{port}")
            yield process
        finally:
            process.kill()


@contextmanager
def proxy(folder: Path, port: int, servers: Sequence[int]) -> Iterator[str]:
    """Run nginx with the shipped configuration at other ports; yield its URL."""
    for name in ("nginx.conf", "servers.conf"):
        text = (ROOT / "deploy" / name).read_text("utf-8")
        text = re.sub(r"127\.0\.0\.1:808(\d)", lambda found: f"127.0.0.1:{servers[int(found[1]) - 1]}", text)
        text = text.replace("listen 8080", f"listen 127.0.0.1:{port}")
        (folder / name).write_text(text, "utf-8")
    options = f"daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;"
    with subprocess.Popen(["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", options]) as process:
        try:
            wait_for(f"http://127.0.0.1:{port}")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def wait_for(url: str) -> None:
    """Wait until a server answers."""
    until = time.monotonic() + 60
    with Paydouble.connect(url) as found:
        while True:
            try:
                found.health()
            except (ServerGone, ControlRefused):
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
            else:
                return


def one_round(double: Paydouble, shard: int, number: int) -> str:
    """Play one test of a shard; return what was wrong, or an empty text."""
    box = double.sandbox(ttl="10m", labels={"shard": str(shard)})
    try:
        orders = [f"shard-{shard}-{number}-{each}" for each in range(_PAYMENTS)]
        for order in orders:
            box.scenarios.play("happy-path", external_identifier=order)
        box.clock.advance("1h")
        seen = {each.document["external_identifier"]: each.status for each in box.pay_ins.list()}
        if seen != dict.fromkeys(orders, "succeeded"):
            return f"other payments than its own, or unpaid ones: {seen}"
        events = box.events.list(type="pay-in.succeeded")
        if len(events) != len(orders):
            return f"{len(events)} events for {len(orders)} payments"
        status = answered(box.base_url, box.auth.header)
        return "" if status == 200 else f"the API answered {status}"  # noqa: PLR2004 - HTTP
    finally:
        box.delete()


def answered(base_url: str, authorization: str) -> int:
    """Return the status of a call of the API with the credentials of a sandbox."""
    parts = urlsplit(base_url)
    with closing(http.client.HTTPConnection(parts.netloc, timeout=60)) as connection:
        connection.request("GET", f"{parts.path}/pay-in?limit=1", headers={"Authorization": authorization})
        return connection.getresponse().status


@dataclass(slots=True)
class Kill:
    """The end of a server: from its first event on sandboxes may end, and from its second one none does."""

    begins: threading.Event = field(default_factory=threading.Event)
    is_over: threading.Event = field(default_factory=threading.Event)


def shard(url: str, which: int, until: float, kill: Kill, found: Found) -> None:
    """Play rounds until the end, and one at least that begins after the kill, however slow the machine is."""
    number, begun_after = 0, False
    with Paydouble.connect(url) as double:
        while not begun_after or time.monotonic() < until:
            number += 1
            begun_after = kill.is_over.is_set()
            try:
                problem = one_round(double, which, number)
            except (ControlRefused, ServerGone) as error:
                with found.lock:
                    if kill.begins.is_set() and not begun_after:
                        found.ended[re.sub(r"'[^']*'", "…", str(error))] += 1
                    else:
                        found.wrong[str(error)[:160]] += 1
                continue
            with found.lock:
                found.rounds += 1
                found.after_kill += begun_after
                if problem:
                    found.wrong[problem[:160]] += 1


def under_load(url: str, shards: int, seconds: float, victim: subprocess.Popen[bytes] | None) -> Found:
    """Let shards play for a time; kill a server at its half."""
    found, kill = Found(), Kill()
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=shard, args=(url, each, until, kill, found)) for each in range(shards)]
    for thread in threads:
        thread.start()
    if victim is not None:
        time.sleep(seconds / 2)
        kill.begins.set()
        victim.send_signal(signal.SIGKILL)
        victim.wait()
    kill.is_over.set()
    for thread in threads:
        thread.join()
    return found


def memory(process: subprocess.Popen[bytes]) -> float:
    """Return the resident memory of a process, in MB."""
    text = Path(f"/proc/{process.pid}/status").read_text("utf-8")
    return int(re.findall(r"VmRSS:\s+(\d+) kB", text)[0]) / 1e3


def main() -> int:
    """Run the farm; the status is 1 when something went wrong, or no round ended after the kill."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--shards", type=int, default=50)
    options = parser.parse_args()
    if shutil.which("nginx") is None:
        print("nginx is not installed")
        return 3
    seconds = options.minutes * 60
    with ExitStack() as running, tempfile.TemporaryDirectory() as folder:
        port, *ports = free_ports(1 + SERVERS)
        farm = [running.enter_context(server(each, f"i{number}")) for number, each in enumerate(ports, 1)]
        url = running.enter_context(proxy(Path(folder), port, ports))
        under_load(url, options.shards, seconds / 20, None)  # until every server has its usual size
        before = [memory(each) for each in farm]
        started = time.monotonic()
        found = under_load(url, options.shards, seconds, farm[-1])
        rate = found.rounds / (time.monotonic() - started)
        after = [memory(each) for each in farm[:-1]]
        with Paydouble.connect(url) as double:
            left = len([each for each in double.sandboxes() if "default" not in each.id])
    with server(port):
        started = time.monotonic()
        alone = under_load(f"http://127.0.0.1:{port}", options.shards, seconds / 10, None)
        single = alone.rounds / (time.monotonic() - started)
    print(f"{options.shards} shards, {SERVERS} servers, {options.minutes:g} minutes: {found.rounds} rounds")
    print(f"{found.after_kill} rounds began after one server was killed; {sum(found.ended.values())} were cut off:")
    for text, number in found.ended.most_common(5):
        print(f"  {number} × {text}")
    print(f"wrong: {sum(found.wrong.values())}")
    for text, number in found.wrong.most_common(5):
        print(f"  {number} × {text}")
    print("memory of the servers that stayed, before and after, in MB:")
    print("  " + ", ".join(f"{one:.0f} → {two:.0f}" for one, two in zip(before, after, strict=False)))
    print(
        f"{rate:.1f} rounds a second, {single:.1f} with one server and no proxy; sandboxes left on one server: {left}"
    )
    # Nothing is proved by rounds that were all cut off.
    return 0 if found.after_kill and alone.rounds and not found.wrong and not alone.wrong else 1


if __name__ == "__main__":
    sys.exit(main())
