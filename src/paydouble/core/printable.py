"""Makes untrusted text safe to print: control characters and bidirectional controls become escapes.

A name, a path or a body may contain anything. Printed unchanged, a line end forges a log line, an escape sequence moves
the cursor or hides text, and a bidirectional control changes the displayed order of a line.
"""

from __future__ import annotations

import re
from typing import Final

# Besides C0: DEL and C1, direction controls, line separators, and halves of surrogate pairs, which cannot be encoded.
_BESIDES_C0: Final = "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb\ud800-\udfff"
_UNSAFE: Final = re.compile(f"[\x00-\x1f{_BESIDES_C0}]")
_UNSAFE_IN_JSON: Final = re.compile(f"[{_BESIDES_C0}]")  # JSON has an escape for each C0 already
_NOT_ASCII: Final = re.compile("[^\x00-\x7e]")
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str) -> str:
    r"""Return a text on one line, with an escape such as `\n`, `\x1b` or `\u202e` for each unsafe character."""
    return _UNSAFE.sub(_escape, text)


def printable_json(text: str, *, ascii_only: bool = False) -> str:
    """Return an equivalent JSON text with unsafe characters escaped; line ends stay."""
    return (_NOT_ASCII if ascii_only else _UNSAFE_IN_JSON).sub(_escape_in_json, text)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004 - two hexadecimal digits


def _escape_in_json(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
