"""`paydouble mcp`, through the official client of the Model Context Protocol, over real standard input and output."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from described_shop import described_shop
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from paydouble.agents.server import PAGES
from paydouble.agents.server import server as offered
from paydouble.agents.tools import Server, tools
from paydouble.cli.main import run
from paydouble.testing import Paydouble
from paydouble.webhooks.signing import sign

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def server() -> Iterator[Paydouble]:
    """Yield a server on a port of its own."""
    with Paydouble.start() as running:
        yield running


def _agent(server: str, merchant: Path | None = None) -> Client:
    """Return a client of the same tools, in this process."""
    return Client(offered(tools(Server(server, None), merchant)))


def _command(server: str, *more: str) -> Client:
    """Return a client whose server is the command, as an agent starts it."""
    arguments = ["-m", "paydouble", "mcp", "--server", server, *more]
    started = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    return Client(stdio_client(started))


async def _text(agent: Client, tool: str, **arguments: Any) -> str:  # noqa: ANN401 - JSON
    result = await agent.call_tool(tool, arguments)
    (content,) = result.content
    text: str = content.text  # type: ignore[union-attr]  # every tool answers with a text
    assert not result.is_error, text
    return text


async def test_an_agent_sees_at_most_twelve_tools(server: Paydouble, tmp_path: Path) -> None:
    """Each has a description and a schema that stands alone; the clauses need a merchant file."""
    path = tmp_path / "merchant.yaml"
    path.write_text(json.dumps(described_shop(tmp_path)))
    async with _agent(server.url, path) as agent:
        listed = (await agent.list_tools()).tools

    page = (ROOT / "docs" / "how-to" / "use-with-an-agent.md").read_text("utf-8")
    assert len(listed) == 12
    assert [tool.name for tool in listed if f"`{tool.name}`" not in page] == []
    assert listed[-1].name == "run_clause"
    for tool in listed:
        assert tool.description, tool.name
        assert "#/components" not in json.dumps(tool.input_schema), tool.name
    (fault,) = [tool for tool in listed if tool.name == "add_fault"]
    assert '"connection_reset"' in json.dumps(fault.input_schema)


async def test_an_agent_finds_a_lost_reply(server: Paydouble) -> None:
    """It makes a sandbox, arms a fault, plays a scenario, moves the clock, and reads what happened."""
    async with _command(server.url) as agent:
        made = json.loads(await _text(agent, "make_sandbox", id="agents", clock="manual"))
        assert made["base_url"].endswith("/api/v1")
        fault = {"type": "drop"}
        await _text(agent, "add_fault", sandbox="agents", effect=fault, match={"event_type": "pay-in.succeeded"})
        assert "card-declined" in await _text(agent, "list_scenarios", sandbox="agents")
        pay_in = json.loads(await _text(agent, "play_scenario", sandbox="agents", name="happy-path"))
        await _text(agent, "advance_clock", sandbox="agents", by="1h")
        told = await _text(agent, "what_happened", sandbox="agents")
        await _text(agent, "remove_faults", sandbox="agents")
        await _text(agent, "set_pay_in_status", sandbox="agents", pay_in=pay_in["id"], to="failed", force=True)
        verdict = json.loads(await _text(agent, "verify_requests", sandbox="agents", count=0))

    assert "pay-in.succeeded" in told
    assert "drop" in told
    assert verdict["passed"] is True
    assert server.find("agents").pay_ins.get(pay_in["id"]).status == "failed"


async def test_an_agent_learns_why_a_signature_fails(server: Paydouble) -> None:
    """The answer names the mistake; a right signature verifies."""
    box = server.sandbox(id="signed")
    body = b'{"amount": 49.90}'
    at = int(box.clock.read().now.timestamp())
    async with _agent(server.url) as agent:
        right = await _text(
            agent, "explain_signature", sandbox="signed", header=sign(body, box.webhook_secret, at), body=body.decode()
        )
        wrong = await _text(
            agent, "explain_signature", sandbox="signed", header=sign(body, "other", at), body=body.decode()
        )

    assert right == "It verifies."
    assert wrong.startswith("It does not verify: ")


async def test_an_agent_plays_a_clause(tmp_path: Path, server: Paydouble) -> None:
    """What was seen and how to fix it are in the answer."""
    path = tmp_path / "merchant.yaml"
    path.write_text(json.dumps(described_shop(tmp_path, "believes everybody")))
    async with _agent(server.url, path) as agent:
        broken = await _text(agent, "run_clause", clause="W1.4")
        kept = await _text(agent, "run_clause", clause="W1.1")

    assert broken.startswith("W1.4 is broken (M)")
    assert "\nfix: " in broken
    assert kept.startswith("W1.1 is kept")


async def test_wrong_arguments_are_answered_with_the_reason(server: Paydouble) -> None:
    """The agent can correct itself: unknown tools, unknown members, wrong types, and what the server refuses."""
    async with _agent(server.url) as agent:
        for tool, arguments, said in (
            ("make_money", {}, "There is no tool 'make_money'; there are make_sandbox, "),
            ("advance_clock", {"days": 3}, "'days' was unexpected"),
            ("advance_clock", {"by": 3.5, "limit": "x"}, "limit: 'x' is not of type"),
            ("advance_clock", {"sandbox": "nowhere", "by": "1h"}, "nowhere"),
            ("advance_clock", {"sandbox": "../../x", "by": "1h"}, "x"),
            ("add_fault", {"effect": {"type": "no_response", "seconds": 3}}, "seconds"),
        ):
            result = await agent.call_tool(tool, arguments)
            assert result.is_error, tool
            assert said in result.content[0].text  # type: ignore[union-attr]  # as in `_text`


async def test_a_server_that_is_not_there_is_named() -> None:
    """The tools are listed all the same, and a call says where nothing answers."""
    async with _agent("http://127.0.0.1:1") as agent:
        assert (await agent.list_tools()).tools
        result = await agent.call_tool("list_scenarios", {})

    assert result.is_error
    assert "http://127.0.0.1:1" in result.content[0].text  # type: ignore[union-attr]  # as in `_text`


async def test_an_agent_reads_the_contract(server: Paydouble) -> None:
    """Each page is there, and an unknown one is refused by name."""
    async with _agent(server.url) as agent:
        listed = [str(each.uri) for each in (await agent.list_resources()).resources]
        pages = [(await agent.read_resource(uri)).contents[0] for uri in listed]
        with pytest.raises(Exception, match="There is no resource"):
            await agent.read_resource("paydouble://secrets")

    assert [each.removeprefix("paydouble://") for each in listed] == list(PAGES)
    assert all(page.text.startswith("# ") for page in pages)  # type: ignore[union-attr]  # every page is a text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--server", "localhost"], "'localhost' is not a server's URL; write it like http://localhost:8080"),
        (["--merchant", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_wrong_options(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They are refused before anything is served."""
    assert run(["mcp", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_without_the_extra_the_command_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message has the command that installs it."""
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    monkeypatch.delitem(sys.modules, "paydouble.agents.server", raising=False)

    assert run(["mcp"]) == 2
    assert "pip install 'paydouble[mcp]'" in capsys.readouterr().err
