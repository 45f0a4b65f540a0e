"""The module that the page about Node loads before a shop: it gives it the play's time, and marks its transactions."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from bounds import AT_MOST_SECONDS

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "machine-with-node.md"
# A driver with the two ways in which `pg` is called: with a callback, as its pool does, and with a promise.
PG = """
class Client {
  query(text, ...values) {
    console.log(text);
    const result = { rows: [] };
    const back = values.at(-1);
    if (typeof back === "function") setTimeout(back, 0, null, result);
    return typeof back === "function" ? undefined : Promise.resolve(result);
  }
}
module.exports = { Client };
"""
TRANSACTIONS = """
import pg from "pg";

const client = new pg.Client();
for (const end of ["COMMIT", "END"]) {
  try {
    await client.query("BEGIN");
    await client.query("INSERT INTO kept VALUES (1)");
    await client.query(end);
  } catch (error) {
    console.log(error.code);
    await client.query("ROLLBACK");
  }
}
await client.query("SELECT 1");
client.query("DELETE FROM kept", (error, { rows }) => console.log(error, rows.length));
"""
SERVER = """
import http from "node:http";

const shop = http.createServer((request, answer) => {
  globalThis.afterAnswer(async () => { await null; console.log("worked off"); });
  console.log("answers at", new Date().toISOString(), Date.now() === new Date().getTime(), new Date(0).getTime());
  answer.end();
}).listen(0, "127.0.0.1", async () => {
  const ask = (path) => fetch(`http://127.0.0.1:${shop.address().port}${path}`);
  await ask("/pay");
  console.log("drains");
  await ask("/test/drain");
  const { sleep } = await import("./play.mjs");
  await sleep(1499.5);
  console.log("slept until", new Date().toISOString());
  const began = performance.now();
  await new Promise((done) => AbortSignal.timeout(60_000).addEventListener("abort", done));
  console.log("waits for", performance.now() - began < 30_000 ? "a moment" : "a minute");
  shop.close();
  shop.closeAllConnections();
});
"""

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")


@contextmanager
def _clock(fails_at: int) -> Iterator[tuple[str, list[str]]]:
    """Serve a clock whose time moves when a shop sleeps, and one point of which meets a failing database."""
    told: list[str] = []

    class Clock(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            seconds = sum(float(each.removesuffix("ms")) / 1000 for each in told if each.endswith("ms"))
            self._answer(200, json.dumps({"now": f"2026-01-01T00:00:{seconds:06.3f}Z"}))

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/clock/advance":
                told.append(asked["by"])
            else:
                assert asked["concurrent"] is True
                told.append("in it" if asked["in_transaction"] else "beside it")
            self._answer(503 if len(told) == fails_at else 200, "{}")

        def _answer(self, status: int, body: str) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Clock) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/clock", told
        server.shutdown()


def _printed(shop: str, folder: Path, clock: str = "") -> list[str]:
    (code,) = re.findall(r"```javascript\n(// play\.mjs.+?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (folder / "node_modules" / "pg").mkdir(parents=True)
    (folder / "node_modules" / "pg" / "index.js").write_text(PG, "utf-8")
    (folder / "play.mjs").write_text(code, "utf-8")
    (folder / "shop.mjs").write_text(shop, "utf-8")
    environment = {**os.environ, "CLOCK_URL": clock}
    command = ["node", "--import", "./play.mjs", "shop.mjs"]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=AT_MOST_SECONDS
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_transactions_and_single_writes_are_points(tmp_path: Path) -> None:
    """A commit that fails is not sent; a read is no point, and a callback is called."""
    with _clock(fails_at=5) as (clock, told):
        printed = _printed(TRANSACTIONS, tmp_path, clock)

    begun = ["BEGIN", "INSERT INTO kept VALUES (1)"]
    assert printed == [
        *[*begun, "COMMIT"],
        *[*begun, "57P01", "ROLLBACK"],
        *["SELECT 1", "DELETE FROM kept", "null 0"],
    ]
    assert told == ["beside it", "in it", "beside it", "beside it", "in it", "beside it", "beside it"]


def test_a_server_has_the_time_of_the_play_and_drains(tmp_path: Path) -> None:
    """What it leaves for after its answer waits for the drain, and a long timeout is short."""
    with _clock(fails_at=0) as (clock, _):
        printed = _printed(SERVER, tmp_path, clock)

    assert printed == [
        "answers at 2026-01-01T00:00:00.000Z true 0",
        "drains",
        "worked off",
        "slept until 2026-01-01T00:00:01.500Z",
        "waits for a moment",
    ]


def test_without_a_clock_a_shop_is_as_it_is(tmp_path: Path) -> None:
    """No point, and nothing is held back."""
    transactions = ["BEGIN", "INSERT INTO kept VALUES (1)"]
    assert _printed(TRANSACTIONS, tmp_path) == [
        *[*transactions, "COMMIT", *transactions, "END"],
        *["SELECT 1", "DELETE FROM kept", "null 0"],
    ]
