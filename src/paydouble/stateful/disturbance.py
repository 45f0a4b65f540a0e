"""What disturbs one request for a deposit or for a refund."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, Self

from paydouble.stateful.interruptions import KINDS, Act, Point, told_at
from paydouble.stateful.troubles import AFTERWARDS, DURATIONS, POST_TROUBLES, TO_THE_END, Trouble, named

# A client that tries five times (contract section 7) outlasts these.
_SHORT: Final = (0, 1, 2)


class Limit(NamedTuple):
    """What a 429 asks for."""

    seconds: float
    """The least pause before the next attempt."""
    operation: str
    """The operation whose requests are refused; what has refused another one is not known, nor what that asks for."""


class Disturbance(NamedTuple):
    """A trouble that a request meets, what happens meanwhile, and what the requests after it meet."""

    trouble: str = "none"
    """One of `POST_TROUBLES`."""
    meanwhile: str = "none"
    at: Point = 0
    """The point of the merchant's code at which something happens meanwhile."""
    lasts: int | str = 0
    """One of `DURATIONS`."""
    then: str = "none"
    """One of `AFTERWARDS`, or several with commas between them, one for each request that follows."""

    @property
    def met(self) -> Trouble:
        """Return the trouble; `UsageError` when there is none of this name."""
        return named(POST_TROUBLES, self.trouble, "trouble")

    @property
    def following(self) -> tuple[Trouble, ...]:
        """Return what the requests after the first one meet; `UsageError` for what is not in `AFTERWARDS`."""
        allowed = {name: POST_TROUBLES[name] for name in AFTERWARDS}
        return tuple(named(allowed, name.strip(), "trouble of the next request") for name in self.then.split(","))

    @property
    def act(self) -> Act | None:
        """Return what happens meanwhile; None where nothing does."""
        kind = KINDS.get(self.meanwhile)
        return None if kind is None else kind.act

    @property
    def is_none(self) -> bool:
        """Return whether nothing disturbs the request."""
        return self.trouble == self.meanwhile == self.then == "none"

    @property
    def is_short(self) -> bool:
        """Return whether a client that tries as often as the contract recommends outlasts it."""
        return self.lasts in _SHORT and (self.then == "none" or all(each.gets_through for each in self.following))

    @property
    def lasts_to_the_end(self) -> bool:
        """Return whether it lasts to the end of the play."""
        return self.lasts == TO_THE_END

    def limit(self, operation: str) -> Limit | None:
        """Return what it asks for as a disturbance of an operation; None when it asks for no pause.

        The trouble and what the next requests meet can each come first, so it is the shortest pause of them.
        """
        pauses = (each.retry_after_seconds for each in (self.met, *self.following))
        seconds = min((each for each in pauses if each is not None), default=None)
        return None if seconds is None else Limit(seconds, operation)

    def clauses(self, meanwhile: Mapping[str, str]) -> list[str]:
        """Return its parts in words, empty where there is none. `meanwhile` describes what can happen meanwhile.

        `UsageError` for a name that is in no table.
        """
        following = (f"at the next request {each.description}" for each in self.following if each.description)
        return [
            self.met.description,
            named(DURATIONS, self.lasts, "duration"),
            told_at(named(meanwhile, self.meanwhile, "meanwhile"), self.at),
            ", and ".join(following),
        ]

    def without_trouble(self) -> Self:
        """Return it without its trouble."""
        return self._replace(trouble="none", lasts=0)

    def possible_at_once(self) -> Self:
        """Return it without a refusal that would meet only one of two requests that come at once."""
        kind = KINDS.get(self.meanwhile)
        return self.without_trouble() if self.met.refuses and kind is not None and kind.sends else self
