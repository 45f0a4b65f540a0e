"""A shop in a process of its own, as a merchant file describes it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

SHOP = Path(__file__).parents[1] / "served" / "shop.py"


def described_shop(folder: Path, mistake: str = "") -> dict[str, Any]:
    """Return the document of a merchant file for the shop of `tests/served/shop.py`, at a free port of each run."""
    at = "http://127.0.0.1:{port}"
    config = {"url": "{base_url}", "clock_url": "{clock_url}", "key": "{business_key}", "secret": "{business_secret}"}
    return {
        "name": "python-shop",
        "webhook": {"url": f"{at}/webhooks"},
        "start": {
            "command": [sys.executable, "-S", str(SHOP), "{port}", str(folder / "orders.json")],
            "ready": f"GET {at}/health",
        },
        "driver": {
            "place_order": {
                "POST": f"{at}/test/orders",
                "json": {"id": "{order}", "amount": "{amount}", "currency": "{currency}"},
            },
            "pay": {"POST": at + "/orders/{order}/pay"},
            "order": {"GET": at + "/orders/{order}", "status": "/status", "shipments": "/shipped"},
            "customer_returns": {"POST": at + "/orders/{order}/return"},
            "tick": {"POST": f"{at}/test/tick"},
            "reset": {
                "POST": f"{at}/test/reset",
                "json": {**config, "webhook_secret": "{webhook_secret}", "mistake": mistake, "timeout": 0.4},
            },
        },
    }


def write_merchant(folder: Path, document: dict[str, Any]) -> str:
    """Write a merchant file; returns its path."""
    path = folder / "merchant.yaml"
    path.write_text(json.dumps(document))  # JSON is YAML
    return str(path)


def hold_jobs(folder: Path, document: dict[str, Any]) -> tuple[int, int]:
    """Let each job wait; returns a descriptor with a byte for each that has begun, and one whose end frees them."""
    job = "go = open('go'); open('ticked', 'w').write('.'); go.read()"
    document["driver"]["tick"] = {"command": [sys.executable, "-S", "-c", job]}
    for name in ("ticked", "go"):
        os.mkfifo(folder / name)
    return os.open(folder / "ticked", os.O_RDWR), os.open(folder / "go", os.O_RDWR)
