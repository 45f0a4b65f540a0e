"""The target of a request: its path and its query."""

from __future__ import annotations

from aiohttp import web
from yarl import URL


def origin_form(request: web.BaseRequest) -> str:
    """Return path and query as they came, also of a request that names the whole URL as to a proxy."""
    target = request.raw_path
    return target if target.startswith("/") else request.rel_url.raw_path_qs


def parse_query(query: str) -> dict[str, str]:
    """Return a query string's members, decoded."""
    return dict(URL.build(path="/", query_string=query, encoded=True).query) if query else {}
