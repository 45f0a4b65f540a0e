"""The table of pages: every page but the login, collected from the modules of the views."""

from __future__ import annotations

from typing import Final

from paydouble.web.inspector import actions, inbox, payment
from paydouble.web.inspector.visits import PageRoute, home

ROUTES: Final[tuple[PageRoute, ...]] = (*inbox.ROUTES, *payment.ROUTES, *actions.ROUTES)
NAVIGATION: Final = (("Inbox", home()),)
"""What the head of every page links to: labels and URLs."""
