"""Options that are also environment variables (`PAYDOUBLE_…`) and keys of the YAML file given by `--config`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import click

# Seeds that a JSON answer can show and a request can send back: 64 bits.
SEED: Final = click.IntRange(-(2**63), 2**63 - 1)
LARGEST_CONFIG: Final = 2**20
"""Bytes of the file that `--config` names."""
_PLAIN_NUMBER: Final = re.compile(r"[+-]?[0-9]+\.[0-9]*|[+-]?\.[0-9]+")
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def option(name: str, *names: str, **attributes: Any) -> Decorator:  # noqa: ANN401 - whatever click.option takes
    """Return a click option that `PAYDOUBLE_<NAME>` sets as well."""
    variable = "PAYDOUBLE_" + name.partition("/")[0].removeprefix("--").replace("-", "_").upper()
    return click.option(name, *names, envvar=variable, show_envvar=True, **attributes)


def server_option() -> Decorator:
    """Return the option that says where a running server is, as `url`."""
    return option("--server", "url", default="http://127.0.0.1:8080", show_default=True, help="Where the server is.")


def control_token_option() -> Decorator:
    """Return the option with the token of a running server's control API, as `token`."""
    return click.option(
        "--control-token",
        "--token",
        "token",
        envvar="PAYDOUBLE_CONTROL_TOKEN",
        show_envvar=True,
        help="Its control token, if it has one.",
    )


def events_option() -> Decorator:
    """Return the option that shows some events only; its value is what `event_filter` takes."""
    return option(
        "--events",
        multiple=True,
        metavar="GLOB",
        callback=_check_globs,
        shell_complete=_complete_events,
        help="Show only events of these types, such as 'pay-in.*'; may be repeated.",
    )


def event_filter(globs: Sequence[str]) -> Callable[[str], bool] | None:
    """Return a function that accepts the types of events to show; None when all are shown."""
    from paydouble.core.globs import fits

    return (lambda kind: any(fits(kind, glob) for glob in globs)) if globs else None


def _check_globs(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    if value:
        from paydouble.core.globs import fits
        from paydouble.payments.events import EVENT_TYPES

        for glob in value:
            if not any(fits(kind, glob) for kind in EVENT_TYPES):
                raise click.UsageError(f"--events: {glob!r} fits no event type; there are: {', '.join(EVENT_TYPES)}.")
    return value


def _complete_events(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    from paydouble.payments.events import EVENT_TYPES

    families = dict.fromkeys(f"{kind.partition('.')[0]}.*" for kind in EVENT_TYPES)
    return [each for each in (*families, *EVENT_TYPES) if each.startswith(incomplete)]


def read_yaml(text: str) -> Any:  # noqa: ANN401 - YAML is any
    """Return the value of a YAML text; numbers with a point are `Decimal`, never binary floats."""
    import yaml

    class Exact(yaml.SafeLoader):
        """Reads 49.90 as it is written."""

    def number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Decimal | float:
        written = loader.construct_scalar(node)
        return Decimal(written) if _PLAIN_NUMBER.fullmatch(written) else loader.construct_yaml_float(node)

    Exact.add_constructor("tag:yaml.org,2002:float", number)
    return yaml.load(text, Loader=Exact)  # noqa: S506 - a safe loader


def read_mapping(path: Path) -> dict[str, Any]:
    """Return the mapping that a YAML file holds; `click.UsageError` when it holds none."""
    import yaml

    from paydouble.core.files import read_regular

    try:
        content = read_regular(path, LARGEST_CONFIG + 1)
        if len(content) > LARGEST_CONFIG:
            raise click.UsageError(f"{path} is larger than {LARGEST_CONFIG} bytes.")
        data = read_yaml(content.decode("utf-8"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise click.UsageError(f"{path} cannot be read ({reason[:1].lower()}{reason[1:]}).") from None
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{path} is not UTF-8 (byte {error.start}).") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise click.UsageError(f"{path}{place}: {error.problem or error.context}.") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise click.UsageError(f"{path} is not YAML: {error}.") from None
    if data is None:
        return {}
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise click.UsageError(f"{path}: the file must hold a mapping such as 'port: 8080'.")
    return data


def place_in(path: Path, *members: str) -> str | None:
    """Return where a member of a YAML file begins, as `file:line:column`; None when the file does not have it."""
    import yaml

    node = yaml.compose(path.read_text("utf-8"), Loader=yaml.SafeLoader)
    place = None
    for member in members:
        match node:
            case yaml.MappingNode(value=pairs):
                found = next(((key, value) for key, value in pairs if key.value == member), None)
            case yaml.SequenceNode(value=items) if member.isdecimal() and int(member) < len(items):
                found = (items[int(member)],) * 2
            case _:
                found = None
        if found is None:
            return None
        place, node = found
    return f"{path}:{place.start_mark.line + 1}:{place.start_mark.column + 1}" if place is not None else None


def load_config(ctx: click.Context, _: click.Parameter, value: Path | None) -> Path | None:
    """Make a file's keys the defaults of the other options: flag, environment, file, default."""
    if value is None:
        return None
    data = read_mapping(value)
    known = {
        parameter.name: parameter
        for parameter in ctx.command.params
        if parameter.name and parameter.name not in {"config", "help"}
    }
    defaults: dict[str, Any] = {}
    for key, content in data.items():
        name = key.replace("-", "_")
        if name in {"settings", "paths", "catalogue"}:
            ctx.meta[f"paydouble.{name}"] = content
        elif name in known:
            plain = content if isinstance(content, list | bool | type(None)) else _as_text(content)
            # One value for an option that takes several becomes a list; click would split a text into letters.
            several = isinstance(known[name], click.Option) and known[name].multiple and not isinstance(plain, list)
            defaults[name] = [plain] if several and plain is not None else plain
        else:
            names = sorted([*(name.replace("_", "-") for name in known), "settings", "paths", "catalogue"])
            raise click.UsageError(f"{value}: {key!r} is not known; there are: {', '.join(names)}.")
    ctx.default_map = {**(ctx.default_map or {}), **defaults}
    return value


def _as_text(content: object) -> str:
    # YAML reads 2026-01-01T00:00:00Z as a datetime, whose str() is no ISO 8601.
    return content.isoformat() if isinstance(content, date) else str(content)


def parse_settings(pairs: tuple[str, ...], base: object, place: str) -> dict[str, Any]:
    """Return the settings of a file with those of `--set name=value` laid over; a value is read as YAML."""
    if base is None:
        base = {}
    if not isinstance(base, dict):
        raise click.UsageError(f"{place}: must be a mapping of settings.")
    merged: dict[str, Any] = dict(base)
    if not pairs:
        return merged
    import yaml

    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise click.UsageError(f"--set {pair!r}: write it like envelope=alternate or webhooks.timeout=2s.")
        try:
            value = read_yaml(text)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise click.UsageError(f"--set {pair!r}: {' '.join(str(error).split())}.") from None
        inner = merged
        *above, last = name.split(".")
        for part in above:
            below = inner.get(part)
            inner[part] = inner = dict(below) if isinstance(below, dict) else {}
        inner[last] = value
    return merged
