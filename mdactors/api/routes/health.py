"""Whether the platform answers."""

from __future__ import annotations

from litestar import get

from mdactors.api.auth import OPEN
from mdactors.api.failures import failing
from mdactors.api.serving import HttpRequest, served
from mdactors.wire import Health


@get(
    "/health",
    operation_id="get_health",
    tags=["platform"],
    summary="Whether the platform answers",
    security=[{}],
    responses=failing(token=False),
    opt={OPEN: True},
)
async def health(request: HttpRequest) -> Health:
    """Return `ok`, or `closed` where no new work is taken; needs no token."""
    platform = served(request).platform
    return Health(
        status="closed" if platform.closed else "ok",
        version=platform.version,
        node=platform.node,
        last_seq=platform.last_seq,
        reason=platform.closed,
    )


ROUTES = [health]
