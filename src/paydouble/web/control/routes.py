"""The control table: every call under `/_paydouble`, collected from the modules of the nouns."""

from __future__ import annotations

from typing import Final

from paydouble.web.control import deliveries, faults, journal, objects, sandboxes, scenarios, server, stream, webhook

NOUNS: Final = (
    server.NOUN,
    sandboxes.NOUN,
    faults.NOUN,
    journal.NOUN,
    deliveries.NOUN,
    webhook.NOUN,
    objects.NOUN,
    scenarios.NOUN,
    stream.NOUN,
)
ROUTES: Final = tuple(route for noun in NOUNS for route in noun.routes)
