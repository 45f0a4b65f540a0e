"""The table of pages: every page but the login, collected from the modules of the views."""

from __future__ import annotations

from typing import Final

from paydouble.web.inspector import (
    actions,
    delivery,
    doctor,
    inbox,
    payment,
    request,
    sandbox,
    sandbox_faults,
    sandboxes,
    scenarios,
    timeline,
)
from paydouble.web.inspector.visits import PageRoute, doctor_url, home, sandboxes_url, scenarios_url

ROUTES: Final[tuple[PageRoute, ...]] = (
    *inbox.ROUTES,
    *payment.ROUTES,
    *actions.ROUTES,
    *timeline.ROUTES,
    *request.ROUTES,
    *delivery.ROUTES,
    *doctor.ROUTES,
    *sandboxes.ROUTES,
    *sandbox.ROUTES,
    *sandbox_faults.ROUTES,
    *scenarios.ROUTES,
)
NAVIGATION: Final = (
    ("Inbox", home()),
    ("Sandboxes", sandboxes_url()),
    ("Scenarios", scenarios_url()),
    ("Signature doctor", doctor_url()),
)
"""What the head of every page links to: labels and URLs."""
