"""The engine's own output."""

from __future__ import annotations

from typing import Annotated

from litestar import get
from litestar.params import FromPath, QueryParameter
from litestar.response import Stream

from mdactors.api.failures import failing
from mdactors.api.logtail import output
from mdactors.api.serving import HttpRequest, served
from mdactors.errors import UnknownJobError
from mdactors.views.logs import Stream as StreamName


@get(
    "/v1/jobs/{job:int}/logs",
    operation_id="read_logs",
    tags=["jobs"],
    summary="Read an engine's output",
    media_type="text/plain",
    responses=failing(400, UnknownJobError),
)
async def logs(
    request: HttpRequest,
    job: FromPath[int],
    stream: Annotated[
        StreamName, QueryParameter(description="auto: the first of the others that holds anything")
    ] = "auto",
    follow: Annotated[bool, QueryParameter(description="Go on as it grows, until the job ends")] = False,
) -> Stream:
    """Return what the newest attempt's engine process wrote, byte for byte."""
    serving = served(request)
    chunks = output(serving.job(job), stream, follow=follow, closing=serving.hub.closing)
    return Stream(chunks, media_type="text/plain; charset=utf-8")


ROUTES = [logs]
