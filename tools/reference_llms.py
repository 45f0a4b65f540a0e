"""The index of the documentation for language models (llmstxt.org); `tools/reference.py` writes it.

A server serves it beside its OpenAPI documents, and the pages that it names with it. The sections and their pages are
those of docs/README.md; a page's summary is its first sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from paydouble.web.pages import FOLDERS

DOCS = Path(__file__).parents[1] / "docs"
_HEAD = """\
# paydouble

> {summary}

This file is served by a running paydouble at `/_paydouble/llms.txt`; the links lead to pages of the same server. Everything
below `/_paydouble` is the control API, which steers the double; the payment API itself is at `/api/v1`.

A test of a shop against the double, in any language:

1. `POST /_paydouble/sandboxes` with `{{"clock": "manual", "seed": 7, "notification_url": "http://127.0.0.1:9000/webhooks"}}`.
   The answer has the `id` of an isolated business, and `base_url`, `business_key`, `business_secret` (HTTP Basic) and
   `webhook_secret` for the code under test.
2. Say what goes wrong: `POST /_paydouble/sandboxes/{{id}}/faults` with `{{"effect": {{"type": "connection_reset"}},
   "match": {{"operation": "deposit-creation"}}, "phase": "after_commit", "times": 1}}`.
3. Run the code under test.
4. Let time pass, if webhooks or expiry matter: `POST /_paydouble/sandboxes/{{id}}/clock/advance` with `{{"by": "72h"}}`.
5. Check what it did: `POST /_paydouble/sandboxes/{{id}}/requests/verify` with `{{"match": {{"operation": "deposit-creation",
   "verdict": "new"}}, "count": 1}}`. The answer has `passed`, and in `closest` why the nearest requests differ.
6. `DELETE /_paydouble/sandboxes/{{id}}`.

Each refusal says in `error.message` what is wrong and how to fix it.

## OpenAPI

- [The control API](control-openapi.json): every call, with the models of its bodies and answers
- [The payment API](openapi.json): every operation, with examples and what is only assumed
"""


def llms_text() -> str:
    """Return the text."""
    readme = (DOCS.parent / "README.md").read_text("utf-8")
    summary = " ".join(re.split(r"\n\n", readme)[1].split())
    return "\n".join([_HEAD.format(summary=summary), *_sections()])


def _sections() -> Iterator[str]:
    index = (DOCS / "README.md").read_text("utf-8")
    for part in index.split("\n## ")[1:]:
        heading, _, body = part.partition("\n")
        pages = [name for name in re.findall(r"\]\(([^)#]+\.md)\)", body) if _is_served(name)]
        yield f"## {heading}\n"
        yield "".join(f"- [{_title(name)}](docs/{name}): {_sentence(name)}\n" for name in dict.fromkeys(pages))


def _is_served(name: str) -> bool:
    return name.split("/", maxsplit=1)[0] in FOLDERS and (DOCS / name).is_file()


def _title(name: str) -> str:
    return (DOCS / name).read_text("utf-8").partition("\n")[0].removeprefix("# ")


def _sentence(name: str) -> str:
    """Return the first sentence of a page, without its links."""
    paragraphs = re.split(r"\n\n+", (DOCS / name).read_text("utf-8"))[1:]
    prose = next(each for each in paragraphs if re.match(r"[A-Za-z*`\[]", each) and not each.startswith("[!"))
    plain = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", " ".join(prose.split()))
    return re.split(r"(?<=[.!?])\s", plain)[0].rstrip(":")
