"""The platform at a glance."""

from __future__ import annotations

from litestar import get

from mdactors.api.failures import failing
from mdactors.api.serving import HttpRequest, served
from mdactors.views.platform import StatusView, status_view


@get(
    "/v1/status",
    operation_id="get_status",
    tags=["platform"],
    summary="The platform at a glance",
    responses=failing(),
)
async def status(request: HttpRequest) -> StatusView:
    """Return counts by state, slots and what runs on them, active jobs and the latest others."""
    serving = served(request)
    platform = serving.platform
    return status_view(
        platform.jobs,
        platform.matrix,
        version=platform.version,
        node=platform.node,
        state_folder=str(platform.state),
        last_seq=platform.last_seq,
        running=True,
        started_at=platform.started_at,
        uptime_seconds=serving.platform.uptime_seconds,
        closed=platform.closed,
    )


ROUTES = [status]
