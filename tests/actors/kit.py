"""A stage for one actor: a bus, the read models, and the simulated machine that outlives every life."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TypeVar

import anyio
import msgspec
import structlog.testing
from anyio.abc import TaskGroup

from actors.executor import Executor, Tools
from events.attempts import JobAssigned
from events.base import Event, Record
from events.devices import CapabilitiesProbed
from events.hardware import Device, Slot
from events.jobs import JobAccepted, JobSubmitted
from events.outcome import Candidate, Examination
from events.spec import InputFile, TprJob
from mdactors.core.capabilities import Matrix
from mdactors.core.lifecycle import Jobs
from mdactors.ports import Engine
from mdactors.runtime.actor import Actor, Shell
from mdactors.runtime.bus import Bus
from mdactors.runtime.clock import LoopClock
from mdactors.runtime.folders import Folders
from mdactors.runtime.inputs import InputStore
from mdactors.runtime.supervisor import Supervisor
from mdactors.runtime.workshop import Workshop
from tests.mdactors.runtime.kit import TestedJournal
from tests.simulation.engine import SimulatedEngine
from tests.simulation.life import Life
from tests.simulation.machine import Machine
from tests.simulation.scenario import cpu, gpu
from tests.simulation.script import LABEL, Script
from tests.simulation.substrate import Delays, SimulatedSubstrate

E = TypeVar("E", bound=Event)

DAY = 86_400.0
CPU = "alpha@1.0/mixed@node/cpu:0"
GPU = "alpha@1.0/mixed@node/cuda:0"
SLOT = "cpu:0/0"
ENVIRONMENT = {"PATH": "/usr/bin", "OMP_NUM_THREADS": "64"}


class Stage:
    """One life of what an actor needs.

    Args:
        state: the state folder.
        before: an earlier life on the same state folder and the same machine.
        delays: how slow the machine answers.
    """

    def __init__(self, state: Path, before: Stage | None = None, delays: Delays | None = None) -> None:
        self.state = state
        self.clock = LoopClock()
        self.machine: Machine = before.machine if before else Machine(self.clock, (cpu(2), gpu(0)))
        self.journal: TestedJournal = before.journal if before else TestedJournal()
        self.jobs, self.matrix = Jobs(), Matrix()
        self.records: list[Record] = []
        """Everything that this life has seen, ephemeral facts and its replay included."""
        self.life = Life()
        self.substrate = SimulatedSubstrate(self.machine, self.life, delays)
        self.engine = SimulatedEngine("alpha", self.machine, self.life)
        self.engines: dict[str, Engine] = {"alpha": self.engine}
        self.store = InputStore(state / "inputs")
        self.folders = Folders(state, self.store)
        self.bus: Bus
        self.tasks: TaskGroup
        self._news = anyio.Event()

    def fold(self, record: Record) -> None:
        self.jobs.apply(record)
        self.matrix.apply(record)
        self.records.append(record)
        self._news.set()

    @property
    def tools(self) -> Tools:
        """What executors share."""
        return Tools(
            bus=self.bus,
            clock=self.clock,
            substrate=self.substrate,
            engines=self.engines,
            jobs=self.jobs,
            matrix=self.matrix,
            folders=self.folders,
            workshop=Workshop(self.substrate.run),
            base_env=ENVIRONMENT,
            offload=self.life.offload,
        )

    # ------------------------------------------------------------ what a test does

    async def act(self, shell: Shell) -> None:
        """Let an actor live, its core folded from the journal."""
        core = shell.core()
        for record in await self.journal.records():
            core.apply(record)
        supervisor = Supervisor(self.bus, self.journal, self.clock)
        inbox = self.bus.subscribe(shell.name)
        self.tasks.start_soon(supervisor.keep, Actor(shell, self.bus, self.clock), core, inbox)

    async def execute(self, slot: str = SLOT) -> None:
        """Let a slot's Executor live."""
        await self.act(Executor(slot, self.tools))

    async def publish(self, *events: Event) -> int:
        """Add facts; return the last one's sequence number."""
        return await self.bus.publish(*events)

    async def probed(self, *slots: Slot, engine: str = "alpha") -> None:
        """Say what there is to run on: a CPU with two slots, an accelerator, one engine."""
        rows = tuple(self.engine._capability("node", device) for device in self.machine.devices())
        rows = tuple(msgspec.structs.replace(row, engine=engine) for row in rows)
        devices = self.machine.devices()
        await self.publish(
            CapabilitiesProbed(node="node", devices=devices, slots=slots or slots_of(devices), capabilities=rows)
        )

    async def queued(self, job: int = 1, script: Script | None = None) -> None:
        """Add an accepted job."""
        await self.publish(self.submission(job, script), accepted(job))

    async def assigned(self, job: int = 1, script: Script | None = None, *, slot: str = SLOT) -> int:
        """Add a job that is to run in a slot; return the number of that record."""
        await self.queued(job, script)
        return await self.publish(assignment(job, slot=slot))

    def submission(self, job: int = 1, script: Script | None = None) -> JobSubmitted:
        """Return a job with its input kept."""
        path = self.state / "water.tpr"
        path.write_bytes(b"water")
        sha256, size, _ = self.store.keep(path)
        label = msgspec.json.encode(script or Script()).decode()
        return JobSubmitted(
            job=job,
            spec=TprJob(tpr="water.tpr", labels={LABEL: label}),
            inputs=(InputFile("tpr", "water.tpr", str(path), sha256, size),),
            examinations=(Examination(engine="alpha", atoms=1000, system="simulated"),),
        )

    # ------------------------------------------------------------ what a test sees

    async def record(self, kind: type[Event], nth: int = 1) -> Record:
        """Wait for the n-th record of one kind."""
        with anyio.move_on_after(DAY):
            while len(self.all(kind)) < nth:
                self._news = anyio.Event()
                await self._news.wait()
        assert len(self.all(kind)) >= nth, f"{kind.__name__} did not come; {self.records[-1]}"
        return self.all(kind)[nth - 1]

    async def fact(self, kind: type[E], nth: int = 1) -> E:
        """Wait for the n-th fact of one kind."""
        event = (await self.record(kind, nth)).event
        assert isinstance(event, kind)
        return event

    def all(self, kind: type[Event]) -> list[Record]:
        """Return what has been seen of one kind."""
        return [record for record in self.records if isinstance(record.event, kind)]

    def facts(self, since: int = 0) -> list[str]:
        """Return the names of the durable facts after a record."""
        return [type(record.event).__name__ for record in self.records if record.seq > since]


@asynccontextmanager
async def stage(state: Path, before: Stage | None = None, delays: Delays | None = None) -> AsyncIterator[Stage]:
    """Set up a life, and end it as `kill -9` would; the machine goes on."""
    made = Stage(state, before, delays)
    made.bus = Bus(made.journal, made.clock, [made.fold], last=await made.journal.last())
    for record in await made.journal.records():
        made.fold(record)
    async with anyio.create_task_group() as tasks:
        made.tasks = tasks
        tasks.start_soon(made.bus.run)
        with logs():
            yield made
        tasks.cancel_scope.cancel()


@contextmanager
def logs() -> Iterator[list[structlog.typing.EventDict]]:
    """Keep the log, and off the terminal."""
    with structlog.testing.capture_logs() as entries:
        yield entries


def slots_of(devices: tuple[Device, ...]) -> tuple[Slot, ...]:
    """Return a slot for each CPU and for each accelerator."""
    return tuple(
        Slot(id=f"{device.id}/{place}", node="node", device=device.id, cpus=cpus)
        for device in devices
        for place, cpus in enumerate(((number,) for number in device.cpus) if device.cpus else ((),))
    )


def accepted(job: int = 1) -> JobAccepted:
    """Both devices would do, the accelerator first."""
    return JobAccepted(job=job, candidates=(Candidate(GPU, "cuda:0"), Candidate(CPU, "cpu:0")))


def assignment(job: int = 1, attempt: int = 1, slot: str = SLOT) -> JobAssigned:
    """A slot is to run the job now."""
    device = slot.rpartition("/")[0]
    return JobAssigned(
        job=job, attempt=attempt, slot=slot, device=device, capability=GPU if device == "cuda:0" else CPU
    )
