"""The usual mistakes around a signature, each as one row: what it is called, how to undo it, what to tell.

A row's `undo` takes the thing as the receiver has it and yields what it may have been before the mistake. Whether a
guess was right, only the HMAC can tell; `diagnosis` tries the rows.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from paydouble.webhooks.respelling import respellings
from paydouble.webhooks.signing import to_bytes

Thing = TypeVar("Thing")

_STANDARD_ALPHABET = bytes.maketrans(b"-_", b"+/")


@dataclass(frozen=True, slots=True)
class Mistake:
    """What went wrong (`cause`, a slug that does not change), in a sentence, and how to mend it."""

    cause: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Trial(Mistake, Generic[Thing]):
    """A mistake that can be undone on trial."""

    undo: Callable[[Thing], Iterable[Thing]]


def _recoded(decode_as: str, encode_as: str) -> Callable[[bytes], list[bytes]]:
    def undo(body: bytes) -> list[bytes]:
        try:
            return [body.decode(decode_as).encode(encode_as)]
        except UnicodeError:
            return []

    return undo


def _without(pattern: bytes, replacement: bytes = b"") -> Callable[[bytes], list[bytes]]:
    return lambda body: [re.sub(pattern, replacement, body)]


def _inside_json_string(body: bytes) -> list[bytes]:
    try:
        text = json.loads(body)
    except (ValueError, RecursionError):
        return []
    return [to_bytes(text)] if isinstance(text, str) else []


def _base64_decoded(secret: bytes) -> list[bytes]:
    try:
        padded = secret.translate(_STANDARD_ALPHABET) + b"=" * (-len(secret) % 4)
        return [base64.b64decode(padded, validate=True)]
    except binascii.Error:
        return []


def _hex_decoded(secret: bytes) -> list[bytes]:
    return [bytes.fromhex(secret.decode())] if re.fullmatch(rb"([0-9a-fA-F]{2})+", secret) else []


def _after_prefix(undo: Callable[[bytes], list[bytes]]) -> Callable[[bytes], list[bytes]]:
    """Also undo it on what follows `whsec_`, where other services put the encoded key."""
    return lambda secret: undo(secret) + undo(secret.removeprefix(b"whsec_"))


_RAW_BODY = "Verify the raw bytes of the request, before any parser or middleware"

BODY_TRIALS: tuple[Trial[bytes], ...] = (
    Trial(
        "trailing-newline-added",
        "the body has gained a line end (or white space) at its end that was not signed",
        "Write the body without a final newline: `printf %s` and not `echo`, and an editor that adds none",
        lambda body: [body.removesuffix(b"\n"), body.removesuffix(b"\r\n"), body.rstrip()],
    ),
    Trial(
        "trailing-newline-lost",
        "the body has lost the line end that was signed with it",
        f"{_RAW_BODY}, with no strip() or trim() on the way",
        lambda body: [body + b"\n", body + b"\r\n"],
    ),
    Trial(
        "line-ends-changed",
        "the line ends inside the body were changed between LF and CRLF",
        "Read and write the body as binary, not as text, and let no tool convert its line ends",
        lambda body: [body.replace(b"\r\n", b"\n"), body.replace(b"\n", b"\r\n")],
    ),
    Trial(
        "bom-added",
        "the body begins with a byte order mark that was not signed",
        "Save the body as UTF-8 without a byte order mark",
        _without(rb"\A\xef\xbb\xbf"),
    ),
    Trial(
        "bom-lost",
        "the byte order mark that was signed is gone from the body",
        f"{_RAW_BODY}: a decoder for utf-8-sig drops the mark",
        lambda body: [b"\xef\xbb\xbf" + body],
    ),
    Trial(
        "leading-white-space",
        "the body begins with white space that was not signed",
        _RAW_BODY,
        lambda body: [body.lstrip(), body.strip()],
    ),
    Trial(
        "charset-misread",
        "the body was read as Latin-1 (or Windows-1252) and written as UTF-8, so its non-ASCII letters are garbled",
        f"{_RAW_BODY}; where it must be text, decode it as UTF-8",
        lambda body: _recoded("utf-8", "latin-1")(body) + _recoded("utf-8", "cp1252")(body),
    ),
    Trial(
        "charset-changed",
        "the body was written in another character set than the UTF-8 that was signed",
        f"{_RAW_BODY}; where it was decoded, encode it as UTF-8 again",
        lambda body: [
            original for charset in ("latin-1", "cp1252", "utf-16") for original in _recoded(charset, "utf-8")(body)
        ],
    ),
    Trial(
        "body-in-json-string",
        "the body was encoded as JSON once more: it is a JSON string that holds the signed text",
        f"{_RAW_BODY}, and do not call a JSON encoder on a text that is JSON already",
        _inside_json_string,
    ),
    Trial(
        "reserialised-body",
        "the body was parsed and written anew: the same JSON, but other bytes (blanks, order of members, escapes, "
        "or the digits of numbers such as 49.90)",
        f"{_RAW_BODY} has parsed it: express.raw(), request.get_data(), request.body, php://input",
        respellings,
    ),
)

SECRET_TRIALS: tuple[Trial[bytes], ...] = (
    Trial(
        "secret-white-space",
        "the secret was given with white space around it, often the newline of a file",
        "Strip the secret where it is read, and store it without a final newline",
        lambda secret: [secret.strip()],
    ),
    Trial(
        "secret-white-space-lost",
        "the webhook was signed with white space after the secret that is not in the one given",
        "Strip the secret where the signer reads it",
        lambda secret: [secret + b"\n", secret + b"\r\n", secret + b" ", b" " + secret],
    ),
    Trial(
        "secret-quoted",
        "the secret was given with quotation marks around it, as some env files are read",
        "Take the quotation marks off the secret in the environment or the env file",
        lambda secret: [secret.strip(mark) for mark in (b'"', b"'", b"`", b"\"' \r\n")],
    ),
    Trial(
        "secret-quotes-lost",
        "the webhook was signed with quotation marks around the secret",
        "Take the quotation marks off the secret that the signer reads",
        lambda secret: [b'"' + secret + b'"', b"'" + secret + b"'"],
    ),
    Trial(
        "secret-prefix-lost",
        "the secret was given without its whsec_ prefix, which is part of the key",
        "Copy the whole secret, with its whsec_",
        lambda secret: [b"whsec_" + secret],
    ),
    Trial(
        "secret-prefix-added",
        "the secret was given with a whsec_ prefix that is no part of the key",
        "Use the secret without whsec_, exactly as the dashboard shows it",
        lambda secret: [secret.removeprefix(b"whsec_")],
    ),
    Trial(
        "secret-base64-decoded",
        "the webhook was signed with the Base64 of the secret given: it was decoded on its way here",
        "Use the secret's text itself as the key, without decoding it",
        lambda secret: [
            encoded
            for prefix in (b"", b"whsec_")
            for encoding in (base64.b64encode, base64.urlsafe_b64encode)
            for encoded in (prefix + encoding(secret), prefix + encoding(secret).rstrip(b"="))
        ],
    ),
    Trial(
        "secret-base64-encoded",
        "the webhook was signed with what the secret given is the Base64 of: the signer decoded it, or it was encoded "
        "on its way here",
        "Use the same text as the key on both sides, neither encoded nor decoded",
        _after_prefix(_base64_decoded),
    ),
    Trial(
        "secret-hex-decoded",
        "the webhook was signed with the hexadecimal digits of the secret given: it was decoded on its way here",
        "Use the secret's text itself as the key, without decoding it",
        lambda secret: [secret.hex().encode(), b"whsec_" + secret.hex().encode(), secret.hex().upper().encode()],
    ),
    Trial(
        "secret-hex-encoded",
        "the webhook was signed with the bytes that the secret given spells in hexadecimal",
        "Use the same text as the key on both sides, neither encoded nor decoded",
        _after_prefix(_hex_decoded),
    ),
)
