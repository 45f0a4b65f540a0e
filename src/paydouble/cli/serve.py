"""`paydouble serve`: the double as a process."""

from __future__ import annotations

import contextlib
import math
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from paydouble.cli.completion import complete_scenarios
from paydouble.cli.options import SEED, event_filter, events_option, load_config, option, parse_settings, place_in
from paydouble.cli.terminal import Unwritable, say
from paydouble.core.ids import DEFAULT_ID

if TYPE_CHECKING:
    from paydouble.cli.live import LiveLog
    from paydouble.scenarios.library import Library
    from paydouble.server import Server, ServerOptions


def _check_instance(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"[a-z][a-z0-9]{0,15}", value):
        raise click.BadParameter(f"{value!r} is not a name such as i2: a lower-case letter, then letters and digits")
    return value


@click.command()
@click.option(
    "--config",
    envvar="PAYDOUBLE_CONFIG",
    show_envvar=True,
    type=click.Path(path_type=Path),
    is_eager=True,
    callback=load_config,
    help="YAML file with any of these options, `settings`, `catalogue` and `paths`.",
)
@option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="Port; 0 takes a free one.")
@option("--control-port", type=click.IntRange(0, 65535), help="Port of the control API, then only there.")
@option("--control-token", help="Bearer token that control calls must carry.")
@option("--insecure-control", is_flag=True, help="Let other machines make control calls without a token.")
@option("--allowed-host", multiple=True, help="Another Host name that control calls may use.")
@option("--public-url", help="URL at which clients reach the server; else taken from each request.")
@option(
    "--trust-forwarded",
    multiple=True,
    metavar="ADDRESS",
    help="Address or network of a proxy whose X-Forwarded-Host, -Proto and -Port are trusted; may be repeated.",
)
@option("--notification-url", help="URL that the default sandbox's events are sent to.")
@option("--scenario", shell_complete=complete_scenarios, help="Scenario of new pay-ins for which no other is chosen.")
@option(
    "--scenarios",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Folder of scenario files beside the shipped ones; may be repeated, later ones win.",
)
@option(
    "--inspector/--no-inspector",
    default=True,
    show_default=True,
    help="Serve pages for a browser at /_paydouble/.",
)
@option("--open", "open_browser", is_flag=True, help="Open the inspector in a browser.")
@option("--watch", is_flag=True, help="Read changed scenario files again.")
@option(
    "--clock",
    type=click.Choice(["real", "manual", "auto"]),
    default="real",
    show_default=True,
    help="How time passes in sandboxes.",
)
@option("--rate", type=click.FloatRange(0, 1_000_000, min_open=True), help="Sandbox time per real time (real clock).")
@option("--start", help="Instant at which clocks begin, such as 2026-01-01T00:00:00Z; else now.")
@option("--seed", type=SEED, help="Seed of every identifier and random value; else a new one (real clock) or 0.")
@option("--business-key", default="sandbox_key", show_default=True, help="Key of the default sandbox.")
@option("--business-secret", default="sandbox_secret", show_default=True, help="Secret of the default sandbox.")
@option("--webhook-secret", default="whsec_sandbox", show_default=True, help="Webhook secret of the default sandbox.")
@option(
    "--init",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A run file, or a YAML file of calls, which the default sandbox goes through first.",
)
@option(
    "--store",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A file that keeps all sandboxes, so that a restarted server goes on with them; --init only fills a new one.",
)
@option("--ca-file", type=click.Path(path_type=Path), help="PEM certificates to trust for https targets.")
@option("--insecure-targets", is_flag=True, help="Do not check the certificates of https targets.")
@option(
    "--bodies-in-flight",
    type=click.IntRange(min=1024),
    default=67_108_864,
    show_default=True,
    metavar="BYTES",
    help="Most bytes for the bodies of all requests in progress together.",
)
@option(
    "--max-sandboxes",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    metavar="N",
    help="Most sandboxes at the same time.",
)
@option(
    "--instance",
    metavar="NAME",
    callback=_check_instance,
    help="What this server is called among several behind one proxy, such as i2: ids and keys begin with it.",
)
@option(
    "--fast-path/--no-fast-path",
    default=True,
    show_default=True,
    help="Answer usual requests as soon as they are read; without it, all go through aiohttp.",
)
@option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting, such as envelope=alternate.")
@option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Form of the live log: a timeline, or one JSON object per line.",
)
@option(
    "--log-limit",
    type=click.IntRange(0),
    default=500,
    show_default=True,
    help="Most lines of the live log in each second; further ones are counted. 0 writes all.",
)
@events_option()
@option("--quiet", "-q", is_flag=True, help="Print no banner and no log.")
@click.pass_context
def serve(ctx: click.Context, /, config: Path | None, **values: Any) -> None:  # noqa: ANN401 - one member an option
    """Run the server until it is stopped (SIGTERM, SIGINT).

    \b
    Each option is also an environment variable, and a key of the file that
    --config names.
      events go to `paydouble receive`:
        paydouble serve --notification-url http://127.0.0.1:8081/
      time stands still until a test advances it:
        paydouble serve --clock manual --start 2026-01-01T00:00:00Z
      every payment is declined:
        paydouble serve --scenario card-declined
      your own scenarios, read again when they are saved:
        paydouble serve --scenarios ./scenarios --watch
      settings:
        paydouble serve --set envelope=alternate --set webhooks.timeout=2s
    """  # noqa: D301 - \b is the character that tells click to keep the lines
    import asyncio

    _import_aiohttp()
    settings = parse_settings(values["settings"], _settings_of(ctx, config), f"{config}: settings")
    library = open_folders(values["scenarios"], watch=values["watch"])
    log, kept = None, contextlib.ExitStack()
    if not values["quiet"] and sys.stderr is not None:
        from paydouble.cli.live import LiveLog

        wanted = event_filter(values["events"])
        log = LiveLog(sys.stderr, values["log_format"], DEFAULT_ID, wanted, limit=values["log_limit"])
    try:
        with _placed(config):
            options = make_options(values, settings, ctx.meta.get("paydouble.paths") or {}, library, log)
        if values["store"] is not None:
            options = kept.enter_context(_with_store(values["store"], options))
        if values["init"] is not None and not options.stored:
            from dataclasses import replace

            from paydouble.cli.initial import initial_sandbox

            options = replace(options, initial=initial_sandbox(values["init"], options))
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_run(options, quiet=values["quiet"], open_browser=values["open_browser"]))
        if log is not None and sys.stderr.isatty():
            log.say("stopped")
    finally:
        kept.close()
        if log is not None:
            log.close()


def _import_aiohttp() -> None:
    """Import aiohttp without the trusted certificates of this machine.

    aiohttp's client reads them all when it is imported, which takes a sixth of the start. Here nothing uses that
    client's own TLS context: the sender makes one for the first https target, with the certificates.
    """
    import os

    # Where OpenSSL looks for certificates; it takes a file without any as it is.
    places = ("SSL_CERT_FILE", "SSL_CERT_DIR")
    given = {name: os.environ.get(name) for name in places}
    os.environ.update(dict.fromkeys(places, os.devnull))
    try:
        import aiohttp  # noqa: F401 - for its effect
    finally:
        for name, value in given.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _with_store(path: Path, options: ServerOptions) -> Iterator[ServerOptions]:
    """Open a store; yields the options of a server that goes on with its sandboxes. `UsageError` if it is unusable."""
    from dataclasses import replace

    from paydouble.core.errors import UsageError
    from paydouble.runfile.store import Store, StoreError

    try:
        store = Store(path, options.shared.paths)
        with contextlib.closing(store):
            yield replace(options, stored=store.load(), shared=replace(options.shared, store=store))
    except StoreError as error:
        raise UsageError(str(error), member="--store") from None


def _settings_of(ctx: click.Context, config: Path | None) -> object:
    """Return the settings of the file, with its catalogue among them."""
    settings = ctx.meta.get("paydouble.settings")
    catalogue = ctx.meta.get("paydouble.catalogue")
    if catalogue is None:
        return settings
    if isinstance(settings, dict) and "catalogue" in settings:
        raise click.UsageError(f"{config}: the catalogue is given twice, at the top and among the settings; keep one.")
    return {**settings, "catalogue": catalogue} if isinstance(settings, dict) else settings or {"catalogue": catalogue}


@contextmanager
def _placed(config: Path | None) -> Iterator[None]:
    """Add file, line and column to an error about a setting of the file."""
    from paydouble.core.errors import UsageError

    try:
        yield
    except UsageError as error:
        above, _, member = (error.member or "").partition(".")
        if config is None or above != "settings" or not member:
            raise
        parts = member.split(".")
        for members in ([*parts], ["settings", *parts]):
            place = place_in(config, *members) if members[0] in {"catalogue", "settings"} else None
            if place is not None:
                raise UsageError(error.message, member=f"{place}: {'.'.join(members)}") from None
        raise


def open_folders(folders: tuple[Path, ...], *, watch: bool) -> Library:
    """Return the library of scenarios, in which files of a user's folders replace shipped ones; prints which do."""
    from paydouble.core.errors import UsageError
    from paydouble.scenarios.library import Library, open_library

    if watch and not folders:
        raise UsageError("needs a folder to look at; give --scenarios", member="--watch")
    if not folders:
        return Library()
    library, notices = open_library(folders)
    for notice in notices:
        say(notice, err=True)
    return library


def make_options(
    values: dict[str, Any], settings: dict[str, Any], paths: object, library: Library, log: LiveLog | None = None
) -> ServerOptions:
    """Return a server's options from those of the command line, the environment and the file."""
    from paydouble.config import Settings, load_settings
    from paydouble.core.errors import UsageError
    from paydouble.core.instants import parse_instant
    from paydouble.runtime.host import ClockSpec, HostOptions, SandboxSpec, server_seed
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
    seed = server_seed(values["seed"], values["clock"])
    return ServerOptions(
        host=values["host"],
        port=values["port"],
        control_port=values["control_port"],
        control_token=values["control_token"] or None,
        insecure_control=values["insecure_control"],
        allowed_hosts=values["allowed_host"],
        public_url=values["public_url"],
        trust_forwarded=values["trust_forwarded"],
        fast_path=values["fast_path"],
        inspector=values["inspector"],
        watch=values["watch"],
        say=log.say if log is not None else None,
        default_sandbox=SandboxSpec(
            id=f"{values['instance']}-{DEFAULT_ID}" if values["instance"] else DEFAULT_ID,
            seed=seed,
            notification_url=values["notification_url"],
            **_credentials(values),
        ),
        shared=HostOptions(
            settings=load_settings(settings) if settings else Settings.model_construct(),
            seed=seed,
            clock=ClockSpec(values["clock"], start, values["rate"] or 1.0),
            paths=paths,
            ca_file=values["ca_file"],
            insecure_targets=values["insecure_targets"],
            bodies_in_flight=values["bodies_in_flight"],
            max_sandboxes=values["max_sandboxes"],
            instance=values["instance"] or "",
            library=library,
            on_sandbox=log.follow if log is not None else None,
            on_unclaimed=log.unclaimed if log is not None else None,
            on_reaped=None if log is None else lambda reaped: log.say(reaped.explain()),
        ),
    )


def _credentials(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the default sandbox's credentials; one of several servers derives those that were not chosen."""
    context = click.get_current_context()
    names = ("business_key", "business_secret", "webhook_secret")
    is_default = {name: context.get_parameter_source(name) is ParameterSource.DEFAULT for name in names}
    return {name: None if values["instance"] and is_default[name] else values[name] for name in names}


def _check_url(url: str) -> None:
    from pydantic import TypeAdapter, ValidationError

    from paydouble.api.schemas import WebUrl
    from paydouble.config import explain
    from paydouble.core.errors import UsageError

    try:
        TypeAdapter(WebUrl).validate_python(url)
    except ValidationError as error:
        raise UsageError(f"{url!r}: {explain(error)[1]}", member="--notification-url") from None


async def _run(options: ServerOptions, *, quiet: bool, open_browser: bool) -> None:
    import asyncio
    import gc
    import signal

    from paydouble.runtime.collecting import Collector
    from paydouble.server import Server

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with Server(options) as server:
        if not quiet:
            with contextlib.suppress(Unwritable):  # a full disk is no reason not to serve
                say(*banner(server))
        if open_browser:
            await _open_browser(f"{_control_url(server)}{server.home}")
        # Imported modules stay until the process ends. Full collections over everything that is kept would make the
        # slowest answers (docs/performance.md); collections of young objects are quick while they are few.
        gc.freeze()
        gc.set_threshold(1_000, 50_000, 1_000)
        gc.enable()
        collector = Collector(lambda: server.requests)
        server.host.on_delete = collector.request
        await stopped.wait()
        collector.close()


def banner(server: Server) -> list[str]:
    """Return the lines that a person needs to start."""
    options = server.options
    box = options.default_sandbox
    if server.default is not None:
        identity = server.default.identity
        box = box._replace(
            business_key=identity.business_key,
            business_secret=identity.business_secret,
            webhook_secret=server.default.secrets.current,
            notification_url=server.default.notification_url,
        )
    api = server.base_url if options.public_url is None else server.addresses.own.api
    control = _control_url(server)
    target = [box.notification_url or "nobody yet; run `paydouble receive`, and start this with"]
    if box.notification_url is None:
        target.append("--notification-url http://127.0.0.1:8081/")
    return [
        f"paydouble serves at   {api}/api/v1",
        f"  business key        {box.business_key}",
        f"  business secret     {box.business_secret}",
        f"  webhook secret      {box.webhook_secret}",
        f"  events go to        {target[0]}",
        *(f"{'':22}{more}" for more in target[1:]),
        f"  clock               {options.shared.clock.mode}",
        f"  seed                {options.shared.seed} (--seed {options.shared.seed} makes the same ids again)",
        f"  control API         {control}/_paydouble",
        *([f"  inspector           {control}/_paydouble/"] if options.inspector else []),
        f"  documentation       {control}/_paydouble/docs",
    ]


def _control_url(server: Server) -> str:
    """Return the URL of the control API's port, for a person on this machine."""
    if server.control_port is not None:
        return f"http://127.0.0.1:{server.control_port}"
    return server.base_url if server.options.public_url is None else server.addresses.own.api


async def _open_browser(url: str) -> None:
    """Open a page in the user's browser, without waiting for it in the event loop."""
    import asyncio
    import webbrowser

    if not await asyncio.to_thread(webbrowser.open, url):
        with contextlib.suppress(Unwritable):
            say(f"No browser was found; open {url}", err=True)


def _loop_factory() -> Any:  # noqa: ANN401 - uvloop has no types of its own here
    try:
        import uvloop  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        return None
    return uvloop.new_event_loop
