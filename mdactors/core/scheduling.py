"""When and on which slot: the kernel that joins queue, slots, devices and retries.

Rules of this file: it alone publishes facts that move a job after its acceptance; it decides on state, so a fact that
arrives between a decision and its record (a device fails, somebody cancels) is met by the next decision.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from events.attempts import AttemptEnded, AttemptStarted, AttemptStopRequested, JobAssigned
from events.base import Event, Record
from events.devices import DeviceUnhealthy
from events.hardware import Slot
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
from events.outcome import Candidate
from events.platform import PlatformStarted, Policy
from events.results import PerformanceRecorded
from mdactors.core.capabilities import Matrix
from mdactors.core.effects import Effect, Publish
from mdactors.core.queue import Queue, static_key
from mdactors.core.retry import consequence


class Entry(msgspec.Struct, kw_only=True):
    """What the scheduler remembers of a job that has not ended."""

    job: int
    priority: float
    priority_class: str
    submitted: float
    last_seq: int
    candidates: tuple[Candidate, ...] = ()
    avoid: frozenset[str] = frozenset()
    attempts: int = 0
    failures: int = 0
    slot: str = ""
    """Where its attempt runs; empty: it waits."""
    device: str = ""
    cpus: tuple[int, ...] = ()
    from_step: int = 0
    cancel: int = 0
    """The record by which somebody asked for its end; 0: nobody did."""
    stopping: bool = False
    ended: AttemptEnded | None = None
    """The attempt's end, as long as nothing has followed from it."""


class SchedulerCore:
    """Decides assignments, stops, retries and cancellations.

    Args:
        assigns: give free slots to waiting jobs; without, what was begun is seen through and nothing is started.
    """

    def __init__(self, *, assigns: bool = True) -> None:
        self.assigns = assigns
        self.matrix = Matrix()
        self.policy = Policy()
        self.entries: dict[int, Entry] = {}
        self.queue = Queue()
        self.busy: dict[str, int] = {}
        """Slot -> job."""
        self._failed: dict[str, int] = {}
        """Device -> the record by which it failed."""
        self._due: dict[int, None] = {}
        """Jobs about which something is to be decided beyond waiting, in order of the facts."""

    # ------------------------------------------------------------ folding

    def apply(self, record: Record) -> None:
        """Fold one record."""
        event = record.event
        if isinstance(event, JobSubmitted):
            self._submitted(event, record)
            return
        self._platform(record)
        entry = self.entries.get(getattr(event, "job", 0))
        if entry is not None:
            if not isinstance(event, PerformanceRecorded):  # nothing follows from figures
                entry.last_seq = record.seq
            self._fold(event, entry)

    def _submitted(self, event: JobSubmitted, record: Record) -> None:
        self.entries[event.job] = Entry(
            job=event.job,
            priority=event.spec.priority,
            priority_class=event.spec.priority_class,
            submitted=record.time,
            last_seq=record.seq,
        )

    def _platform(self, record: Record) -> None:
        if isinstance(record.event, PlatformStarted):
            self.policy = record.event.policy
            self._rearrange()
        elif self.matrix.apply(record):
            if isinstance(record.event, DeviceUnhealthy):
                self._failed[record.event.device] = record.seq
            self._rearrange()

    def _rearrange(self) -> None:
        """Policy or hardware changed: waiting jobs may have other places now, running ones may have to leave theirs."""
        for job, entry in self.entries.items():
            if job in self.queue:
                self._enqueue(entry)
            elif entry.slot:
                self._due[job] = None

    def _enqueue(self, entry: Entry) -> None:
        key = static_key(entry.priority, entry.priority_class, entry.submitted, self.policy.aging_per_hour)
        self.queue.put(entry.job, key, {choice.device for choice in self.choices(entry)})

    def choices(self, entry: Entry) -> Iterator[Candidate]:
        """Yield the candidates that would do now, best first."""
        for choice in entry.candidates:
            row = self.matrix.capabilities.get(choice.capability)
            if row is not None and choice.device not in entry.avoid and not self.matrix.trouble(row):
                yield choice

    # ------------------------------------------------------------ deciding

    def decide(self, now: float) -> list[Effect]:
        """Return what follows from ended attempts, cancellations and failed devices, then fill the free slots.

        Not before a job that comes back has taken its old place in line: else its slot would go to one behind it.
        """
        effects: list[Effect] = []
        comes_back = False
        for job in self._due:
            entry = self.entries.get(job)
            if entry is not None and (event := self._follow(entry)) is not None:
                effects.append(Publish(event, self._cause(event, entry)))
                comes_back |= isinstance(event, JobRequeued)
        self._due.clear()
        if self.assigns and not comes_back:
            effects += self._fill()
        return effects

    def _follow(self, entry: Entry) -> Event | None:
        if entry.ended is not None:
            return self._after(entry, entry.ended)
        if entry.slot:
            return self._stop(entry)
        return JobCancelled(job=entry.job) if entry.cancel and entry.candidates else None  # else not accepted yet

    def _cause(self, event: Event, entry: Entry) -> int:
        if isinstance(event, AttemptStopRequested):
            return entry.cancel or self._failed[entry.device]
        return entry.last_seq

    def _after(self, entry: Entry, ended: AttemptEnded) -> Event:
        return consequence(
            ended,
            from_step=entry.from_step,
            device=entry.device,
            elsewhere=[choice.device for choice in self.choices(entry)],
            stop_asked=entry.stopping,
            cancelled=bool(entry.cancel),
            failures=entry.failures,
            retries=self.policy.retries,
        )

    def _stop(self, entry: Entry) -> Event | None:
        if entry.stopping:
            return None
        if entry.cancel:
            return AttemptStopRequested(job=entry.job, attempt=entry.attempts, reason="cancelled")
        if entry.device in self.matrix.unhealthy:
            return AttemptStopRequested(job=entry.job, attempt=entry.attempts, reason="device")
        return None

    def _fill(self) -> list[Effect]:
        """Give each free slot the first job in line that it will do for."""
        effects: list[Effect] = []
        free = self._free_slots()
        while free and (job := self.queue.best(frozenset(free))) is not None:
            entry = self.entries[job]
            choice = next(choice for choice in self.choices(entry) if choice.device in free)
            slot = free[choice.device].pop()
            if not free[choice.device]:
                del free[choice.device]
            self.queue.drop(job)
            self.busy[slot.id] = job
            assigned = JobAssigned(
                job=job,
                attempt=entry.attempts + 1,
                slot=slot.id,
                device=slot.device,
                capability=choice.capability,
                cpus=slot.cpus,
            )
            effects.append(Publish(assigned, entry.last_seq))
        return effects

    def _free_slots(self) -> dict[str, list[Slot]]:
        """Return device -> its free slots, the first one last, so that it is taken first.

        Slots may have been laid out anew: one is not free while an attempt of the old layout holds one of its CPUs.
        """
        free: dict[str, list[Slot]] = {}
        if not len(self.queue):
            return free
        held = {cpu for job in self.busy.values() for cpu in self.entries[job].cpus}
        for slot in reversed(self.matrix.slots.values()):
            usable = slot.id not in self.busy and slot.device not in self.matrix.unhealthy
            if usable and held.isdisjoint(slot.cpus):
                free.setdefault(slot.device, []).append(slot)
        return free

    # ------------------------------------------------------------ what each fact does to its job's entry

    def _fold(self, event: Event, entry: Entry) -> None:
        match event:
            case JobAccepted(candidates=candidates):
                entry.candidates = candidates
                self._wait(entry)
            case JobCancelRequested():
                entry.cancel = entry.last_seq
                self.queue.drop(entry.job)  # before the same decision gives it a slot
                self._due[entry.job] = None
            case JobAssigned():
                self._assigned(event, entry)
            case AttemptStarted(from_step=step):
                entry.from_step = step
            case AttemptStopRequested():
                entry.stopping = True
            case AttemptEnded():
                self._ended(event, entry)
            case JobRequeued(avoid=device):
                entry.ended, entry.device = None, ""
                if device:
                    entry.avoid |= {device}
                self._wait(entry)
            case JobRejected() | JobCompleted() | JobFailed() | JobCancelled():
                self.queue.drop(entry.job)
                del self.entries[entry.job]
            case _:
                pass

    def _assigned(self, event: JobAssigned, entry: Entry) -> None:
        self.queue.drop(entry.job)
        entry.attempts, entry.slot, entry.device, entry.cpus = event.attempt, event.slot, event.device, event.cpus
        entry.stopping, entry.from_step = False, 0
        self.busy[event.slot] = entry.job
        self._due[entry.job] = None  # it may have been cancelled, or its device lost, in between

    def _ended(self, event: AttemptEnded, entry: Entry) -> None:
        # Another job's, where a log that was cut off heard of this end after the slot's next beginning.
        if self.busy.get(entry.slot) == entry.job:
            del self.busy[entry.slot]
        entry.slot, entry.ended = "", event
        entry.failures += event.outcome in {"failed", "vanished"}
        self._due[entry.job] = None

    def _wait(self, entry: Entry) -> None:
        self._enqueue(entry)
        if entry.cancel:
            self.queue.drop(entry.job)
            self._due[entry.job] = None
