"""Prometheus metrics."""

from __future__ import annotations

import sys

import pytest
from prometheus_client.parser import text_string_to_metric_families
from receivers import receiving
from servers import CONTROL, Box, Client


async def _samples(client: Client, box: Box) -> dict[tuple[str, str], float]:
    url = f"http://127.0.0.1:{client.server.port}{CONTROL}/metrics"
    async with client.session.get(url) as response:
        assert (response.status, response.content_type) == (200, "text/plain")
        text = await response.text()
    return {
        (sample.name, sample.labels.get("status", "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("sandbox", box.id) == box.id
    }


async def test_the_figures_are_those_of_the_journals(client: Client) -> None:
    """Requests, attempts, deliveries by status, timers and firings are counted for each sandbox."""
    async with receiving() as receiver:
        box = await client.sandbox(notification_url=receiver.url)
        await box.control("POST", "/faults", {"effect": {"type": "error", "status": 500}, "match": {"method": "GET"}})
        await box.deposit()
        await box.api("GET", "/pay-in")
        await box.control("POST", "/deliveries/wait", {"match": {"status": "delivered"}})

        samples = await _samples(client, box)

    assert samples == {
        ("paydouble_sandboxes", ""): 2,
        ("paydouble_requests_total", ""): 2,
        ("paydouble_attempts_total", ""): 1,
        ("paydouble_timers", ""): samples["paydouble_timers", ""],
        ("paydouble_faults_fired_total", ""): 1,
        ("paydouble_deliveries", "delivered"): 1,
    }
    assert samples["paydouble_timers", ""] == (await box.get("/clock"))["pending"]


async def test_without_the_extra_the_answer_says_how_to_get_it(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where prometheus-client is missing the call is 404 and names the extra."""
    monkeypatch.setitem(sys.modules, "prometheus_client", None)

    answer = await client.control("GET", "/metrics")

    assert answer.error == (404, "not_installed", None)
    assert "paydouble[metrics]" in answer.document["error"]["message"]
