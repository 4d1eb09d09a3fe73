"""Submit, list, look at and cancel jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from litestar import get, post
from litestar.params import FromPath, JSONBody, QueryParameter

from mdactors.api.failures import failing
from mdactors.api.serving import HttpRequest, served
from mdactors.core.lifecycle import JobState
from mdactors.errors import BacklogFullError, InputError, IntakeClosedError, UnknownJobError
from mdactors.views.jobs import JobDetail, JobPage, JobRow, job_detail, job_page, job_row, job_span
from mdactors.wire import CancelRequest, SubmitRequest, SubmitResponse, submitted

PAGE_MAX = 250
"""Rows of one answer: encoding more would hold the loop for too long."""

TAG = ["jobs"]

Number = Annotated[int | None, QueryParameter(ge=1, description="With the other end: the jobs numbered so, up to 250")]


@post(
    "/v1/jobs",
    operation_id="submit_jobs",
    status_code=200,
    tags=TAG,
    summary="Submit jobs",
    responses=failing(400, 413, InputError, IntakeClosedError, BacklogFullError),
)
async def submit(request: HttpRequest, data: JSONBody[SubmitRequest]) -> SubmitResponse:
    """Take the entries of a job file, or (dry_run) tell what would become of them."""
    platform, base = served(request).platform, Path(data.base)
    if not base.is_absolute():
        raise InputError(f"base: {data.base!r} is not an absolute path; give the job file's folder")
    if data.dry_run:
        submissions = await platform.preview(data.jobs, base=base, owner=data.owner)
    else:
        submissions = await platform.submit(data.jobs, base=base, owner=data.owner)
        if data.wait == "verdict":
            submissions = await platform.verdicts(submissions)
    return SubmitResponse(submissions=[submitted(each) for each in submissions])


@get("/v1/jobs", operation_id="list_jobs", tags=TAG, summary="List jobs", responses=failing(400, InputError))
async def jobs(
    request: HttpRequest,
    *,
    states: Annotated[str, QueryParameter(name="state", description="One state or several, separated by commas")] = "",
    newest: Annotated[bool, QueryParameter(description="The greatest number first")] = False,
    limit: Annotated[int, QueryParameter(ge=1, le=PAGE_MAX)] = 50,
    offset: Annotated[int, QueryParameter(ge=0)] = 0,
    first: Number = None,
    last: Number = None,
) -> JobPage:
    """Return a page of jobs by number."""
    platform = served(request).platform
    if first is not None and last is not None:
        return job_span(platform.jobs, platform.matrix, first=first, last=min(last, first + PAGE_MAX - 1))
    return job_page(platform.jobs, platform.matrix, states=_states(states), newest=newest, offset=offset, limit=limit)


def _states(text: str) -> frozenset[JobState]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    try:
        return frozenset(JobState(name) for name in names)
    except ValueError as error:
        raise InputError(f"state: {text!r} is not known; one or more of: {', '.join(JobState)}") from error


@get(
    "/v1/jobs/{job:int}",
    operation_id="get_job",
    tags=TAG,
    summary="Look at a job",
    responses=failing(400, UnknownJobError),
)
async def one(request: HttpRequest, job: FromPath[int]) -> JobDetail:
    """Return the whole story of a job."""
    serving = served(request)
    return job_detail(serving.job(job), serving.platform.matrix)


@post(
    "/v1/jobs/{job:int}/cancel",
    operation_id="cancel_job",
    status_code=200,
    tags=TAG,
    summary="Cancel a job",
    responses=failing(400, UnknownJobError),
)
async def cancel(request: HttpRequest, job: FromPath[int]) -> JobRow:
    """Ask for the end of a job; what it wrote is kept."""
    serving = served(request)
    await serving.platform.cancel([job], by="")
    return job_row(serving.job(job), serving.platform.matrix)


@post(
    "/v1/cancel",
    operation_id="cancel_jobs",
    status_code=200,
    tags=TAG,
    summary="Cancel several jobs",
    responses=failing(400, 413, UnknownJobError),
)
async def cancel_many(request: HttpRequest, data: JSONBody[CancelRequest]) -> JobPage:
    """Ask for the end of jobs, all or none of them: an unknown number spoils the request."""
    serving = served(request)
    await serving.platform.cancel(data.jobs, by=data.by)
    rows = [job_row(serving.job(number), serving.platform.matrix) for number in data.jobs]
    return JobPage(total=len(rows), offset=0, jobs=rows)


ROUTES = [submit, jobs, one, cancel, cancel_many]
