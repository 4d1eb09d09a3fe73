"""What follows from an ended attempt: done, again, elsewhere, or over."""

from __future__ import annotations

from collections.abc import Iterable

from events.attempts import AttemptEnded
from events.base import Event
from events.jobs import JobCancelled, JobCompleted, JobFailed, JobRequeued
from events.outcome import Diagnosis

VANISHED = Diagnosis(
    kind="substrate",
    code="vanished",
    summary="the engine process and everything of it is gone, and it left no exit record",
    retry="same",
    remedy="look for the kernel's out-of-memory killer or a reboot in the system log",
)


def consequence(
    ended: AttemptEnded,
    *,
    from_step: int,
    device: str,
    elsewhere: Iterable[str],
    stop_asked: bool,
    cancelled: bool,
    failures: int,
    retries: int,
) -> Event:
    """Return the fact that follows from the end of an attempt.

    Being stopped, by us or by somebody else, is no failure while steps advance. A failure is retried at most
    `retries` times, and only where its diagnosis says that a retry can mend it.

    Args:
        ended: how the attempt ended.
        from_step: the step at which it began.
        device: where it ran.
        elsewhere: other devices that would do for the job.
        stop_asked: the platform had asked it to stop.
        cancelled: somebody had asked for the job's end.
        failures: failed or vanished attempts of the job, this one included.
        retries: how many of them a retry may follow.
    """
    job, attempt = ended.job, ended.attempt
    if ended.outcome == "completed":
        return JobCompleted(job=job, attempt=attempt)
    if cancelled:
        return JobCancelled(job=job, attempt=attempt)
    if ended.outcome == "stopped" and (stop_asked or (ended.figures.steps_done or 0) > from_step):
        return JobRequeued(job=job, attempt=attempt, reason="stopped before its last step; goes on from there")
    diagnosis = ended.diagnosis or _undiagnosed(ended)
    no_progress = ended.outcome == "stopped"  # no step made: it would go on for ever
    if diagnosis.retry == "no" or failures > retries or no_progress:
        return JobFailed(job=job, attempt=attempt, diagnosis=diagnosis)
    if diagnosis.retry == "other":
        if not set(elsewhere) - {device}:
            return JobFailed(job=job, attempt=attempt, diagnosis=diagnosis)
        return JobRequeued(job=job, attempt=attempt, reason=diagnosis.summary, avoid=device)
    return JobRequeued(job=job, attempt=attempt, reason=diagnosis.summary)


def _undiagnosed(ended: AttemptEnded) -> Diagnosis:
    if ended.outcome == "vanished":
        return VANISHED
    if ended.outcome == "stopped":
        return Diagnosis(kind="unknown", code="no-progress", summary="it was stopped before it made a step", retry="no")
    code = ended.exit.code if ended.exit else "unknown"
    return Diagnosis(
        kind="unknown", code="unexplained", summary=f"it ended with exit code {code}, unexplained", retry="no"
    )
