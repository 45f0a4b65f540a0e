"""`paydouble signature make` and `check`: sign a body by hand, and find out why a signature does not verify.

Exit status: 0 done or verified, 1 the signature does not verify, 2 arguments or files that cannot be used.
"""

import contextlib
import sys
import time
from pathlib import Path

import click

from paydouble.cli.terminal import say
from paydouble.core.exit_status import ExitStatus

# More than any webhook has; an endless stream is refused.
LARGEST_BODY = 2**24


class Unusable(click.ClickException):
    """An argument or a file cannot be used: one line, and exit status 2."""

    exit_code = ExitStatus.UNUSABLE


_secret = click.option(
    "--secret",
    required=True,
    envvar="PAYDOUBLE_WEBHOOK_SECRET",
    show_envvar=True,
    help="The webhook secret, such as whsec_sandbox.",
)
_body = click.option(
    "--body", "body_source", required=True, metavar="FILE", help="The file with the exact body; - reads standard input."
)


@click.group()
def signature() -> None:
    """Make and check the X-Service-Signature of a webhook."""


@signature.command(short_help="Print the header's value for a body.")
@_secret
@_body
@click.option(
    "--at", type=click.IntRange(min=0), metavar="UNIX", help="When it is signed, in Unix seconds.  [default: now]"
)
def make(secret: str, body_source: str, at: int | None) -> None:
    """Print the header's value for a body, and nothing else."""
    from paydouble.webhooks.signing import sign

    _refuse_blank(secret)
    body = _read_body(body_source)
    say(sign(body, secret, int(time.time()) if at is None else at))


@signature.command(short_help="Say whether a signature verifies, or why not.")
@_secret
@click.option("--header", required=True, metavar="VALUE", help="The X-Service-Signature that was received.")
@_body
@click.option(
    "--tolerance",
    type=click.IntRange(min=0),
    default=300,
    show_default=True,
    help="How far t may be from now, in seconds.",
)
@click.option(
    "--now", type=click.IntRange(min=0), metavar="UNIX", help="The time of receipt, in Unix seconds.  [default: now]"
)
def check(secret: str, header: str, body_source: str, tolerance: int, now: int | None) -> None:
    """Say whether a signature verifies, and if it does not, the likely cause and what to do."""
    from paydouble.webhooks.diagnosis import diagnose

    _refuse_blank(secret)
    body = _read_body(body_source)
    diagnosis = diagnose(body, header, secret, tolerance, now=int(time.time()) if now is None else now)
    say("verified" if diagnosis.verified else f"does not verify: {diagnosis.cause}")
    say(f"  found: {diagnosis.message}")
    if diagnosis.remedy:
        say(f"  to do: {diagnosis.remedy}")
    if not diagnosis.verified:
        raise click.exceptions.Exit(ExitStatus.NEGATIVE)


def _refuse_blank(secret: str) -> None:
    if not secret.strip():
        raise Unusable("the webhook secret is blank; give it with --secret or in PAYDOUBLE_WEBHOOK_SECRET")


def _read_body(source: str) -> bytes:
    """Read the body's exact bytes: text mode would change line ends and drop a byte order mark."""
    if source == "-" and sys.stdin is None:
        raise Unusable("--body - reads standard input, which is closed; give a file")
    try:
        # The file may be a pipe, such as a shell's `<(…)`.
        with contextlib.nullcontext(sys.stdin.buffer) if source == "-" else Path(source).open("rb") as file:
            body = file.read(LARGEST_BODY + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a null byte
        reason = getattr(error, "strerror", None) or error
        raise Unusable(f"--body {source!a} cannot be read: {reason}; give a file, or - for standard input") from None
    if len(body) > LARGEST_BODY:
        raise Unusable(f"--body {source!a} is larger than {LARGEST_BODY} bytes")
    return body
