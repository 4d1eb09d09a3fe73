"""A bench for real attempts: engines as small programs, and nothing left running afterwards."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import anyio

from events.attempts import Handle
from mdactors.ports import LaunchOrder
from mdactors.substrates.local.local import LocalSubstrate
from mdactors.substrates.local.place import Place
from mdactors.substrates.local.processes import handle_of, send
from mdactors.substrates.local.watch import living

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
DEADLINE_SECONDS = 10.0

RUNS_ON = "echo up >up; while :; do sleep 0.05; done"
"""An engine that ends only by a signal."""


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait for a fact of the outside world that no event tells."""
    with anyio.fail_after(DEADLINE_SECONDS):
        while not condition():  # noqa: ASYNC110 - there is nothing to be woken by
            await anyio.sleep(0.002)


async def appears(path: Path) -> str:
    """Wait until a file has a whole line, and return its text."""
    await eventually(lambda: path.exists() and path.read_bytes().endswith(b"\n"))
    return _text(path)


def _text(path: Path) -> str:
    return path.read_text()


class Bench:
    """One job folder and everything launched into it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self.folder = str(folder)
        self.substrate = LocalSubstrate(ENVIRONMENT, "node")
        self.started: list[tuple[Place, Handle]] = []

    def place(self, attempt: int = 1) -> Place:
        return Place(self.folder, attempt)

    def file(self, name: str, attempt: int = 1) -> Path:
        """Return the path of `shim`, `exit`, `stdout` ... of an attempt."""
        return Path(self.place(attempt).claim) / name

    def order(
        self,
        *argv: str,
        attempt: int = 1,
        cpus: tuple[int, ...] = (),
        environment: dict[str, str] | None = None,
    ) -> LaunchOrder:
        return LaunchOrder(
            folder=self.folder, attempt=attempt, argv=argv, environment=environment or ENVIRONMENT, cpus=cpus
        )

    async def launch(self, order: LaunchOrder) -> Handle:
        handle = await self.substrate.launch(order)
        self.started.append((Place(order.folder, order.attempt), handle))
        return handle

    async def sh(self, script: str, *, attempt: int = 1, cpus: tuple[int, ...] = ()) -> Handle:
        """Launch a shell script as the engine."""
        return await self.launch(self.order("/bin/sh", "-c", script, attempt=attempt, cpus=cpus))

    async def up(self, script: str = RUNS_ON, *, attempt: int = 1, cpus: tuple[int, ...] = ()) -> Handle:
        """Launch a shell script and wait until it has written the file `up`."""
        handle = await self.sh(script, attempt=attempt, cpus=cpus)
        await appears(self.path / "up")
        return handle

    def stdout(self, attempt: int = 1) -> bytes:
        return self.file("stdout", attempt).read_bytes()

    async def close(self) -> None:
        """End everything that was launched."""
        for place, handle in self.started:
            with anyio.fail_after(DEADLINE_SECONDS):
                while left := living(place, handle):
                    for stat in left:
                        send(handle_of(stat), signal.SIGKILL)
                    await self.substrate.wait(place.folder, place.attempt, handle)
                await self.substrate.wait(place.folder, place.attempt, handle)


def open_descriptors() -> set[int]:
    """Return the descriptors of this process."""
    return {int(name) for name in os.listdir("/proc/self/fd")}


def children() -> set[int]:
    """Return the children of this process, zombies included."""
    return {
        int(pid)
        for task in os.listdir("/proc/self/task")
        for pid in Path(f"/proc/self/task/{task}/children").read_text().split()
    }
