"""`paydouble healthcheck`: exit status 0 when a server is well, for images without a shell or curl."""

from __future__ import annotations

import click

from paydouble.cli.options import option
from paydouble.cli.terminal import say
from paydouble.core.exit_status import ExitStatus

_LONGEST_SECONDS = 3600


@click.command()
@option("--server", "url", help="URL of the server; by default the one on this machine.")
@click.option(
    "--port",
    # A control API with a port of its own answers there.
    envvar=["PAYDOUBLE_CONTROL_PORT", "PAYDOUBLE_PORT"],
    type=click.IntRange(1, 65535),
    default=8080,
    show_default=True,
    help="Port of this machine.",
)
@click.option("--timeout", type=float, default=2.0, show_default=True, help="Seconds to wait for the answer.")
def healthcheck(url: str | None, port: int, timeout: float) -> int:
    """Exit with 0 when a server is well, with 1 when it is not."""
    import http.client
    from urllib.parse import urlsplit

    if not 0 < timeout <= _LONGEST_SECONDS:  # also not a number
        raise click.UsageError(f"--timeout: {timeout:g} is no number of seconds from 0 to {_LONGEST_SECONDS}.")
    base = url or f"http://127.0.0.1:{port}"
    try:
        parts = urlsplit(base)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise click.UsageError(f"--server: {base!r} is not a URL such as http://127.0.0.1:8080.")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname, parts.port, timeout=timeout)
    except ValueError:
        raise click.UsageError(f"--server: {base!r} is not a URL such as http://127.0.0.1:8080.") from None
    try:
        connection.request("GET", "/_paydouble/health")
        status = connection.getresponse().status
    except (OSError, ValueError, http.client.HTTPException) as error:
        say(f"{base} does not answer: {' '.join(str(error).split())}", err=True)
        return ExitStatus.NEGATIVE
    finally:
        connection.close()
    if status != 200:  # noqa: PLR2004 - HTTP
        say(f"{base} answers {status}", err=True)
        return ExitStatus.NEGATIVE
    say(f"{base} is well")
    return ExitStatus.DONE
