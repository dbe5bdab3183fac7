"""Request ids, a log line per request, and ``/metrics`` for Prometheus."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterable, Iterator

import structlog
from fastapi import FastAPI
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.container import Container, Wired
from lastbyte.adapters.postgres.gauges import Gauge
from lastbyte.domain.errors import QueueUnavailable, StoreUnavailable

HEADER = "X-Request-ID"
_GIVEN = re.compile(rb"[A-Za-z0-9._:-]{1,128}")
_QUIET = frozenset({"/healthz", "/readyz", "/metrics", "/api/v1/healthz", "/api/v1/readyz"})
PREFIX = "/api/v1"
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

log = structlog.get_logger()


class Telemetry:
    """Gives each request its id, times it, and says what became of it. An ASGI middleware."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry) -> None:
        self._app = app
        self._requests = Counter(
            "lastbyte_http_requests", "Requests.", ["method", "route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "lastbyte_http_request_seconds",
            "Time until the answer was sent.",
            ["route"],
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
            registry=registry,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(HEADER.lower().encode(), b"")
        ident = given.decode() if _GIVEN.fullmatch(given) else uuid.uuid4().hex
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=ident)
        began = time.perf_counter()
        status = 500

        async def named(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                MutableHeaders(scope=message)[HEADER] = ident
            await send(message)

        try:
            await self._app(scope, receive, named)
        finally:
            elapsed_s = time.perf_counter() - began
            route = _route(scope)
            self._requests.labels(scope["method"], route, str(status)).inc()
            self._seconds.labels(route).observe(elapsed_s)
            if scope["path"] not in _QUIET:
                log.info(
                    "request",
                    method=scope["method"],
                    path=scope["path"],
                    status=status,
                    duration_ms=round(elapsed_s * 1000, 1),
                    **_campaign(scope),
                )


def _route(scope: Scope) -> str:
    """The template of the path, never the path itself: figures by ids would be without end."""
    found = getattr(scope.get("route"), "path", "") or "other"
    return PREFIX + found if scope["path"].startswith(PREFIX) and not found.startswith(PREFIX) else found


def _campaign(scope: Scope) -> dict[str, str]:
    ident = (scope.get("path_params") or {}).get("campaign_id")
    return {"campaign_id": str(ident)} if ident is not None else {}


class _Now(Collector):
    """Figures that are asked for when somebody looks."""

    def __init__(self, container: Container) -> None:
        self._container = container

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """All that can be had now; ``lastbyte_up`` says what can't."""
        families: dict[str, GaugeMetricFamily] = {}
        for gauge in self._gauges():
            names = [name for name, _ in gauge.labels]
            family = families.setdefault(gauge.name, GaugeMetricFamily(gauge.name, gauge.help, labels=names))
            family.add_metric([value for _, value in gauge.labels], gauge.value)
        return families.values()

    def _gauges(self) -> Iterator[Gauge]:
        wired = self._container
        up = "1 when it answers."
        yield from wired.gauges.pool()
        vantages = []
        try:
            yield from list(wired.gauges.work())
            vantages = wired.vantages.vantages()
            yield Gauge("lastbyte_up", up, 1, (("what", "database"),))
        except StoreUnavailable:
            yield Gauge("lastbyte_up", up, 0, (("what", "database"),))
        for seen in vantages:
            label = (("vantage", seen.vantage.name),)
            yield Gauge("lastbyte_vantage_up", "1 while a worker of the vantage is alive.", float(seen.alive), label)
            well = float(seen.alive and not seen.vantage.trouble)
            yield Gauge("lastbyte_vantage_path_up", "1 while the vantage can measure.", well, label)
        try:
            for seen in vantages:
                depth = wired.queue.depth(seen.vantage.name)
                label = (("vantage", seen.vantage.name),)
                yield Gauge("lastbyte_queue_depth", "Messages that wait in the broker.", depth, label)
            wired.queue.ping()
            yield Gauge("lastbyte_up", up, 1, (("what", "broker"),))
        except QueueUnavailable:
            yield Gauge("lastbyte_up", up, 0, (("what", "broker"),))


def install(app: FastAPI, container: Container) -> None:
    """Measure ``app`` and answer /metrics."""
    registry = CollectorRegistry()
    registry.register(_Now(container))

    @app.get("/metrics", include_in_schema=False)
    def metrics(_wired: Wired) -> Response:
        return Response(generate_latest(registry), media_type=MEDIA_TYPE)

    app.add_middleware(Telemetry, registry=registry)
