"""A second independent implementation agrees, in the language of most receivers: the npm package `stripe`.

It is installed once, at a pinned version and digest, into `.cache/node-oracle` of the clone, and one Node process
judges the whole batch. Beyond what `test_stripe_python` lists, it refuses an empty body and drops a byte order mark.
"""

import base64
import json
import subprocess
from pathlib import Path
from typing import NamedTuple

import npm
import pytest
from bounds import AT_MOST_SECONDS

from paydouble.webhooks.signing import sign, signature_header

VERSION = "23.1.0"
INTEGRITY = "sha512-fVUfMSfTPoukfoV//MUKAx2+YxyKmYaYtnAL9VkfnHfaPNQylFdWZMD+zgUFerI8rjbaiER8Vzj2XEUQ2AhAsQ=="
LOCK = {
    "name": "node-oracle",
    "lockfileVersion": 3,
    "requires": True,
    "packages": {
        "": {"name": "node-oracle", "dependencies": {"stripe": VERSION}},
        "node_modules/stripe": {
            "version": VERSION,
            "integrity": INTEGRITY,
        },
    },
}
PACKAGE = {"name": "node-oracle", "private": True, "dependencies": {"stripe": VERSION}}
JUDGE = """
const { signature } = require('stripe').webhooks;
const cases = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const verdict = ({ body, header, secret, now }) => {
  try {
    return signature.verifyHeader(Buffer.from(body, 'base64'), header, secret, 300, undefined, now * 1000);
  } catch (error) {
    if (error.type !== 'StripeSignatureVerificationError') throw error;
    return false;
  }
};
process.stdout.write(JSON.stringify(cases.map(verdict)));
"""

AT = 1_700_000_000
SECRET = "whsec_sandbox"
BODY = '{"id":"evt_1","amount":49.90,"name":"Zoë 🦊"}'.encode()
HEADER = sign(BODY, SECRET, AT)


class Case(NamedTuple):
    """One webhook in a receiver's hands, and whether it must be accepted."""

    what: str
    accepted: bool
    body: bytes = BODY
    header: str = HEADER
    secret: str = SECRET
    now: int = AT


CASES = [
    *(
        Case(f"made: {body[:20]!r} with {secret!a} at {at}", True, body, sign(body, secret, at), secret, at)
        for body in (BODY, b" ", b"\r\n\x00", "ß€".encode() * 500, b"{}" * 5000)
        for secret in (SECRET, "x", "ключ 🔑", "k" * 200)
        for at in (1, AT, 4_102_444_800)
    ),
    Case("the new secret of a rotation", True, header=signature_header(BODY, [SECRET, "whsec_old"], AT)),
    Case("the old secret of a rotation", True, header=signature_header(BODY, ["whsec_new", SECRET], AT)),
    Case("exactly the tolerance", True, now=AT + 300),
    Case("one second more", False, now=AT + 301),
    Case("another secret", False, secret="whsec_other"),
    Case("one byte more", False, BODY + b"\n"),
    Case("one byte fewer", False, BODY[:-1]),
    Case("another time", False, header=HEADER.replace(f"t={AT}", f"t={AT + 1}")),
    Case("no time", False, header=HEADER.partition(",")[2]),
    Case("no digest", False, header=HEADER.partition(",")[0]),
    Case("another scheme", False, header=HEADER.replace("v1=", "v0=")),
    Case("capitals", False, header=HEADER.replace("v1=", "").upper().replace("T=", "t=").replace(",", ",v1=")),
    Case("an empty header", False, header=""),
    *(
        Case(
            f"digit {place} of the digest changed",
            False,
            header=HEADER[:-place] + "g" + HEADER[len(HEADER) - place + 1 :],
        )
        for place in range(1, 65)
    ),
]


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """Install the package once into the clone's cache; skip where there is no Node, or it cannot be had."""
    return npm.install("node-oracle", json.dumps(PACKAGE), json.dumps(LOCK))


def test_stripe_for_node_accepts_what_we_make_and_refuses_what_we_break(node_modules: Path) -> None:
    """Each header that we made passes the package's own check, and each that we broke on purpose fails it."""
    batch = [case._asdict() | {"body": base64.b64encode(case.body).decode()} for case in CASES]

    run = subprocess.run(
        ["node", "-e", JUDGE],
        cwd=node_modules,
        input=json.dumps(batch),
        capture_output=True,
        text=True,
        check=True,
        timeout=AT_MOST_SECONDS,
    )

    verdicts = dict(zip((case.what for case in CASES), json.loads(run.stdout), strict=True))
    assert {case.what: case.accepted for case in CASES} == verdicts
