"""The life of an attempt: one engine process on a job's behalf."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from events.base import Event
from events.outcome import Diagnosis, ExitRecord, Figures, OutcomeName


class Handle(msgspec.Struct, frozen=True, kw_only=True):
    """A started process so that nobody else can be taken for it."""

    pid: int
    start_ticks: int
    """Start time in clock ticks since boot, field 22 of /proc/PID/stat."""
    boot_id: str


class JobAssigned(Event, frozen=True, tag="JobAssigned"):
    """A slot is to run the job now; the intent is in the journal before anything starts."""

    job: int
    attempt: int
    slot: str
    device: str
    capability: str
    cpus: tuple[int, ...] = ()
    """The slot's CPUs at this moment; whatever becomes of the slot, nobody else is given them before the attempt has ended."""


class AttemptStarted(Event, frozen=True, tag="AttemptStarted"):
    """The engine process exists."""

    job: int
    attempt: int
    slot: str
    folder: str
    handle: Handle
    argv: tuple[str, ...]
    added: tuple[str, ...] = ()
    """Command-line words and variables that the platform chose, beyond the user's own."""
    cpus: tuple[int, ...] = ()
    from_step: int = 0
    """0 for a fresh start; else the step of the checkpoint that it continues from."""


class AttemptFound(Event, frozen=True, tag="AttemptFound"):
    """On start-up the substrate was asked about an attempt of an earlier life of the platform."""

    job: int
    attempt: int
    state: Literal["absent", "running", "ended", "vanished"]
    handle: Handle | None = None


class AttemptProgressed(Event, frozen=True, tag="AttemptProgressed"):
    """Where a running attempt stands (ephemeral)."""

    EPHEMERAL: ClassVar[bool] = True

    job: int
    attempt: int
    step: int
    steps_asked: int | None = None
    ns_per_day: float | None = None
    seconds_left: float | None = None


class AttemptStopRequested(Event, frozen=True, tag="AttemptStopRequested"):
    """The attempt is to stop in good order, keeping its checkpoint."""

    job: int
    attempt: int
    reason: Literal["cancelled", "device", "preempted", "shutdown"]
    by: str = ""


class AttemptEnded(Event, frozen=True, tag="AttemptEnded"):
    """Nothing of the attempt lives any more; outcome by the files as well as by the exit code."""

    job: int
    attempt: int
    slot: str
    outcome: OutcomeName
    exit: ExitRecord | None = None
    figures: Figures = Figures()
    diagnosis: Diagnosis | None = None
    warnings: tuple[str, ...] = ()
