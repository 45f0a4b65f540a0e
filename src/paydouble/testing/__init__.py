"""For tests of a merchant's own code: a webhook receiver that verifies, remembers and answers as it is told."""

from __future__ import annotations

from paydouble.testing.receiver import Received, Receiver

__all__ = ["Received", "Receiver"]
