"""Other mocks that get the same load: their versions, and how each is installed, started and asked.

A request is as close to a deposit as the peer's own API allows. Each is installed by the client of its registry, which
must be there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.load import DEPOSIT, PATH, deposit_request

_INSTALLED: Final = ".installed"
_ANSWER: Final = {
    "success": True,
    "data": {"id": "payin_000000000000000000000000", "status": "created", "amount": 49.9},
}
_STRIPE_BODY: Final = (
    b"amount=4990&currency=eur&metadata[order]=order-100042&metadata[country]=DE&metadata[first_name]=Ada"
    b"&metadata[last_name]=Lovelace&metadata[email]=ada.lovelace@merchant.test&metadata[cart]=c-1843&metadata[shop]=berlin"
)
_SIGNED: Final = (
    "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
)


class CannotInstall(Exception):
    """Why a peer cannot be measured on this machine."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A mock that can be installed and started."""

    name: str
    version: str
    tool: str
    """The program that starts it, if it is not its own."""
    install: Callable[[Path], Sequence[Sequence[str]]]
    """Returns the commands that install it into a folder."""
    start: Callable[[Path, int], Sequence[str]]
    """Returns the command that starts it from that folder, on a port."""
    request: Callable[[], bytes]
    """Returns a request that creates something."""
    lacks: str
    """What it does not do."""
    prepare: Callable[[], Sequence[bytes]] = tuple
    """Returns the requests that come before the first create."""
    keeps_connections: bool = True

    @property
    def title(self) -> str:
        """Return its name with its version."""
        return f"{self.name} {self.version}"

    def folder(self, cache: Path) -> Path:
        """Return where it is installed."""
        return cache / f"{self.name.lower()}-{self.version}"

    def ensure(self, cache: Path) -> Path:
        """Install it unless it is installed; return its folder. Raises `CannotInstall`."""
        folder = self.folder(cache)
        if shutil.which(self.tool) is None:
            raise CannotInstall(f"`{self.tool}` is not installed")
        if not (folder / _INSTALLED).exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for command in self.install(folder):
                _run(command, folder, cache)
            (folder / _INSTALLED).touch()
        return folder


def _run(command: Sequence[str], folder: Path, cache: Path) -> None:
    """Run a command of an installation; everything that it keeps is below the cache. Raises `CannotInstall`."""
    if shutil.which(command[0]) is None:
        raise CannotInstall(f"`{command[0]}` is not installed")
    environment: Mapping[str, str] = {
        **os.environ,
        "UV_CACHE_DIR": str(cache / "uv"),
        "npm_config_cache": str(cache / "npm"),
        "GOPATH": str(cache / "go"),
        "GOBIN": str(folder),
        "GOFLAGS": "-modcacherw",
    }
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise CannotInstall(f"`{Path(command[0]).name}` cannot install it: {lines[-1] if lines else done.returncode}")


def _go(module: str, version: str) -> Callable[[Path], Sequence[Sequence[str]]]:
    return lambda _: [["go", "install", f"{module}@v{version}"]]


def _pip(requirement: str) -> Callable[[Path], Sequence[Sequence[str]]]:
    uv = [sys.executable, "-m", "uv"]
    return lambda folder: [
        [*uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)],
        [*uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python"), requirement],
    ]


def _npm(package: str) -> Callable[[Path], Sequence[Sequence[str]]]:
    return lambda folder: [
        ["npm", "install", "--no-audit", "--no-fund", "--loglevel", "error", "--prefix", str(folder), package],
        _document(folder),
    ]


def _document(folder: Path) -> list[str]:
    """Return the command that writes paydouble's own OpenAPI document, from which a peer makes its answers."""
    write = (
        "import pathlib, subprocess, sys; pathlib.Path(sys.argv[1]).write_bytes(subprocess.check_output(sys.argv[2:]))"
    )
    return [sys.executable, "-c", write, str(folder / "openapi.json"), sys.executable, "-m", "paydouble", "openapi"]


def _maven(artifact: str) -> Callable[[Path], Sequence[Sequence[str]]]:
    stub = {
        "request": {"method": "POST", "urlPath": PATH},
        "response": {"status": 200, "headers": {"Content-Type": "application/json"}, "jsonBody": _ANSWER},
    }
    write = "import pathlib, sys; p = pathlib.Path(sys.argv[1]); p.parent.mkdir(); p.write_text(sys.argv[2])"
    return lambda folder: [
        [
            "mvn",
            "--batch-mode",
            "--quiet",
            f"-Dmaven.repo.local={folder.parent / 'm2'}",
            "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy",
            f"-Dartifact={artifact}",
            f"-DoutputDirectory={folder}",
        ],
        [sys.executable, "-c", write, str(folder / "mappings" / "deposit.json"), json.dumps(stub)],
    ]


def _stripe_request() -> bytes:
    return _post(
        "/v1/payment_intents",
        {
            "Authorization": "Bearer sk_test_123",
            "Idempotency-Key": str(uuid.uuid4()),
            "Content-Type": "application/x-www-form-urlencoded",
        },
        _STRIPE_BODY,
    )


def _table() -> list[bytes]:
    key = {"AttributeName": "id"}
    table = {
        "TableName": "deposits",
        "KeySchema": [{**key, "KeyType": "HASH"}],
        "AttributeDefinitions": [{**key, "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    return [_dynamodb("CreateTable", table)]


def _item() -> bytes:
    item = {"id": {"S": str(uuid.uuid4())}, "deposit": {"S": DEPOSIT.decode()}}
    return _dynamodb("PutItem", {"TableName": "deposits", "Item": item})


def _dynamodb(operation: str, body: object) -> bytes:
    headers = {
        "Authorization": _SIGNED,
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        "Content-Type": "application/x-amz-json-1.0",
    }
    return _post("/", headers, json.dumps(body).encode())


def _post(path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


# The versions are pinned here and nowhere else.
PEERS: Final = (
    Peer(
        "stripe-mock",
        "0.203.0",
        "go",
        _go("github.com/stripe/stripe-mock", "0.203.0"),
        lambda folder, port: [str(folder / "stripe-mock"), "-http-port", str(port)],
        _stripe_request,
        "keep state; replay by idempotency key (it only echoes the key); webhooks; scenarios; faults",
    ),
    Peer(
        "localstripe",
        "1.15.10",
        sys.executable,
        _pip("localstripe==1.15.10"),
        lambda folder, port: [str(folder / "bin" / "localstripe"), "--port", str(port), "--from-scratch"],
        _stripe_request,
        "idempotency keys; more than one attempt of a webhook; a clock; scenarios; faults",
    ),
    Peer(
        "WireMock",
        "3.13.2",
        "java",
        _maven("org.wiremock:wiremock-standalone:3.13.2"),
        lambda folder, port: [
            "java",
            "-jar",
            str(folder / "wiremock-standalone-3.13.2.jar"),
            "--port",
            str(port),
            "--bind-address",
            "127.0.0.1",
            "--root-dir",
            str(folder),
            "--disable-banner",
        ],
        deposit_request,
        "payments, idempotency keys and their states unless you write a stub for each case; signatures and retries of "
        "webhooks; a clock",
    ),
    Peer(
        "Prism",
        "5.16.0",
        "node",
        _npm("@stoplight/prism-cli@5.16.0"),
        lambda folder, port: [
            "node",
            str(folder / "node_modules" / ".bin" / "prism"),
            "mock",
            "-h",
            "127.0.0.1",
            "-p",
            str(port),
            str(folder / "openapi.json"),
        ],
        deposit_request,
        "keep state; idempotency keys; signatures and retries of callbacks; a clock; scenarios; faults except a status",
    ),
    Peer(
        "Mockoon",
        "9.9.0",
        "node",
        _npm("@mockoon/cli@9.9.0"),
        lambda folder, port: [
            "node",
            str(folder / "node_modules" / ".bin" / "mockoon-cli"),
            "start",
            "--data",
            str(folder / "openapi.json"),
            "--hostname",
            "127.0.0.1",
            "--port",
            str(port),
        ],
        deposit_request,
        "payments and idempotency keys unless you write a rule for each case; signatures and retries of callbacks; "
        "a clock",
    ),
    Peer(
        "moto",
        "5.2.5",
        sys.executable,
        _pip("moto[server]==5.2.5"),
        lambda folder, port: [str(folder / "bin" / "moto_server"), "-H", "127.0.0.1", "-p", str(port)],
        _item,
        "payments: it is a double of AWS, and here stores an item in a DynamoDB table; kept connections",
        _table,
        keeps_connections=False,
    ),
)
