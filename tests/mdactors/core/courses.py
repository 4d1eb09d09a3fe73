"""Logs as the real cores make them, of whatever the outside world comes up with."""

from __future__ import annotations

from typing import Any, Literal

from hypothesis import strategies as st

from events.attempts import AttemptEnded, AttemptFound
from events.base import Event, Record
from events.devices import DeviceReported, ProbeRequested
from events.jobs import JobCancelRequested
from events.outcome import Diagnosis, OutcomeName
from events.platform import Mode, PlatformStarted, Policy
from events.results import PairReconciled, PerformanceRecorded, ReconcileRequested
from mdactors.core.health import HealthCore
from mdactors.core.lifecycle import Job, Jobs, JobState
from mdactors.core.negotiation import NegotiatorCore
from mdactors.core.scheduling import SchedulerCore
from tests.builders import Story, a_diagnosis, a_node, a_start, a_submission, an_end
from tests.mdactors.archive.builders import a_context

DEVICES = {"cpu:0": 2, "cuda:0": 1}
"""Device -> its slots."""
CONDITIONS: tuple[Literal["unhealthy", "recovered", "lost"], ...] = ("unhealthy", "recovered", "lost")
ENDS: tuple[tuple[OutcomeName, Diagnosis | None], ...] = (
    ("completed", None),
    ("failed", a_diagnosis("same", "visibility")),
)
HAPPENINGS = ("submit", "submit", "run", "run", "run", "go on", "go on", "archive", "cancel", "device", "other")


def a_beginning(mode: Mode = "work", **policy: Any) -> PlatformStarted:
    """A life of the platform begins."""
    return PlatformStarted(version="0", node="n0", pid=1, boot_id="b", mode=mode, policy=Policy(**policy))


def a_result(ended: AttemptEnded) -> PerformanceRecorded:
    """An ended attempt is in the archive."""
    return PerformanceRecorded(
        job=ended.job, attempt=ended.attempt, outcome=ended.outcome, context=a_context(), figures=ended.figures
    )


class Course:
    """A platform of those cores that decide, and the world around it."""

    def __init__(self, mode: Mode = "work") -> None:
        self.jobs = Jobs()
        self.story = Story(NegotiatorCore(), SchedulerCore(assigns=mode == "work"), HealthCore())
        self._folded = 0
        self.tell(a_beginning(mode), a_node(slots=DEVICES))

    @property
    def log(self) -> list[Record]:
        """All that happened."""
        return self.story.log

    def tell(self, *events: Event, cause: int = 0) -> int:
        """Let something happen, and all that follows from it; return the last one's sequence number."""
        last = self.story.tell(*events, cause=cause)
        self.story.follow()
        for record in self.log[self._folded :]:
            self.jobs.apply(record)
        self._folded = len(self.log)
        return last

    def restart(self, **policy: Any) -> None:
        """Begin another life: fresh cores fold the log."""
        self.story.cores = (NegotiatorCore(), SchedulerCore(), HealthCore())
        for record in self.log:
            for core in self.story.cores:
                core.apply(record)
        self.tell(a_beginning(**policy))

    def submit(self, **spec: Any) -> None:
        """Somebody wants a job run."""
        self.tell(a_submission(len(self.jobs) + 1, **spec))

    def run(self, job: int, outcome: OutcomeName = "completed", diagnosis: Diagnosis | None = None) -> None:
        """See a job's attempt from its start to the archive."""
        attempt = self.jobs[job].attempts[-1]
        if attempt.started is None:
            self.tell(a_start(job, attempt.number, attempt.slot))
        ended = an_end(outcome, job, attempt.number, attempt.slot, steps=7, diagnosis=diagnosis)
        self.tell(ended)
        self.tell(a_result(ended))


@st.composite
def courses(draw: st.DrawFn) -> list[Record]:
    """The log of some course."""
    course = Course()
    for _ in range(draw(st.integers(0, 30))):
        _happen(draw, course)
    return course.log


def _happen(draw: st.DrawFn, course: Course) -> None:
    rows = list(course.jobs.rows.values())
    unarchived = [(row, attempt) for row in rows for attempt in row.attempts if attempt.ended and not attempt.archived]
    devices = st.sampled_from(sorted(DEVICES))
    active = st.sampled_from(sorted(course.jobs.active))
    match draw(st.sampled_from(HAPPENINGS)):
        case "submit":
            wanted = draw(st.sampled_from([None, "cpu:0", "cuda:0", "cuda:7"]))
            course.submit(priority=float(draw(st.integers(-1, 1))), device=wanted)
        case "run" if course.jobs.active:
            course.run(draw(active), *draw(st.sampled_from(ENDS)))
        case "go on" if course.jobs.active:
            course.tell(draw(_next(course.jobs.active[draw(active)])))
        case "archive" if unarchived:
            row, attempt = draw(st.sampled_from(unarchived))
            course.tell(a_result(an_end(attempt.outcome or "failed", row.job, attempt.number, attempt.slot)))
        case "cancel" if rows:  # who asks may not know yet that it has ended
            course.tell(JobCancelRequested(job=draw(st.sampled_from(rows)).job, by="ada"))
        case "device":
            course.tell(DeviceReported(device=draw(devices), condition=draw(st.sampled_from(CONDITIONS))))
        case "other":
            course.tell(draw(_other())) if draw(st.booleans()) else course.restart(suspicions=draw(st.integers(1, 3)))
        case _:
            course.story.wait(60.0)


def _next(row: Job) -> st.SearchStrategy[Event]:
    attempt = row.attempts[-1]
    where = row.job, attempt.number, attempt.slot
    ends = [
        an_end("completed", *where, steps=7),
        an_end("stopped", *where, steps=3),
        an_end("vanished", *where),
        an_end("failed", *where, diagnosis=a_diagnosis("same", "visibility")),
        an_end("failed", *where, diagnosis=a_diagnosis("other", "substrate")),
        an_end("failed", *where, diagnosis=a_diagnosis("no", "numerics")),
    ]
    found = AttemptFound(job=row.job, attempt=attempt.number, state="vanished")
    begun = attempt.started is not None or row.state is JobState.STOPPING
    return st.sampled_from([*ends, found] if begun else [a_start(*where)])


def _other() -> st.SearchStrategy[Event]:
    return st.sampled_from(
        [
            ProbeRequested(by="ada"),
            a_node(slots=DEVICES),
            a_node(slots={"cpu:0": 1}),
            ReconcileRequested(a=1, b=2),
            PairReconciled(a=1, b=2, pair="x:y", verdict="pass", terms=()),
        ]
    )
