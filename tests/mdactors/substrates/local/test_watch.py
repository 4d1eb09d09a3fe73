"""Waiting: for children and for strangers' children, until nothing of an attempt lives."""

from __future__ import annotations

import os
import signal
import sys
import time

import anyio
import msgspec
import pytest

from mdactors.substrates.local.processes import stat_of
from mdactors.substrates.local.watch import gone, last_word, living
from tests.mdactors.substrates.local.kit import RUNS_ON, Bench, appears, children, open_descriptors

ESCAPES = """
import os, sys, time
if os.fork():
    sys.exit(0)
os.setpgid(0, 0)
for fd in map(int, sys.argv[1:]):
    os.close(fd)
open("escaped", "w").write(f"{os.getpid()}\\n")
time.sleep(60)
"""
"""An engine that leaves behind a process in a group of its own, without the descriptors named."""


async def test_exit_codes_and_times(bench: Bench) -> None:
    handle = await bench.sh("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 42")
    before = time.time()
    record = await bench.substrate.wait(bench.folder, 1, handle)
    assert record is not None
    assert record.code == 42
    assert abs(record.time - before) < 5
    assert 0 < record.user_seconds + record.system_seconds < 5


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
async def test_death_by_a_signal_is_a_negative_code(bench: Bench, number: int) -> None:
    record = await bench.substrate.wait(bench.folder, 1, await bench.sh(f"ulimit -c 0; kill -{number} $$"))
    assert record is not None
    assert record.code == -number


async def test_peak_memory_is_the_engines(bench: Bench) -> None:
    engine = bench.order(sys.executable, "-c", "x = b'x' * 500_000_000")
    record = await bench.substrate.wait(bench.folder, 1, await bench.launch(engine))
    assert record is not None
    assert record.max_rss_bytes > 500_000_000


async def test_no_zombie_and_no_descriptor_is_left(bench: Bench) -> None:
    before = children(), open_descriptors()
    await bench.substrate.wait(bench.folder, 1, await bench.sh("exit 0"))
    assert (children(), open_descriptors()) == before


async def test_many_waiters_learn_the_same(bench: Bench) -> None:
    handle = await bench.up()
    records = []

    async def wait() -> None:
        records.append(await bench.substrate.wait(bench.folder, 1, handle))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        group.start_soon(wait)
        await anyio.lowlevel.checkpoint()
        os.killpg(handle.pid, signal.SIGTERM)
    assert [record and record.code for record in records] == [-15, -15]


async def test_wait_goes_on_while_a_descendant_lives(bench: Bench) -> None:
    handle = await bench.sh("sleep 60 & echo $! >pid; exit 3")
    descendant = int(await appears(bench.path / "pid"))
    await appears(bench.file("exit"))
    with anyio.move_on_after(0.1) as scope:
        await bench.substrate.wait(bench.folder, 1, handle)
    assert scope.cancelled_caught
    os.kill(descendant, signal.SIGKILL)
    record = await bench.substrate.wait(bench.folder, 1, handle)
    assert record is not None
    assert record.code == 3


async def test_engine_that_outlives_its_shim_is_waited_for(bench: Bench) -> None:
    handle = await bench.up(f"echo $$ >pid; {RUNS_ON}")
    os.kill(handle.pid, signal.SIGKILL)
    with anyio.move_on_after(0.1) as scope:
        await gone(bench.place(), handle)
    assert scope.cancelled_caught
    os.kill(int((bench.path / "pid").read_text()), signal.SIGKILL)
    assert await bench.substrate.wait(bench.folder, 1, handle) is None


@pytest.mark.parametrize("closes", [(), ("9",)], ids=["with the lock", "without the lock"])
async def test_process_that_left_the_group_is_waited_for(bench: Bench, closes: tuple[str, ...]) -> None:
    handle = await bench.launch(bench.order(sys.executable, "-c", ESCAPES, *closes))
    escaped = int(await appears(bench.path / "escaped"))
    await appears(bench.file("exit"))
    with anyio.move_on_after(0.1) as scope:
        await bench.substrate.wait(bench.folder, 1, handle)
    assert scope.cancelled_caught
    assert [stat.pid for stat in living(bench.place(), handle)] == [escaped]
    os.kill(escaped, signal.SIGKILL)
    assert await bench.substrate.wait(bench.folder, 1, handle) is not None


async def test_process_that_left_the_session_but_has_the_lock_is_waited_for(bench: Bench) -> None:
    handle = await bench.sh("setsid sh -c 'echo $$ >pid; exec sleep 60' & exit 0")
    escaped = int(await appears(bench.path / "pid"))
    await appears(bench.file("exit"))
    assert escaped in {stat.pid for stat in living(bench.place(), handle)}
    os.kill(escaped, signal.SIGKILL)
    assert await bench.substrate.wait(bench.folder, 1, handle) is not None


async def test_vanished_attempt_leaves_no_record(bench: Bench) -> None:
    handle = await bench.up()
    os.killpg(handle.pid, signal.SIGKILL)
    assert await bench.substrate.wait(bench.folder, 1, handle) is None


async def test_stranger_under_the_same_pid_is_none_of_ours(bench: Bench) -> None:
    handle = await bench.up()
    stranger = msgspec.structs.replace(handle, start_ticks=handle.start_ticks - 1)
    elsewhere = Bench(bench.path / "elsewhere")
    assert living(elsewhere.place(), stranger) == ()
    assert await elsewhere.substrate.wait(elsewhere.folder, 1, stranger) is None
    rebooted = msgspec.structs.replace(handle, boot_id="another")
    assert living(bench.place(), rebooted) == ()


async def test_later_attempts_processes_are_not_an_earlier_ones(bench: Bench) -> None:
    first = await bench.sh("exit 0")
    await bench.substrate.wait(bench.folder, 1, first)
    await bench.up(attempt=2)
    assert living(bench.place(1), first) == ()
    assert await bench.substrate.wait(bench.folder, 1, first) is not None


async def test_last_word_lets_the_kernel_forget_the_shim(bench: Bench) -> None:
    handle = await bench.sh("exit 0")
    await gone(bench.place(), handle)
    assert stat_of(handle.pid) is not None
    assert last_word(bench.place(), handle) is not None
    assert stat_of(handle.pid) is None
