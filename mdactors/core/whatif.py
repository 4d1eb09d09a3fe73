"""The same submissions and the same measured durations under another policy or on other slots, by the same scheduler.

Each job takes as long as its attempts took together; starting costs nothing, and a time at which the platform was away
counts as if it had been there. So compare two what-ifs with each other rather than with the last second of what happened.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable
from typing import Literal

import msgspec

from events.attempts import AttemptEnded, AttemptStarted, AttemptStopRequested, Handle, JobAssigned
from events.base import Event, Record
from events.devices import CapabilitiesProbed, DeviceRecovered, DeviceUnhealthy
from events.hardware import Slot
from events.jobs import JobAccepted, JobCancelRequested, JobSubmitted
from events.outcome import Figures
from events.platform import PlatformStarted, Policy
from mdactors.core.effects import Publish
from mdactors.core.lifecycle import TERMINAL, Job, Jobs
from mdactors.core.scheduling import SchedulerCore

OUTSIDE = (
    CapabilitiesProbed,
    DeviceUnhealthy,
    DeviceRecovered,
    JobSubmitted,
    JobAccepted,
    JobCancelRequested,
    PlatformStarted,
)
"""What is taken from the log at its time; everything else follows."""

NOBODY = Handle(pid=0, start_ticks=0, boot_id="")


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be different; None: as it was."""

    aging: float | None = None
    """Priority that a waiting job gains in an hour."""
    slots: int | None = None
    """Slots of each CPU."""


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """How a batch went."""

    jobs: int
    """Jobs whose duration is known."""
    makespan: float
    """Seconds from the first submission to the last end."""
    mean_wait: float
    """Seconds from submission to the first assignment."""
    worst_wait: float


def happened(records: Iterable[Record]) -> Course:
    """Return how it went."""
    jobs = Jobs()
    for record in records:
        jobs.apply(record)
    rows = [row for row in jobs.rows.values() if _seconds(row) is not None]
    waits = [row.attempts[0].assigned - row.submitted_at for row in rows]
    ends = [row.ended_at for row in rows if row.ended_at is not None]
    return _course([row.submitted_at for row in rows], waits, ends)


def what_if(records: Iterable[Record], change: Change) -> Course:
    """Return how it would have gone."""
    log = list(records)
    jobs = Jobs()
    for record in log:
        jobs.apply(record)
    known = {row.job: seconds for row in jobs.rows.values() if (seconds := _seconds(row)) is not None}
    return _Rerun(known, change).course(log)


def _seconds(row: Job) -> float | None:
    """Return how long a job's attempts took together; None where that is not known."""
    times = [
        attempt.ended - attempt.started
        for attempt in row.attempts
        if attempt.started is not None and attempt.ended is not None
    ]
    return sum(times) if times and row.state in TERMINAL else None


def _course(submitted: list[float], waits: list[float], ends: list[float]) -> Course:
    if not ends:
        return Course(jobs=0, makespan=0.0, mean_wait=0.0, worst_wait=0.0)
    return Course(
        jobs=len(waits),
        makespan=max(ends) - min(submitted),
        mean_wait=sum(waits) / len(waits),
        worst_wait=max(waits),
    )


class _Rerun:
    """The scheduler's core in a world where every job takes its measured time."""

    def __init__(self, seconds: dict[int, float], change: Change) -> None:
        self._left = dict(seconds)
        """Job -> seconds that it has still to run."""
        self._change = change
        self._core = SchedulerCore()
        self._seq = itertools.count(1)
        self._order = itertools.count()
        self._agenda: list[tuple[float, int, Event]] = []
        self._running: dict[int, tuple[AttemptStarted, float]] = {}
        """Job -> its attempt and when it began."""
        self._submitted: dict[int, float] = {}
        self._waits: dict[int, float] = {}
        self._ends: dict[int, float] = {}

    def course(self, log: Iterable[Record]) -> Course:
        """Let it happen."""
        told = {None, *self._left}
        for record in log:
            if isinstance(record.event, OUTSIDE) and getattr(record.event, "job", None) in told:
                self._at(record.time, self._changed(record.event))
        while self._agenda:
            now = self._agenda[0][0]
            while self._agenda and self._agenda[0][0] == now:
                self._happen(now, heapq.heappop(self._agenda)[2])
            self._decide(now)
        jobs = sorted(self._ends)
        return _course(
            [self._submitted[job] for job in jobs],
            [self._waits[job] for job in jobs],
            [self._ends[job] for job in jobs],
        )

    def _at(self, time: float, event: Event) -> None:
        heapq.heappush(self._agenda, (time, next(self._order), event))

    def _changed(self, event: Event) -> Event:
        match event:
            case PlatformStarted(policy=policy) if self._change.aging is not None:
                aged: Policy = msgspec.structs.replace(policy, aging_per_hour=self._change.aging)
                return msgspec.structs.replace(event, policy=aged)
            case CapabilitiesProbed() if self._change.slots is not None:
                return msgspec.structs.replace(event, slots=_relaid(event, self._change.slots))
            case _:
                return event

    def _happen(self, now: float, event: Event) -> None:
        match event:
            case JobSubmitted(job=job):
                self._submitted[job] = now
            case AttemptEnded(job=job, attempt=attempt):
                started, began = self._running.get(job, (None, 0.0))
                if started is None or started.attempt != attempt:
                    return  # it was stopped before
                del self._running[job]
                self._left[job] -= now - began
            case _:
                pass
        self._core.apply(Record(next(self._seq), now, 0, event))

    def _decide(self, now: float) -> None:
        while effects := self._core.decide(now):
            for effect in effects:
                if isinstance(effect, Publish):
                    self._happen(now, effect.event)
                    self._follow(now, effect.event)

    def _follow(self, now: float, event: Event) -> None:
        """Do what executors and engines would."""
        match event:
            case JobAssigned(job=job, attempt=attempt, slot=slot):
                self._waits.setdefault(job, now - self._submitted[job])
                started = AttemptStarted(job=job, attempt=attempt, slot=slot, folder="", handle=NOBODY, argv=())
                self._running[job] = (started, now)
                self._happen(now, started)
                self._at(now + max(0.0, self._left[job]), _end(started, "completed"))
            case AttemptStopRequested(job=job):
                self._at(now, _end(self._running[job][0], "stopped"))
            case _ if (job := getattr(event, "job", 0)) not in self._core.entries:
                self._ends[job] = now
                self._waits.setdefault(job, now - self._submitted[job])
            case _:
                pass


def _end(started: AttemptStarted, outcome: Literal["completed", "stopped"]) -> AttemptEnded:
    figures = Figures(steps_done=started.attempt)  # a stopped attempt has made a step
    return AttemptEnded(job=started.job, attempt=started.attempt, slot=started.slot, outcome=outcome, figures=figures)


def _relaid(probed: CapabilitiesProbed, count: int) -> tuple[Slot, ...]:
    """Return the slots with so many on each CPU; accelerators keep theirs."""
    cpus = {device.id for device in probed.devices if device.type == "cpu"}
    slots = [slot for slot in probed.slots if slot.device not in cpus]
    for device in sorted(cpus):
        model = next((slot for slot in probed.slots if slot.device == device), None)
        if model is not None:
            slots += [msgspec.structs.replace(model, id=f"{device}/{place}", cpus=()) for place in range(count)]
    return tuple(slots)
