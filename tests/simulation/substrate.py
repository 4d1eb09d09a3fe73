"""The simulated substrate: one life's door to the machine, with a moment to die before and after every step."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import anyio
import msgspec

from events.attempts import Handle
from events.devices import DeviceReported
from events.hardware import Device
from events.outcome import ExitRecord
from mdactors.ports import Completed, Found, LaunchOrder, Run
from tests.simulation.life import Life
from tests.simulation.machine import Machine
from tests.simulation.script import CODES, PROGRAM, order_of


class Delays(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that things take."""

    find: float = 0.0
    launch: float = 0.0
    """Half of it before the process exists, half of it after."""
    files: float = 0.0
    commit: float = 0.0
    probe: float = 0.0


class SimulatedSubstrate:
    """Starts and watches the processes of a `Machine`.

    Args:
        machine: what outlives this life.
        life: whose door it is.
        delays: how slow the machine answers.
    """

    name = "simulated"

    def __init__(self, machine: Machine, life: Life, delays: Delays | None = None) -> None:
        self._machine = machine
        self._life = life
        self._delays = delays or Delays()
        self.run: Run = self._run

    async def _run(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        cwd: str | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Completed:
        """Make the product, or end as the first fate of the command line's script says."""
        if argv[0] != PROGRAM:
            return Completed(code=127, stdout=b"", stderr=b"no such program")
        await self._life.moment("before run")
        await self._pause(self._delays.launch)
        code = CODES.get(order_of(tuple(argv)).script.fate(1).end, 0)
        if code == 0 and cwd:
            Path(cwd, "made").touch()
        await self._life.moment("after run")
        return Completed(code=code, stdout=b"", stderr=b"")

    async def devices(self) -> tuple[Device, ...]:
        """Return the devices that are there."""
        await self._pause(self._delays.probe)
        await self._life.moment("devices")
        return self._machine.devices()

    async def launch(self, order: LaunchOrder) -> Handle:
        """Start an attempt; a crash may leave it claimed and not started, or started and not told."""
        await self._life.moment("before launch")
        self._machine.claim(order)
        await self._pause(self._delays.launch / 2)
        await self._life.moment("launch claimed")
        handle = self._machine.spawn(order)
        await self._life.moment("after launch")
        await self._pause(self._delays.launch / 2)
        return handle

    async def find(self, folder: str, attempt: int) -> Found:
        """Return what became of an attempt."""
        await self._life.moment("before find")
        await self._pause(self._delays.find)
        found = self._machine.find(folder, attempt)
        await self._life.moment(f"after find: {found.state}")
        return found

    async def wait(self, folder: str, attempt: int, handle: Handle) -> ExitRecord | None:
        """Wait for the end."""
        process = self._machine.processes[folder, attempt]
        await process.over.wait()
        return process.exit

    async def stop(self, folder: str, attempt: int, handle: Handle, *, signal: int, grace_seconds: float) -> None:
        """Ask once, then end it by force."""
        await self._life.moment("before stop")
        process = self._machine.processes[folder, attempt]
        if process.lives:
            self._machine.stops.append((folder, attempt))
            process.ask()
        await self._life.moment("stop asked")
        with anyio.move_on_after(grace_seconds):
            await process.over.wait()
        if process.lives:
            await self._life.moment("before force")
            process.kill()
        await self._life.moment("after stop")

    def masks(self, handle: Handle) -> tuple[tuple[int, ...], ...]:
        """Return the CPUs that the attempt was bound to, while it lives."""
        process = self._machine.by_handle(handle)
        return (process.cpus,) if process.lives and process.cpus else ()

    def reports(self) -> AsyncIterator[DeviceReported]:
        """Yield what the machine says of its devices."""
        return self._machine.listen()

    async def _pause(self, seconds: float) -> None:
        if seconds:
            await self._machine.clock.sleep(seconds)
