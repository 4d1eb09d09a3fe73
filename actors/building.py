"""How the parts are joined: state folder, journal, read models, actors, API. Used by `actors.assembly` alone."""

from __future__ import annotations

import functools
import importlib
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import structlog
from anyio.abc import TaskGroup

from actors.archivist import Archivist, export_archive, restore_rows
from actors.executor import Executor, Tools
from actors.healthwatcher import HealthWatcher
from actors.negotiator import Negotiator
from actors.prober import Prober
from actors.reconciler import Reconciler
from actors.scheduler import Scheduler
from events.attempts import JobAssigned
from events.base import Event, Record
from events.codec import timestamp
from events.devices import CapabilitiesProbed, ProbeRequested
from events.hardware import Device, Slot
from events.platform import Mode, PlatformStarted, PlatformStopped
from events.results import PerformanceRecorded
from mdactors import __version__
from mdactors.api.sockets import tcp_socket, unix_socket
from mdactors.api.tokens import load_token
from mdactors.archive.ledger import Ledger
from mdactors.config import Config, SlotSettings
from mdactors.core.base import Core
from mdactors.core.capabilities import Matrix
from mdactors.core.lifecycle import Jobs
from mdactors.core.residue import Residue
from mdactors.engines.registry import find_engines
from mdactors.errors import JournalError
from mdactors.metrics import Metrics
from mdactors.observe import configure_logging
from mdactors.ports import Clock, Engine, Journal, Snapshot, Substrate
from mdactors.runtime.actor import Actor, Shell
from mdactors.runtime.admission import Admission
from mdactors.runtime.bus import Bus, Inbox
from mdactors.runtime.clock import SystemClock
from mdactors.runtime.folders import Folders
from mdactors.runtime.inputs import InputStore
from mdactors.runtime.journal.files import JOURNAL_NAME
from mdactors.runtime.journal.sqlite import SqliteJournal
from mdactors.runtime.platform import Platform
from mdactors.runtime.regain import Regainer
from mdactors.runtime.resume import resume
from mdactors.runtime.statelock import hold
from mdactors.runtime.supervisor import Supervisor
from mdactors.runtime.workshop import Offload, Workshop
from mdactors.substrates.local.affinity import slots_for
from mdactors.substrates.local.local import LocalSubstrate
from mdactors.substrates.local.topology import usable_cores

log = structlog.get_logger("mdactors.platform")

LEDGER_NAME = "ledger.csv"
ARCHIVE_NAME = "perf-archive.json"
TOKEN_NAME = "token"  # noqa: S105 - a file's name


SNAPSHOT_EVERY = 2000
"""Records between two snapshots: a start folds at most about so many besides what is still open."""
SNAPSHOT_ON_STOP = 500
"""Records since the last one that make a snapshot worth its while when the platform stops."""


class Building:
    """The platform under construction: `open` brings up what it stands on, `living` fills it with actors."""

    clock: Clock
    journal: Journal
    kept: Snapshot | None
    """Where the journal was opened."""
    jobs: Jobs
    residue: Residue
    substrate: Substrate
    engines: tuple[Engine, ...]

    def __init__(
        self, *, config: Config, base_env: Mapping[str, str], clock: Clock | None, offload: Offload[Any]
    ) -> None:
        self.config = config
        self.state = config.state
        self.node = config.settings.node or socket.gethostname()
        self.base_env = base_env
        self.clock = clock or SystemClock()
        self.offload = offload
        self.matrix = Matrix()
        self.metrics = Metrics()
        self.measured = False
        """An attempt was archived in this life."""
        self.tcp: tuple[socket.socket, str] | None = None
        """The TCP socket to serve, and its token; None: the Unix socket only."""

    # ------------------------------------------------------------ what it stands on

    async def open(
        self,
        stack: AsyncExitStack,
        *,
        journal: Journal | None,
        substrate: Substrate | None,
        engines: Sequence[Engine] | None,
        api: bool,
    ) -> None:
        """Take the state folder, open the journal, and make the parts that were not given.

        Settings that can't be used are refused here, before anything lives.
        """
        configure_logging()
        stack.enter_context(hold(self.state, timestamp(self.clock.time())))
        if api and self.config.settings.listen:
            sock = stack.enter_context(tcp_socket(self.config.settings.listen))
            self.tcp = sock, load_token(Path(self.config.settings.token_file or self.state / TOKEN_NAME))
        if journal is None:
            journal = await SqliteJournal.open(self.state / JOURNAL_NAME)
            stack.push_async_callback(journal.close)
        self.journal = journal
        self.substrate = substrate or LocalSubstrate(self.base_env, self.node)
        kept = await journal.snapshot()
        self.kept = kept[0] if kept else None
        self.jobs = Jobs(kept[1] if kept else None)
        self.residue = Residue(self.jobs)
        if self.config.settings.slots != SlotSettings():
            self.slots_of(await self.substrate.devices())
        self.engines = tuple(engines) if engines is not None else find_engines()
        self.ledger = Ledger(self.state / LEDGER_NAME)
        self.store = InputStore(self.state / "inputs")
        self.folders = Folders(self.state, self.store)

    # ------------------------------------------------------------ its life

    @asynccontextmanager
    async def living(self, *, mode: Mode, api: bool, warm: bool) -> AsyncIterator[Platform]:
        """Replay, start the actors, serve; on leaving stop everything of ours and nothing else."""
        bus = Bus(self.journal, self.clock, [self._fold], last=await self.journal.last())
        self.platform = self._platform(bus)
        crew = Crew(self, bus, mode)
        await crew.replay()
        await crew.regain()
        self.measured = False
        async with _recording(bus), anyio.create_task_group() as tasks:
            before = bus.last
            await bus.publish(*self._laid_out_anew(), self._started(mode))
            await crew.hear(before)
            crew.start(tasks)
            if api:
                tasks.start_soon(functools.partial(self._serve, warm=warm or self.tcp is not None))
            try:
                yield self.platform
            finally:
                with anyio.CancelScope(shield=True):
                    await self._farewell(bus, mode)
                tasks.cancel_scope.cancel()

    def _platform(self, bus: Bus) -> Platform:
        return Platform(
            bus=bus,
            clock=self.clock,
            journal=self.journal,
            jobs=self.jobs,
            matrix=self.matrix,
            admission=Admission(self.engines, self.store),
            offload=self.offload,
            state=self.state,
            node=self.node,
            backlog=self.config.settings.backlog,
            render_metrics=self.metrics.render,
        )

    def _fold(self, record: Record) -> None:
        self.jobs.apply(record)
        self.matrix.apply(record)
        self.residue.apply(record)
        self.metrics.observe(record, self.jobs, self.matrix)
        self.platform.fold(record)
        self.measured |= isinstance(record.event, PerformanceRecorded)

    def _laid_out_anew(self) -> tuple[Event, ...]:
        """Return what tells that the settings lay out other slots than the last life did; the node is looked at, too."""
        probed = self.matrix.nodes.get(self.node)
        if probed is None or (slots := self.slots_of(probed.devices)) == probed.slots:
            return ()
        return msgspec.structs.replace(probed, slots=slots, seconds=0.0), ProbeRequested(by="another slot layout")

    def _started(self, mode: Mode) -> PlatformStarted:
        return PlatformStarted(
            version=__version__,
            node=self.node,
            pid=os.getpid(),
            boot_id=_boot_id(),
            policy=self.config.settings.policy.policy(),
            mode=mode,
        )

    async def keep(self) -> None:
        """Keep a snapshot of what the log has led to; the log does as well without."""
        closed = self.residue.closable()
        needed = tuple(self.residue.needed(without=closed))
        self.kept = Snapshot(seq=self.platform.last_seq, needed=needed, counters=self.metrics.counters())
        try:
            await self.offload(self.ledger.sync)  # a row that a snapshot counts on is on the disk
            await self.journal.keep(self.kept, closed)
        except (JournalError, OSError) as error:
            log.warning("no snapshot was kept", error=str(error))
        else:
            self.residue.forget(closed)

    def _since_snapshot(self, bus: Bus) -> int:
        return bus.last - (self.kept.seq if self.kept else 0)

    async def _farewell(self, bus: Bus, mode: Mode) -> None:
        try:
            if self._since_snapshot(bus) >= SNAPSHOT_ON_STOP:
                bus.between(self.keep)
            await bus.publish(PlatformStopped(reason="asked to stop"))
            if self.measured:
                await export_archive(self.journal, self.state / ARCHIVE_NAME)
        except (JournalError, OSError) as error:
            log.warning("stopped, but the end could not be recorded", error=str(error))

    # ------------------------------------------------------------ the API

    async def _serve(self, *, warm: bool) -> None:
        """Answer until cancelled.

        The web stack is imported in a thread: at once (warm), or when somebody knocks, before which a small batch is over.
        """
        with unix_socket(self.state) as sock:
            if not warm:
                await anyio.wait_readable(sock)
            app_module = await self.offload(lambda: importlib.import_module("mdactors.api.app"))
            server = await self.offload(lambda: importlib.import_module("mdactors.api.server"))
            async with anyio.create_task_group() as tasks:
                await tasks.start(server.serve, app_module.create_app(self.platform, token=None), sock)
                if self.tcp is not None:
                    tcp, token = self.tcp
                    await tasks.start(server.serve, app_module.create_app(self.platform, token=token), tcp)
                    log.info("listening", address=tcp.getsockname()[:2])
                self.platform.answers.set()

    # ------------------------------------------------------------ parts of actors

    def slots_of(self, devices: Sequence[Device]) -> tuple[Slot, ...]:
        """Lay out the slots: accelerators whole, the CPU as configured or by its size."""
        settings = self.config.settings.slots
        cores = usable_cores()
        slots: list[Slot] = []
        for device in devices:
            if device.type == "cpu":
                slots += slots_for(device, settings.threads, settings.count, cores=cores)
            else:
                slots += slots_for(device, cores=cores)
        return tuple(slots)

    def search_path(self) -> tuple[str, ...]:
        """Return the folders in which engines look for programs: configured ones, PATH, and our own interpreter's."""
        path = self.base_env.get("PATH", os.defpath).split(os.pathsep)
        own = str(Path(sys.executable).parent)
        return tuple(dict.fromkeys([*self.config.settings.search_path, *filter(None, path), own]))


class Crew:
    """The seven actors, and one Executor for every slot that exists or that an open attempt still holds."""

    def __init__(self, building: Building, bus: Bus, mode: Mode) -> None:
        self._building = building
        self._bus = bus
        self._mode = mode
        self._supervisor = Supervisor(bus, building.journal, building.clock)
        by_name = {engine.name: engine for engine in building.engines}
        self._tools = Tools(
            bus=bus,
            clock=building.clock,
            substrate=building.substrate,
            engines=by_name,
            jobs=building.jobs,
            matrix=building.matrix,
            folders=building.folders,
            workshop=Workshop(building.substrate.run),
            base_env=building.base_env,
            offload=building.offload,
        )
        self._archived: list[Record] = []
        """What the log says was archived since the last snapshot."""
        self._cores: dict[str, tuple[Shell, Core]] = {}
        for shell in self._shells():
            if mode != "look" or isinstance(shell, Prober):
                self._cores[shell.name] = shell, shell.core()

    def _shells(self) -> Sequence[Shell]:
        part, tools = self._building, self._tools
        return (
            Negotiator(),
            Scheduler(assigns=self._mode == "work"),
            Prober(
                node=part.node,
                bus=self._bus,
                clock=part.clock,
                substrate=part.substrate,
                engines=part.engines,
                slots_of=part.slots_of,
                search_path=part.search_path(),
            ),
            HealthWatcher(
                bus=self._bus,
                clock=part.clock,
                substrate=part.substrate,
                engines=tools.engines,
                jobs=part.jobs,
                matrix=part.matrix,
                offload=part.offload,
            ),
            Archivist(bus=self._bus, jobs=part.jobs, matrix=part.matrix, ledger=part.ledger, offload=part.offload),
            Reconciler(
                bus=self._bus,
                jobs=part.jobs,
                matrix=part.matrix,
                engines=tools.engines,
                folders=part.folders,
                offload=part.offload,
            ),
        )

    async def replay(self) -> None:
        """Fold what the journal holds into the read models and every core, in one pass."""
        part = self._building
        kept = part.kept
        async for record in resume(part.journal, kept):
            if kept is not None and record.seq > kept.seq:
                part.metrics.restore(kept.counters)
                kept = None
            self._take(record)
            if isinstance(record.event, PerformanceRecorded):
                self._archived.append(record)
        if kept is not None:
            part.metrics.restore(kept.counters)

    async def regain(self) -> None:
        """Append what the log has lost and the job folders still know."""
        part, tools = self._building, self._tools
        regainer = Regainer(
            folders=part.folders,
            jobs=part.jobs,
            matrix=part.matrix,
            substrate=part.substrate,
            engines=tools.engines,
            offload=part.offload,
        )
        numbers = await part.offload(part.folders.numbers)
        records = await regainer.records(numbers, self._bus.last + 1, part.clock.time())
        if records:
            log.warning("the event log was behind the job folders", records=len(records))
            await part.journal.append(records)
            self._bus.last = records[-1].seq
        for record in records:
            self._take(record)
        part.platform.taken = max(numbers, default=0)

    def _take(self, record: Record) -> None:
        self._building._fold(record)  # noqa: SLF001 - the crew is a part of the building
        self._hire(record)
        for _, core in self._cores.values():
            core.apply(record)

    async def hear(self, since: int) -> None:
        """Fold the records by which this life began, which the read models have: the first decision is by its policy."""
        async for record in self._building.journal.read(since):
            self._hire(record)
            for _, core in self._cores.values():
                core.apply(record)

    def _hire(self, record: Record) -> list[str]:
        """See that every slot that a record names has its Executor; return the new ones' names."""
        if self._mode == "look":
            return []
        match record.event:
            case CapabilitiesProbed(slots=slots):
                wanted = [slot.id for slot in slots]
            case JobAssigned(slot=slot_id):
                wanted = [slot_id]
            case _:
                return []
        new = [Executor(slot, self._tools) for slot in wanted if f"executor {slot}" not in self._cores]
        for shell in new:
            self._cores[shell.name] = shell, shell.core()
        return [shell.name for shell in new]

    def start(self, tasks: TaskGroup) -> None:
        """Let all live, and hire further executors as slots appear; beside them, the ledger gets what it lacks."""
        tasks.start_soon(self._restore_rows)
        inbox = self._bus.subscribe("crew")
        for name in list(self._cores):
            self._launch(name, tasks, self._bus.subscribe(name))
        tasks.start_soon(self._hire_on, inbox, tasks)

    def _launch(self, name: str, tasks: TaskGroup, inbox: Inbox) -> None:
        shell, core = self._cores[name]
        tasks.start_soon(self._supervisor.keep, Actor(shell, self._bus, self._building.clock), core, inbox)

    async def _restore_rows(self) -> None:
        part = self._building
        await part.offload(lambda: restore_rows(self._archived, part.jobs, part.ledger))
        self._archived.clear()

    async def _hire_on(self, inbox: Inbox, tasks: TaskGroup) -> None:
        """A new slot's executor joins in the same turn of the loop in which its slot appeared: it misses nothing.

        Its first assignment can only be published after the Scheduler has seen the slot, in a later group.
        """
        while True:
            for record in await inbox.receive():
                for name in self._hire(record):
                    self._launch(name, tasks, self._bus.subscribe(name))
            if self._building._since_snapshot(self._bus) >= SNAPSHOT_EVERY:  # noqa: SLF001 - the crew is a part of the building
                self._bus.between(self._building.keep)


@asynccontextmanager
async def _recording(bus: Bus) -> AsyncIterator[None]:
    """Commit what is published for the length of the block: longer than any task in it, whatever that dies of."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bus.run)
        yield
        tasks.cancel_scope.cancel()


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
