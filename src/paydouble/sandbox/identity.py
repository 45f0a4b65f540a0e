"""Who a sandbox is: its id, its seed, and the credentials of its business."""

from __future__ import annotations

from typing import NamedTuple

from paydouble.core.seeded_random import SeededRandom


class Secrets(NamedTuple):
    """The credentials of a business; those of the sandbox that a test has without asking for one."""

    business_key: str = "sandbox_key"
    business_secret: str = "sandbox_secret"  # noqa: S105 - known to everybody
    webhook_secret: str = "whsec_sandbox"  # noqa: S105 - known to everybody


class Identity(NamedTuple):
    """What a sandbox is created with and keeps."""

    id: str
    seed: int
    business_key: str
    business_secret: str
    webhook_secret: str

    @classmethod
    def derived(cls, server_seed: int, sandbox_id: str, seed: int) -> Identity:
        """Return an identity whose credentials follow from the seed of the server and the id of the sandbox."""
        made_up = SeededRandom(server_seed).digest("sandbox", sandbox_id).hex()
        return cls(
            id=sandbox_id,
            seed=seed,
            business_key=f"key_{sandbox_id}_{made_up[:8]}",
            business_secret=f"sec_{made_up[8:28]}",
            webhook_secret=f"whsec_{made_up[28:]}",
        )
