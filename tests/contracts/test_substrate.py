"""What every substrate does, whatever it starts processes with.

An implementation joins by a `Kit`: it says which argv makes an attempt behave in each way, and how to break one from outside.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

import anyio
import pytest

from events.attempts import Handle
from mdactors.errors import AlreadyClaimedError, FolderBusyError, LaunchError
from mdactors.ports import Found, LaunchOrder, Substrate
from tests.mdactors.substrates.local.kit import RUNS_ON, Bench, appears


class Kit(Protocol):
    """One implementation under test, with one empty job folder."""

    substrate: Substrate
    folder: str

    def ends(self, code: int) -> tuple[str, ...]:
        """Return an argv that ends at once with this code."""

    def runs_on(self) -> tuple[str, ...]:
        """Return an argv that runs until it is signalled, and then ends with code 1."""

    def ignores_signals(self) -> tuple[str, ...]:
        """Return an argv that ends by force only."""

    async def is_up(self) -> None:
        """Wait until the attempt that was launched last does what its argv says."""

    def break_down(self, handle: Handle) -> None:
        """Let everything of the attempt die at once, as if the power had failed."""

    async def restarted(self) -> Substrate:
        """Return the substrate as a new platform process would see it."""

    async def close(self) -> None:
        """End what still runs."""


class LocalKit:
    """The local substrate, with shell scripts for engines."""

    def __init__(self, folder: Path) -> None:
        self._bench = Bench(folder)
        self.substrate: Substrate = self._bench.substrate
        self.folder = str(folder)

    def ends(self, code: int) -> tuple[str, ...]:
        return ("/bin/sh", "-c", f"exit {code}")

    def runs_on(self) -> tuple[str, ...]:
        return ("/bin/sh", "-c", f"rm -f up; trap 'exit 1' TERM; {RUNS_ON}")

    def ignores_signals(self) -> tuple[str, ...]:
        return ("/bin/sh", "-c", f"rm -f up; trap '' TERM; {RUNS_ON}")

    async def is_up(self) -> None:
        await appears(Path(self.folder) / "up")

    def break_down(self, handle: Handle) -> None:
        os.killpg(handle.pid, signal.SIGKILL)

    async def restarted(self) -> Substrate:
        return Bench(Path(self.folder)).substrate

    async def close(self) -> None:
        for attempt in (1, 2):
            found = await self.substrate.find(self.folder, attempt)
            if found.handle:
                self._bench.started.append((self._bench.place(attempt), found.handle))
        await self._bench.close()


KITS: dict[str, type[LocalKit]] = {"local": LocalKit}


@pytest.fixture(params=KITS)
async def kit(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Kit]:
    kit = KITS[request.param](tmp_path)
    yield kit
    await kit.close()


def order(kit: Kit, argv: tuple[str, ...], attempt: int = 1) -> LaunchOrder:
    return LaunchOrder(folder=kit.folder, attempt=attempt, argv=argv, environment={"PATH": "/usr/bin:/bin"})


async def test_attempt_that_ends_leaves_its_code(kit: Kit) -> None:
    handle = await kit.substrate.launch(order(kit, kit.ends(3)))
    record = await kit.substrate.wait(kit.folder, 1, handle)
    assert record is not None
    assert record.code == 3
    assert await kit.substrate.find(kit.folder, 1) == Found(state="ended", handle=handle, exit=record)


async def test_nothing_is_absent(kit: Kit) -> None:
    assert await kit.substrate.find(kit.folder, 1) == Found(state="absent")


async def test_running_attempt_is_found_by_a_later_platform(kit: Kit) -> None:
    handle = await kit.substrate.launch(order(kit, kit.runs_on()))
    await kit.is_up()
    later = await kit.restarted()
    assert await later.find(kit.folder, 1) == Found(state="running", handle=handle)
    await later.stop(kit.folder, 1, handle, signal=signal.SIGTERM, grace_seconds=10)
    record = await later.wait(kit.folder, 1, handle)
    assert record is not None
    assert record.code == 1


async def test_launch_happens_once(kit: Kit) -> None:
    handle = await kit.substrate.launch(order(kit, kit.runs_on()))
    with pytest.raises(AlreadyClaimedError):
        await kit.substrate.launch(order(kit, kit.runs_on()))
    await kit.is_up()
    with pytest.raises(AlreadyClaimedError):
        await kit.substrate.launch(order(kit, kit.ends(0)))
    assert (await kit.substrate.find(kit.folder, 1)).handle == handle


async def test_folder_has_one_attempt_at_a_time(kit: Kit) -> None:
    first = await kit.substrate.launch(order(kit, kit.runs_on()))
    await kit.is_up()
    with pytest.raises(FolderBusyError):
        await kit.substrate.launch(order(kit, kit.ends(0), 2))
    assert (await kit.substrate.find(kit.folder, 2)).state == "absent"
    kit.break_down(first)
    await kit.substrate.wait(kit.folder, 1, first)
    second = await kit.substrate.launch(order(kit, kit.ends(0), 2))
    assert await kit.substrate.wait(kit.folder, 2, second) is not None
    assert (await kit.substrate.find(kit.folder, 1)).state == "vanished"


async def test_failed_launch_may_be_repeated(kit: Kit) -> None:
    with pytest.raises(LaunchError):
        await kit.substrate.launch(order(kit, ("/no/such/program",)))
    handle = await kit.substrate.launch(order(kit, kit.ends(0)))
    assert await kit.substrate.wait(kit.folder, 1, handle) is not None


async def test_broken_attempt_is_vanished(kit: Kit) -> None:
    handle = await kit.substrate.launch(order(kit, kit.runs_on()))
    await kit.is_up()
    kit.break_down(handle)
    assert await kit.substrate.wait(kit.folder, 1, handle) is None
    assert await kit.substrate.find(kit.folder, 1) == Found(state="vanished", handle=handle)
    with pytest.raises(AlreadyClaimedError):
        await kit.substrate.launch(order(kit, kit.ends(0)))


async def test_stop_asks_first(kit: Kit) -> None:
    handle = await kit.substrate.launch(order(kit, kit.runs_on()))
    await kit.is_up()
    await kit.substrate.stop(kit.folder, 1, handle, signal=signal.SIGTERM, grace_seconds=10)
    record = await kit.substrate.wait(kit.folder, 1, handle)
    assert record is not None
    assert record.code == 1


async def test_stop_ends_by_force_after_the_grace(kit: Kit) -> None:
    handle = await kit.substrate.launch(order(kit, kit.ignores_signals()))
    await kit.is_up()
    await kit.substrate.stop(kit.folder, 1, handle, signal=signal.SIGTERM, grace_seconds=0.2)
    record = await kit.substrate.wait(kit.folder, 1, handle)
    assert record is not None
    assert record.code == -signal.SIGKILL


async def test_stopping_what_has_ended_does_nothing(kit: Kit) -> None:
    handle = await kit.substrate.launch(order(kit, kit.ends(0)))
    record = await kit.substrate.wait(kit.folder, 1, handle)
    await kit.substrate.stop(kit.folder, 1, handle, signal=signal.SIGTERM, grace_seconds=10)
    assert await kit.substrate.wait(kit.folder, 1, handle) == record
    assert kit.substrate.masks(handle) == ()


async def test_wait_may_be_given_up_and_taken_up(kit: Kit) -> None:
    handle = await kit.substrate.launch(order(kit, kit.runs_on()))
    await kit.is_up()
    with anyio.move_on_after(0.02) as scope:
        await kit.substrate.wait(kit.folder, 1, handle)
    assert scope.cancelled_caught
    kit.break_down(handle)
    assert await kit.substrate.wait(kit.folder, 1, handle) is None


async def test_devices_are_numbered_from_0(kit: Kit) -> None:
    devices = await kit.substrate.devices()
    numbers = [device.index for device in devices if device.index is not None]
    assert numbers == list(range(len(numbers)))
    assert len({device.id for device in devices}) == len(devices)


async def test_helpers_run(kit: Kit) -> None:
    done = await kit.substrate.run(kit.ends(4), timeout=10)
    assert (done.code, done.timed_out) == (4, False)
    assert (await kit.substrate.run(("/no/such/program",), timeout=10)).code == 127
