"""`python -m paydouble`, and the `paydouble` command."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line."""
    # Imports make many objects that live for ever; looking through them again and again is a tenth of the start.
    gc.disable()
    from paydouble.cli.main import run

    sys.exit(run())


if __name__ == "__main__":
    main()
