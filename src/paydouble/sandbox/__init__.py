"""One isolated business: every command and every query."""

from paydouble.sandbox.business import Sandbox
from paydouble.sandbox.registry import Registry

__all__ = ["Registry", "Sandbox"]
