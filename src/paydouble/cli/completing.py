"""What a shell offers for an option or an argument that takes a scenario."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from paydouble.core.printable import printable


def complete_scenarios(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names that begin like a word, of the shipped scenarios and of the folders that are given.

    An argument may be a path as well, so the shell adds files.
    """
    from paydouble.scenarios.library import shipped_files

    names = set(shipped_files())
    for folder in context.params.get("folders") or context.params.get("scenarios") or ():
        try:
            names |= {path.stem for path in Path(folder).rglob("*.yaml")}
        except (OSError, ValueError):
            continue
    found = [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete) and printable(name) == name]
    return [*found, CompletionItem(incomplete, type="file")] if isinstance(parameter, click.Argument) else found
