"""The `paydouble` command: finds the subcommand, and turns every refusal into one line and an exit status.

Exit statuses are in `core/exit_status.py`.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from importlib import import_module
from typing import Final

import click

from paydouble.cli.terminal import Unwritable, say
from paydouble.core.errors import PaydoubleError
from paydouble.core.exit_status import ExitStatus

# name -> (module, what `--help` says); the module is imported when the command is used.
COMMANDS: Final = {
    "serve": ("serve", "Run the server until it is stopped."),
    "demo": ("demo", "Play five scenarios in a second: deposits, refunds, a dispute, 50 hours of outage."),
    "scenario": ("scenario", "List, show, check and draw scenarios: what happens to a payment, as small files."),
    "trigger": ("trigger", "Play a scenario on a running server, and print what happens as it happens."),
    "conformance": ("conformance", "Say in a file how a shop of any language is reached, and try the file."),
    "explore": ("explore", "Look for bugs in a shop of any language: fixed plays, then random ones."),
    "replay": ("replay", "Play a run file again and compare each byte, or tell its story to a living shop."),
    "show": ("show", "Print what happened in a run file, or write it as HTML."),
    "shrink": ("shrink", "Make the story of a run file shorter, with the shop that it is about."),
    "receive": ("receive", "Run a webhook receiver that verifies and prints what it gets."),
    "webhook": ("webhook", "Send a sample webhook from a running server, and print the result."),
    "signature": ("signature", "Make a webhook signature, or find out why one does not verify."),
    "mcp": ("mcp", "Give an agent the tools of a running server, by the Model Context Protocol."),
    "openapi": ("openapi", "Print the OpenAPI document."),
    "healthcheck": ("healthcheck", "Exit with 0 when a server is well."),
    "completion": ("completion", "Print the completion script of a shell."),
    "version": ("version", "Print the version."),
}


class LazyGroup(click.Group):
    """A group that imports a command's module only when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names, in the order of the table."""
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        cmd_name: str,
    ) -> click.Command | None:
        """Return a command, or None."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"paydouble.cli.{COMMANDS[cmd_name][0]}"), cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101 - for mypy; the table is ours
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _say_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    """Print the version and end, as `paydouble version` does."""
    if value and not ctx.resilient_parsing:
        from paydouble.version import __version__

        say(__version__)
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_say_version, help="Print the version."
)
def cli() -> None:
    """Stand in for a payment service in tests: its API, its signed webhooks, and 72 hours of retries in a second."""
    # `__main__` has switched the collector off for the imports. `serve` switches it on itself, as soon as it listens.
    if click.get_current_context().invoked_subcommand != "serve":
        gc.enable()


def run(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit status; a refusal is one line on standard error."""
    try:
        result = cli.main(args=arguments, prog_name="paydouble", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        say(*error.format_message().split("\n"), err=True)
        return ExitStatus.UNUSABLE
    except (click.ClickException, PaydoubleError) as error:
        from paydouble.cli.refusals import find_called, write_refusal

        called = find_called(cli, sys.argv[1:] if arguments is None else arguments)
        if isinstance(error, Unwritable):
            sys.stdout = None  # or Python would complain when it flushes at exit
        with contextlib.suppress(Unwritable):
            say(*write_refusal(error, called), err=True)
        return ExitStatus.UNUSABLE
    except (click.Abort, KeyboardInterrupt):
        return ExitStatus.INTERRUPTED
    except SystemExit as error:
        # click puts a wrapper in place of a pipe that has been closed, and ends with 1; but its reader has seen enough,
        # and nothing went wrong.
        closed = type(sys.stdout).__name__.endswith("PacifyFlushWrapper")
        return ExitStatus.DONE if closed else _status(error)
    return result if isinstance(result, int) else ExitStatus.DONE


def _status(error: SystemExit) -> int:
    return error.code if isinstance(error.code, int) else int(error.code is not None)
