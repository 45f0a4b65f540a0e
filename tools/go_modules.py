"""Make the Go modules of `clients/go` as a module proxy serves them: for a release, and to try them before it.

    python tools/go_modules.py FOLDER [--repository HOST/OWNER/NAME]

Writes `FOLDER/MODULE/@v/vX.Y.Z.zip`, `.mod` and `.info` for each module that is released, so that
`GOPROXY=file://FOLDER` finds it. With `--repository` it fails when `go get` would not find the modules there: a module
is named by the address of its repository and its folder.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GO = ROOT / "clients" / "go"
MODULES = ("paydoubletest", "paydoublecontainer")
VERSION_FILE = ROOT / "src" / "paydouble" / "version.py"
# The same sources make the same bytes.
MADE = (1980, 1, 1, 0, 0, 0)


def version() -> str:
    """Return the version of the modules, which is the server's, as Go writes it."""
    found = re.search(r'__version__ = "(.+)"', VERSION_FILE.read_text("utf-8"))
    if found is None:
        raise SystemExit(f"go_modules: {VERSION_FILE} names no version")
    return f"v{found[1]}"


def path_of(module: str) -> str:
    """Return the path by which a module is imported."""
    return (GO / module / "go.mod").read_text("utf-8").split()[1]


def write(folder: Path) -> list[Path]:
    """Write all modules to a folder, and return their zip files."""
    made = []
    for module in MODULES:
        path, tag = path_of(module), version()
        place = folder.joinpath(*path.split("/"), "@v")
        place.mkdir(parents=True, exist_ok=True)
        (place / "list").write_text(f"{tag}\n", "utf-8")
        (place / f"{tag}.info").write_text(json.dumps({"Version": tag}), "utf-8")
        (place / f"{tag}.mod").write_bytes((GO / module / "go.mod").read_bytes())
        made.append(place / f"{tag}.zip")
        _zip(made[-1], f"{path}@{tag}", GO / module)
    return made


def _zip(target: Path, prefix: str, folder: Path) -> None:
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    files["LICENSE"] = ROOT / "LICENSE"  # as `go get` adds it to a module in a folder of a repository
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(f"{prefix}/{name}", MADE), files[name].read_bytes())


def main() -> int:
    """Write the modules; return the exit status."""
    parser = argparse.ArgumentParser(description="Make the Go modules of clients/go as a module proxy serves them.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repository", help="where the modules will be, such as github.com/paydouble/paydouble")
    options = parser.parse_args()
    for module in MODULES:
        wanted = f"{options.repository}/clients/go/{module}"
        if options.repository is not None and path_of(module) != wanted:
            print(
                f"go_modules: the module is named {path_of(module)}, and `go get` looks for {wanted} in this "
                "repository; change the name in clients/go and docs/how-to/use-from-go.md",
                file=sys.stderr,
            )
            return 1
    for made in write(options.folder):
        print(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
