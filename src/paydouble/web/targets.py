"""The target of a request: its path and its query."""

from __future__ import annotations

from aiohttp import web
from yarl import URL


def origin_form(request: web.BaseRequest) -> str:
    """Return path and query as they were sent, also when the request has a full URL, as for a proxy (RFC 9112, 3.2)."""
    target = request.raw_path
    return target if target.startswith("/") else request.rel_url.raw_path_qs


def query_names(query: str) -> list[str]:
    """Return the decoded names of a query string's members; a repeated one is in it more than once."""
    return [name for name, _ in URL.build(path="/", query_string=query, encoded=True).query.items()] if query else []


def parse_query(query: str) -> dict[str, str]:
    """Return the decoded members of a query string."""
    return dict(URL.build(path="/", query_string=query, encoded=True).query) if query else {}
