"""Figures for Prometheus."""

from __future__ import annotations

from litestar import Response, get

from mdactors.api.failures import failing
from mdactors.api.serving import HttpRequest, served


@get(
    "/metrics",
    operation_id="get_metrics",
    tags=["platform"],
    summary="Prometheus metrics",
    media_type="text/plain",
    responses=failing(),
)
async def metrics(request: HttpRequest) -> Response[bytes]:
    """Return all metrics in Prometheus's text format."""
    body, content_type = served(request).platform.metrics()
    return Response(body, media_type=content_type.partition("; charset")[0])  # the framework adds it


ROUTES = [metrics]
