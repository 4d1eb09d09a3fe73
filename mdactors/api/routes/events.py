"""The event log as a stream: server-sent events for browsers, JSON lines for scripts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Annotated

import msgspec
from litestar import get
from litestar.openapi.spec import OpenAPIMediaType, OpenAPIResponse, OpenAPIType, Operation, Schema
from litestar.params import HeaderParameter, QueryParameter
from litestar.response import Stream

from mdactors.api.failures import failing
from mdactors.api.feed import Filter, Gap, Line, batches
from mdactors.api.serving import HttpRequest, served

NDJSON = "application/x-ndjson"
SSE = "text/event-stream"

Render = Callable[[Line | Gap], bytes]


@dataclass
class InTwoFormats(Operation):
    """Documents both formats; a media type of the handler's own would win over the one that was asked for."""

    def __post_init__(self) -> None:
        if self.responses:
            text = OpenAPIMediaType(schema=Schema(type=OpenAPIType.STRING))
            self.responses["200"] = OpenAPIResponse("Records in order", content={SSE: text, NDJSON: text})


@get(
    "/v1/events",
    operation_id="read_events",
    operation_class=InTwoFormats,
    tags=["events"],
    summary="The event log",
    responses=failing(400),
)
async def events(
    request: HttpRequest,
    *,
    since: Annotated[int | None, QueryParameter(ge=0, description="Only records after this sequence number")] = None,
    kind: Annotated[str, QueryParameter(name="type", description="Pattern for the type of fact: `Job*`")] = "*",
    job: Annotated[int | None, QueryParameter(ge=1, description="Only facts about this job")] = None,
    follow: Annotated[bool, QueryParameter(description="Go on with new records as they happen")] = False,
    progress: Annotated[
        bool, QueryParameter(description="With ephemeral facts, which have no sequence number")
    ] = False,
    last_event_id: Annotated[int | None, HeaderParameter(name="Last-Event-ID", ge=0, description="As `since`")] = None,
) -> Stream:
    """Return records in order; `Accept: application/x-ndjson` asks for JSON lines instead of server-sent events.

    A client that reads too slowly gets a `Gap` with the first and the last record that it lost; it can ask for them
    by `since`.
    """
    serving = served(request)
    lines = NDJSON in request.headers.get("accept", "")
    start = last_event_id if last_event_id is not None else since or 0
    wanted = Filter(kind=kind, job=job, progress=progress)
    chunks = _encoded(
        batches(serving.hub, serving.platform, wanted, since=start, follow=follow), as_line if lines else as_sse
    )
    return Stream(chunks, media_type=NDJSON if lines else SSE, headers={"Cache-Control": "no-store"})


async def _encoded(source: AsyncIterator[list[Line | Gap]], render: Render) -> AsyncIterator[bytes]:
    async for batch in source:
        if batch:
            yield b"".join(map(render, batch))


def as_line(entry: Line | Gap) -> bytes:
    """Return a record as a line of JSON."""
    return (entry.text if isinstance(entry, Line) else _gap(entry)) + b"\n"


def as_sse(entry: Line | Gap) -> bytes:
    """Return a record as a server-sent event; only what can be resumed from has an id."""
    if isinstance(entry, Gap):
        return b"event: Gap\ndata: %b\n\n" % _gap(entry)
    place = b"id: %d\n" % entry.seq if entry.seq else b""
    return b"%bevent: %b\ndata: %b\n\n" % (place, entry.kind.encode(), entry.text)


def _gap(gap: Gap) -> bytes:
    return msgspec.json.encode({"type": "Gap", "first": gap.first, "last": gap.last, "lost": gap.lost})


ROUTES = [events]
