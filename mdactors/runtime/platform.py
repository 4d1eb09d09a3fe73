"""The running platform as the API and a foreground command see it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import msgspec

from events.base import Record
from events.devices import CapabilitiesProbed, Condition, DeviceReported, ProbeRequested
from events.jobs import JobCancelRequested
from events.platform import IntakeClosed, PlatformStarted
from events.results import PairReconciled, ReconcileFailed, ReconcileRequested
from mdactors import __version__
from mdactors.core.capabilities import Matrix
from mdactors.core.lifecycle import TERMINAL, Jobs, JobState
from mdactors.core.negotiation import negotiate
from mdactors.errors import BacklogFullError, InputError, IntakeClosedError, UnknownJobError
from mdactors.ports import Clock, Journal, Submission
from mdactors.runtime.admission import Admission, Admitted
from mdactors.runtime.bus import Bus
from mdactors.runtime.workshop import Offload


class Platform:
    """What can be asked of a running platform.

    Args:
        bus: where wishes become facts.
        clock: time; this life begins now.
        journal: for those who want the past.
        jobs: read model, folded before `publish` returns.
        matrix: read model of hardware and engines.
        admission: the edge for new jobs.
        offload: runs what blocks.
        state: the state folder.
        node: this node's name.
        backlog: jobs that may wait at once.
        render_metrics: gives the Prometheus text and its content type.
    """

    def __init__(
        self,
        *,
        bus: Bus,
        clock: Clock,
        journal: Journal,
        jobs: Jobs,
        matrix: Matrix,
        admission: Admission,
        offload: Offload[Any],
        state: Path,
        node: str,
        backlog: int,
        render_metrics: Callable[[], tuple[bytes, str]],
    ) -> None:
        self.jobs = jobs
        self.matrix = matrix
        self.version = __version__
        self.node = node
        self.state = state
        self.started_at = clock.time()
        """When this life began, seconds since the epoch."""
        self.answers = anyio.Event()
        """Set as soon as the API answers."""
        self.closed = ""
        """Why no new work is taken; empty: it is."""
        self.taken = 0
        """The greatest number that a job folder has, readable or not: no folder ever gets a second job."""
        self._bus = bus
        self._clock = clock
        self._opened = clock.monotonic()
        self._journal = journal
        self._admission = admission
        self._offload = offload
        self._backlog = backlog
        self._render_metrics = render_metrics
        self._numbering = anyio.Lock()
        self._numbered = 0
        """The greatest number given away, maybe to a job on its way into the journal whose submitter did not wait."""

    @property
    def last_seq(self) -> int:
        """Sequence number of the newest record."""
        return self._bus.last

    @property
    def uptime_seconds(self) -> float:
        """Seconds of this life; unlike a difference of two times of day it never jumps."""
        return self._clock.monotonic() - self._opened

    def fold(self, record: Record) -> None:
        """Note a record that closes the intake, or a new life that opens it again."""
        if isinstance(record.event, PlatformStarted):
            self.closed = ""
        elif isinstance(record.event, IntakeClosed):
            self.closed = f"{record.event.actor} failed at record {record.event.at_seq}: {record.event.error}"

    # ------------------------------------------------------------ jobs

    async def submit(self, items: Sequence[Any], *, base: Path, owner: str) -> list[Submission]:
        """Take the entries of a job file (plain data, as decoded); durable on return.

        Entries with a wrong shape or unusable files come back with refusals and without a number; the others are
        `JobSubmitted`. Relative paths refer to `base`.

        Raises:
            IntakeClosedError: no new work is taken.
            BacklogFullError: too many jobs wait.
            JournalError: they could not be made durable.
        """
        async with self._numbering:
            self._check_intake(len(items))
            first = max(self._numbered, self.jobs.last_number, self.taken) + 1
            admitted = await self._admit(items, base, owner, first)
            events = [each.submitted for each in admitted if each.submitted is not None]
            if events:
                self._numbered = events[-1].job
                await self._bus.publish(*events)
        return [_submission(index, each) for index, each in enumerate(admitted)]

    def _check_intake(self, count: int) -> None:
        if self.closed:
            raise IntakeClosedError(f"no new work is taken: {self.closed}; restart the platform")
        waiting = self.jobs.counts[JobState.QUEUED] + self.jobs.counts[JobState.SUBMITTED]
        if waiting + count > self._backlog:
            raise BacklogFullError(f"{waiting} jobs wait already and {count} more are too many (limit {self._backlog})")

    async def _admit(self, items: Sequence[Any], base: Path, owner: str, first: int) -> list[Admitted]:
        numbers = iter(range(first, first + len(items)))
        made: list[Admitted] = await self._offload(
            lambda: self._admission.admit(items, base, owner, lambda: next(numbers))
        )
        return made

    async def verdicts(self, submissions: Sequence[Submission]) -> list[Submission]:
        """Wait until each submission is accepted or rejected; return them with state, refusals and candidates."""
        await self._until(lambda: not any(self._undecided(each.job) for each in submissions))
        return [self._verdict(each) for each in submissions]

    def _undecided(self, job: int | None) -> bool:
        return job is not None and self.jobs[job].state is JobState.SUBMITTED

    def _verdict(self, submission: Submission) -> Submission:
        if submission.job is None:
            return submission
        row = self.jobs[submission.job]
        return msgspec.structs.replace(
            submission, state=str(row.state), refusals=row.refusals, candidates=row.candidates
        )

    async def preview(self, items: Sequence[Any], *, base: Path, owner: str) -> list[Submission]:
        """Negotiate without starting or recording anything: state `feasible` or `refused`."""
        await self.probed()
        admitted = await self._admit(items, base, owner, 1)
        return [self._foreseen(index, each) for index, each in enumerate(admitted)]

    def _foreseen(self, index: int, admitted: Admitted) -> Submission:
        event = admitted.submitted
        if event is None:
            return _submission(index, admitted)
        choice = negotiate(event.spec, event.examinations, self.matrix)
        return Submission(
            index=index,
            name=admitted.name,
            state="feasible" if choice.candidates else "refused",
            refusals=choice.refusals,
            candidates=choice.candidates,
            examinations=event.examinations,
        )

    async def cancel(self, jobs: Sequence[int], *, by: str) -> None:
        """Ask for the end of jobs; those that have ended already stay as they are.

        Raises:
            UnknownJobError: one of them does not exist; nothing was asked.
        """
        unknown = [str(job) for job in jobs if job not in self.jobs]
        if unknown:
            raise UnknownJobError(f"no job {', '.join(unknown)}")
        live = [job for job in dict.fromkeys(jobs) if self.jobs[job].state not in TERMINAL]
        if live:
            await self._bus.publish(*[JobCancelRequested(job=job, by=by) for job in live])

    async def finished(self, jobs: Sequence[int]) -> None:
        """Wait until all these jobs have ended and their figures are in the ledger."""
        open_jobs = set(jobs)

        def done() -> bool:
            for job in [job for job in open_jobs if self._over(job)]:
                open_jobs.discard(job)
            return not open_jobs

        await self._until(done)

    async def settled(self, jobs: Sequence[int]) -> None:
        """Wait until what follows from each of these jobs' ended attempts is decided and in the ledger."""
        await self._until(lambda: all(self._is_settled(job) for job in jobs))

    def _is_settled(self, job: int) -> bool:
        row = self.jobs[job]
        return row.state is not JobState.ENDING and all(
            each.archived for each in row.attempts if each.ended is not None
        )

    def _over(self, job: int) -> bool:
        row = self.jobs[job]
        return row.state in TERMINAL and all(attempt.archived for attempt in row.attempts)

    # ------------------------------------------------------------ hardware and numbers

    async def probed(self) -> None:
        """Wait until it is known what there is to run on."""
        await self._until(lambda: self.matrix.known)

    async def refresh(self, *, by: str) -> None:
        """Probe the node again and wait for the new matrix: a look that was under way before does not count."""
        inbox = self._bus.subscribe("refresh")
        try:
            asked = await self._bus.publish(ProbeRequested(by=by))
            while True:
                for record in await inbox.receive():
                    if isinstance(record.event, CapabilitiesProbed) and record.cause >= asked:
                        return
        finally:
            inbox.close()

    async def report_device(self, device: str, condition: Condition, *, reason: str, source: str) -> None:
        """Inject what somebody knows about a device.

        Raises:
            InputError: there is no such device.
        """
        if device not in self.matrix.devices:
            known = ", ".join(self.matrix.devices) or "none"
            raise InputError(f"there is no device {device!r}; known: {known}")
        await self._bus.publish(DeviceReported(device=device, condition=condition, reason=reason, source=source))

    async def reconcile(self, a: int, b: int, *, by: str) -> PairReconciled | ReconcileFailed:
        """Compare the energies of two completed jobs.

        Raises:
            UnknownJobError: one of them does not exist.
        """
        for job in (a, b):
            if job not in self.jobs:
                raise UnknownJobError(f"no job {job}")
        inbox = self._bus.subscribe("reconcile")
        try:
            await self._bus.publish(ReconcileRequested(a=a, b=b, by=by))
            while True:
                for record in await inbox.receive():
                    event = record.event
                    if isinstance(event, PairReconciled | ReconcileFailed) and (event.a, event.b) == (a, b):
                        return event
        finally:
            inbox.close()

    # ------------------------------------------------------------ watching

    async def events(self, *, since: int, follow: bool) -> AsyncIterator[Record]:
        """Yield the records after `since`, then (follow) new ones and ephemeral ones as they happen, without a gap."""
        inbox = self._bus.subscribe("events", ephemeral=True)
        try:
            upto = self._bus.last
            if since < upto:
                async for record in self._journal.read(since):
                    if record.seq > upto:
                        break
                    yield record
            while follow:
                for record in await inbox.receive():
                    if record.seq == 0 or record.seq > since:
                        yield record
        finally:
            inbox.close()

    def metrics(self) -> tuple[bytes, str]:
        """Return the Prometheus text and its content type."""
        return self._render_metrics()

    async def _until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds in the read models; looked at after each group of records."""
        inbox = self._bus.subscribe("until")
        try:
            while not holds():
                await inbox.receive()
        finally:
            inbox.close()


def _submission(index: int, admitted: Admitted) -> Submission:
    event = admitted.submitted
    if event is None:
        return Submission(index=index, name=admitted.name, state="refused", refusals=admitted.refusals)
    return Submission(index=index, name=admitted.name, job=event.job, state="submitted")
