"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# Workers share the cores, so a slow example says nothing about the code.
settings.register_profile("paydouble", deadline=None, print_blob=True)
settings.load_profile("paydouble")
