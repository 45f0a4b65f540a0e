"""Control calls about the server itself: its health, and its metrics when the extra `metrics` is installed."""

from __future__ import annotations

from collections import Counter
from typing import Final

from aiohttp import web

from paydouble.core.documents import Document, schema
from paydouble.core.json_schema import TEXT
from paydouble.records import Health
from paydouble.web.control.calls import ControlCall, Noun
from paydouble.web.control.calls import ControlRoute as Row
from paydouble.web.control.health import health_of
from paydouble.web.control.replies import ControlError


def health(call: ControlCall) -> Document:
    """Say that the server is well."""
    return health_of(call.host)


def metrics(call: ControlCall) -> web.Response:
    """Return the metrics text; counted from the journals on each call."""
    host = call.host
    try:
        from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415 - an extra
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415
        from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4  # noqa: PLC0415
    except ImportError:
        message = "metrics need the extra: pip install 'paydouble[metrics]'"
        raise ControlError(404, "not_installed", message) from None

    class Collector:
        """The figures of this moment."""

        def collect(self) -> list[CounterMetricFamily | GaugeMetricFamily]:
            """Return every metric."""
            sandboxes = GaugeMetricFamily("paydouble_sandboxes", "Number of sandboxes.", value=len(host.registry))
            requests = CounterMetricFamily("paydouble_requests", "API requests.", labels=["sandbox"])
            attempts = CounterMetricFamily("paydouble_attempts", "Webhook attempts.", labels=["sandbox"])
            timers = GaugeMetricFamily("paydouble_timers", "Timers that will go off.", labels=["sandbox"])
            deliveries = GaugeMetricFamily("paydouble_deliveries", "Kept deliveries.", labels=["sandbox", "status"])
            faults = CounterMetricFamily("paydouble_faults_fired", "Firings of faults.", labels=["sandbox"])
            for box in host.registry:
                name = box.identity.id
                log = box.journal.requests
                requests.add_metric([name], len(log.entries) + log.evicted)
                attempts.add_metric([name], host.pump(box).attempts)
                timers.add_metric([name], len(box.timers))
                faults.add_metric([name], sum(armed.fired for armed in box.faults))
                for status, count in Counter(each.status for each in box.outbox.deliveries.values()).items():
                    deliveries.add_metric([name, status], count)
            return [sandboxes, requests, attempts, timers, deliveries, faults]

    registry = CollectorRegistry()
    registry.register(Collector())
    return web.Response(
        body=generate_latest(registry),
        headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4, "Server": "paydouble", "Cache-Control": "no-store"},
    )


NOUN: Final = Noun(
    routes=(
        Row("health", "GET", "/health", "Whether the server is well.", health, schema(Health), open_to_all=True),
        Row(
            "metrics",
            "GET",
            "/metrics",
            "Prometheus text, with the extra `metrics`.",
            metrics,
            TEXT,
            media="text/plain",
        ),
    ),
)
