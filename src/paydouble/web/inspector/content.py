"""The exact bytes of a request, an attempt or an answer, whole: what a page cuts can be saved as a file."""

from __future__ import annotations

import re

from aiohttp import web


def download(content: bytes, name: str) -> web.Response:
    """Return bytes as a file of a name; a browser saves it and shows it nowhere."""
    return web.Response(body=content, headers={"Content-Type": "application/octet-stream", **file_headers(name)})


def file_headers(name: str) -> dict[str, str]:
    """Return the headers with which a browser saves an answer under a name."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:120]
    return {"Content-Disposition": f'attachment; filename="{safe}"'}
