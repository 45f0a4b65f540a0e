import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHOPS = ROOT / "conformance-shops"
CACHE = ROOT / ".cache" / "conformance-shops"

# The program without which a shop does not start.
TOOLCHAINS = {"flask": "python3", "express": "npm", "go": "go", "php": "php", "jdk": "javac"}

ROW = re.compile(r"^\| `([a-z0-9-]+)` \| [^|]+ \| [^|]+ \|$", re.MULTILINE)


def test_each_shop_is_tested_here() -> None:
    """Every folder with a merchant file has its toolchain in this file."""

    assert {path.parent.name for path in SHOPS.glob("*/merchant.yaml")} == set(TOOLCHAINS)


@pytest.mark.parametrize("shop", TOOLCHAINS)
def test_the_table_lists_the_mistakes_that_the_shop_can_make(shop: str) -> None:
    """The names in mistakes.md are those that the code asks for, and there are at least fourteen."""

    names = ROW.findall((SHOPS / shop / "mistakes.md").read_text("utf-8"))
    sources = [path for path in (SHOPS / shop).rglob("*") if path.suffix in {".py", ".js", ".go", ".php", ".java"}]
    calls = re.findall(r"\b[mM]istake\(([^)]*)\)", "\n".join(path.read_text("utf-8") for path in sources))
    asked = {name for call in calls for name in re.findall(r"[\"']([a-z0-9-]+)[\"']", call)}

    assert sorted(asked) == sorted(names)
    assert len(names) >= 14


@pytest.fixture
def folder(shop: str, tmp_path: Path) -> Path:
    """A folder like the shop's, whose merchant file has a free port and other books, so that runs can overlap."""
    toolchain = TOOLCHAINS[shop]
    if shutil.which(toolchain) is None:
        pytest.skip(f"{toolchain} is not installed")
    if toolchain == "php":
        modules = subprocess.run(["php", "-m"], capture_output=True, text=True, check=True).stdout.split()
        if missing := {"pdo_sqlite", "curl"} - set(modules):
            pytest.skip(f"php has no {' and no '.join(sorted(missing))}")
    copy = tmp_path / "shop"
    copy.mkdir()
    for path in (SHOPS / shop).iterdir():
        if path.name != "merchant.yaml":
            (copy / path.name).symlink_to(path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    merchant = (SHOPS / shop / "merchant.yaml").read_text("utf-8")
    merchant = re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{port}", merchant)
    merchant = re.sub(r"PORT: .*", f'PORT: "{port}"', merchant)
    merchant = re.sub(r"SHOP_DATA: .*", f"SHOP_DATA: {tmp_path / 'books'}", merchant)
    (copy / "merchant.yaml").write_text(merchant, "utf-8")
    return copy


@pytest.mark.parametrize("shop", TOOLCHAINS)
def test_a_shop_takes_a_payment(shop: str, folder: Path) -> None:
    """The doctor starts the shop from its merchant file, and an order of it is paid, shipped and booked."""

    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "SHOP_CACHE": str(CACHE / shop),
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "paydouble", "conformance", "doctor", folder / "merchant.yaml"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "/status is paid" in done.stdout
    assert "✓ order.shipments\n    1\n" in done.stdout
    assert "✓ order.balance\n    '49.90'\n" in done.stdout
