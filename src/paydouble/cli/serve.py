"""`paydouble serve`: the double as a process."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paydouble.cli.options import load_config, option, parse_settings

if TYPE_CHECKING:
    from paydouble.cli.live import LiveLog
    from paydouble.scenarios.library import Library
    from paydouble.server import Server, ServerOptions


@click.command()
@click.option(
    "--config",
    envvar="PAYDOUBLE_CONFIG",
    show_envvar=True,
    type=click.Path(path_type=Path),
    is_eager=True,
    callback=load_config,
    help="YAML file with any of these options, `settings` and `paths`.",
)
@option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="Port; 0 takes a free one.")
@option("--control-port", type=click.IntRange(0, 65535), help="Port of the control API, then only there.")
@option("--control-token", help="Bearer token that control calls must carry.")
@option("--insecure-control", is_flag=True, help="Let other machines make control calls without a token.")
@option("--allowed-host", multiple=True, help="A further Host name under which control calls may come.")
@option("--notification-url", help="Where the default sandbox's events go.")
@option("--scenario", help="Life of a new pay-in that nothing else chooses for.")
@option(
    "--scenarios",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Folder of scenario files beside the shipped ones; may be repeated, later ones win.",
)
@option("--watch", is_flag=True, help="Read changed scenario files again.")
@option(
    "--clock", type=click.Choice(["real", "manual", "auto"]), default="real", show_default=True, help="How time goes."
)
@option("--rate", type=click.FloatRange(0, 1_000_000, min_open=True), help="Sandbox time per real time (real clock).")
@option("--start", help="Instant at which clocks begin, such as 2026-01-01T00:00:00Z; else now.")
@option("--seed", type=int, default=0, show_default=True, help="Seed of every identifier and draw.")
@option("--business-key", default="sandbox_key", show_default=True, help="Key of the default sandbox.")
@option("--business-secret", default="sandbox_secret", show_default=True, help="Secret of the default sandbox.")
@option("--webhook-secret", default="whsec_sandbox", show_default=True, help="Webhook secret of the default sandbox.")
@option("--ca-file", type=click.Path(path_type=Path), help="PEM certificates to trust for https targets.")
@option("--insecure-targets", is_flag=True, help="Do not check the certificates of https targets.")
@option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting, such as envelope=alternate.")
@option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Form of the live log: a timeline, or a JSON object a line.",
)
@option("--quiet", "-q", is_flag=True, help="Print no banner and no log.")
@click.pass_context
def serve(ctx: click.Context, /, config: Path | None, **values: Any) -> None:  # noqa: ANN401 - one member an option
    """Run the double until it is told to stop (SIGTERM, SIGINT).

    \b
    Each option is also an environment variable, and a key of the file that --config names:
      paydouble serve --notification-url http://127.0.0.1:8081/     events go to `paydouble receive`
      paydouble serve --clock manual --start 2026-01-01T00:00:00Z   time stands until a test moves it
      paydouble serve --scenario card-declined                      every payment is declined
      paydouble serve --scenarios ./scenarios --watch               your own lives, read again when saved
      paydouble serve --set envelope=alternate --set webhooks.timeout=2s
    """  # noqa: D301 - \b is the character that tells click to keep the lines
    import asyncio

    settings = parse_settings(values["settings"], ctx.meta.get("paydouble.settings"), f"{config}: settings")
    library = open_folders(values["scenarios"], watch=values["watch"])
    log = None
    if not values["quiet"] and sys.stderr is not None:
        from paydouble.cli.live import LiveLog

        log = LiveLog(sys.stderr, values["log_format"], default="default")
    try:
        options = make_options(values, settings, ctx.meta.get("paydouble.paths") or {}, library, log)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_run(options, quiet=values["quiet"]))
        if log is not None and sys.stderr.isatty():
            log.say("stopped")
    finally:
        if log is not None:
            log.close()


def open_folders(folders: tuple[Path, ...], *, watch: bool) -> Library:
    """Return the scenarios of a user's folders over the shipped ones, having told what stands over what."""
    from paydouble.core.errors import UsageError
    from paydouble.scenarios.library import Library, open_library

    if watch and not folders:
        raise UsageError("needs a folder to look at; give --scenarios", member="--watch")
    if not folders:
        return Library()
    library, notices = open_library(folders)
    for notice in notices:
        click.echo(notice, err=True)
    return library


def make_options(
    values: dict[str, Any], settings: dict[str, Any], paths: object, library: Library, log: LiveLog | None = None
) -> ServerOptions:
    """Return what a server is made of from what the command line, environment and file say."""
    from paydouble.config import Settings, load_settings
    from paydouble.core.errors import UsageError
    from paydouble.core.instants import parse_instant
    from paydouble.runtime.host import ClockSpec, HostOptions, SandboxSpec
    from paydouble.server import ServerOptions

    if values["rate"] is not None and math.isnan(values["rate"]):  # click's range lets it through
        raise UsageError("is not a number", member="--rate")
    if values["rate"] is not None and values["clock"] != "real":
        raise UsageError(f"only a real clock has a rate, not a {values['clock']} one", member="--rate")
    if values["scenario"] is not None:
        settings = {**settings, "scenario": values["scenario"]}
    if not isinstance(paths, dict):
        raise UsageError("must be a mapping of operation names to paths", member="paths")
    if values["notification_url"] is not None:
        _check_url(values["notification_url"])
    try:
        start = None if values["start"] is None else parse_instant(values["start"])
    except ValueError as error:
        raise UsageError(str(error), member="--start") from None
    for name in ("business_key", "business_secret", "webhook_secret"):
        if not values[name].strip() or (name == "business_key" and ":" in values[name]):
            raise UsageError("must not be blank, and a key has no colon", member="--" + name.replace("_", "-"))
    return ServerOptions(
        host=values["host"],
        port=values["port"],
        control_port=values["control_port"],
        control_token=values["control_token"] or None,
        insecure_control=values["insecure_control"],
        allowed_hosts=values["allowed_host"],
        watch=values["watch"],
        say=log.say if log is not None else None,
        default_sandbox=SandboxSpec(
            id="default",
            notification_url=values["notification_url"],
            business_key=values["business_key"],
            business_secret=values["business_secret"],
            webhook_secret=values["webhook_secret"],
        ),
        shared=HostOptions(
            settings=load_settings(settings) if settings else Settings.model_construct(),
            seed=values["seed"],
            clock=ClockSpec(values["clock"], start, values["rate"] or 1.0),
            paths=paths,
            ca_file=values["ca_file"],
            insecure_targets=values["insecure_targets"],
            library=library,
            follow=log.follow if log is not None else None,
        ),
    )


def _check_url(url: str) -> None:
    from pydantic import TypeAdapter, ValidationError

    from paydouble.api.schemas import WebUrl
    from paydouble.config import explain
    from paydouble.core.errors import UsageError

    try:
        TypeAdapter(WebUrl).validate_python(url)
    except ValidationError as error:
        raise UsageError(f"{url!r}: {explain(error)[1]}", member="--notification-url") from None


async def _run(options: ServerOptions, *, quiet: bool) -> None:
    import asyncio
    import gc
    import signal

    from paydouble.server import Server

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with Server(options) as server:
        if not quiet:
            click.echo(banner(server))
        # What has been imported lives as long as the process. Full collections over all kept bytes would make the
        # slowest answers (docs/performance.md); a young one had better find its objects in the processor's cache.
        gc.freeze()
        gc.set_threshold(1_000, 50_000, 1_000)
        gc.enable()
        await stopped.wait()


def banner(server: Server) -> str:
    """Return what a person needs to begin."""
    options = server.options
    box = options.default_sandbox
    control = f"http://127.0.0.1:{server.control_port}" if server.control_port is not None else server.base_url
    target = (
        box.notification_url or "nobody yet; run `paydouble receive` and give --notification-url http://127.0.0.1:8081/"
    )
    return "\n".join(
        (
            f"paydouble serves at   {server.base_url}/api/v1",
            f"  business key        {box.business_key}",
            f"  business secret     {box.business_secret}",
            f"  webhook secret      {box.webhook_secret}",
            f"  events go to        {target}",
            f"  clock               {options.shared.clock.mode}",
            f"  control API         {control}/_paydouble",
            f"  documentation       {control}/_paydouble/docs",
        )
    )


def _loop_factory() -> Any:  # noqa: ANN401 - uvloop has no types of its own here
    try:
        import uvloop  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        return None
    return uvloop.new_event_loop
