"""The shop that a command plays with: one that a merchant.yaml describes, or an adapter in Python.

A command takes either as one argument: `merchant.yaml`, `adapter.py`, `adapter.py:ShopAdapter` or
`package.module:ShopAdapter`. A file in Python is imported as pytest does it: from the folder of its outermost package.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from paydouble.core.errors import UsageError
from paydouble.core.printable import printable

if TYPE_CHECKING:
    from types import ModuleType

    from paydouble.cli.terminal import Terminal
    from paydouble.conformance.adapter import HttpMerchant
    from paydouble.conformance.merchant_file import MerchantFile
    from paydouble.conformance.process import ShopProcess
    from paydouble.stateful.merchant import Merchant

FAILED: Final = 3
"""The exit status when a shop cannot be tested."""
METAVAR: Final = "SHOP"
_IN_PYTHON: Final = re.compile(r"(?P<module>.+?)(?::(?P<name>[^:/\\.]+))?", re.DOTALL)


class Shop(NamedTuple):
    """A shop, and how it is named on the command line."""

    named: str
    adapter: type[Merchant]
    file: MerchantFile | None = None
    """What describes it; None for an adapter in Python."""

    @property
    def process(self) -> ShopProcess | None:
        """Return the process that the file starts; None when there is none, or an adapter in Python starts its own."""
        described: type[HttpMerchant] | Any = self.adapter
        return None if self.file is None else described.process

    @property
    def has_reset(self) -> bool:
        """Return whether a file has a call that empties the shop."""
        described: type[HttpMerchant] | Any = self.adapter
        return self.file is not None and described.driver.reset is not None

    @property
    def to_paste(self) -> list[str]:
        """Return the lines with which a test begins that plays with this shop."""
        name = self.adapter.__name__
        if self.file is None:
            return [f"from {self.adapter.__module__} import {name}"]
        return ["from paydouble.conformance import merchant_of", f"{name} = merchant_of({self.named!r})"]

    @property
    def advice(self) -> str:
        """Return how its calls are tried when it cannot be tested."""
        if self.file is None:
            return "The shop cannot be tested."
        return f"The shop cannot be tested. Try its calls with: paydouble conformance doctor {self.named}"

    def end(self) -> None:
        """End the process that the file has started."""
        if self.process is not None:
            self.process.kill()


def shop_of(named: str) -> Shop:
    """Return the shop that an argument names; `UsageError` when there is none, or it cannot be used."""
    found = _IN_PYTHON.fullmatch(named)
    is_described = not named.endswith(".py") and Path(named).is_file()
    if is_described or found is None or not (found["name"] or found["module"].endswith(".py")):
        from paydouble.conformance.adapter import adapter_of
        from paydouble.conformance.merchant_file import read_merchant

        path = Path(named)
        file = read_merchant(path)
        return Shop(named, adapter_of(file, path.resolve().parent), file)
    return Shop(named, _class_of(_imported(found["module"]), found["module"], found["name"]))


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
        sys.exit(FAILED)
    finally:
        shop.end()


def _imported(module: str) -> ModuleType:
    """Import a module by its name, or by its file; `UsageError` when it cannot be imported."""
    name, folder, path = module, Path.cwd(), Path(module).resolve()
    if module.endswith(".py"):
        if not path.is_file():
            raise UsageError(f"{printable(module)}: there is no such file")
        parts, folder = [path.stem], path.parent
        while (folder / "__init__.py").is_file():
            parts.insert(0, folder.name)
            folder = folder.parent
        name = ".".join(parts)
    sys.path.insert(0, str(folder))
    try:
        found = import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the module does when it is imported
        raise UsageError(f"{printable(module)} cannot be imported: {_what(error)}") from None
    if module.endswith(".py") and getattr(found, "__file__", None) != str(path):
        other = getattr(found, "__file__", None) or "a module of Python itself"
        raise UsageError(f"{printable(module)}: the name {name} is that of {other}; give the file another name")
    return found


def _what(error: BaseException) -> str:
    """Return what an error says and where it was raised, in one line."""
    said = " ".join(str(error).split())
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {printable(said)}"
    # The first frame is this module's; those of the import itself tell nothing.
    frames = [each for each in traceback.extract_tb(error.__traceback__)[1:] if "importlib" not in each.filename]
    place = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {printable(said)}{printable(place)}"


def _class_of(module: ModuleType, told: str, name: str | None) -> type[Merchant]:
    """Return an adapter of a module; without a name the only one that the module has."""
    from paydouble.stateful.merchant import Merchant

    own = {key: value for key, value in vars(module).items() if isinstance(value, type) and issubclass(value, Merchant)}
    made = {key: value for key, value in own.items() if value.__module__ == module.__name__}
    names = ", ".join(made) or "none"
    if name is None and not made:
        raise UsageError(f"{printable(told)} has no adapter: no class in it derives from paydouble.stateful.Merchant")
    if name is None:
        # A base that is shared by several is no shop of its own.
        last = [key for key, value in made.items() if not any(value in each.__mro__[1:] for each in made.values())]
        if len(last) != 1:
            example = f"{printable(told)}:{last[0]}"
            raise UsageError(f"{printable(told)} has these adapters: {names}; name one, as in {example}")
        name = last[0]
    if name not in own:
        kind = "is no class that derives from paydouble.stateful.Merchant" if hasattr(module, name) else "is not there"
        raise UsageError(f"{printable(told)}: {printable(name)!r} {kind}; its adapters are: {names}")
    return own[name]
