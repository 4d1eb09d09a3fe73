"""Jobs as rows: one line in a table, and the whole story."""

from __future__ import annotations

import itertools
from pathlib import PurePosixPath
from typing import Any

import msgspec

from events.outcome import Candidate, Diagnosis, Examination, Figures, Refusal
from events.spec import AnyJobSpec, InputFile, kind_of
from mdactors.core.capabilities import Matrix
from mdactors.core.lifecycle import TERMINAL, Attempt, Job, Jobs, JobState


class JobRow(msgspec.Struct, frozen=True, kw_only=True):
    """One job in a table."""

    job: int
    name: str
    kind: str
    owner: str
    project: str
    state: str
    priority: float
    priority_class: str
    attempt: int
    """Number of the newest attempt; 0 before the first."""
    slot: str
    device: str
    engine: str
    backend: str
    precision: str
    """Of the build that runs it; of the request before one was chosen."""
    step: int | None
    steps_asked: int | None
    ns_per_day: float | None
    seconds_left: float | None
    submitted_at: float
    started_at: float | None
    """First start of an engine."""
    ended_at: float | None
    wait_seconds: float | None
    """From submission to the first assignment."""
    reason: str
    """Why it is not running, in a sentence; empty where nothing is to be said."""


class RefusalRow(msgspec.Struct, frozen=True, kw_only=True):
    """Why one capability, engine or file can't serve a job."""

    subject: str
    clause: str
    wanted: str
    found: str
    remedy: str
    text: str
    """The whole as one line."""


class AttemptRow(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt of a job."""

    attempt: int
    slot: str
    device: str
    capability: str
    assigned_at: float
    started_at: float | None
    ended_at: float | None
    from_step: int
    pid: int | None
    folder: str
    argv: tuple[str, ...]
    added: tuple[str, ...]
    cpus: tuple[int, ...]
    stop_reason: str
    by_force: bool
    """It did not stop when asked, and was killed."""
    outcome: str | None
    exit_code: int | None
    figures: Figures
    diagnosis: Diagnosis | None
    warnings: tuple[str, ...]


class Step(msgspec.Struct, frozen=True):
    """A fact that changed a job's state."""

    seq: int
    fact: str


class JobDetail(JobRow, frozen=True, kw_only=True):
    """The whole story of one job."""

    spec: AnyJobSpec
    inputs: tuple[InputFile, ...]
    examinations: tuple[Examination, ...]
    candidates: tuple[Candidate, ...]
    refusals: list[RefusalRow]
    diagnosis: Diagnosis | None
    attempts: list[AttemptRow]
    story: list[Step]


class JobPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the jobs."""

    total: int
    """Jobs that fit the question."""
    offset: int
    jobs: list[JobRow]


def job_row(row: Job, matrix: Matrix) -> JobRow:
    """Return a job as a row of a table."""
    return JobRow(**_fields(row, matrix))


def job_detail(row: Job, matrix: Matrix) -> JobDetail:
    """Return all that is known of a job."""
    return JobDetail(
        **_fields(row, matrix),
        spec=row.submitted.spec,
        inputs=row.submitted.inputs,
        examinations=row.submitted.examinations,
        candidates=row.candidates,
        refusals=[refusal_row(refusal) for refusal in row.refusals],
        diagnosis=row.diagnosis,
        attempts=[_attempt(attempt) for attempt in row.attempts],
        story=[Step(seq, fact) for seq, fact in row.story],
    )


def job_page(
    jobs: Jobs, matrix: Matrix, *, states: frozenset[JobState], newest: bool, offset: int, limit: int
) -> JobPage:
    """Return some jobs by number, those in any of `states` (none named: all); `newest`: the greatest number first."""
    total = sum(jobs.counts[state] for state in states) if states else len(jobs)
    if not total:
        return JobPage(total=0, offset=offset, jobs=[])
    rows = jobs.ordered(newest=newest)
    if states:
        rows = (row for row in rows if row.state in states)
    chosen = itertools.islice(rows, offset, offset + limit)
    return JobPage(total=total, offset=offset, jobs=[job_row(row, matrix) for row in chosen])


def job_span(jobs: Jobs, matrix: Matrix, *, first: int, last: int) -> JobPage:
    """Return the jobs with the numbers `first` to `last`, both included."""
    found = [job_row(jobs[number], matrix) for number in range(first, last + 1) if number in jobs]
    return JobPage(total=len(found), offset=0, jobs=found)


def name_of(row: Job) -> str:
    """Return what a job is called: its own name, else that of its first input."""
    spec, inputs = row.submitted.spec, row.submitted.inputs
    return spec.name or (PurePosixPath(inputs[0].path).name if inputs else kind_of(spec))


def reason(row: Job, matrix: Matrix) -> str:
    """Return why a job is not running, in a sentence; empty where nothing is to be said."""
    if row.refusals:
        more = f" (and {len(row.refusals) - 1} more)" if len(row.refusals) > 1 else ""
        return row.refusals[0].text() + more
    if row.diagnosis:
        return row.diagnosis.summary
    if row.state is JobState.COMPLETED:
        return ""
    if row.cancel_requested and row.state not in {*TERMINAL, JobState.STOPPING, JobState.ENDING}:
        return "it is being cancelled"
    if row.state in {JobState.RUNNING, JobState.ASSIGNED}:
        return ""
    return "; ".join(filter(None, (_interruption(row.attempt), _obstacle(row, matrix))))


def _interruption(attempt: Attempt | None) -> str:
    """Return why the newest attempt did not get to the end."""
    if attempt is None:
        return ""
    if attempt.stop_reason:
        how = "was killed, since it did not stop" if attempt.by_force else "stopped"
        return f"attempt {attempt.number} {how}: {attempt.stop_reason}"
    return f"attempt {attempt.number}: {attempt.diagnosis.summary}" if attempt.diagnosis else ""


def _obstacle(row: Job, matrix: Matrix) -> str:
    """Return why a waiting job can't have any of its places now; empty: it only has to wait for its turn."""
    if row.state is not JobState.QUEUED:
        return ""
    troubles = [_trouble(choice, row, matrix) for choice in row.candidates]
    return f"waits: {troubles[0]}" if troubles and all(troubles) else ""


def _trouble(choice: Candidate, row: Job, matrix: Matrix) -> str:
    capability = matrix.capabilities.get(choice.capability)
    if capability is None:
        return f"{choice.capability} is gone"
    if choice.device in row.avoid:
        return f"it failed on device {choice.device}, and there is no other"
    return matrix.trouble(capability)


def refusal_row(refusal: Refusal) -> RefusalRow:
    """Return a refusal with its text."""
    return RefusalRow(
        subject=refusal.subject,
        clause=refusal.clause,
        wanted=refusal.wanted,
        found=refusal.found,
        remedy=refusal.remedy,
        text=refusal.text(),
    )


def _fields(row: Job, matrix: Matrix) -> dict[str, Any]:
    spec, attempt = row.submitted.spec, row.attempt
    fields: dict[str, Any] = {
        "job": row.job,
        "name": name_of(row),
        "kind": kind_of(spec),
        "owner": spec.owner,
        "project": spec.project,
        "state": row.state.value,
        "priority": spec.priority,
        "priority_class": spec.priority_class,
        "submitted_at": row.submitted_at,
        "ended_at": row.ended_at,
        "reason": reason(row, matrix),
    }
    return fields | (_waiting(row) if attempt is None else _on(row, attempt, matrix))


def _waiting(row: Job) -> dict[str, Any]:
    spec = row.submitted.spec
    return {
        "attempt": 0,
        "slot": "",
        "device": "",
        "engine": spec.backend_pref or "",
        "backend": spec.platform_hint or "",
        "precision": spec.precision,
        "step": None,
        "steps_asked": spec.nsteps,
        "ns_per_day": None,
        "seconds_left": None,
        "started_at": None,
        "wait_seconds": None,
    }


def _on(row: Job, attempt: Attempt, matrix: Matrix) -> dict[str, Any]:
    engine, backend, precision = _build(attempt.capability, matrix)
    figures, progress = attempt.figures, attempt.progress
    first = row.attempts[0]
    return {
        "attempt": attempt.number,
        "slot": attempt.slot,
        "device": attempt.device,
        "engine": engine,
        "backend": backend,
        "precision": precision,
        "step": progress.step if progress else figures.steps_done,
        "steps_asked": (progress and progress.steps_asked) or figures.steps_asked or row.submitted.spec.nsteps,
        "ns_per_day": progress.ns_per_day if progress else figures.ns_per_day,
        "seconds_left": progress.seconds_left if progress else None,
        "started_at": next((each.started for each in row.attempts if each.started is not None), None),
        "wait_seconds": max(first.assigned - row.submitted_at, 0.0),  # the clock may have been set back
    }


def _build(capability: str, matrix: Matrix) -> tuple[str, str, str]:
    """Return engine, backend and precision of a capability, be it gone by now."""
    known = matrix.ever.get(capability)
    return (known.engine, known.backend, known.precision) if known else ("", "", "")


def _attempt(attempt: Attempt) -> AttemptRow:
    return AttemptRow(
        attempt=attempt.number,
        slot=attempt.slot,
        device=attempt.device,
        capability=attempt.capability,
        assigned_at=attempt.assigned,
        started_at=attempt.started,
        ended_at=attempt.ended,
        from_step=attempt.from_step,
        pid=attempt.handle.pid if attempt.handle else None,
        folder=attempt.folder,
        argv=attempt.argv,
        added=attempt.added,
        cpus=attempt.cpus,
        stop_reason=attempt.stop_reason,
        by_force=attempt.by_force,
        outcome=attempt.outcome,
        exit_code=attempt.exit.code if attempt.exit else None,
        figures=attempt.figures,
        diagnosis=attempt.diagnosis,
        warnings=attempt.warnings,
    )
