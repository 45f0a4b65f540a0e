"""How long a test waits for what must come: long enough for a machine that is starved, and never the normal case.

A test that guards against waiting for something makes that thing take longer than this, so that the mistake is seen on
a quick machine and no slow machine is mistaken for it. The suite's own timeout is longer still.
"""

from __future__ import annotations

from typing import Final

AT_MOST_SECONDS: Final = 60.0
FAR_LONGER: Final = "5m"
"""A duration for what must not be waited for."""
