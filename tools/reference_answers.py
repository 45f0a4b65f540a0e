"""An answer for each call of the control API, made from the schemas of its OpenAPI document.

The clients' tests record what a client sends, and answer with these. `tools/reference.py` writes them.
"""

from __future__ import annotations

import json
from typing import Any, Final

from paydouble.core.documents import Document
from paydouble.core.json_schema import REF
from paydouble.web.control.openapi import document

# What a schema does not say: the texts that are durations or URLs, and where a list ends.
_BY_NAME: Final = {
    "ttl": "1h30m",
    "window": "1m",
    "base_url": "http://127.0.0.1:8080/api/v1",
    "notification_url": "http://127.0.0.1:9000/webhooks",
    "target": "http://127.0.0.1:9000/webhooks",
    "next_cursor": None,
}
_BY_TYPE: Final = {"string": "text", "integer": 1, "number": 0.5, "boolean": True, "null": None}


def answers() -> dict[str, Document]:
    """Return the answers by operation: `status`, and `json`, or `text` where the answer is not one JSON document."""
    made = document()
    components = made["components"]["schemas"]
    found = {}
    for path in made["paths"].values():
        for operation in path.values():
            status, response = next(iter(operation["responses"].items()))
            content = response["content"]
            shown = content.get("application/json")
            body = {"text": "text"} if shown is None else {"json": _sample(shown["schema"], components)}
            found[operation["operationId"]] = {"status": int(status), **body}
    return found


def answers_text() -> str:
    """Return them as the text of a JSON file."""
    return json.dumps(answers(), indent=1) + "\n"


def _sample(schema: Document, components: Document, name: str = "") -> Any:  # noqa: ANN401 - JSON is any
    if name in _BY_NAME:
        return _BY_NAME[name]
    if "$ref" in schema:
        return _sample(components[schema["$ref"].removeprefix(REF)], components, name)
    if "anyOf" in schema:
        return _sample(schema["anyOf"][0], components, name)
    if "enum" in schema:
        return schema["enum"][0]
    return _plain(schema, components)


def _plain(schema: Document, components: Document) -> Any:  # noqa: ANN401 - JSON is any
    kinds = schema.get("type", "string")
    kind = kinds if isinstance(kinds, str) else kinds[0]
    if kind == "object":
        return {each: _sample(made, components, each) for each, made in schema.get("properties", {}).items()}
    if kind == "array":
        return [_sample(schema["items"], components)] * max(1, schema.get("minItems", 1))
    return "2026-01-01T00:00:00.250Z" if schema.get("format") == "date-time" else _BY_TYPE[kind]
