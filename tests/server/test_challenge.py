"""Clients that send credentials only after a challenge can log in (RFC 9110, RFC 7617)."""

from __future__ import annotations

import asyncio
import json
import shutil
import urllib.request
from pathlib import Path

import pytest
from drive import deposit_body, key
from servers import Client

PASSWORD = "sandbox_secret"
JAVA = """
import java.net.*;
import java.net.http.*;

public class Ask {
    public static void main(String[] given) throws Exception {
        var asks = new Authenticator() {
            protected PasswordAuthentication getPasswordAuthentication() {
                return new PasswordAuthentication("sandbox_key", "sandbox_secret".toCharArray());
            }
        };
        var client = HttpClient.newBuilder().authenticator(asks).build();
        var request = HttpRequest.newBuilder(URI.create(given[0])).header("Content-Type", "application/json")
            .header("Idempotency-Key", given[1]).POST(HttpRequest.BodyPublishers.ofString(given[2])).build();
        System.out.println(client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode());
    }
}
"""


def _deposits(client: Client) -> str:
    return f"http://127.0.0.1:{client.server.port}/api/v1/pay-in/deposit-creation"


async def _output(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return output.decode()


async def test_pythons_own_client_logs_in(client: Client) -> None:
    """`HTTPBasicAuthHandler` waits for a challenge that it understands."""
    passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
    passwords.add_password(None, _deposits(client), "sandbox_key", PASSWORD)
    opener = urllib.request.build_opener(urllib.request.HTTPBasicAuthHandler(passwords))
    headers = {"Content-Type": "application/json", "Idempotency-Key": key(1)}
    request = urllib.request.Request(_deposits(client), json.dumps(deposit_body()).encode(), headers)  # noqa: S310 - http

    def ask() -> int:
        with opener.open(request, timeout=30) as response:
            status: int = response.status
            return status

    assert await asyncio.to_thread(ask) == 200


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
async def test_curl_logs_in_when_it_is_asked(client: Client) -> None:
    """`--anyauth` first asks for the scheme."""
    headers = ("-H", "Content-Type: application/json", "-H", f"Idempotency-Key: {key(1)}")
    told = ("-o", "/dev/null", "-w", "%{http_code}")

    status = await _output(
        *("curl", "-s", "--anyauth", "-u", f"sandbox_key:{PASSWORD}", *headers, *told),
        *("-d", json.dumps(deposit_body()), _deposits(client)),
    )

    assert status == "200"


@pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK on this machine")
async def test_javas_own_client_logs_in(client: Client, tmp_path: Path) -> None:
    """`HttpClient` fails with an exception at a 401 without a challenge."""
    source = tmp_path / "Ask.java"
    source.write_text(JAVA, "utf-8")

    assert await _output("java", str(source), _deposits(client), key(1), json.dumps(deposit_body())) == "200\n"
