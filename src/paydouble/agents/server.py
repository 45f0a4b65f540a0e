"""The tools and pages as a server of the Model Context Protocol, on standard input and output.

Tools that are refused answer with the reason and `is_error`, so that the agent can correct its arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import anyio.to_thread
import mcp_types as types
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from paydouble.agents.tools import Tool
from paydouble.core.errors import PaydoubleError
from paydouble.version import __version__
from paydouble.web.pages import shipped_pages

_SCHEME: Final = "paydouble://"
PAGES: Final = {
    "api": "The contract of the payment service: operations, idempotency, errors, webhooks.",
    "failure-modes": "What goes wrong in integrations with payment services, and how each case is tested.",
    "faults": "Every fault: its attributes, when it fires, and what the caller meets.",
    "errors": "Every error of the service and of the control API.",
}
"""The pages that an agent can read → what is in them."""
_INSTRUCTIONS: Final = (
    "A double of a payment service, for tests. Make a sandbox, give its base_url and credentials to the code under "
    "test, arm faults, advance the clock, and ask what happened. Nothing here moves money."
)


def server(tools: Sequence[Tool]) -> Server[Any]:
    """Return a server that offers tools, and the pages."""
    by_name = {tool.name: tool for tool in tools}

    async def list_tools(
        _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_shown(tool) for tool in tools])

    async def call_tool(_: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = by_name.get(params.name)
        if tool is None:
            return _answer(f"There is no tool {params.name[:64]!r}; there are {', '.join(by_name)}.", refused=True)
        # In a thread, since a tool waits for the server.
        return await anyio.to_thread.run_sync(_carried_out, tool, params.arguments or {})

    async def list_resources(
        _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(name=name, uri=_SCHEME + name, description=text, mime_type="text/markdown")
                for name, text in PAGES.items()
            ]
        )

    async def read_resource(
        _: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        name = str(params.uri).removeprefix(_SCHEME)
        if name not in PAGES:
            message = f"There is no resource {str(params.uri)[:64]!r}; there are {', '.join(PAGES)}."
            raise MCPError(types.INVALID_PARAMS, message)
        text = shipped_pages()[f"reference/{name}.md"].read_text("utf-8")
        page = types.TextResourceContents(uri=_SCHEME + name, mime_type="text/markdown", text=text)
        return types.ReadResourceResult(contents=[page])

    return Server(
        "paydouble",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


def _carried_out(tool: Tool, arguments: dict[str, Any]) -> types.CallToolResult:
    problem = best_match(Draft202012Validator(tool.schema).iter_errors(arguments))
    if problem is not None:
        place = ".".join(map(str, problem.absolute_path))
        return _answer(f"{place}: {problem.message}" if place else problem.message, refused=True)
    try:
        return _answer(tool.run(arguments), refused=False)
    except PaydoubleError as error:
        return _answer(str(error), refused=True)


def _answer(text: str, *, refused: bool) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=refused)


def _shown(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=tool.reads_only, open_world_hint=False)
    return types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema, annotations=hints)


async def serve(tools: Sequence[Tool]) -> None:
    """Serve on standard input and output until the input ends."""
    made = server(tools)
    async with stdio_server() as (reading, writing):
        await made.run(reading, writing, made.create_initialization_options())
