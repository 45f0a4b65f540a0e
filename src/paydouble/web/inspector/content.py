"""The exact bytes of a request, an attempt or an answer, whole: what a page cuts can be saved as a file."""

from __future__ import annotations

import re

from aiohttp import web


def download(content: bytes, name: str) -> web.Response:
    """Return bytes as a file of a name; a browser saves it and shows it nowhere."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:120]
    headers = {"Content-Type": "application/octet-stream", "Content-Disposition": f'attachment; filename="{safe}"'}
    return web.Response(body=content, headers=headers)
