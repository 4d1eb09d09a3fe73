"""The life of a job."""

from __future__ import annotations

from events.base import Event
from events.outcome import Candidate, Diagnosis, Examination, Refusal
from events.spec import AnyJobSpec, InputFile


class JobSubmitted(Event, frozen=True, tag="JobSubmitted"):
    """A user asked for a job; its inputs are kept and were examined."""

    job: int
    spec: AnyJobSpec
    inputs: tuple[InputFile, ...]
    examinations: tuple[Examination, ...]


class JobAccepted(Event, frozen=True, tag="JobAccepted"):
    """At least one capability can run it; the candidates are ranked, best first."""

    job: int
    candidates: tuple[Candidate, ...]


class JobRejected(Event, frozen=True, tag="JobRejected"):
    """Nothing here can run it: one reason or more for everything that was tried."""

    job: int
    refusals: tuple[Refusal, ...]


class JobCancelRequested(Event, frozen=True, tag="JobCancelRequested"):
    """Somebody wants the job to end."""

    job: int
    by: str = ""


class JobRequeued(Event, frozen=True, tag="JobRequeued"):
    """An attempt ended before the job was done; it waits again with its original age."""

    job: int
    attempt: int
    reason: str
    avoid: str = ""
    """Device that the next attempt should not use."""


class JobCompleted(Event, frozen=True, tag="JobCompleted"):
    """The last step was reached."""

    job: int
    attempt: int


class JobFailed(Event, frozen=True, tag="JobFailed"):
    """No retry can mend it, or the retries are used up."""

    job: int
    attempt: int
    diagnosis: Diagnosis


class JobCancelled(Event, frozen=True, tag="JobCancelled"):
    """It ended because somebody asked for that; what it wrote is kept."""

    job: int
    attempt: int = 0
    """The attempt that was stopped; 0 where none had begun."""
