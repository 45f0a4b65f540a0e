"""`python -m paydouble`, and the `paydouble` command."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Run the command line."""
    # Imports make many objects that are never freed; collecting among them takes a tenth of the start.
    gc.disable()
    # pydantic asks every installed package for plugins before it makes its first model; nothing here has any.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from paydouble.cli.main import run

    sys.exit(run())


if __name__ == "__main__":
    main()
