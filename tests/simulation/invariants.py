"""What must hold of every run, whatever broke: each invariant reads what was seen, and says what it misses.

An invariant is a generator of complaints about a `Witness`; `INVARIANTS` lists them all. They are judged by facts from
outside the platform (the machine's processes and disks, what people were told) against the durable log, and they count
and order by themselves: only who stands where is taken from the read model, which is itself compared with a second fold.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from events.attempts import AttemptEnded, AttemptFound, AttemptStarted, AttemptStopRequested, JobAssigned
from events.base import Event, Record
from events.devices import DeviceRecovered, DeviceReported, DeviceUnhealthy
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
from events.platform import ActorRestarted, IntakeClosed, PlatformStarted, PlatformStopped, Policy
from events.results import PairReconciled, PerformanceRecorded, ReconcileFailed, ReconcileRequested
from mdactors.core.capabilities import Matrix
from mdactors.core.lifecycle import TERMINAL, Job, Jobs, JobState
from mdactors.errors import IllegalTransitionError
from tests.simulation.machine import Machine, Process

SETTLE = 30.0
"""Calm seconds after which everything that follows has followed: all delays, and the backoff of a restarted actor."""
BACKOFF = 15.0
"""Seconds after a full disk has room again in which an actor may still be waiting to be rebuilt."""
EPSILON = 0.001
"""Seconds within which two times are the same."""
CLASSES = {"interactive": 10.0, "normal": 0.0, "bulk": -10.0}
"""What each priority class is worth."""

Key = tuple[int, int]
"""Job and attempt."""
Span = tuple[float, float]


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """All that was seen of a run. Its times are those of the log, seconds since the epoch, unless said otherwise."""

    records: list[Record]
    machine: Machine
    acknowledged: tuple[int, ...]
    """The numbers that people were told, one for each job that they had asked for."""
    ledger: list[dict[str, str]]
    epoch: float
    """The log's time at the machine's time 0."""
    spans: tuple[Span, ...]
    """Begin and end of each life of the platform, in the machine's time."""
    full: tuple[Span, ...] = ()
    """When the journal could not be written, in the machine's time."""
    commit_seconds: float = 0.0
    """How long a commit takes."""

    def of(self, *kinds: type[Event]) -> Iterator[Any]:
        """Yield the facts of some kinds, in order."""
        return (record.event for record in self.records if isinstance(record.event, kinds))

    def processes(self) -> Iterator[tuple[Key, Process]]:
        """Yield every process that ever ran, by job and attempt."""
        for (folder, attempt), process in self.machine.processes.items():
            yield (job_of(folder), attempt), process

    @property
    def now(self) -> float:
        """When it was over."""
        return self.epoch + max((end for _, end in self.spans), default=0.0)

    def unhealthy(self, device: str) -> list[Span]:
        """Return from when until when the log called a device unhealthy."""
        spans: list[Span] = []
        since: float | None = None
        for record in self.records:
            match record.event:
                case DeviceUnhealthy(device=which) if which == device and since is None:
                    since = record.time
                case DeviceRecovered(device=which) if which == device and since is not None:
                    spans.append((since, record.time))
                    since = None
                case _:
                    pass
        return [*spans, (since, self.now)] if since is not None else spans

    def calm(self, begin: float, end: float) -> float:
        """Return the longest time without a disturbance between two times: a platform that lives and can write."""
        longest = 0.0
        for life_began, life_ended in self.spans:
            edge, last = max(begin, self.epoch + life_began), min(end, self.epoch + life_ended)
            for full_from, full_until in sorted(self.full):
                longest = max(longest, min(last, self.epoch + full_from) - edge)
                edge = max(edge, self.epoch + full_until + BACKOFF)
            longest = max(longest, last - edge)
        return longest

    def standings(self) -> Iterator[tuple[Record, Standing]]:
        """Yield each record and how things stood just before it; the same object, moved on."""
        standing = Standing(Jobs(), Matrix(), Policy())
        for record in self.records:
            yield record, standing
            standing.apply(record)


class Standing(msgspec.Struct):
    """Jobs, hardware and policy at one place of the log."""

    jobs: Jobs
    matrix: Matrix
    policy: Policy

    def apply(self, record: Record) -> None:
        """Move on by one record."""
        with contextlib.suppress(IllegalTransitionError):  # which has an invariant of its own
            self.jobs.apply(record)
        self.matrix.apply(record)
        if isinstance(record.event, PlatformStarted):
            self.policy = record.event.policy

    def places(self, row: Job) -> set[str]:
        """Return the devices that would do for a job now."""
        known = {choice.device for choice in row.candidates if choice.capability in self.matrix.capabilities}
        return known - row.avoid - set(self.matrix.unhealthy)

    def free(self) -> set[str]:
        """Return the healthy devices that have a slot on which, and on whose cores, nothing runs."""
        busy = [row.attempts[-1] for row in self.jobs.active.values() if row.state is not JobState.ENDING]
        slots, cpus = {attempt.slot for attempt in busy}, {cpu for attempt in busy for cpu in attempt.cpus}
        idle = (slot for slot in self.matrix.slots.values() if slot.id not in slots and cpus.isdisjoint(slot.cpus))
        return {slot.device for slot in idle} - set(self.matrix.unhealthy)

    def effective_priority(self, row: Job, now: float) -> float:
        """Return what a job's place in line is worth at a time."""
        spec = row.submitted.spec
        waited_hours = (now - row.submitted_at) / 3600.0
        return spec.priority + CLASSES[spec.priority_class] + self.policy.aging_per_hour * waited_hours

    def is_before(self, one: Job, other: Job, now: float) -> bool:
        """Return whether a job's place in line is before another's; of equals the older number is first."""
        ahead = self.effective_priority(one, now) - self.effective_priority(other, now)
        return ahead > 1e-7 or (abs(ahead) <= 1e-7 and one.job < other.job)


Complaints = Iterator[str]
Invariant = Callable[[Witness], Complaints]


def the_log_is_a_total_order(seen: Witness) -> Complaints:
    """Numbers without gaps, times that don't run back, causes that exist and precede."""
    for number, record in enumerate(seen.records, 1):
        if record.seq != number:
            yield f"record {record.seq} is in place {number}"
        if not 0 <= record.cause < record.seq:
            yield f"record {record.seq} is caused by {record.cause}"
    for one, other in itertools.pairwise(seen.records):
        if other.time < one.time:
            yield f"record {other.seq} is earlier than {one.seq}"


CAUSES: dict[type[Event], set[type[Event]]] = {
    JobAccepted: {JobSubmitted},
    JobRejected: {JobSubmitted},
    JobAssigned: {JobAccepted, JobRequeued},
    AttemptStarted: {JobAssigned},
    AttemptFound: {JobAssigned},
    AttemptStopRequested: {JobCancelRequested, DeviceUnhealthy},
    AttemptEnded: {JobAssigned, AttemptStarted, AttemptStopRequested, JobCancelRequested},
    JobRequeued: {AttemptEnded, AttemptStopRequested},
    JobCompleted: {AttemptEnded, AttemptStopRequested, JobCancelRequested},
    JobFailed: {AttemptEnded, AttemptStopRequested},
    JobCancelled: {AttemptEnded, AttemptStopRequested, JobCancelRequested, JobAccepted},
    PerformanceRecorded: {AttemptEnded},
    DeviceUnhealthy: {DeviceReported, AttemptEnded},
    DeviceRecovered: {DeviceReported},
}
"""Fact -> what may have led to it: the chain of causes tells a job's story without a hole."""


def causes_say_why(seen: Witness) -> Complaints:
    """Each fact is caused by one that leads to such, of the same job."""
    for record in seen.records:
        cause = seen.records[record.cause - 1].event if record.cause else None
        fact = type(record.event)
        if fact in CAUSES and type(cause) not in CAUSES[fact]:
            yield f"record {record.seq}, {fact.__name__}, is caused by {type(cause).__name__}"
        job = getattr(record.event, "job", None)
        if job is not None and getattr(cause, "job", job) != job:
            yield f"record {record.seq}, {fact.__name__}, is caused by another job's {type(cause).__name__}"


def the_log_can_be_folded(seen: Witness) -> Complaints:
    """Every fact fits the state of its job."""
    jobs = Jobs()
    try:
        for record in seen.records:
            jobs.apply(record)
    except IllegalTransitionError as error:
        yield str(error)


def nothing_raises(seen: Witness) -> Complaints:
    """Neither an actor nor an adapter; a full disk is nobody's fault and recorded by nobody."""
    for event in seen.of(ActorRestarted, IntakeClosed):
        yield f"{event}"
    for event in seen.of(AttemptEnded):
        if event.diagnosis and event.diagnosis.code in {"plan-refused", "unjudged"}:
            yield f"attempt {event.job}/{event.attempt}: {event.diagnosis.summary}"


def no_job_is_lost(seen: Witness) -> Complaints:
    """Who was told a number finds the job in the log, once, and is the only one who was told it."""
    submitted = Counter(event.job for event in seen.of(JobSubmitted))
    told = Counter(seen.acknowledged)
    for job in sorted({*submitted, *told}):
        if told[job] and not submitted[job]:
            yield f"job {job} was acknowledged and is not in the log"
        if told[job] > 1 or submitted[job] > 1:
            yield f"job {job} was acknowledged {told[job]} times and submitted {submitted[job]} times"


def every_job_ends_once(seen: Witness) -> Complaints:
    """Completed, failed, cancelled or rejected: one of them, one time."""
    ends = Counter(event.job for event in seen.of(JobCompleted, JobFailed, JobCancelled, JobRejected))
    for job in sorted({event.job for event in seen.of(JobSubmitted)} | set(ends)):
        if ends[job] != 1:
            yield f"job {job} ended {ends[job]} times"


def every_attempt_ends_once(seen: Witness) -> Complaints:
    """Attempts are numbered 1, 2, 3; each was assigned once, started at most once, ended once, in this order."""
    stories: dict[Key, list[str]] = defaultdict(list)
    for event in seen.of(JobAssigned, AttemptStarted, AttemptEnded):
        stories[event.job, event.attempt].append(type(event).__name__)
    for (job, attempt), story in stories.items():
        if story not in (["JobAssigned", "AttemptEnded"], ["JobAssigned", "AttemptStarted", "AttemptEnded"]):
            yield f"attempt {job}/{attempt} went {' '.join(story)}"
        if attempt > 1 and (job, attempt - 1) not in stories:
            yield f"attempt {job}/{attempt} has none before it"


def the_machine_was_well_treated(seen: Witness) -> Complaints:
    """One process an attempt, one a folder, one a slot, one a core; each begins at the newest checkpoint."""
    yield from seen.machine.violations
    for process in seen.machine.running:
        yield f"{process} was left behind"


def the_log_tells_what_happened(seen: Witness) -> Complaints:
    """What was recorded of an attempt is what became of its process."""
    started = {_key(event): event for event in seen.of(AttemptStarted)}
    ended = {_key(event): event for event in seen.of(AttemptEnded)}
    ran = dict(seen.processes())
    for key in set(started) - set(ran):
        yield f"attempt {key} was recorded as started and never ran"
    for key, process in ran.items():
        if key not in ended:
            yield f"attempt {key} ran, and no end of it is recorded"
        elif ended[key].exit != process.exit:
            yield f"attempt {key} ended by {process.exit}, recorded is {ended[key].exit}"
        if key in started and started[key].from_step != process.order.from_step:
            yield f"attempt {key} began at {process.order.from_step}, recorded is {started[key].from_step}"


def a_job_is_completed_by_its_last_step(seen: Witness) -> Complaints:
    """No job is completed that has not reached it, and none that has reached it counts as anything else."""
    completed = {event.job for event in seen.of(JobCompleted)}
    finished = {job for (job, _), process in seen.processes() if seen.machine.disk(process.folder).finished}
    for job in sorted(completed - finished):
        yield f"job {job} is completed and has not reached its last step"
    for job in sorted(finished - completed):
        yield f"job {job} has reached its last step and is not completed"


def every_end_has_its_result(seen: Witness) -> Complaints:
    """One row of the ledger and one record for each ended attempt."""
    ended = Counter(map(_key, seen.of(AttemptEnded)))
    recorded = Counter(map(_key, seen.of(PerformanceRecorded)))
    rows = Counter((int(row["job"]), int(row["attempt"])) for row in seen.ledger)
    for key in sorted({*ended, *recorded, *rows}):
        if not ended[key] == recorded[key] == rows[key]:
            yield f"attempt {key} ended {ended[key]} times, was recorded {recorded[key]} times, has {rows[key]} rows"


def only_what_was_asked_to_stop_is_stopped(seen: Witness) -> Complaints:
    """Neither an orderly end of the platform nor a crash takes an engine with it."""
    asked = set(map(_key, seen.of(AttemptStopRequested)))
    for folder, attempt in seen.machine.stops:
        if (job_of(folder), attempt) not in asked:
            yield f"attempt {job_of(folder)}/{attempt} was stopped, and nobody had asked"


def cancelled_means_asked(seen: Witness) -> Complaints:
    """A job is cancelled because somebody wanted it."""
    asked = {event.job for event in seen.of(JobCancelRequested)}
    for event in seen.of(JobCancelled):
        if event.job not in asked:
            yield f"job {event.job} was cancelled, and nobody had asked"


def a_full_disk_costs_no_job(seen: Witness) -> Complaints:
    """What could not be written because there was no room is written when there is."""
    for event in seen.of(AttemptEnded):
        if event.diagnosis and event.diagnosis.code == "folder-unusable":
            yield f"attempt {event.job}/{event.attempt} was given up: {event.diagnosis.summary}"


def retries_are_bounded(seen: Witness) -> Complaints:
    """A failure is retried where that can mend it, elsewhere where only that can, and not more often than allowed."""
    for record, standing in seen.standings():
        event = record.event
        if isinstance(event, JobRequeued):
            yield from _about_a_retry(event, standing)
        elif isinstance(event, JobAssigned) and event.device in standing.jobs[event.job].avoid:
            yield f"job {event.job} was given {event.device} again, on which it had failed by its fault"


def _about_a_retry(event: JobRequeued, standing: Standing) -> Complaints:
    row = standing.jobs[event.job]
    ended = row.attempts[-1]
    if ended.outcome == "stopped":
        return
    mends = ended.diagnosis.retry if ended.diagnosis else "same" if ended.outcome == "vanished" else "no"
    if mends == "no":
        yield f"attempt {event.job}/{event.attempt} was retried, which can't mend it"
    if mends == "other" and event.avoid != ended.device:
        yield f"job {event.job} may be given {ended.device} again, by whose fault it failed"
    if row.failures > standing.policy.retries:
        yield f"job {event.job} was retried after {row.failures} failures"


def nobody_is_overtaken(seen: Witness) -> Complaints:
    """A slot goes to the first in line, by priority and age, of those that it would do for."""
    for record, standing in seen.standings():
        event = record.event
        if not isinstance(event, JobAssigned):
            continue
        decided_by = (
            record.time - seen.commit_seconds - EPSILON
        )  # who was accepted later may have come after the decision
        chosen = standing.jobs[event.job]
        for row in standing.jobs.in_state(JobState.QUEUED):
            known = (
                row.queued_since < decided_by or row.attempts
            )  # who comes back does so by a decision of the same core
            would_do = not row.cancel_requested and event.device in standing.places(row)
            if known and would_do and standing.is_before(row, chosen, record.time):
                yield f"job {event.job} overtook job {row.job} at record {record.seq}"


def nothing_waits_in_calm(seen: Witness) -> Complaints:
    """After half a minute in which nothing happened nothing is left to be done: above all, no slot idles in vain."""
    before = seen.epoch
    end = Record(len(seen.records) + 1, seen.now, 0, PlatformStopped(reason="the run is over"))
    for record, standing in msgspec.structs.replace(seen, records=[*seen.records, end]).standings():
        if seen.calm(before, record.time) > SETTLE:
            yield from (f"{text}, before record {record.seq}" for text in _left_to_do(standing))
            yield from (f"{text}, before record {record.seq}" for text in _gone(seen, standing, before, record.time))
        before = record.time


def _left_to_do(standing: Standing) -> Complaints:
    for row in standing.jobs.in_state(*(set(JobState) - TERMINAL)):
        idle = standing.places(row) & standing.free()
        if row.state is JobState.SUBMITTED and standing.matrix.known:
            yield f"job {row.job} has no answer"
        elif row.state is JobState.QUEUED and row.cancel_requested:
            yield f"job {row.job} is not cancelled"
        elif row.state is JobState.QUEUED and idle:
            yield f"job {row.job} waits, and a slot of {sorted(idle)} is idle"
        elif row.state in {JobState.ASSIGNED, JobState.ENDING}:
            yield f"job {row.job} is {row.state}, and nothing follows"


def _gone(seen: Witness, standing: Standing, since: float, until: float) -> Complaints:
    for key, process in seen.processes():
        row = standing.jobs.active.get(key[0])
        if row is None or process.lives or len(row.attempts) != key[1] or row.state is JobState.ENDING:
            continue
        if seen.calm(max(since, seen.epoch + process.ended_at), until) > SETTLE:
            yield f"job {row.job} is {row.state}, and its process is gone"


def failed_devices_are_left(seen: Witness) -> Complaints:
    """What computes on a device that fails is gone from it within the grace that it has asked for."""
    for (job, attempt), process in seen.processes():
        ended = seen.now if process.lives else seen.epoch + process.ended_at
        for since, until in seen.unhealthy(process.order.device):
            lived = seen.calm(max(since, seen.epoch + process.born), min(until, ended))
            if lived > process.script.grace + SETTLE:
                yield f"attempt {job}/{attempt} lived on {process.order.device} for {lived:.0f} s after that had failed"


def reports_are_heard(seen: Witness) -> Complaints:
    """What the machine says of a device is in the log soon, unless it says something newer of it before."""
    heard = [(record.time, record.event) for record in seen.records if isinstance(record.event, DeviceReported)]
    for place, (time, report) in enumerate(seen.machine.reported):
        began = seen.epoch + time
        newer = [later for later, other in seen.machine.reported[place + 1 :] if other.device == report.device]
        known = [at for at, event in heard if event == report and at >= began - EPSILON]
        until = min([*known, *(seen.epoch + later for later in newer), seen.now])
        if seen.calm(began, until) > SETTLE:
            yield f"{report.device} was reported {report.condition} at {time:.3f} s, and nobody heard it"


def questions_are_answered(seen: Witness) -> Complaints:
    """Who wants two jobs compared is told how they compare, or why they can't be compared."""
    open_pairs: dict[tuple[int, int], None] = {}
    for event in seen.of(ReconcileRequested, PairReconciled, ReconcileFailed):
        if isinstance(event, ReconcileRequested):
            open_pairs[event.a, event.b] = None
        else:
            open_pairs.pop((event.a, event.b), None)
    for a, b in open_pairs:
        yield f"jobs {a} and {b} were to be compared, and nobody did"


def job_of(folder: str) -> int:
    """Return the number of the job that a folder belongs to."""
    return int(folder.rpartition("/")[2])


def _key(event: Any) -> Key:
    return event.job, event.attempt


INVARIANTS: tuple[Invariant, ...] = (
    the_log_is_a_total_order,
    causes_say_why,
    the_log_can_be_folded,
    nothing_raises,
    no_job_is_lost,
    every_job_ends_once,
    every_attempt_ends_once,
    the_machine_was_well_treated,
    the_log_tells_what_happened,
    a_job_is_completed_by_its_last_step,
    every_end_has_its_result,
    only_what_was_asked_to_stop_is_stopped,
    cancelled_means_asked,
    a_full_disk_costs_no_job,
    retries_are_bounded,
    nobody_is_overtaken,
    nothing_waits_in_calm,
    failed_devices_are_left,
    reports_are_heard,
    questions_are_answered,
)


def problems_of(seen: Witness) -> list[str]:
    """Return what every invariant misses, each complaint under its invariant's name."""
    return [f"{invariant.__name__}: {text}" for invariant in INVARIANTS for text in invariant(seen)]


def drift(live: Jobs, durable: Sequence[Record]) -> list[str]:
    """Return where the live read model differs from the one that the durable log makes; progress is in no log."""
    folded = Jobs()
    for record in durable:
        folded.apply(record)
    for row in (row for jobs in (live, folded) for row in jobs.active.values()):
        row.attempts[-1].progress = None
    differ = sorted(job for job in {*live.rows, *folded.rows} if live.rows.get(job) != folded.rows.get(job))
    differ += [0] if (live.counts, [*live.active]) != (folded.counts, [*folded.active]) else []
    return [f"the live read model differs from the log's in job {job}" for job in differ]
