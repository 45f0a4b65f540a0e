"""The private names that the fast path uses are listed, and without any of them requests are still answered."""

from __future__ import annotations

import ast
import asyncio
import inspect

import pytest
from aiohttp.web_protocol import RequestHandler
from servers import running

from paydouble.server import ServerOptions
from paydouble.web import connections, fast_path, http_server, private_names
from paydouble.web.connections import Connection
from paydouble.web.fast_path import FastConnection, FastParser

NAMES = [(owner, name) for owner, names in private_names.NEEDED.items() for name in names]


def test_this_aiohttp_has_them_all() -> None:
    """The locked version supports the fast path."""
    assert private_names.missing() == []


def _private(node: ast.AST) -> set[str]:
    return {
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute) and each.attr.startswith("_") and not each.attr.startswith("__")
    }


@pytest.mark.parametrize("module", [connections, fast_path, http_server], ids=lambda module: module.__name__)
def test_every_private_name_is_written_down(module: object) -> None:
    """A name that begins with an underscore is one of ours, or in the table."""
    own = {name for kind in (FastParser, Connection, FastConnection) for name in (*vars(kind), *kind.__slots__)}
    own |= {"_answer", "_make", "_serve"}  # methods of the server
    own -= {name for _, name in NAMES}
    used = _private(ast.parse(inspect.getsource(module)))  # type: ignore[arg-type]  # a module

    assert used - own - {name for _, name in NAMES} == set()


def _made(monkeypatch: pytest.MonkeyPatch) -> list[type]:
    """Return the list to which the kind of each new connection is added."""
    made: list[type] = []
    connecting = RequestHandler.connection_made

    def connect(self: RequestHandler, transport: asyncio.BaseTransport) -> None:
        made.append(type(self))
        connecting(self, transport)

    monkeypatch.setattr(RequestHandler, "connection_made", connect)
    return made


@pytest.mark.parametrize(("owner", "name"), NAMES, ids=[f"{owner.__name__}.{name}" for owner, name in NAMES])
async def test_without_a_name_the_ordinary_way_answers(owner: type, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every deposit is answered, and the terminal says once what is missing."""
    have = private_names.has
    monkeypatch.setattr(private_names, "has", lambda kind, each: (kind, each) != (owner, name) and have(kind, each))
    said: list[str] = []
    made = _made(monkeypatch)

    async with running(ServerOptions(port=0, say=said.append)) as client:
        box = await client.sandbox()
        pay_ins = [await box.deposit() for _ in range(2)]

    assert [pay_in["status"] for pay_in in pay_ins] == ["created", "created"]
    assert set(made) == {Connection}
    assert said == [f"This aiohttp has no {owner.__name__}.{name}; requests are answered without the fast path."]


@pytest.mark.parametrize(("fast", "kind"), [(True, FastConnection), (False, Connection)])
async def test_the_fast_path_can_be_switched_off(*, fast: bool, kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """`PAYDOUBLE_FAST_PATH=0` makes every connection an ordinary one."""
    made = _made(monkeypatch)

    async with running(ServerOptions(port=0, fast_path=fast)) as client:
        pay_in = await (await client.sandbox()).deposit()

    assert (pay_in["status"], set(made)) == ("created", {kind})
