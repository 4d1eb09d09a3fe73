"""Finding out what became of an attempt, for every state in which a crash can leave it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import anyio
import pytest

from mdactors.ports import Found
from mdactors.substrates.local.adopt import look, read_shim
from mdactors.substrates.local.place import acquire
from mdactors.substrates.local.processes import boot_id, ended
from tests.mdactors.substrates.local.kit import RUNS_ON, Bench, appears, children, eventually
from tests.mdactors.substrates.local.test_watch import ESCAPES

STAT = Path("/proc/self/stat").read_bytes()
GARBAGE = [b"", b"\0" * 100, b"no record\n", b"0\n", b"\xff\xfe\n\n\n", b"x\n1 (sh) S\n"]


async def find(bench: Bench, attempt: int = 1) -> Found:
    return await bench.substrate.find(bench.folder, attempt)


async def test_nothing_there_is_absent(bench: Bench) -> None:
    assert await find(bench) == Found(state="absent")
    assert await find(Bench(bench.path / "none")) == Found(state="absent")


async def test_claim_without_a_record_is_absent(bench: Bench) -> None:
    os.makedirs(bench.place().claim)
    assert await find(bench) == Found(state="absent")


async def test_running_ended_and_the_handle_is_the_same(bench: Bench) -> None:
    handle = await bench.sh("while [ ! -e gate ]; do sleep 0.01; done; exit 5")
    assert await find(bench) == Found(state="running", handle=handle)
    (bench.path / "gate").touch()
    record = await bench.substrate.wait(bench.folder, 1, handle)
    assert await find(bench) == Found(state="ended", handle=handle, exit=record)


async def test_running_before_the_shim_has_recorded_itself(bench: Bench) -> None:
    handle = await bench.up()
    os.unlink(bench.place().shim)
    assert await find(bench) == Found(state="running", handle=handle)


async def test_launch_that_is_under_way_is_waited_for(bench: Bench) -> None:
    fd = acquire(bench.place().lock)
    os.makedirs(bench.place().claim)
    assert look(bench.place()) is None

    async def fail() -> None:
        await anyio.sleep(0.02)
        os.close(fd)

    async with anyio.create_task_group() as group:
        group.start_soon(fail)
        assert await find(bench) == Found(state="absent")


async def test_engine_without_its_shim_is_running(bench: Bench) -> None:
    handle = await bench.up(f"echo $$ >pid; {RUNS_ON}")
    os.kill(handle.pid, signal.SIGKILL)
    assert await find(bench) == Found(state="running", handle=handle)
    os.kill(int((bench.path / "pid").read_text()), signal.SIGKILL)
    await bench.substrate.wait(bench.folder, 1, handle)
    assert await find(bench) == Found(state="vanished", handle=handle)


async def test_process_without_lock_and_group_is_running(bench: Bench) -> None:
    handle = await bench.launch(bench.order(sys.executable, "-c", ESCAPES, "9"))
    await appears(bench.path / "escaped")
    await appears(bench.file("exit"))
    assert (await find(bench)).state == "running"
    assert [started for _, started in bench.started] == [handle]


async def test_killed_with_its_shim_is_vanished(bench: Bench) -> None:
    handle = await bench.up()
    os.killpg(handle.pid, signal.SIGKILL)
    await bench.substrate.wait(bench.folder, 1, handle)
    assert await find(bench) == Found(state="vanished", handle=handle)


async def test_zombie_of_ours_is_vanished(bench: Bench) -> None:
    handle = await bench.up()
    os.killpg(handle.pid, signal.SIGKILL)
    await ended(handle)
    await eventually(lambda: look(bench.place()) == Found(state="vanished", handle=handle))
    assert handle.pid not in children()


@pytest.mark.parametrize("data", GARBAGE)
async def test_garbage_in_the_records_is_vanished(bench: Bench, data: bytes) -> None:
    os.makedirs(bench.place().claim)
    bench.file("shim").write_bytes(data)
    bench.file("exit").write_bytes(data)
    assert await find(bench) == Found(state="vanished")


async def test_record_of_another_boot_is_vanished(bench: Bench) -> None:
    os.makedirs(bench.place().claim)
    bench.file("shim").write_bytes(b"another-boot\n" + STAT)
    found = await find(bench)
    assert found.state == "vanished"
    assert found.handle is not None
    assert found.handle.boot_id != boot_id()


async def test_earlier_attempt_is_ended_while_a_later_one_runs(bench: Bench) -> None:
    record = await bench.substrate.wait(bench.folder, 1, await bench.sh("exit 2"))
    await bench.up(attempt=2)
    assert (await find(bench, 1)).exit == record
    assert (await find(bench, 2)).state == "running"
    assert (await find(bench, 3)).state == "absent"


async def test_shim_record_that_is_a_folder_is_no_record(bench: Bench) -> None:
    os.makedirs(bench.place().shim)
    assert read_shim(bench.place()) is None
