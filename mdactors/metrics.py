"""What Prometheus may read: a fold over the journal, so that a restart shows the same counters as before.

The five names are the field's own and fixed. (`promtool` remarks on the `ns` in one of them; that is its unit's name.)
Counting is kept cheap, a dictionary entry for each fact; the library's collectors are filled when somebody asks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
from aioprometheus.collectors import Counter, Gauge, Histogram, Registry
from aioprometheus.histogram import Histogram as Buckets
from aioprometheus.renderer import render

from events.attempts import AttemptEnded, AttemptStarted, JobAssigned
from events.base import Event, Record
from events.jobs import (
    JobAccepted,
    JobCancelled,
    JobCompleted,
    JobFailed,
    JobRejected,
    JobRequeued,
    JobSubmitted,
)
from events.results import PairReconciled, PerformanceRecorded
from mdactors.core.capabilities import Matrix
from mdactors.core.lifecycle import Jobs

Label = tuple[str, ...]

NAMES: dict[str, tuple[str, str]] = {
    "jobs": (
        "mdplatform_jobs_total",
        "Jobs that reached a state; engine, backend and precision are none before a slot is given.",
    ),
    "slots": ("mdplatform_slots", "Slots by what they do now: free, busy or unhealthy."),
    "speed": (
        "mdplatform_job_ns_per_day",
        "Speed of ended attempts with at least 1000 timed steps, in nanoseconds a day.",
    ),
    "wait": ("mdplatform_queue_wait_seconds", "Time between being ready to run and being given a slot."),
    "ratio": (
        "mdplatform_reconcile_pass_ratio",
        "Comparisons that passed among all of a pair of engines and precisions.",
    ),
}
"""Short word here -> (name, help text) there."""

JOB_LABELS = ("engine", "backend", "precision", "state")
SPEED_LABELS = ("engine", "backend", "system")
WAIT_LABELS = ("priority_class",)

SPEED_BUCKETS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0)
"""ns/day."""

WAIT_BUCKETS = (0.01, 0.1, 1.0, 10.0, 60.0, 300.0, 1800.0, 3600.0, 14400.0, 43200.0, 86400.0, 259200.0, 604800.0)
"""s; a hundredth of a second to a week."""

STEPS_MIN = 1000
"""Speeds measured over fewer steps tell of the start-up, not of the run."""

SYSTEMS_MAX = 50
"""Distinct system classes that get a label of their own; the rest are `other`."""

NOT_ASSIGNED: Label = ("none", "none", "none")
GONE: Label = ("unknown", "unknown", "unknown")
"""A capability that has left the matrix by the time that a slot is given."""

REACHED: dict[type[Event], str] = {
    JobSubmitted: "submitted",
    JobAccepted: "queued",
    JobRejected: "rejected",
    AttemptStarted: "running",
    JobRequeued: "requeued",
    JobCompleted: "completed",
    JobFailed: "failed",
    JobCancelled: "cancelled",
}
"""Fact -> the state that a job reached by it."""

ENDS = (JobRejected, JobCompleted, JobFailed, JobCancelled)


def escaped(value: str) -> str:
    r"""Return a label's value as the text format wants it: `\`, `"` and line feeds escaped. aioprometheus leaves that to us."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def labelled(names: Label, values: Label) -> dict[str, str]:
    """Return label names with their escaped values; an empty value is `unknown`, as Prometheus drops empty labels."""
    return {name: escaped(value) or "unknown" for name, value in zip(names, values, strict=True)}


Counted = tuple[
    list[tuple[Label, int]],
    dict[str, list[int]],
    list[str],
    list[tuple[str, Label, float, int, list[int]]],
]
"""Jobs that reached states; comparisons; systems with labels of their own; the series of histograms."""


class Metrics:
    """All metrics of one platform, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = Registry()
        self._jobs = Counter(*NAMES["jobs"], registry=self._registry)
        self._slots = Gauge(*NAMES["slots"], registry=self._registry)
        self._speed = Histogram(*NAMES["speed"], registry=self._registry, buckets=SPEED_BUCKETS)
        self._wait = Histogram(*NAMES["wait"], registry=self._registry, buckets=WAIT_BUCKETS)
        self._ratio = Gauge(*NAMES["ratio"], registry=self._registry)
        self._reached: dict[Label, int] = {}
        self._compared: dict[str, list[int]] = {}
        """Pair -> [passed, all]."""
        self._ready: dict[int, float] = {}
        """Job that waits for a slot -> since when."""
        self._where: dict[int, Label] = {}
        """Job that was given a slot and has not ended -> where."""
        self._busy: dict[str, int] = {}
        """Slot -> job."""
        self._series: dict[tuple[str, Label], Buckets] = {}
        """(name of a histogram, values of its labels) -> that series; finding it by the library costs thrice as much."""
        self._systems: set[str] = set()
        self._types: set[str] = set()
        self._matrix = Matrix()
        self._steps: dict[type[Event], Callable[[Any, float, Jobs, Matrix], None]] = {
            JobAccepted: self._note_ready,
            JobRequeued: self._note_ready,
            JobAssigned: self._note_assigned,
            AttemptEnded: self._note_ended,
            PerformanceRecorded: self._note_speed,
            PairReconciled: self._note_pair,
            **dict.fromkeys(ENDS, self._forget),
        }

    def observe(self, record: Record, jobs: Jobs, matrix: Matrix) -> None:
        """Fold one record, after the read model and the matrix have folded it; records come in order, each once."""
        self._matrix = matrix
        event = record.event
        kind = type(event)
        if kind in REACHED:
            where = self._where.get(event.job, NOT_ASSIGNED)  # type: ignore[attr-defined]  # each fact in REACHED has a job
            reached = (*where, REACHED[kind])
            self._reached[reached] = self._reached.get(reached, 0) + 1
        if kind in self._steps:
            self._steps[kind](event, record.time, jobs, matrix)

    def counters(self) -> bytes:
        """Return all that was counted so far, for `restore`."""
        series = [
            (name, labels, buckets.sum, buckets.observations, list(buckets.buckets.values()))
            for (name, labels), buckets in self._series.items()
        ]
        return msgspec.json.encode((list(self._reached.items()), self._compared, sorted(self._systems), series))

    def restore(self, counters: bytes) -> None:
        """Put counted numbers in the place of those that were counted; what waits and what runs stays."""
        reached, self._compared, systems, series = msgspec.json.decode(counters, type=Counted)
        self._reached = dict(reached)
        self._systems = set(systems)
        by_name = {each.name: (each, names) for each, names in ((self._speed, SPEED_LABELS), (self._wait, WAIT_LABELS))}
        for name, labels, total, observations, counts in series:
            buckets = self._buckets(*by_name[name], labels)
            buckets.sum, buckets.observations = total, observations
            buckets.buckets.update(zip(buckets.buckets, counts, strict=True))

    def render(self) -> tuple[bytes, str]:
        """Return the metrics in Prometheus's text format, and its content type."""
        for labels, count in self._reached.items():
            self._jobs.set(labelled(JOB_LABELS, labels), count)
        for pair, (passed, total) in self._compared.items():
            self._ratio.set(labelled(("pair",), (pair,)), passed / total)
        for (kind, state), count in self._slot_counts().items():
            self._slots.set({"device_type": kind, "state": state}, count)
        content, headers = render(self._registry, ["text/plain"])
        return content, str(headers["Content-Type"])

    def _slot_counts(self) -> dict[tuple[str, str], int]:
        self._types |= {device.type for device in self._matrix.devices.values()}
        counts = {(kind, state): 0 for kind in sorted(self._types) for state in ("free", "busy", "unhealthy")}
        for slot in self._matrix.slots.values():
            if slot.device in self._matrix.devices:
                counts[self._matrix.devices[slot.device].type, self._state_of(slot.id, slot.device)] += 1
        return counts

    def _state_of(self, slot: str, device: str) -> str:
        if device in self._matrix.unhealthy:
            return "unhealthy"
        return "busy" if slot in self._busy else "free"

    # ------------------------------------------------------------ what single facts change

    def _note_ready(self, event: JobAccepted | JobRequeued, time: float, jobs: Jobs, matrix: Matrix) -> None:
        self._ready[event.job] = time

    def _note_assigned(self, event: JobAssigned, time: float, jobs: Jobs, matrix: Matrix) -> None:
        self._busy[event.slot] = event.job
        row = matrix.capabilities.get(event.capability)
        self._where[event.job] = (row.engine, row.backend, row.precision) if row else GONE
        waited = max(time - self._ready.pop(event.job, time), 0.0)
        priority_class = jobs[event.job].submitted.spec.priority_class
        self._buckets(self._wait, WAIT_LABELS, (priority_class,)).observe(waited)

    def _note_ended(self, event: AttemptEnded, time: float, jobs: Jobs, matrix: Matrix) -> None:
        self._busy.pop(event.slot, None)

    def _forget(self, event: JobCompleted, time: float, jobs: Jobs, matrix: Matrix) -> None:
        self._ready.pop(event.job, None)
        self._where.pop(event.job, None)

    def _note_speed(self, event: PerformanceRecorded, time: float, jobs: Jobs, matrix: Matrix) -> None:
        context, figures = event.context, event.figures
        timed = figures.steady or (figures.steps_timed or 0) >= STEPS_MIN
        if figures.ns_per_day is None or not math.isfinite(figures.ns_per_day) or not timed:
            return
        values = (context.engine, context.backend, self._system(context.system))
        self._buckets(self._speed, SPEED_LABELS, values).observe(figures.ns_per_day)

    def _note_pair(self, event: PairReconciled, time: float, jobs: Jobs, matrix: Matrix) -> None:
        counted = self._compared.setdefault(event.pair, [0, 0])
        counted[0] += event.verdict == "pass"
        counted[1] += 1

    def _buckets(self, histogram: Histogram, names: Label, values: Label) -> Buckets:
        series = self._series.get((histogram.name, values))
        if series is None:
            series = self._series[histogram.name, values] = Buckets(*histogram.upper_bounds)
            histogram.set_value(labelled(names, values), series)
        return series

    def _system(self, name: str) -> str:
        """Return the label of a system class: its own for the first `SYSTEMS_MAX`, one for all others."""
        if name not in self._systems and len(self._systems) >= SYSTEMS_MAX:
            return "other"
        self._systems.add(name)
        return name
