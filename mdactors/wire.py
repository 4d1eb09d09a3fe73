"""What travels over HTTP besides the rows of `mdactors.views`: requests, acknowledgements, and the shape of an error."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from events.devices import Condition
from events.outcome import Candidate, Examination
from mdactors.ports import Submission
from mdactors.views.jobs import RefusalRow, refusal_row

JOBS_MAX = 1000
"""Entries of one submission; a longer job file is handed over in parts, so that no request holds the platform."""


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something asked of the platform; unknown fields are refused."""


class SubmitRequest(Request, frozen=True, kw_only=True):
    """Entries of a job file, to be taken as jobs."""

    jobs: Annotated[
        list[Any], Meta(min_length=1, max_length=JOBS_MAX, description="Job specs, as a job file holds them")
    ]
    base: Annotated[str, Meta(description="Absolute folder to which relative paths refer, on the platform's machine")]
    owner: Annotated[str, Meta(description="Who asks, where an entry does not say so itself")] = ""
    wait: Annotated[
        Literal["durable", "verdict"],
        Meta(description="durable: answer when nothing can be lost; verdict: when each job is accepted or refused"),
    ] = "verdict"
    dry_run: Annotated[bool, Meta(description="Negotiate, show choice and refusals, start nothing")] = False


class CancelRequest(Request, frozen=True, kw_only=True):
    """Jobs to end."""

    jobs: Annotated[list[int], Meta(min_length=1, max_length=JOBS_MAX)]
    by: str = ""


class RefreshRequest(Request, frozen=True, kw_only=True):
    """The node is to be probed again."""

    by: str = ""


class DeviceReportRequest(Request, frozen=True, kw_only=True):
    """What somebody knows about a device."""

    condition: Condition
    reason: str = ""
    source: str = "user"


class ReconcileRequest(Request, frozen=True, kw_only=True):
    """Two completed jobs whose energies are to be compared."""

    a: int
    b: int
    by: str = ""


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one entry of a job file."""

    index: int
    """Place among the entries of this request, from 0."""
    name: str
    job: int | None
    """Its number; null where it was refused before it got one, and in a dry run."""
    state: str
    refusals: list[RefusalRow]
    candidates: list[Candidate]
    """Best first."""
    examinations: list[Examination]


class SubmitResponse(msgspec.Struct, frozen=True, kw_only=True):
    """One answer for each entry, in their order."""

    submissions: list[Submitted]


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """The request is durable; what follows from it is told by the events."""

    ok: bool = True


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The body of every answer that is no success."""

    error: Annotated[str, Meta(description="Stable short name, `unknown-job` ...")]
    detail: Annotated[str, Meta(description="What went wrong, in a sentence")]
    remedy: Annotated[str, Meta(description="What helps; empty where nothing is known")] = ""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The platform answers."""

    status: Literal["ok", "closed"]
    """closed: it runs what it has and takes no new work."""
    version: str
    node: str
    last_seq: int
    reason: str = ""


def submitted(submission: Submission) -> Submitted:
    """Return a submission as it is told over HTTP."""
    return Submitted(
        index=submission.index,
        name=submission.name,
        job=submission.job,
        state=submission.state or "submitted",
        refusals=[refusal_row(refusal) for refusal in submission.refusals],
        candidates=list(submission.candidates),
        examinations=list(submission.examinations),
    )
