"""Options that are also environment variables (`PAYDOUBLE_…`) and keys of the YAML file given by `--config`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def option(name: str, *names: str, **attributes: Any) -> Decorator:  # noqa: ANN401 - whatever click.option takes
    """Return a click option that `PAYDOUBLE_<NAME>` sets as well."""
    variable = "PAYDOUBLE_" + name.removeprefix("--").replace("-", "_").upper()
    return click.option(name, *names, envvar=variable, show_envvar=True, **attributes)


def read_mapping(path: Path) -> dict[str, Any]:
    """Return the mapping that a YAML file holds; one clear line when it holds none."""
    import yaml

    try:
        text = path.read_text("utf-8")
        data = yaml.safe_load(text)
    except OSError as error:
        raise click.UsageError(f"{path} cannot be read ({(error.strerror or str(error)).lower()}).") from None
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
        if name in {"settings", "paths"}:
            ctx.meta[f"paydouble.{name}"] = content
        elif name in known:
            plain = content if isinstance(content, list | bool | type(None)) else _as_text(content)
            # One value for an option that takes several: a text would be taken letter by letter.
            several = isinstance(known[name], click.Option) and known[name].multiple and not isinstance(plain, list)
            defaults[name] = [plain] if several and plain is not None else plain
        else:
            names = sorted([*(name.replace("_", "-") for name in known), "settings", "paths"])
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
            value = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError) as error:
            raise click.UsageError(f"--set {pair!r}: {' '.join(str(error).split())}.") from None
        inner = merged
        *above, last = name.split(".")
        for part in above:
            below = inner.get(part)
            inner[part] = inner = dict(below) if isinstance(below, dict) else {}
        inner[last] = value
    return merged
