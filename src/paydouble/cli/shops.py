"""The shop that a command plays with: one that a merchant.yaml describes, or an adapter in Python.

A command takes either as one argument: `merchant.yaml`, `adapter.py`, `adapter.py:ShopAdapter` or
`package.module:ShopAdapter`. A file in Python is imported from the folder of its outermost package, as by pytest, and
can import from the working folder too.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click
from click.shell_completion import CompletionItem

from paydouble.core.errors import PaydoubleError, UsageError
from paydouble.core.exit_status import ExitStatus
from paydouble.core.printable import printable

if TYPE_CHECKING:
    from types import ModuleType

    from paydouble.cli.terminal import Terminal
    from paydouble.conformance.adapter import HttpMerchant
    from paydouble.stateful.merchant import Merchant

METAVAR: Final = "SHOP"
_FORMS: Final = "write merchant.yaml, adapter.py:ShopAdapter or package.module:ShopAdapter"
_IN_PYTHON: Final = re.compile(r"(?P<module>.+\.py|[^\W\d]\w*(?:\.[^\W\d]\w*)*)(?::(?P<name>[^\W\d]\w*))?")
_DESCRIPTION: Final = re.compile(r"\.ya?ml$", re.IGNORECASE)
_PACKAGES: Final = f"{os.sep}site-packages{os.sep}"
_OWN: Final = f"{Path(__file__).parents[1]}{os.sep}"


def complete_shops(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete the name of a file."""
    return [CompletionItem(incomplete, type="file")]


class Shop(NamedTuple):
    """A shop, and how it is named on the command line."""

    named: str
    adapter: type[Merchant]
    imported: str = ""
    """The line that imports the adapter; empty for a file that describes the shop."""

    @property
    def described(self) -> type[HttpMerchant] | None:
        """Return the adapter if a merchant file describes the shop, also one that adds methods to its file."""
        from paydouble.conformance.adapter import HttpMerchant

        return self.adapter if issubclass(self.adapter, HttpMerchant) else None

    @property
    def to_paste(self) -> list[str]:
        """Return the lines with which a test begins that plays with this shop."""
        if self.imported:
            return [self.imported]
        return [
            "from paydouble.conformance import merchant_of",
            f"{self.adapter.__name__} = merchant_of({self.named!r})",
        ]

    @property
    def advice(self) -> str:
        """Return how its calls are tried when it cannot be tested."""
        if self.imported:
            return "The shop cannot be tested."
        return f"The shop cannot be tested. Try its calls with: paydouble conformance doctor {shlex.quote(self.named)}"

    def end(self) -> None:
        """End the process that a merchant file has started."""
        if self.described is not None and self.described.process is not None:
            self.described.process.kill()


def shop_of(named: str) -> Shop:
    """Return the shop that an argument names; `UsageError` when there is none, or it cannot be used."""
    if names_python(named):
        found = _IN_PYTHON.fullmatch(named)
        if found is None or _DESCRIPTION.search(found["module"]):
            raise UsageError(f"'{printable(named)}' names no shop; {_FORMS}")
        module = _imported(found["module"])
        name, adapter = _adapter_of(module, found["module"], found["name"])
        return Shop(named, adapter, f"from {module.__name__} import {name}")
    if not _is_there(named) and _DESCRIPTION.search(named) is None:
        raise UsageError(f"'{printable(named)}' is not there; {_FORMS}")
    from paydouble.conformance.adapter import adapter_of
    from paydouble.conformance.merchant_file import read_merchant

    path = Path(named)
    return Shop(named, adapter_of(read_merchant(path), path.resolve().parent))


@contextmanager
def testing(terminal: Terminal, named: str) -> Iterator[type[Merchant]]:
    """Give the adapter of a shop; ends with status 3 when the shop cannot be tested, and ends the shop's process."""
    from paydouble.conformance.calling import CallFailed
    from paydouble.stateful.verdicts import AdapterMisfit

    shop = shop_of(named)
    try:
        yield shop.adapter
    except (AdapterMisfit, CallFailed) as error:
        for line in str(error).splitlines():
            terminal.say(terminal.red(line))
        terminal.say(shop.advice)
        sys.exit(ExitStatus.NOT_TESTED)
    finally:
        shop.end()


def names_python(named: str) -> bool:
    """Return whether an argument is a module or a file in Python, or is meant as one."""
    if named.endswith(".py"):
        return True
    # A merchant file may be in a folder with a colon in its name.
    return ":" in named and not _is_there(named) and os.sep not in named.rpartition(":")[2]


def _is_there(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:  # such as a name that is too long
        return False


def _imported(module: str) -> ModuleType:
    """Import a module by its name, or by its file; `UsageError` when it cannot be imported."""
    name, folder, path = module, Path.cwd(), Path(module)
    if module.endswith(".py"):
        if not _is_there(module):
            raise UsageError(f"{printable(module)} is not there, or cannot be read")
        if not path.is_file():
            raise UsageError(f"{printable(module)} is no file; name a file in it, as in {printable(module)}/adapter.py")
        path = path.resolve()
        parts, folder = [path.stem] if path.name != "__init__.py" else [], path.parent
        while (folder / "__init__.py").is_file():
            parts.insert(0, folder.name)
            folder = folder.parent
        name = ".".join(parts)
        if not all(part.isidentifier() for part in parts):
            raise UsageError(f"{printable(module)}: Python cannot import {printable(name)}; give the file another name")
    sys.path[:0] = [str(folder), str(Path.cwd())]
    try:
        found = import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever the module does, also to skip itself as a test
        raise UsageError(f"{printable(module)} cannot be imported: {_what(error)}") from error
    if module.endswith(".py") and getattr(found, "__file__", None) != str(path):
        other = getattr(found, "__file__", None) or "a module of Python itself"
        raise UsageError(f"{printable(module)}: the name {name} is that of {other}; give the file another name")
    return found


def _what(error: BaseException) -> str:
    """Return in one line what an error says, and the line of the user's code that it comes from."""
    said = printable(" ".join(str(error).split()))
    kind = "" if isinstance(error, PaydoubleError) else f"{type(error).__name__}: "
    if isinstance(error, SyntaxError):
        return kind + said
    # The first frame is this module's; those of the import itself tell nothing.
    frames = [each for each in traceback.extract_tb(error.__traceback__)[1:] if "importlib" not in each.filename]
    own = [each for each in frames if _PACKAGES not in each.filename and not each.filename.startswith(_OWN)] or frames
    place = f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""
    return f"{kind}{said}{printable(place)}"


def _adapter_of(module: ModuleType, told: str, name: str | None) -> tuple[str, type[Merchant]]:
    """Return the name and the class of an adapter of a module; without a name the only one that is there."""
    from paydouble.stateful.merchant import Merchant

    told = printable(told)
    adapters = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Merchant) and not _is_of_paydouble(value)
    }
    made = {key: value for key, value in adapters.items() if value.__module__ == module.__name__} or adapters
    names = ", ".join(made)
    if name is not None:
        if name not in adapters:
            is_other = hasattr(module, name)
            kind = "is not a class that derives from paydouble.stateful.Merchant" if is_other else "is not there"
            raise UsageError(f"{told}: {name!r} {kind}; its adapters are: {names or 'none'}")
        return name, adapters[name]
    if not made:
        raise UsageError(f"{told} has no adapter: no class in it derives from paydouble.stateful.Merchant")
    first = next(iter(made))
    if len(set(made.values())) > 1:
        raise UsageError(f"{told} has these adapters: {names}; name one, as in {told}:{first}")
    return first, made[first]


def _is_of_paydouble(adapter: type) -> bool:
    """Return whether a class is a base that this package offers, and not one that was made by it from a file."""
    module = sys.modules.get(adapter.__module__)
    return adapter.__module__.startswith("paydouble.") and getattr(module, adapter.__name__, None) is adapter
