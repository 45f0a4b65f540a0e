import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from language_shops import SHOPS, environment, placed

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


@pytest.mark.timeout(480)  # the first start of a shop may compile it
@pytest.mark.parametrize("shop", TOOLCHAINS)
def test_a_shop_takes_a_payment(shop: str, tmp_path: Path) -> None:
    """The doctor starts the shop from its merchant file, and an order of it is paid, shipped and booked."""

    toolchain = TOOLCHAINS[shop]
    if shutil.which(toolchain) is None:
        pytest.skip(f"{toolchain} is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "paydouble", "conformance", "doctor", placed(shop, tmp_path)],
        env={**environment(shop), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=450,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "/status is paid" in done.stdout
    assert "✓ order.shipments\n    1\n" in done.stdout
    assert "✓ order.balance\n    '49.90'\n" in done.stdout
