"""A scenario tried out: the merchant that its file describes, a receiver that takes everything, and what came of it."""

from paydouble.rehearsal.comparing import Difference, compare
from paydouble.rehearsal.rehearsing import Arrival, Rehearsal, rehearse

__all__ = ["Arrival", "Difference", "Rehearsal", "compare", "rehearse"]
