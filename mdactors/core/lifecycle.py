"""The states of a job as one table, and the read model that folds the journal into one row a job.

Rules of this file: a job has exactly one state; only the pairs in `TRANSITIONS` are legal; an unlisted pair is a fault
of ours and raises with the job's story. Only the Scheduler and the Negotiator publish facts that change a job's state,
so that two of them can never cross.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgspec

from events.attempts import (
    AttemptEnded,
    AttemptFound,
    AttemptProgressed,
    AttemptStarted,
    AttemptStopRequested,
    Handle,
    JobAssigned,
)
from events.base import Event, Record
from events.jobs import (
    JobAccepted,
    JobCancelled,
    JobCancelRequested,
    JobCompleted,
    JobFailed,
    JobRejected,
    JobRequeued,
    JobSubmitted,
)
from events.outcome import Candidate, Diagnosis, ExitRecord, Figures, OutcomeName, Refusal
from events.results import PerformanceRecorded
from mdactors.errors import IllegalTransitionError


class JobState(StrEnum):
    """Where a job stands."""

    SUBMITTED = "submitted"
    REJECTED = "rejected"
    QUEUED = "queued"
    ASSIGNED = "assigned"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDING = "ending"
    """The attempt has ended and what follows from it is not decided yet."""
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


S = JobState

TRANSITIONS: dict[tuple[JobState, type[Event]], JobState] = {
    (S.SUBMITTED, JobAccepted): S.QUEUED,
    (S.SUBMITTED, JobRejected): S.REJECTED,
    (S.QUEUED, JobAssigned): S.ASSIGNED,
    (S.QUEUED, JobCancelled): S.CANCELLED,
    (S.ASSIGNED, AttemptStarted): S.RUNNING,
    (S.ASSIGNED, AttemptStopRequested): S.STOPPING,
    (S.ASSIGNED, AttemptEnded): S.ENDING,
    (S.RUNNING, AttemptStopRequested): S.STOPPING,
    (S.RUNNING, AttemptEnded): S.ENDING,
    (S.STOPPING, AttemptStarted): S.STOPPING,
    (S.STOPPING, AttemptStopRequested): S.STOPPING,
    (S.STOPPING, AttemptEnded): S.ENDING,
    (S.ENDING, AttemptStopRequested): S.ENDING,  # asked for before the end was known
    (S.ENDING, JobRequeued): S.QUEUED,
    (S.ENDING, JobCompleted): S.COMPLETED,
    (S.ENDING, JobFailed): S.FAILED,
    (S.ENDING, JobCancelled): S.CANCELLED,
}
"""(state, fact) -> state. The page `docs/architecture.md` draws its diagram from this table."""

TERMINAL = frozenset({S.REJECTED, S.COMPLETED, S.FAILED, S.CANCELLED})
ACTIVE = frozenset({S.ASSIGNED, S.RUNNING, S.STOPPING, S.ENDING})


KILLED = -9
"""Exit code of what SIGKILL ended."""


class Attempt(msgspec.Struct, kw_only=True):
    """One row of a job's history."""

    number: int
    slot: str
    device: str
    capability: str
    assigned: float
    started: float | None = None
    ended: float | None = None
    folder: str = ""
    handle: Handle | None = None
    argv: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    cpus: tuple[int, ...] = ()
    from_step: int = 0
    stop_reason: str = ""
    outcome: OutcomeName | None = None
    exit: ExitRecord | None = None
    figures: Figures = Figures()
    diagnosis: Diagnosis | None = None
    warnings: tuple[str, ...] = ()
    progress: AttemptProgressed | None = None
    archived: bool = False
    """Its figures are in the ledger."""

    @property
    def by_force(self) -> bool:
        """It was asked to stop, did not, and was killed: what it did after its last checkpoint is lost."""
        return bool(self.stop_reason) and self.exit is not None and self.exit.code == KILLED


class Job(msgspec.Struct, kw_only=True):
    """One row of the read model."""

    job: int
    submitted: JobSubmitted
    submitted_at: float
    state: JobState = JobState.SUBMITTED
    last_seq: int = 0
    """The last record about this job; the cause of what is decided next."""
    candidates: tuple[Candidate, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    diagnosis: Diagnosis | None = None
    cancel_requested: bool = False
    avoid: frozenset[str] = frozenset()
    """Devices on which it failed by their fault."""
    queued_since: float = 0.0
    """When it last became ready to run."""
    ended_at: float | None = None
    failures: int = 0
    """Attempts that failed or vanished; being stopped or moved is none."""
    attempts: list[Attempt] = []
    story: list[tuple[int, str]] = []
    """(sequence number, fact) of everything that changed its state."""

    @property
    def attempt(self) -> Attempt | None:
        """The newest attempt."""
        return self.attempts[-1] if self.attempts else None


class Jobs:
    """The read model: every job by its number, folded from the journal by `apply`."""

    def __init__(self) -> None:
        self.rows: dict[int, Job] = {}
        self.counts: dict[JobState, int] = dict.fromkeys(JobState, 0)
        self.active: dict[int, Job] = {}
        """Jobs that hold a slot, by number."""
        self.last_number = 0
        """The greatest number that a job has."""

    def __getitem__(self, job: int) -> Job:
        return self.rows[job]

    def __contains__(self, job: object) -> bool:
        return job in self.rows

    def in_state(self, *states: JobState) -> list[Job]:
        """Return the jobs in any of these states, by number."""
        if not any(self.counts[state] for state in states):
            return []
        return [row for row in self.rows.values() if row.state in states]

    def apply(self, record: Record) -> None:
        """Fold one record; facts that are about no job are ignored."""
        event = record.event
        if isinstance(event, JobSubmitted):
            self._add(record, event)
        elif isinstance(event, AttemptProgressed):
            _note_progress(self.rows.get(event.job), event)
        elif (number := getattr(event, "job", None)) in self.rows:
            self._fold(self.rows[number], record)

    def _add(self, record: Record, event: JobSubmitted) -> None:
        row = Job(
            job=event.job, submitted=event, submitted_at=record.time, queued_since=record.time, last_seq=record.seq
        )
        row.story.append((record.seq, "JobSubmitted"))
        self.rows[event.job] = row
        self.last_number = max(self.last_number, event.job)
        self.counts[row.state] += 1

    def _fold(self, row: Job, record: Record) -> None:
        event = record.event
        kind = type(event)
        if kind in STATE_FACTS:
            self._move(row, record)
        _details(event, row, record)

    def _move(self, row: Job, record: Record) -> None:
        kind = type(record.event)
        row.story.append((record.seq, kind.__name__))
        if (row.state, kind) not in TRANSITIONS:
            raise IllegalTransitionError(
                f"job {row.job} is {row.state} and can't take {kind.__name__} (record {record.seq}); its story: {row.story}"
            )
        self.counts[row.state] -= 1
        row.state = TRANSITIONS[row.state, kind]
        self.counts[row.state] += 1
        row.last_seq = record.seq
        if row.state in ACTIVE:
            self.active[row.job] = row
        else:
            self.active.pop(row.job, None)
        if row.state in TERMINAL:
            row.ended_at = record.time


STATE_FACTS = frozenset(fact for _, fact in TRANSITIONS)


@functools.singledispatch
def _details(event: Any, row: Job, record: Record) -> None:  # noqa: ANN401 - the fallback of a dispatch by type
    """Copy into the row what a fact says beyond the change of state."""


def _detail(kind: type[Event]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return _details.register(kind)


@_detail(JobAccepted)
def _(event: JobAccepted, row: Job, record: Record) -> None:
    row.candidates = event.candidates
    row.queued_since = record.time


@_detail(JobRejected)
def _(event: JobRejected, row: Job, record: Record) -> None:
    row.refusals = event.refusals


@_detail(JobCancelRequested)
def _(event: JobCancelRequested, row: Job, record: Record) -> None:
    row.cancel_requested = True
    row.last_seq = record.seq


@_detail(JobRequeued)
def _(event: JobRequeued, row: Job, record: Record) -> None:
    row.queued_since = record.time
    if event.avoid:
        row.avoid |= {event.avoid}


@_detail(JobFailed)
def _(event: JobFailed, row: Job, record: Record) -> None:
    row.diagnosis = event.diagnosis


@_detail(JobAssigned)
def _(event: JobAssigned, row: Job, record: Record) -> None:
    row.attempts.append(
        Attempt(
            number=event.attempt,
            slot=event.slot,
            device=event.device,
            capability=event.capability,
            cpus=event.cpus,
            assigned=record.time,
        )
    )


@_detail(AttemptStarted)
def _(event: AttemptStarted, row: Job, record: Record) -> None:
    attempt = row.attempts[-1]
    attempt.started = record.time
    attempt.folder, attempt.handle, attempt.argv = event.folder, event.handle, event.argv
    attempt.added, attempt.cpus, attempt.from_step = event.added, event.cpus, event.from_step


@_detail(AttemptFound)
def _(event: AttemptFound, row: Job, record: Record) -> None:
    if event.handle is not None:
        row.attempts[-1].handle = event.handle


@_detail(AttemptStopRequested)
def _(event: AttemptStopRequested, row: Job, record: Record) -> None:
    row.attempts[-1].stop_reason = event.reason


@_detail(AttemptEnded)
def _(event: AttemptEnded, row: Job, record: Record) -> None:
    attempt = row.attempts[-1]
    attempt.ended = record.time
    attempt.outcome, attempt.exit, attempt.figures = event.outcome, event.exit, event.figures
    attempt.diagnosis, attempt.warnings, attempt.progress = event.diagnosis, event.warnings, None
    if event.outcome in {"failed", "vanished"}:
        row.failures += 1


@_detail(PerformanceRecorded)
def _(event: PerformanceRecorded, row: Job, record: Record) -> None:
    for attempt in row.attempts:
        attempt.archived |= attempt.number == event.attempt


def _note_progress(row: Job | None, event: AttemptProgressed) -> None:
    if row is not None and row.attempts and row.attempts[-1].number == event.attempt and row.attempts[-1].ended is None:
        row.attempts[-1].progress = event
