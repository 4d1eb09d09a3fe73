"""The simulated world: the real platform, life after life, on a machine that outlives it, in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import io
import os
import random
import tempfile
import traceback
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from unittest import mock

import anyio
import msgspec

from actors.assembly import assemble
from actors.building import LEDGER_NAME
from events.codec import line
from mdactors.archive import ledger
from mdactors.config import Config, Settings, SlotSettings
from mdactors.errors import JournalError
from mdactors.observe import configure_logging, reset_logging
from mdactors.ports import Mode
from mdactors.runtime.clock import LoopClock, VirtualLoop
from mdactors.runtime.journal.memory import MemoryJournal
from mdactors.runtime.platform import Platform
from tests.simulation.engine import SimulatedEngine
from tests.simulation.invariants import Witness, drift, problems_of
from tests.simulation.journal import SyncedJournal
from tests.simulation.life import Life
from tests.simulation.machine import Machine
from tests.simulation.scenario import Cancel, Compare, Deed, Refresh, Report, Restart, Scenario, Submit, Trouble
from tests.simulation.substrate import SimulatedSubstrate

ROUND = 600.0
"""Seconds between two rounds of the operator."""
AGAIN = 5.0
"""Seconds after which somebody tries again what the platform could not do."""
AWAY = 5.0
"""Seconds between two lives, where the scenario says nothing."""

UNSYNCED = 600
"""Bytes of a file that a loss of power may take; about three rows of the ledger."""
MEMORY = Path("/dev/shm")
"""Where a sync costs nothing: what is synced and what is not is simulated."""


class World:
    """One run of a scenario.

    Args:
        scenario: what happens.
        state: the platform's state folder; empty.
        trace: keep a line for everything that happens.
    """

    def __init__(self, scenario: Scenario, state: Path, *, trace: bool = False) -> None:
        self.scenario = scenario
        self.state = state
        self.clock = LoopClock()
        self.machine = Machine(self.clock, scenario.devices, self.tell)
        self.durable = MemoryJournal()
        self.lives: list[Life] = []
        self.jobs: list[int | None] = []
        """Number of each job asked for, in order; None: it was refused, or not acknowledged yet."""
        self.problems: list[str] = []
        self.trace: list[str] = []
        self._spans: list[tuple[float, float]] = []
        self._tracing = trace
        self._random = random.Random(scenario.seed)
        self._todo: list[Deed] = sorted(scenario.deeds, key=lambda deed: deed.at)
        self._living: Life | None = None
        self._present = anyio.CancelScope()
        """Of what people do in the present life of the platform."""

    # ------------------------------------------------------------ what can be seen of it afterwards

    async def witness(self) -> Witness:
        """Return what was seen, from the durable log to the last process."""
        return Witness(
            records=[record async for record in self.durable.read()],
            machine=self.machine,
            acknowledged=tuple(job for job in self.jobs if job is not None),
            ledger=ledger.read(self.state / LEDGER_NAME),
            epoch=self.clock.epoch,
            spans=tuple(self._spans),
            full=(*self.scenario.full, *self.scenario.files_full),
            commit_seconds=self.scenario.delays.commit,
        )

    def tell(self, text: str) -> None:
        """Take a line of the trace."""
        if self._tracing:
            self.trace.append(f"{self.clock.monotonic():12.3f}  {text}".replace(str(self.state), "STATE"))

    # ------------------------------------------------------------ its course

    async def run(self) -> Witness:
        """Let everything happen, until every job has ended; then look for what must not be."""
        self.state.mkdir(parents=True, exist_ok=True)
        (self.state / "input.tpr").write_bytes(b"simulated")
        with self._stage():
            for trouble in self.scenario.troubles:
                asyncio.get_running_loop().call_at(trouble.at, self._happen, trouble)
            with anyio.move_on_after(self.scenario.horizon) as horizon:
                while not await self._live():
                    await self._between_lives()
        if horizon.cancelled_caught:
            self.problems.append(f"not all jobs ended within {self.scenario.horizon:g} s")
        witness = await self.witness()
        self.problems += problems_of(witness)
        return witness

    async def _live(self) -> bool:
        """Lead one life; return whether everything is done."""
        place = len(self.lives)
        dies_at = self.scenario.deaths[place] if place < len(self.scenario.deaths) else None
        life = self._life(dies_at)
        self.lives.append(life)
        self.tell(f"=== life {place + 1}")
        self._present = anyio.CancelScope()
        began, done = self.clock.monotonic(), False
        try:
            with life.scope:
                async with self._assembled(life) as platform:
                    done = await self._busy(platform)
        except* JournalError as error:
            self.tell(f"=== the platform could not begin: {error.exceptions[0]}")
        finally:
            self._spans.append((began, self.clock.monotonic()))
        return done

    async def _between_lives(self) -> None:
        """Stay away; or let somebody have a platform for that time that starts no waiting job."""
        mode = dict(enumerate(self.scenario.between, 1)).get(len(self.lives), "work")
        if mode == "work":
            await self.clock.sleep(self._away())
            return
        self.tell(f"=== somebody has a platform in mode {mode}")
        life = self._life(None)
        try:
            with life.scope:
                async with self._assembled(life, mode):
                    await self.clock.sleep(self._away())
        except* JournalError as error:
            self.tell(f"=== it could not begin: {error.exceptions[0]}")
            await self.clock.sleep(self._away())

    async def _busy(self, platform: Platform) -> bool:
        """Let people do what they want to do, then wait for the end of all jobs; return whether that was reached."""
        await self._compare(platform)
        with self._present:
            async with anyio.create_task_group() as people:
                for deed in self._todo:
                    people.start_soon(self._in_time, platform, deed)
            await self._until_all_ended(platform)
        await self._compare(platform)
        return not self._present.cancel_called

    async def _compare(self, platform: Platform) -> None:
        self.problems += drift(platform.jobs, [record async for record in self.durable.read()])

    async def _until_all_ended(self, platform: Platform) -> None:
        while True:
            with anyio.move_on_after(ROUND):
                await platform.finished(list(platform.jobs.rows))
                return
            await self._look_after(platform)

    async def _look_after(self, platform: Platform) -> None:
        """Do an operator's round: what is well takes work again, what is not listed is looked for, what hangs is ended."""
        matrix = platform.matrix
        with contextlib.suppress(JournalError):
            if set(matrix.devices) != {device.id for device in self.machine.devices()}:
                await platform.refresh(by="operator")
            for device in sorted(set(matrix.unhealthy) & set(matrix.devices) - self.machine.lost):
                await platform.report_device(device, "recovered", reason="looked after", source="operator")
            hanging = {process.folder for process in self.machine.running if process.hangs}
            stuck = [job for job, row in platform.jobs.active.items() if row.attempts[-1].folder in hanging]
            await platform.cancel(stuck, by="operator")

    # ------------------------------------------------------------ what people do

    async def _in_time(self, platform: Platform, deed: Deed) -> None:
        await self.clock.sleep(max(0.0, deed.at - self.clock.monotonic()))
        while not await self._done(platform, deed):
            await self.clock.sleep(AGAIN)
        self._todo.remove(deed)
        if isinstance(deed, Restart):
            self._present.cancel()

    async def _done(self, platform: Platform, deed: Deed) -> bool:
        self.tell(f"somebody does {type(deed).__name__}")
        try:
            await self._do(platform, deed)
        except JournalError as error:
            self.tell(f"not now: {error}")
            return False
        return True

    async def _do(self, platform: Platform, deed: Deed) -> None:
        match deed:
            case Submit(wishes=wishes):
                entries = [wish.entry() for wish in wishes]
                answers = await platform.submit(entries, base=self.state, owner="somebody")
                self.jobs += [answer.job for answer in answers]
            case Cancel(job=job):
                await platform.cancel(self._numbers(job), by="somebody")
            case Report(device=device, condition=condition):
                if device in platform.matrix.devices:
                    await platform.report_device(device, condition, reason="somebody says so", source="somebody")
            case Refresh():
                await platform.refresh(by="somebody")
            case Compare(a=a, b=b):
                match self._numbers(a, b):
                    case [one, other]:
                        await platform.reconcile(one, other, by="somebody")
            case Restart():
                pass

    def _numbers(self, *places: int) -> list[int]:
        """Return the numbers of those jobs that have one by now."""
        known = dict(enumerate(self.jobs))
        return [number for place in places if (number := known.get(place)) is not None]

    # ------------------------------------------------------------ what breaks

    def _happen(self, trouble: Trouble) -> None:
        match trouble.kind:
            case "lose" | "remove":
                self.machine.lose(trouble.device, removed=trouble.kind == "remove")
            case "recover":
                self.machine.recover(trouble.device)
            case "power":
                self.machine.lose_power()
                self._lose_what_was_not_synced()
                self._crash("power lost")
            case "crash":
                self._crash("kill -9")
            case "kill" | "vanish":
                self._break(trouble)

    def _crash(self, what: str) -> None:
        if self._living is not None:
            self._living.die(what)

    def _lose_what_was_not_synced(self) -> None:
        """The ledger loses its end, maybe in the middle of a line."""
        path = self.state / LEDGER_NAME
        if path.exists():
            os.truncate(path, max(0, path.stat().st_size - self._random.randint(0, UNSYNCED)))

    def _break(self, trouble: Trouble) -> None:
        process = self.machine.pick(trouble.pick)
        if process is not None:
            self.tell(f"{trouble.kind} {process}")
            process.kill() if trouble.kind == "kill" else process.vanish()

    # ------------------------------------------------------------ how it is built

    def _life(self, dies_at: int | None) -> Life:
        full = functools.partial(self._within, self.scenario.files_full)
        return Life(dies_at, self.tell, full, self.scenario.delays.files)

    @contextlib.asynccontextmanager
    async def _assembled(self, life: Life, mode: Mode = "work") -> AsyncIterator[Platform]:
        substrate = SimulatedSubstrate(self.machine, life, self.scenario.delays)
        journal = SyncedJournal(
            self.durable,
            life,
            self.clock,
            seconds=self.scenario.delays.commit,
            lucky=lambda: self._random.random() < 0.5,
            full=lambda: self._within(self.scenario.full),
        )
        engines = [
            SimulatedEngine("alpha", self.machine, life, speed=2),
            SimulatedEngine("beta", self.machine, life, precision="double"),
        ]
        number = len(self.lives) + (mode != "work")  # in between, it is configured as in the next life
        slots = dict(enumerate(self.scenario.slots, 1)).get(number, SlotSettings())
        policy = self.scenario.policies[:number][-1]
        config = Config(state=self.state, settings=Settings(node="node", policy=policy, slots=slots))
        self._living = life
        try:
            async with assemble(
                config,
                clock=self.clock,
                journal=journal,
                substrate=substrate,
                engines=engines,
                base_env={"PATH": "/nowhere"},
                offload=life.offload,
                mode=mode,
                api=False,
            ) as platform:
                yield platform
        finally:
            self._living = None
            self.machine.forget_listeners()

    @contextlib.contextmanager
    def _stage(self) -> Iterator[None]:
        """Replace what the composition root reads of the real machine, and keep its log off the terminal."""
        cores = tuple((cpu,) for cpu in range(self.scenario.cores))
        quiet = functools.partial(configure_logging, stream=io.StringIO(), level="critical")
        with (
            mock.patch("actors.building.configure_logging", quiet),
            mock.patch("actors.building.usable_cores", return_value=cores),
            mock.patch("actors.building._boot_id", side_effect=lambda: self.machine.boot_id),
            mock.patch("actors.building.os.getpid", side_effect=lambda: len(self.lives)),
            mock.patch("actors.healthwatcher.PERIOD", self.scenario.look_every),
        ):
            try:
                yield
            finally:
                reset_logging()

    def _within(self, windows: Iterable[tuple[float, float]]) -> bool:
        return any(begin <= self.clock.monotonic() < end for begin, end in windows)

    def _away(self) -> float:
        place = len(self.lives) - 1
        return self.scenario.away[place] if place < len(self.scenario.away) else AWAY


class Seen(msgspec.Struct, frozen=True):
    """What is left of a run."""

    problems: list[str]
    log: str
    """The durable log as JSON lines, the state folder called STATE."""
    trace: list[str]
    lives: list[Life]
    witness: Witness | None
    """None: the run itself raised."""


def simulate(scenario: Scenario, *, trace: bool = False) -> Seen:
    """Run a scenario in a loop and a state folder of its own."""

    async def main() -> Seen:
        world = World(scenario, Path(folder, "state"), trace=trace)
        witness = None
        try:
            witness = await world.run()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the simulation was to find
            world.problems.append(f"raised: {error!r}")
            world.trace += "".join(traceback.format_exception(error)).splitlines()
        log = "\n".join([line(record) async for record in world.durable.read()])
        return Seen(world.problems, log.replace(str(world.state), "STATE"), world.trace, world.lives, witness)

    with tempfile.TemporaryDirectory(prefix="simulation-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
        return anyio.run(main, backend_options={"loop_factory": VirtualLoop})
