"""The capability matrix."""

from __future__ import annotations

from litestar import get, post
from litestar.params import JSONBody

from mdactors.api.failures import failing
from mdactors.api.serving import HttpRequest, served
from mdactors.views.platform import MatrixView, matrix_view
from mdactors.wire import RefreshRequest

TAG = ["platform"]


@get(
    "/v1/capabilities", operation_id="get_capabilities", tags=TAG, summary="The capability matrix", responses=failing()
)
async def capabilities(request: HttpRequest) -> MatrixView:
    """Return what there is to run on, and what is missing and why."""
    return matrix_view(served(request).platform.matrix)


@post(
    "/v1/capabilities/refresh",
    operation_id="refresh_capabilities",
    status_code=200,
    tags=TAG,
    summary="Probe the node again",
    responses=failing(400, 413),
)
async def refresh(request: HttpRequest, data: JSONBody[RefreshRequest]) -> MatrixView:
    """Look at devices and engines again and return the new matrix."""
    platform = served(request).platform
    await platform.refresh(by=data.by)
    return matrix_view(platform.matrix)


ROUTES = [capabilities, refresh]
