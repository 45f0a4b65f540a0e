"""A rehearsal of a scenario: the merchant of its file, a receiver that accepts everything, and the result."""

from paydouble.rehearsal.comparing import Difference, compare
from paydouble.rehearsal.rehearsing import Arrival, Rehearsal, rehearse

__all__ = ["Arrival", "Difference", "Rehearsal", "compare", "rehearse"]
