"""What the environment says, and which mistakes are switched on."""

import os

PORT = int(os.environ.get("PORT", "3000"))
DATA = os.environ.get("SHOP_DATA", "data")
API_URL = os.environ.get("PAYMENTS_URL", "http://127.0.0.1:8080/api/v1").rstrip("/")
API_KEY = os.environ.get("PAYMENTS_KEY", "")
API_SECRET = os.environ.get("PAYMENTS_SECRET", "")
WEBHOOK_SECRET = os.environ.get("WEBHOOK_SECRET", "").encode()
LIVEMODE = os.environ.get("PAYMENTS_LIVEMODE", "false") == "true"
PAUSE_SCALE = float(os.environ.get("SHOP_PAUSE_SCALE", "1"))
TIMEOUT_SECONDS = float(os.environ.get("SHOP_TIMEOUT", "10"))

_MISTAKES = {name.strip() for name in os.environ.get("SHOP_MISTAKES", "").split(",") if name.strip()}


def mistake(*names: str) -> bool:
    """Return whether one of these mistakes is switched on; mistakes.md describes them."""
    return not _MISTAKES.isdisjoint(names)
