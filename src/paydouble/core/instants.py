"""Points in time: internally whole milliseconds since the Unix epoch, outside ISO 8601 in UTC (assumption I3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_KEPT: Final = 512
# datetime ends with the year 9999; advancing a clock beyond this is refused.
LATEST_MS: Final = int((datetime(9999, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds()) * 1000


class Stamps:
    """Writes instants as texts; caches those of recent instants, and of their seconds, which many instants share.

    With `seconds` the milliseconds are cut off, so several instants have the same text (setting `timestamps: seconds`).
    """

    __slots__ = ("_seconds", "_texts")

    def __init__(self, *, seconds: bool = False) -> None:
        """Choose the precision."""
        self._seconds = seconds
        self._texts: dict[int, str] = {}

    def write(self, instant: int) -> str:
        """Return for example `2026-01-01T00:00:00.250Z`."""
        texts = self._texts
        text = texts.get(instant)
        if text is None:
            second, millisecond = divmod(instant, 1000)
            # The key `~second`, a negative number, has the text of the second, without milliseconds.
            whole = texts.get(~second)
            if whole is None:
                whole = texts[~second] = (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S")
            text = f"{whole}Z" if self._seconds else f"{whole}.{millisecond:03d}Z"
            if len(texts) >= _KEPT:
                texts.clear()
            texts[instant] = text
        return text


def write_instant(instant: int) -> str:
    """Return the ISO 8601 text with milliseconds and `Z`."""
    return Stamps().write(instant)


def parse_instant(text: object) -> int:
    """Return the milliseconds of an ISO 8601 text with a zone; `ValueError` says what is wrong."""
    if not isinstance(text, str):
        message = f"an instant is a text such as '2026-01-01T00:00:00Z', not {text!r}"
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError, not TypeError, into a located error
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        message = f"{text!r} is not an instant; write it like 2026-01-01T00:00:00Z, with its zone"
        raise ValueError(message)
    instant = (moment - _EPOCH) // timedelta(milliseconds=1)
    if not 0 <= instant < LATEST_MS:
        message = f"{text!r} is outside the years 1970 to 9998"
        raise ValueError(message)
    return instant
