"""Attempts are posted by parts of aiohttp that it does not document; without one of them its session posts."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
from aiohttp.client_proto import ResponseHandler
from receivers import receiving, status
from servers import Client

import paydouble
from paydouble.runtime import connections


def test_this_aiohttp_has_the_parts() -> None:
    """The locked version takes every argument."""
    assert connections.PARTS_FIT


class _NewArgument:
    def __init__(self, method: str, url: object, *, added: object, **others: object) -> None:
        """Need an argument that we do not give."""


def _old_arguments(self: object) -> None:
    """Take no argument that we give."""


@pytest.mark.parametrize(
    ("owner", "name", "changed"),
    [
        (aiohttp, "ClientRequest", _NewArgument),
        (aiohttp, "ClientResponse", _NewArgument),
        (ResponseHandler, "set_response_params", _old_arguments),
    ],
)
def test_a_changed_part_is_noticed(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, changed: Any) -> None:  # noqa: ANN401
    """A release that needs another argument, or takes one no more, does not fit."""
    monkeypatch.setattr(owner, name, changed)

    assert not connections.parts_fit()


async def test_without_the_parts_the_session_posts(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every event arrives once, validly signed and without other headers, each over a new connection."""
    monkeypatch.setattr(connections, "PARTS_FIT", False)
    async with receiving(status(201)) as receiver:
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        for _ in range(2):
            await box.deposit()
            await box.advance(by="0s")

        deliveries = await box.deliveries()
        assert [(each["status"], len(each["attempts"])) for each in deliveries] == [("delivered", 1)] * 2
        assert (len(receiver.requests), receiver.connections) == (2, 2)
        for request in receiver.requests:
            paydouble.verify(request.body, request.header("X-Service-Signature"), box.document["webhook_secret"])
            assert {name.lower() for name, _ in request.headers} == {
                *("host", "content-type", "content-length", "x-service-signature"),
            }
