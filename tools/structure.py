"""Print the structure of the package: its size, its largest files, names used twice, circles, and who imports whom.

    python tools/structure.py [ROOT]

ROOT is a checkout (default: this one), so two states can be compared. Imports inside functions, and those for the type
checker only, count like any other, because a circle through them is a circle for the reader.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

PACKAGE = "paydouble"
_MOST = 10

Imports = Mapping[str, frozenset[str]]


def main(root: Path) -> int:
    """Print the report about a checkout."""
    source = root / "src"
    files = {_module(path, source): path for path in sorted((source / PACKAGE).rglob("*.py"))}
    if not files:
        print(f"structure: there is no package {PACKAGE} in {source}", file=sys.stderr)
        return 2
    trees = {name: ast.parse(path.read_text("utf-8")) for name, path in files.items()}
    lines = {name: path.read_text("utf-8").count("\n") for name, path in files.items()}
    imports: Imports = {name: frozenset(_imported(tree, name, files)) for name, tree in trees.items()}
    print(f"{len(files)} files, {sum(lines.values())} lines")
    _print_largest(lines)
    _print_names(trees)
    _print_circles("modules", imports)
    _print_circles("packages", _by_package(imports))
    _print_fans(imports)
    return 0


def _module(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.Module, importer: str, files: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules of the package that a module imports; a package's name is its `__init__`."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in files else node.module for name in names]
        yield from (name for name in names if name in files and name != importer)


def _by_package(imports: Imports) -> Imports:
    """Return the imports between the packages (and single modules) directly below the root."""
    found: dict[str, set[str]] = defaultdict(set)
    for importer, imported in imports.items():
        found[_package(importer)] |= {_package(name) for name in imported} - {_package(importer)}
    return {name: frozenset(below) for name, below in found.items()}


def _package(module: str) -> str:
    return ".".join(module.split(".")[:2])


def _circles(imports: Imports) -> list[list[str]]:
    """Return the groups of modules that reach each other (Tarjan's strongly connected components of more than one)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(imports.get(name, ())):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            place = stack.index(name)
            group = sorted(stack[place:])
            del stack[place:]
            if len(group) > 1:
                found.append(group)

    for name in sorted(imports):
        if name not in index:
            visit(name)
    return found


def _print_largest(lines: Mapping[str, int]) -> None:
    print(f"\nthe largest {_MOST}")
    for name, count in sorted(lines.items(), key=lambda each: -each[1])[:_MOST]:
        print(f"  {count:5}  {name}")


def _print_names(trees: Mapping[str, ast.Module]) -> None:
    names = Counter(
        node.name
        for tree in trees.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    twice = {name: count for name, count in sorted(names.items()) if count > 1}
    print(f"\n{len(twice)} public class names are used by {sum(twice.values())} classes")
    print(f"  {', '.join(f'{name} {count}' for name, count in twice.items())}")


def _print_circles(of: str, imports: Imports) -> None:
    found = _circles(imports)
    print(f"\n{len(found)} circles of {of}")
    for group in found:
        print(f"  {', '.join(group)}")


def _print_fans(imports: Imports) -> None:
    importers = Counter(name for imported in imports.values() for name in imported)
    alone = sum(1 for name in imports if importers[name] == 1)
    print(f"\n{alone} modules have one importer; imported most, and importing most")
    most_in = [f"{count:4}  {name}" for name, count in importers.most_common(_MOST)]
    most_out = sorted(imports.items(), key=lambda each: -len(each[1]))[:_MOST]
    most_out_told = [f"{len(below):4}  {name}" for name, below in most_out]
    for imported, importing in zip_longest(most_in, most_out_told, fillvalue=""):
        print(f"  {imported:<46} {importing}".rstrip())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent))
