"""The usual mistakes with a signature, one row each: its name, its message, its remedy, and how to undo or detect it.

A `Trial` can be undone: `undo` takes the body, the secret or the header as the receiver has it, and yields what it may
have been before the mistake. `diagnosis` tries the rows; a guess is right when the HMAC of its result fits. A `Shape`
is detected by a pattern, where no guess fits.
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
_BASE64_DIGITS = 43  # of 32 bytes, without the padding `=`


@dataclass(frozen=True, slots=True)
class Mistake:
    """A cause (a slug that never changes), what is wrong in one sentence, and how to fix it."""

    cause: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Trial(Mistake, Generic[Thing]):
    """A mistake that can be undone."""

    undo: Callable[[Thing], Iterable[Thing]]


@dataclass(frozen=True, slots=True)
class Shape(Mistake):
    """A mistake that is detected by what the header looks like."""

    pattern: re.Pattern[str]


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
    """Also try the part after `whsec_`, where other services put the encoded key."""
    return lambda secret: undo(secret) + undo(secret.removeprefix(b"whsec_"))


def _digest_as_hex(header: str) -> list[str]:
    def as_hex(found: re.Match[str]) -> str:
        return base64.b64decode(found[0][:_BASE64_DIGITS].encode().translate(_STANDARD_ALPHABET) + b"=").hex()

    return [re.sub(rf"(?<=\bv1=)[A-Za-z0-9+/_-]{{{_BASE64_DIGITS}}}=?(?=,|$)", as_hex, header)]


_RAW_BODY = "Verify the raw bytes of the request, before any parser or middleware"

BODY_TRIALS: tuple[Trial[bytes], ...] = (
    Trial(
        "trailing-newline-added",
        "a line end (or white space) was added at the end of the body after it was signed",
        "Write the body without a final newline: `printf %s` and not `echo`, and an editor that adds none",
        lambda body: [body.removesuffix(b"\n"), body.removesuffix(b"\r\n"), body.rstrip()],
    ),
    Trial(
        "trailing-newline-lost",
        "the body was signed with a line end that it no longer has",
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
        "the body was signed with a byte order mark that it no longer has",
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
        "the body was decoded as Latin-1 (or Windows-1252) and encoded as UTF-8, so its non-ASCII letters are garbled",
        f"{_RAW_BODY}; if it must be text, decode it as UTF-8",
        lambda body: _recoded("utf-8", "latin-1")(body) + _recoded("utf-8", "cp1252")(body),
    ),
    Trial(
        "charset-changed",
        "the body was encoded in another character set than UTF-8, in which it was signed",
        f"{_RAW_BODY}; if it was decoded, encode it as UTF-8 again",
        lambda body: [
            original for charset in ("latin-1", "cp1252", "utf-16") for original in _recoded(charset, "utf-8")(body)
        ],
    ),
    Trial(
        "body-in-json-string",
        "the body was encoded as JSON a second time: it is a JSON string with the signed text inside",
        f"{_RAW_BODY}, and do not encode a text that is JSON already",
        _inside_json_string,
    ),
    Trial(
        "reserialised-body",
        "the body was parsed and serialised again: the same JSON, but other bytes (white space, order of members, "
        "escapes, or the digits of numbers such as 49.90)",
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
        "Remove the quotation marks from the secret in the environment or the env file",
        lambda secret: [secret.strip(mark) for mark in (b'"', b"'", b"`", b"\"' \r\n")],
    ),
    Trial(
        "secret-quotes-lost",
        "the webhook was signed with quotation marks around the secret",
        "Remove the quotation marks from the secret that the signer reads",
        lambda secret: [b'"' + secret + b'"', b"'" + secret + b"'"],
    ),
    Trial(
        "secret-prefix-lost",
        "the secret was given without its whsec_ prefix, which is part of the key",
        "Copy the whole secret, including whsec_",
        lambda secret: [b"whsec_" + secret],
    ),
    Trial(
        "secret-prefix-added",
        "the secret was given with a whsec_ prefix that is not part of the key",
        "Use the secret without whsec_, exactly as the dashboard shows it",
        lambda secret: [secret.removeprefix(b"whsec_")],
    ),
    Trial(
        "secret-base64-decoded",
        "the webhook was signed with the Base64 of the given secret: it was decoded before it was given",
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
        "the webhook was signed with the Base64-decoded secret: the signer decoded it, or it was encoded "
        "before it was given",
        "Use the same text as the key on both sides, neither encoded nor decoded",
        _after_prefix(_base64_decoded),
    ),
    Trial(
        "secret-hex-decoded",
        "the webhook was signed with the hexadecimal digits of the given secret: it was decoded before it was given",
        "Use the secret's text itself as the key, without decoding it",
        lambda secret: [secret.hex().encode(), b"whsec_" + secret.hex().encode(), secret.hex().upper().encode()],
    ),
    Trial(
        "secret-hex-encoded",
        "the webhook was signed with the bytes that the given secret encodes in hexadecimal",
        "Use the same text as the key on both sides, neither encoded nor decoded",
        _after_prefix(_hex_decoded),
    ),
)

# A receiver that follows the contract refuses each of these.
HEADER_TRIALS: tuple[Trial[str], ...] = (
    Trial(
        "header-quoted",
        "the header's value was given with quotation marks around it",
        "Pass the header's value itself",
        lambda header: [header.strip().strip("\"'`")],
    ),
    Trial(
        "header-white-space",
        "the header's value was given with white space inside it",
        "Pass the header's value exactly as it was received: no blank after the comma, no line break",
        lambda header: [re.sub(r"\s", "", header)],
    ),
    Trial(
        "header-separator",
        "the parts of the header are not separated by a comma",
        "Write the header as t=<Unix seconds>,v1=<hexadecimal digest>",
        lambda header: [re.sub(r"[;&|\s]+", ",", header)],
    ),
    Trial(
        "uppercase-hex",
        "the digest is written in capitals, and the signature is compared as lowercase text",
        "Write the digest in lowercase hexadecimal digits",
        lambda header: [header.lower()],
    ),
    Trial(
        "digest-base64",
        "the digest is written in Base64 and not in hexadecimal digits",
        "Write the digest in lowercase hexadecimal digits",
        _digest_as_hex,
    ),
    Trial(
        "t-and-v1-swapped",
        "the values of t and v1 are swapped",
        "Write the header as t=<Unix seconds>,v1=<hexadecimal digest>",
        lambda header: [re.sub(r"\b(t|v1)=", lambda name: "v1=" if name[1] == "t" else "t=", header)],
    ),
    Trial(
        "v0-only",
        "the digest is right, but it is under v0, a scheme that receivers ignore",
        "Send the digest as v1",
        lambda header: [header.replace("v0=", "v1=")] if "v1=" not in header else [],
    ),
    Trial(
        "milliseconds",
        "t is in milliseconds, but it was signed in seconds",
        "Write t in Unix seconds",
        lambda header: [re.sub(r"\bt=([0-9]{10})[0-9]{3}\b", r"t=\1", header)],
    ),
)

# The first pattern that fits is used; the last one fits every header.
HEADER_SHAPES: tuple[Shape, ...] = (
    Shape(
        "empty-header",
        "the header is empty",
        "Read the header before it is cleared, and look for a proxy that drops it",
        re.compile(r"\s*"),
    ),
    Shape(
        "other-scheme",
        "the header has another scheme: <algorithm>=<digest> without a time, as GitHub, Shopify and others send it",
        "Pass the value of the X-Service-Signature header, which is t=<Unix seconds>,v1=<digest>",
        re.compile(r"\s*sha[0-9-]+=.*", re.DOTALL),
    ),
    Shape(
        "other-scheme",
        "the header has another scheme: v1,<Base64>, as Standard Webhooks sends it",
        "Pass the value of the X-Service-Signature header, which is t=<Unix seconds>,v1=<digest>",
        re.compile(r"\s*v1a?,[A-Za-z0-9+/=]{20,}.*", re.DOTALL),
    ),
    Shape(
        "digest-alone",
        "the header has only a digest, and no time for the signed text",
        "Pass the header's whole value, which is t=<Unix seconds>,v1=<digest>",
        re.compile(r"\s*(v1=)?[A-Za-z0-9+/_-]{40,128}={0,2}\s*"),
    ),
    Shape(
        "v0-only",
        "the header has a v0 and no v1; v0 is another scheme, which receivers ignore",
        "Sign it with v1",
        re.compile(r"(?!.*\bv1=).*\bv0=.*", re.DOTALL),
    ),
    Shape(
        "two-times",
        "the header has more than one t, so it is not clear which one was signed",
        "Send exactly one t, and one signature header",
        re.compile(r".*\bt=.*\bt=.*", re.DOTALL),
    ),
    Shape(
        "t-and-v1-swapped",
        "the values of t and v1 are swapped",
        "Write the header as t=<Unix seconds>,v1=<hexadecimal digest>",
        re.compile(r"(.*,)?\s*(t=[0-9a-fA-F]{64}\s*,\s*v1=[0-9]+|v1=[0-9]{1,20}\s*,\s*t=[0-9a-fA-F]{64})\s*"),
    ),
    Shape(
        "header-separator",
        "the parts of the header are not separated by a comma",
        "Write the header as t=<Unix seconds>,v1=<hexadecimal digest>",
        re.compile(r"\s*t=[0-9]+[\s;&|]+v1=.*", re.DOTALL),
    ),
    Shape(
        "header-white-space",
        "the header's value was given with white space inside it",
        "Pass the header's value exactly as it was received: no blank after the comma, no line break",
        re.compile(r"\s*t\s*=\s*[0-9]+\s*,\s*v1\s*=\s*\S.*", re.DOTALL),
    ),
    Shape(
        "t-not-a-number",
        "t is not a Unix time in decimal digits",
        "Write t in whole Unix seconds: no sign, no fraction, no ISO 8601",
        re.compile(r"(.*,)?\s*t=(?![0-9]{1,20}\s*(,|$)).*", re.DOTALL),
    ),
    Shape(
        "v1-missing",
        "the header has a t and no v1",
        "Pass the header's whole value: a shell, a log or a form may have cut it at the comma",
        re.compile(r"(.*,)?\s*t=.*", re.DOTALL),
    ),
    Shape(
        "malformed-header",
        "the header is not t=<Unix seconds>,v1=<digest>",
        "Pass the value of the X-Service-Signature header exactly as it was received",
        re.compile(r".*", re.DOTALL),
    ),
)
