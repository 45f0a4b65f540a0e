"""What the pages say about points between commits, in the languages in which they say it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "another-process.md"
SHOP = """
import { checkpoint } from "./checkpoint.mjs";

for (let number = 1; number <= 3; number += 1) {
  try {
    checkpoint();
    console.log(`commit ${number}`);
  } catch (error) {
    console.log(error.message);
  }
}
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_a_synchronous_checkpoint_of_node_waits_for_its_answer(tmp_path: Path) -> None:
    """It says that no other call may come in, fails as the database would, and keeps no process alive."""
    (code,) = re.findall(r"```javascript\n// checkpoint\.mjs\n(.+?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "checkpoint.mjs").write_text(code, "utf-8")
    (tmp_path / "shop.mjs").write_text(SHOP, "utf-8")
    bodies: list[object] = []

    class Clock(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(503 if len(bodies) == 2 else 204)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Clock) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        clock = f"http://127.0.0.1:{server.server_port}/clock"
        environment = {**os.environ, "CLOCK_URL": clock}
        done = subprocess.run(
            ["node", "shop.mjs"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        server.shutdown()

    assert (done.stdout.splitlines(), done.stderr) == (["commit 1", "the database is down", "commit 3"], "")
    assert bodies == [("/clock/checkpoint", {"in_transaction": True})] * 3
