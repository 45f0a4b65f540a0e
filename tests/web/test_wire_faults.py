"""What is left for aiohttp to do once a broken reply has been sent: end the connection, whatever came of it."""

from __future__ import annotations

from unittest import mock

import pytest
from aiohttp.test_utils import make_mocked_request

from paydouble.api.values import Reply
from paydouble.faults.wire import Wire
from paydouble.web.wire_faults import perform


@pytest.mark.parametrize("gone", [False, True], ids=["silent", "client gone"])
async def test_after_a_bounded_silence_the_connection_ends(gone: bool) -> None:
    """Nothing else is read from it: the client has had no answer, so it must not send its next request there."""
    transport = mock.Mock()
    transport.is_closing.return_value = gone
    request = make_mocked_request("GET", "/api/v1/pay-in", transport=transport)

    response = await perform(request, Reply(200, b"{}", "req_1"), Wire("silence", seconds=0.0))

    assert response.keep_alive is False
    transport.close.assert_called_once_with()
    transport.write.assert_not_called()
