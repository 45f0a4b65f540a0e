"""The usual mistakes in a signature's header: those that can be undone on trial, and those told from its looks."""

import base64
import re
from dataclasses import dataclass

from paydouble.webhooks.trials import Mistake, Trial

_STANDARD_ALPHABET = str.maketrans("-_", "+/")
_BASE64_DIGITS = 43  # of 32 bytes, without the one `=` that fills them up


@dataclass(frozen=True, slots=True)
class Shape(Mistake):
    """A mistake that is told from how the header looks."""

    pattern: re.Pattern[str]


def _digest_as_hex(header: str) -> list[str]:
    def as_hex(found: re.Match[str]) -> str:
        return base64.b64decode(found[0][:_BASE64_DIGITS].translate(_STANDARD_ALPHABET) + "=").hex()

    return [re.sub(rf"(?<=\bv1=)[A-Za-z0-9+/_-]{{{_BASE64_DIGITS}}}=?(?=,|$)", as_hex, header)]


# Each of these spellings is refused by a receiver that follows the contract.
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
        "the values of t and v1 have changed places",
        "Write the header as t=<Unix seconds>,v1=<hexadecimal digest>",
        lambda header: [re.sub(r"\b(t|v1)=", lambda name: "v1=" if name[1] == "t" else "t=", header)],
    ),
    Trial(
        "v0-only",
        "the digest is right but stands under v0, a scheme that receivers ignore",
        "Send the digest as v1",
        lambda header: [header.replace("v0=", "v1=")] if "v1=" not in header else [],
    ),
    Trial(
        "milliseconds",
        "t is in milliseconds, and the text that was signed holds it in seconds",
        "Write t in Unix seconds",
        lambda header: [re.sub(r"\bt=([0-9]{10})[0-9]{3}\b", r"t=\1", header)],
    ),
)

# Read from top to bottom, so the last takes what is left.
HEADER_SHAPES: tuple[Shape, ...] = (
    Shape(
        "empty-header",
        "the header is empty",
        "Read the header before it is cleared, and look for a proxy that drops it",
        re.compile(r"\s*"),
    ),
    Shape(
        "other-scheme",
        "the header is of another scheme: <algorithm>=<digest>, with no time, as GitHub, Shopify and others write it",
        "Pass the value of the X-Service-Signature header, which reads t=<Unix seconds>,v1=<digest>",
        re.compile(r"\s*sha[0-9-]+=.*", re.DOTALL),
    ),
    Shape(
        "other-scheme",
        "the header is of another scheme: v1,<Base64>, as Standard Webhooks writes it",
        "Pass the value of the X-Service-Signature header, which reads t=<Unix seconds>,v1=<digest>",
        re.compile(r"\s*v1a?,[A-Za-z0-9+/=]{20,}.*", re.DOTALL),
    ),
    Shape(
        "digest-alone",
        "the header holds a digest alone, and no time to build the signed text with",
        "Pass the header's whole value, which reads t=<Unix seconds>,v1=<digest>",
        re.compile(r"\s*(v1=)?[A-Za-z0-9+/_-]{40,128}={0,2}\s*"),
    ),
    Shape(
        "v0-only",
        "the header has a v0 and no v1; v0 is another scheme, which receivers ignore",
        "Have it signed with v1",
        re.compile(r"(?!.*\bv1=).*\bv0=.*", re.DOTALL),
    ),
    Shape(
        "two-times",
        "the header holds more than one t, so it is open which one was signed",
        "Send exactly one t, and one signature header",
        re.compile(r".*\bt=.*\bt=.*", re.DOTALL),
    ),
    Shape(
        "t-and-v1-swapped",
        "the values of t and v1 have changed places",
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
        "the header does not read t=<Unix seconds>,v1=<digest>",
        "Pass the value of the X-Service-Signature header exactly as it was received",
        re.compile(r".*", re.DOTALL),
    ),
)
