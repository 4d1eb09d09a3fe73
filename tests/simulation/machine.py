"""A simulated machine: devices, processes and files. It outlives the platform, and notes what must never happen to it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence

import anyio
import msgspec

from events.attempts import Handle
from events.devices import DeviceReported
from events.hardware import Device
from events.outcome import ExitRecord
from mdactors.errors import AlreadyClaimedError, FolderBusyError, LaunchError
from mdactors.ports import Clock, Found, LaunchOrder
from tests.simulation.script import CODES, PROGRAM, End, Order, Script, order_of

KILLED = -9

Key = tuple[str, int]
"""A job's folder and an attempt's number."""


class Disk(msgspec.Struct):
    """What the engine has written into one job's folder."""

    step: int = 0
    """Of the newest checkpoint."""
    finished: bool = False


class Process:
    """One engine process on its way from step to step."""

    def __init__(self, machine: Machine, launched: LaunchOrder, handle: Handle) -> None:
        self.folder, self.attempt, self.cpus = launched.folder, launched.attempt, launched.cpus
        self.order: Order = order_of(launched.argv)
        self.script: Script = self.order.script
        self.handle = handle
        self.born = machine.clock.monotonic()
        self.ended_at = 0.0
        self.over = anyio.Event()
        self.exit: ExitRecord | None = None
        self.asked = False
        self.hangs = False
        self._machine = machine
        self._frozen: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._go_on()

    @property
    def lives(self) -> bool:
        """It has not ended."""
        return not self.over.is_set()

    @property
    def step(self) -> int:
        """The step that it has reached."""
        if self._frozen is not None:
            return self._frozen
        run = max(0.0, self._machine.clock.monotonic() - self.born - self.script.startup)
        return min(self.script.steps, self.order.from_step + int(run * self.script.rate + 1e-6))

    @property
    def checkpoint(self) -> int:
        """Step of the newest checkpoint that it has written by itself."""
        return max(self.order.from_step, self.step - self.step % self.script.every)

    def ask(self) -> None:
        """Send the stop signal; only the first is heard, and not by all."""
        if self.lives and not self.asked:
            self.asked = True
            if not self.hangs and not self.script.deaf:
                self._frozen = self.step
                self._at(self.script.stopping, self._stop_in_order)

    def kill(self) -> None:
        """End it by force."""
        self._end(KILLED)

    def vanish(self) -> None:
        """End it and whoever would have left its exit record."""
        self._end(None)

    def lose_device(self) -> None:
        """Feel the loss of the device."""
        if self.lives and self.script.on_loss == "fail":
            self._end(CODES["visibility"])
        elif self.lives and self.script.on_loss == "hang":
            self._hang()

    def _go_on(self) -> None:
        """Arrange what happens next if nothing comes in between."""
        fate = self.script.fate(self.attempt)
        if fate.end and self.order.from_step <= fate.step < self.script.steps:
            self._at(self._seconds_to(fate.step), lambda: self._meet(fate.end))
        else:
            self._at(self._seconds_to(self.script.steps), self._finish)

    def _seconds_to(self, step: int) -> float:
        return self.script.startup + (step - self.order.from_step) / self.script.rate

    def _meet(self, end: End) -> None:
        if end == "hang":
            self._hang()
        else:
            self._end(CODES.get(end))

    def _hang(self) -> None:
        self._frozen = self.step
        self.hangs = True
        if self._timer:
            self._timer.cancel()

    def _finish(self) -> None:
        self._machine.disk(self.folder).finished = True
        self._end(0)

    def _stop_in_order(self) -> None:
        self._machine.disk(self.folder).step = self.step
        self._end(0)

    def _end(self, code: int | None) -> None:
        if not self.lives:
            return
        disk = self._machine.disk(self.folder)
        disk.step = max(disk.step, self.script.steps if disk.finished else self.checkpoint)
        if code is not None:
            self.exit = ExitRecord(code=code, time=self._machine.clock.time())
        self.ended_at = self._machine.clock.monotonic()
        if self._timer:
            self._timer.cancel()
        self.over.set()
        self._machine.tell(f"{self} ended at step {disk.step}: {'no record' if code is None else f'code {code}'}")

    def _at(self, seconds: float, then: Callable[[], None]) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, then)

    def __str__(self) -> str:
        return f"process {self.handle.pid} ({self.folder[-6:]}/{self.attempt} on {self.order.slot})"


class Machine:
    """Everything that goes on when the platform dies.

    Args:
        clock: simulated time.
        devices: what is built in.
        tell: takes a line of the trace.
    """

    def __init__(
        self, clock: Clock, devices: Sequence[Device] = (), tell: Callable[[str], None] = lambda line: None
    ) -> None:
        self.clock = clock
        self.tell = tell
        self.boot = 1
        self.processes: dict[Key, Process] = {}
        """Every attempt that ever ran."""
        self.refusals: dict[str, int] = {}
        """Folder -> launches that failed there."""
        self.stops: list[Key] = []
        """Attempts that the platform stopped, in order."""
        self.reported: list[tuple[float, DeviceReported]] = []
        """What was to be heard of the devices, and when."""
        self.violations: list[str] = []
        """What the platform did and must never do."""
        self.lost: set[str] = set()
        self.removed: set[str] = set()
        """Devices that are not even listed any more."""
        self._devices = tuple(devices)
        self._disks: dict[str, Disk] = {}
        self._claims: set[Key] = set()
        self._pids = itertools.count(1000)
        self._ever_lost: dict[str, None] = {}
        self._listeners: list[Listener] = []

    @property
    def boot_id(self) -> str:
        """Name of the present boot."""
        return f"boot-{self.boot}"

    @property
    def running(self) -> list[Process]:
        """What lives, the oldest first."""
        return [process for process in self.processes.values() if process.lives]

    def disk(self, folder: str) -> Disk:
        """Return what lies in a folder."""
        return self._disks.setdefault(folder, Disk())

    # ------------------------------------------------------------ processes

    def claim(self, order: LaunchOrder) -> None:
        """Take the attempt for whoever launches it.

        Raises:
            AlreadyClaimedError: it ran.
            FolderBusyError: something lives in the folder.
            LaunchError: there is no such program.
        """
        key = order.folder, order.attempt
        if order.argv[0] != PROGRAM:
            raise LaunchError(f"{order.argv[0]} is no program that can be run")
        if key in self.processes:
            self.violations.append(f"attempt {key} was launched twice")
            raise AlreadyClaimedError(f"attempt {key} was launched before")
        if any(process.folder == order.folder for process in self.running):
            self.violations.append(f"attempt {key} was launched while an earlier one lived in its folder")
            raise FolderBusyError(f"something lives in {order.folder}")
        self._claims.add(key)

    def spawn(self, order: LaunchOrder) -> Handle:
        """Start a claimed attempt.

        Raises:
            LaunchError: the script says so.
        """
        asked = order_of(order.argv)
        if self.refusals.get(order.folder, 0) < asked.script.refusals:
            self.refusals[order.folder] = self.refusals.get(order.folder, 0) + 1
            raise LaunchError("the driver refuses")
        self._check(order, asked)
        handle = Handle(pid=next(self._pids), start_ticks=int(self.clock.monotonic() * 100), boot_id=self.boot_id)
        process = self.processes[order.folder, order.attempt] = Process(self, order, handle)
        self.tell(f"{process} starts at step {asked.from_step}")
        if asked.device in self.lost:
            process.lose_device()
        return handle

    def _check(self, order: LaunchOrder, asked: Order) -> None:
        where = f"{order.folder[-6:]}/{order.attempt}"
        if asked.slot and any(process.order.slot == asked.slot for process in self.running):
            self.violations.append(f"{where} was started on slot {asked.slot}, where another one lives")
        if any(set(process.cpus) & set(order.cpus) for process in self.running):
            self.violations.append(f"{where} was started on CPUs {order.cpus}, where another one computes")
        if asked.from_step != self.disk(order.folder).step:
            self.violations.append(f"{where} begins at {asked.from_step}, the disk has {self.disk(order.folder).step}")
        if self.disk(order.folder).finished:
            self.violations.append(f"{where} was started, and its job has reached its last step")

    def find(self, folder: str, attempt: int) -> Found:
        """Return what became of an attempt."""
        process = self.processes.get((folder, attempt))
        if process is None:
            return Found(state="absent")
        if process.lives:
            return Found(state="running", handle=process.handle)
        state = "ended" if process.exit else "vanished"
        return Found(state=state, handle=process.handle, exit=process.exit)  # type: ignore[arg-type]  # two of its words

    def by_handle(self, handle: Handle) -> Process:
        """Return the process that a handle names."""
        return next(process for process in self.processes.values() if process.handle == handle)

    def pick(self, share: float) -> Process | None:
        """Return one of the living processes: `share` of the way down their list."""
        running = self.running
        return running[int(share * len(running))] if running else None

    def lose_power(self) -> None:
        """End everything at once; the machine comes up again with another boot id."""
        self.tell("power lost")
        for process in self.running:
            process.vanish()
        self.boot += 1

    # ------------------------------------------------------------ devices

    def devices(self) -> tuple[Device, ...]:
        """Return the devices that are listed."""
        return tuple(device for device in self._devices if device.id not in self.removed)

    def lose(self, device: str, *, removed: bool = False) -> None:
        """Let a device fail: what computes on it feels it, whoever listens hears it."""
        self.tell(f"device {device} lost")
        self.lost.add(device)
        self._ever_lost[device] = None
        if removed:
            self.removed.add(device)
        for process in self.running:
            if process.order.device == device:
                process.lose_device()
        self._report(device)

    def recover(self, device: str) -> None:
        """Let a device come back."""
        self.tell(f"device {device} recovered")
        self.lost.discard(device)
        self.removed.discard(device)
        self._report(device)

    def listen(self) -> Listener:
        """Return what hears of the devices: first how those are that ever had trouble, then what happens."""
        self._listeners.append(Listener([self._state_of(device) for device in self._ever_lost]))
        return self._listeners[-1]

    def forget_listeners(self) -> None:
        """Tell nobody any more: those who listened are dead."""
        self._listeners.clear()

    def _report(self, device: str) -> None:
        self.reported.append((self.clock.monotonic(), self._state_of(device)))
        for listener in self._listeners:
            listener.put(self._state_of(device))

    def _state_of(self, device: str) -> DeviceReported:
        condition = "lost" if device in self.lost else "recovered"
        return DeviceReported(device=device, condition=condition, source="simulation")  # type: ignore[arg-type]  # two of its words


class Listener:
    """Reports that somebody has still to hear, as they come."""

    def __init__(self, waiting: list[DeviceReported]) -> None:
        self._waiting = waiting
        self._filled = anyio.Event()

    def put(self, report: DeviceReported) -> None:
        """Add a report."""
        self._waiting.append(report)
        self._filled.set()

    def __aiter__(self) -> Listener:
        return self

    async def __anext__(self) -> DeviceReported:
        while not self._waiting:
            self._filled = anyio.Event()
            await self._filled.wait()
        return self._waiting.pop(0)
