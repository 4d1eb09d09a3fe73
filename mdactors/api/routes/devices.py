"""What somebody knows about a device."""

from __future__ import annotations

from litestar import post
from litestar.params import FromPath, JSONBody

from mdactors.api.failures import failing
from mdactors.api.serving import HttpRequest, served
from mdactors.errors import InputError
from mdactors.wire import Accepted, DeviceReportRequest


@post(
    "/v1/devices/{device:str}/report",
    operation_id="report_device",
    status_code=200,
    tags=["devices"],
    summary="Report on a device",
    responses=failing(400, 413, InputError),
)
async def report(request: HttpRequest, device: FromPath[str], data: JSONBody[DeviceReportRequest]) -> Accepted:
    """Say that a device is unhealthy, has recovered, or is lost; what runs on a sick one goes on elsewhere."""
    await served(request).platform.report_device(device, data.condition, reason=data.reason, source=data.source)
    return Accepted()


ROUTES = [report]
