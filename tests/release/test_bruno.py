"""The Bruno collection is whole: every operation and every control call, once at least, and nothing else.

That its requests are answered as they expect is a step of `make test`, which sends them with Bruno's own runner.
"""

from __future__ import annotations

import re
from pathlib import Path

from paydouble.api.operations import OPERATIONS, PREFIX
from paydouble.web.control.routes import ROUTES

COLLECTION = Path(__file__).parents[2] / "bruno"
REQUESTS = [path for path in sorted(COLLECTION.rglob("*.bru")) if path.name not in {"folder.bru", "collection.bru"}]
# A stream never ends, and a runner waits for the end of each answer.
LEFT_OUT = {("GET", "/_paydouble/sandboxes/{}/stream"), ("GET", "/_paydouble/stream")}


def sent() -> dict[Path, tuple[str, str]]:
    """Return the method and path of each request, with `{}` for what varies."""
    found = {}
    for path in REQUESTS:
        call = re.search(
            r"^(get|post|put|patch|delete) \{\n  url: \{\{server\}\}(\S+)$", path.read_text(), re.MULTILINE
        )
        if call:
            found[path] = (
                call[1].upper(),
                re.sub(r"\{\{\w+\}\}|(?<=/scenarios/)(?!active$)[\w-]+(?=/play|$)", "{}", call[2]),
            )
    return found


def test_the_collection_is_whole() -> None:
    """It has a request for every operation and every control call but the streams."""
    served: set[tuple[str, str]] = {(row.method, re.sub(r"\{\w+\}", "{}", f"{PREFIX}{row.path}")) for row in OPERATIONS}
    served |= {(row.method, re.sub(r"\{\w+\}", "{}", f"/_paydouble{row.path}")) for row in ROUTES}

    assert served - LEFT_OUT == set(sent().values())


def test_a_request_is_called_like_its_operation() -> None:
    """File and name of a request begin with the operation's name, and each request says what it expects."""
    names = {row.name for row in OPERATIONS} | {row.name for row in ROUTES}
    requests = [path for path in REQUESTS if path.parent.name != "environments"]

    assert sorted(sent()) == requests
    for path in requests:
        text = path.read_text("utf-8")
        (name,) = re.findall(r"^  name: (.+)$", text, re.MULTILINE)
        assert path.stem == name.replace(" ", "-")
        assert any(name == known or name.startswith(f"{known} ") for known in names)
        assert "res.status: eq " in text


def test_a_post_of_the_api_brings_a_key() -> None:
    """Every POST of the API has an Idempotency-Key that is new each time."""
    for path, (method, url) in sent().items():
        wants = method == "POST" and url.startswith(PREFIX)
        assert ("Idempotency-Key: {{$guid}}" in path.read_text("utf-8")) == wants
