"""A platform in memory: real read models over a list of records, for tests of what people touch."""

from __future__ import annotations

import functools
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio
import anyio.to_thread
import msgspec

from events.attempts import AttemptEnded, AttemptProgressed, AttemptStarted, AttemptStopRequested, Handle, JobAssigned
from events.base import Event, Record
from events.devices import CapabilitiesProbed, DeviceRecovered, DeviceUnhealthy
from events.hardware import Absence, Capability, Device, Slot
from events.jobs import (
    JobAccepted,
    JobCancelled,
    JobCancelRequested,
    JobCompleted,
    JobFailed,
    JobRejected,
    JobSubmitted,
)
from events.outcome import Candidate, Diagnosis, ExitRecord, Figures, Refusal
from events.platform import PlatformStarted
from events.results import PairReconciled, ReconcileFailed, TermComparison
from events.spec import InputFile, TprJob
from mdactors.api.app import create_app
from mdactors.api.server import serve
from mdactors.api.sockets import unix_socket
from mdactors.cli.client import Client
from mdactors.core.capabilities import Matrix
from mdactors.core.lifecycle import TERMINAL, Jobs
from mdactors.errors import InputError, IntakeClosedError, UnknownJobError
from mdactors.ports import Submission
from mdactors.runtime.clock import SystemClock
from mdactors.runtime.platform import Platform

T = TypeVar("T")

EPOCH = 1_700_000_000.0
GROMACS = "gromacs@2022.5/CPU/mixed@node/cpu:0"
OPENMM = "openmm@8.1/Reference/double@node/cpu:0"
REFUSAL = Refusal(
    subject=GROMACS,
    clause="precision",
    wanted="double precision",
    found="built in mixed precision",
    remedy="install a double-precision build",
)
DIAGNOSIS = Diagnosis(kind="numerics", code="lincs-blowup", summary="constraints failed", evidence="LINCS WARNING")
FIGURES = Figures(steps_asked=5000, steps_done=5000, ns_per_day=123.4, wall_seconds=7.0)


def probed() -> CapabilitiesProbed:
    """A node with two CPU slots and two engines."""
    return CapabilitiesProbed(
        node="node",
        devices=(Device(id="cpu:0", node="node", type="cpu", index=0, name="EPYC", cpus=(0, 1)),),
        slots=(
            Slot(id="cpu:0/0", node="node", device="cpu:0", cpus=(0,)),
            Slot(id="cpu:0/1", node="node", device="cpu:0", cpus=(1,)),
        ),
        capabilities=(
            Capability(
                id=GROMACS,
                node="node",
                engine="gromacs",
                version="2022.5",
                backend="CPU",
                precision="mixed",
                device="cpu:0",
                kinds=("tpr", "gromacs-top"),
                binary="/usr/bin/gmx",
            ),
            Capability(
                id=OPENMM,
                node="node",
                engine="openmm",
                version="8.1",
                backend="Reference",
                precision="double",
                device="cpu:0",
                kinds=("openmm", "amber"),
            ),
        ),
        absences=(Absence(engine="gromacs", what="gmx_d", why="not on PATH", remedy="apt install gromacs"),),
        seconds=0.4,
    )


class World(Platform):
    """What a platform offers, folded from records that a test appends."""

    def __init__(self, state: Path) -> None:
        self.jobs = Jobs()
        self.matrix = Matrix()
        self.version, self.node, self.state = "0.1.0", "node", state
        self.started_at, self.closed = EPOCH, ""
        self._clock = SystemClock()
        self._opened = self._clock.monotonic()
        self.answers = anyio.Event()
        self.answers.set()
        self._last = 0
        self.log: list[Record] = []
        self.asked: list[tuple[Any, ...]] = []
        """What was asked of it besides jobs."""
        self.reads = 0
        self._news: list[anyio.Event] = []
        self._ended = False
        self.append(PlatformStarted(version="0.1.0", node="node", pid=1, boot_id="b"))
        self.append(probed())

    @property
    def last_seq(self) -> int:
        return self._last

    # -- what a test does

    def append(self, event: Event, *, cause: int = 0) -> Record:
        """Add a fact; ephemeral ones are only shown."""
        ephemeral = event.EPHEMERAL
        seq = 0 if ephemeral else self.last_seq + 1
        record = Record(seq, EPOCH + len(self.log), cause, event)
        self.jobs.apply(record)
        self.matrix.apply(record)
        self._last = seq or self._last
        self.log.append(record)
        news, self._news = self._news, []
        for each in news:
            each.set()
        return record

    def add(self, **fields: Any) -> int:
        """Add a job that waits for its verdict; return its number."""
        number = self.jobs.last_number + 1
        plain: dict[str, Any] = {"name": f"job-{number}", "tpr": "a.tpr", "owner": "ada", "nsteps": 5000}
        spec = TprJob(**plain | fields)
        inputs = (InputFile("tpr", "a.tpr", "/data/a.tpr", "f" * 64, 10),)
        self.append(JobSubmitted(job=number, spec=spec, inputs=inputs, examinations=()))
        return number

    def queue(self, **fields: Any) -> int:
        """Add an accepted job."""
        number = self.add(**fields)
        self.append(JobAccepted(job=number, candidates=(Candidate(GROMACS, "cpu:0", "fastest"),)))
        return number

    def run(self, slot: str = "cpu:0/0", **fields: Any) -> int:
        """Add a running job with its folder."""
        number = self.queue(**fields)
        self.start(number, slot)
        return number

    def start(self, number: int, slot: str = "cpu:0/0") -> None:
        """Start a queued job."""
        self.append(JobAssigned(job=number, attempt=1, slot=slot, device="cpu:0", capability=GROMACS))
        folder = self.state / "jobs" / str(number)
        (folder / "attempts" / "1").mkdir(parents=True, exist_ok=True)
        self.append(
            AttemptStarted(
                job=number,
                attempt=1,
                slot=slot,
                folder=str(folder),
                handle=Handle(pid=42, start_ticks=1, boot_id="b"),
                argv=("/usr/bin/gmx", "mdrun"),
                cpus=(0,),
            )
        )

    def progress(self, job: int, step: int) -> None:
        """Say how far a job is."""
        self.append(
            AttemptProgressed(job=job, attempt=1, step=step, steps_asked=5000, ns_per_day=100.0, seconds_left=65.0)
        )

    def complete(self, job: int) -> None:
        """End a running job well."""
        self._end(job, "completed", FIGURES, None)
        self.append(JobCompleted(job=job, attempt=1))

    def fail(self, job: int) -> None:
        """End a running job badly."""
        self._end(job, "failed", Figures(), DIAGNOSIS)
        self.append(JobFailed(job=job, attempt=1, diagnosis=DIAGNOSIS))

    def reject(self, job: int) -> None:
        """Refuse a submitted job."""
        self.append(JobRejected(job=job, refusals=(REFUSAL,)))

    def _end(self, job: int, outcome: Any, figures: Figures, diagnosis: Diagnosis | None) -> None:
        slot = self.jobs[job].attempts[-1].slot
        code = 0 if outcome == "completed" else 1
        self.append(
            AttemptEnded(
                job=job,
                attempt=1,
                slot=slot,
                outcome=outcome,
                exit=ExitRecord(code=code, time=EPOCH),
                figures=figures,
                diagnosis=diagnosis,
            )
        )

    def stop(self) -> None:
        """End the event stream, as a platform does that stops."""
        self._ended = True
        news, self._news = self._news, []
        for each in news:
            each.set()

    # -- what the API calls

    async def submit(self, items: Sequence[Any], *, base: Path, owner: str) -> list[Submission]:
        if self.closed:
            raise IntakeClosedError(self.closed)
        return [self._take(index, item, owner) for index, item in enumerate(items)]

    def _take(self, index: int, item: Any, owner: str) -> Submission:
        try:
            spec = msgspec.convert(item, TprJob)
        except msgspec.ValidationError as error:
            refusal = Refusal(subject="entry", clause="field", found=str(error))
            return Submission(index=index, name=f"entry {index}", state="refused", refusals=(refusal,))
        number = self.add(name=spec.name or spec.tpr, tpr=spec.tpr, owner=owner, precision=spec.precision)
        return Submission(index=index, name=spec.name or spec.tpr, job=number)

    async def verdicts(self, submissions: Sequence[Submission]) -> list[Submission]:
        return [self._verdict(each) for each in submissions]

    def _verdict(self, submission: Submission) -> Submission:
        if submission.job is None:
            return submission
        if self.jobs[submission.job].submitted.spec.precision == "double":
            self.reject(submission.job)
        else:
            self.append(JobAccepted(job=submission.job, candidates=(Candidate(GROMACS, "cpu:0", "fastest"),)))
        row = self.jobs[submission.job]
        return msgspec.structs.replace(
            submission, state=str(row.state), refusals=row.refusals, candidates=row.candidates
        )

    async def preview(self, items: Sequence[Any], *, base: Path, owner: str) -> list[Submission]:
        return [
            Submission(index=index, name=item["tpr"], state="refused", refusals=(REFUSAL,))
            if item.get("precision") == "double"
            else Submission(
                index=index, name=item["tpr"], state="feasible", candidates=(Candidate(GROMACS, "cpu:0", "fastest"),)
            )
            for index, item in enumerate(items)
        ]

    async def cancel(self, jobs: Sequence[int], *, by: str) -> None:
        for job in jobs:
            if job not in self.jobs:
                raise UnknownJobError(f"there is no job {job}")
        for job in jobs:
            self.append(JobCancelRequested(job=job, by=by))
            if self.jobs[job].state == "queued":
                self.append(JobCancelled(job=job))
            elif self.jobs[job].state not in TERMINAL:
                self.append(AttemptStopRequested(job=job, attempt=1, reason="cancelled", by=by))

    async def probed(self) -> None:
        async for _ in self.events(since=0, follow=True):
            if self.matrix.known:
                return

    async def refresh(self, *, by: str) -> None:
        self.asked.append(("refresh", by))
        self.append(probed())

    async def report_device(
        self, device: str, condition: Literal["unhealthy", "recovered", "lost"], *, reason: str, source: str
    ) -> None:
        if device not in self.matrix.devices:
            raise InputError(f"device {device!r} is not known; known: {', '.join(self.matrix.devices)}")
        self.asked.append(("report", device, condition, reason, source))
        recovered = DeviceRecovered(device=device, reason=reason)
        self.append(recovered if condition == "recovered" else DeviceUnhealthy(device=device, reason=reason))

    async def reconcile(self, a: int, b: int, *, by: str) -> PairReconciled | ReconcileFailed:
        if self.jobs[a].state != "completed":
            return ReconcileFailed(a=a, b=b, why=f"job {a} has not completed")
        term = TermComparison(
            term="potential", a=-1.0, b=-1.1, difference=0.1, relative=0.1, tolerance=0.5, verdict="pass"
        )
        return PairReconciled(a=a, b=b, pair="gromacs-mixed:openmm-mixed", verdict="pass", terms=(term,))

    async def events(self, *, since: int, follow: bool) -> AsyncIterator[Record]:
        self.reads += not follow
        start = len(self.log)
        for record in self.log[:start]:
            if record.seq > since:
                yield record
        for place in itertools.count(start):
            while place >= len(self.log):
                if self._ended or not follow:
                    return
                self._news.append(news := anyio.Event())
                await news.wait()
            if follow:
                yield self.log[place]

    async def finished(self, jobs: Sequence[int]) -> None:
        while any(self.jobs[job].state not in TERMINAL for job in jobs):
            self._news.append(news := anyio.Event())
            await news.wait()

    def metrics(self) -> tuple[bytes, str]:
        return b"mdplatform_slots 2\n", "text/plain; version=0.0.4; charset=utf-8"


def populated(state: Path) -> World:
    """One job in each of the common states: 1 completed, 2 running, 3 queued, 4 rejected, 5 failed."""
    world = World(state)
    world.complete(world.run(name="water"))
    running = world.run(slot="cpu:0/1", name="ala2")
    world.queue(name="jac", owner="bob")
    world.reject(world.add(name="dimer", precision="double"))
    world.fail(world.run(name="villin"))
    world.progress(running, 1250)
    return world


@asynccontextmanager
async def listening(world: World) -> AsyncIterator[Client]:
    """Serve a world on its state folder's Unix socket; yield the command line's own client."""
    with unix_socket(world.state) as sock:
        async with anyio.create_task_group() as tasks:
            await tasks.start(serve, create_app(world, token=None), sock)
            yield Client(str(world.state))
            tasks.cancel_scope.cancel()


async def in_thread(call: Callable[..., T], *args: Any, **named: Any) -> T:
    """Call something that blocks, while the server goes on."""
    return await anyio.to_thread.run_sync(functools.partial(call, *args, **named))
