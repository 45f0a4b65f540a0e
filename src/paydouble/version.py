"""The version: here and nowhere else. The build reads this file, so that no start has to ask the package's metadata."""

from __future__ import annotations

__version__ = "0.1.0"
