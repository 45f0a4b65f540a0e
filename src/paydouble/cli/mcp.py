"""`paydouble mcp`: the tools of a running server for an agent, by the Model Context Protocol.

Exit statuses: 0 when standard input ends, 2 unusable arguments or file.
"""

from __future__ import annotations

from pathlib import Path

import click

from paydouble.cli.options import control_token_option, server_option
from paydouble.core.errors import UsageError

_EXTRA = "the extra mcp is missing; install it with: pip install 'paydouble[mcp]'"


@click.command(short_help="Give an agent the tools of a running server.")
@server_option()
@control_token_option()
@click.option(
    "--merchant",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A merchant file, against whose shop single clauses can be played.",
)
def mcp(*, url: str, token: str | None, merchant: Path | None) -> None:
    """Offer the tools of a running server on standard input and output, by the Model Context Protocol.

    The tools make sandboxes, play scenarios, arm faults, advance the clock, and say what happened. They reach this
    server alone, and the shop of the merchant file if one is given.
    """
    from paydouble.agents.tools import Server, tools

    try:
        import anyio

        from paydouble.agents.server import serve
    except ImportError:
        raise UsageError(_EXTRA) from None
    if merchant is not None:
        from paydouble.conformance.merchant_file import read_merchant

        read_merchant(merchant)
    anyio.run(serve, tools(Server(url, token), merchant))
