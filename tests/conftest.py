"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# Two workers share two cores, so a slow example says nothing about the code.
settings.register_profile("paydouble", deadline=None, print_blob=True)
settings.load_profile("paydouble")
