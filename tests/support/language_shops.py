"""The shops in other languages: a copy with a port of its own, and the environment in which it runs."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Final

from ports import free_port

ROOT: Final = Path(__file__).resolve().parents[2]
SHOPS: Final = ROOT / "conformance-shops"
CACHE: Final = ROOT / ".cache" / "conformance-shops"


def placed(shop: str, folder: Path) -> Path:
    """Return the merchant file of a copy of a shop that has a port and books of its own, so that runs can overlap."""
    copy = folder / "shop"
    copy.mkdir()
    for path in (SHOPS / shop).iterdir():
        if path.name != "merchant.yaml":
            (copy / path.name).symlink_to(path)
    port = free_port()
    text = (SHOPS / shop / "merchant.yaml").read_text("utf-8")
    text = re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{port}", text)
    text = re.sub(r"PORT: .*", f'PORT: "{port}"', text)
    text = re.sub(r"SHOP_DATA: .*", f"SHOP_DATA: {folder / 'books'}", text)
    file = copy / "merchant.yaml"
    file.write_text(text, "utf-8")
    return file


def environment(shop: str, mistake: str = "") -> dict[str, str]:
    """Return the environment in which a copy of a shop runs; what it builds is kept in the repository's cache."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": programs, "SHOP_CACHE": str(CACHE / shop), "SHOP_MISTAKES": mistake}
