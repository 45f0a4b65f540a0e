"""The table of pages: every page but the login, collected from the modules of the views."""

from __future__ import annotations

from typing import Final

from paydouble.web.inspector import actions, inbox, payment, sandbox, sandbox_faults, sandboxes
from paydouble.web.inspector.visits import PageRoute, home, sandboxes_url

ROUTES: Final[tuple[PageRoute, ...]] = (
    *inbox.ROUTES,
    *payment.ROUTES,
    *actions.ROUTES,
    *sandboxes.ROUTES,
    *sandbox.ROUTES,
    *sandbox_faults.ROUTES,
)
NAVIGATION: Final = (("Inbox", home()), ("Sandboxes", sandboxes_url()))
"""What the head of every page links to: labels and URLs."""
