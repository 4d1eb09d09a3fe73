"""Stopping: one polite signal to all, patience, then force; and never at a stranger."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import msgspec
import pytest

from events.attempts import Handle
from mdactors.substrates.local.processes import stat_of
from mdactors.substrates.local.stop import kill_session
from tests.mdactors.substrates.local.kit import RUNS_ON, Bench, appears
from tests.mdactors.substrates.local.test_watch import ESCAPES

STUBBORN = f"trap '' TERM; {RUNS_ON}"
COUNTS = f"trap 'echo term >>terms' TERM; {RUNS_ON}"


async def stop(bench: Bench, handle: Handle, *, grace: float = 10.0, number: int = signal.SIGTERM) -> int | None:
    """Stop attempt 1 and return its exit code; None: no record."""
    with anyio.fail_after(20):
        await bench.substrate.stop(bench.folder, 1, handle, signal=number, grace_seconds=grace)
        record = await bench.substrate.wait(bench.folder, 1, handle)
    return None if record is None else record.code


async def test_engine_ends_by_its_own_handler(bench: Bench) -> None:
    handle = await bench.up(f"trap 'echo bye >bye; exit 1' TERM; {RUNS_ON}")
    assert await stop(bench, handle) == 1
    assert (bench.path / "bye").exists()
    assert bench.file("stop").exists()


async def test_signal_is_the_one_that_was_asked_for(bench: Bench) -> None:
    handle = await bench.up(f"trap 'exit 8' USR1; {RUNS_ON}")
    assert await stop(bench, handle, number=signal.SIGUSR1) == 8


async def test_engine_that_ignores_it_is_killed_after_the_grace(bench: Bench) -> None:
    handle = await bench.up(STUBBORN)
    begun = time.monotonic()
    assert await stop(bench, handle, grace=0.3) == -9
    assert time.monotonic() - begun >= 0.3


async def test_infant_is_left_alone_until_it_has_its_handlers(bench: Bench) -> None:
    handle = await bench.sh(f"sleep 0.2; trap 'exit 7' TERM; {RUNS_ON}")
    assert await stop(bench, handle) == 7


async def test_infant_that_ends_by_itself_is_not_waited_for(bench: Bench) -> None:
    handle = await bench.sh("exit 3")
    begun = time.monotonic()
    assert await stop(bench, handle) == 3
    assert time.monotonic() - begun < 0.4
    assert not bench.file("stop").exists()


async def test_second_stop_sends_no_second_signal(bench: Bench) -> None:
    handle = await bench.up(COUNTS)
    async with anyio.create_task_group() as first:
        first.start_soon(stop, bench, handle)
        await appears(bench.path / "terms")
        first.cancel_scope.cancel()
    later = Bench(bench.path)  # after a restart of the platform
    assert await stop(later, handle, grace=0.3) == -9
    assert (bench.path / "terms").read_text() == "term\n"


async def test_stops_at_once_send_one_signal(bench: Bench) -> None:
    handle = await bench.up(COUNTS)
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(lambda: stop(bench, handle, grace=0.5))
    assert (bench.path / "terms").read_text() == "term\n"


async def test_stopped_engine_is_continued_first(bench: Bench) -> None:
    handle = await bench.up(f"trap 'exit 7' TERM; echo $$ >pid; {RUNS_ON}")
    os.kill(int((bench.path / "pid").read_text()), signal.SIGSTOP)
    assert await stop(bench, handle) == 7


async def test_wholly_stopped_attempt_is_killed_and_recorded(bench: Bench) -> None:
    handle = await bench.up(STUBBORN)
    os.killpg(handle.pid, signal.SIGSTOP)
    assert await stop(bench, handle, grace=0.2) == -9


@pytest.mark.parametrize("closes", [(), ("9",)], ids=["with the lock", "without the lock"])
async def test_process_that_left_the_group_is_killed(bench: Bench, closes: tuple[str, ...]) -> None:
    handle = await bench.launch(bench.order(sys.executable, "-c", ESCAPES, *closes))
    escaped = int(await appears(bench.path / "escaped"))
    await appears(bench.file("exit"))
    assert await stop(bench, handle, grace=0.1) == 0
    stat = stat_of(escaped)
    assert stat is None or not stat.alive


async def test_process_that_left_the_session_is_stopped(bench: Bench) -> None:
    handle = await bench.sh("setsid sh -c 'echo $$ >pid; exec sleep 60' & exit 0")
    await appears(bench.path / "pid")
    await appears(bench.file("exit"))
    assert await stop(bench, handle, grace=5) == 0


async def test_engine_without_its_shim_is_stopped(bench: Bench) -> None:
    handle = await bench.up(f"trap 'echo bye >bye; exit 1' TERM; {RUNS_ON}")
    os.kill(handle.pid, signal.SIGKILL)
    assert await stop(bench, handle) is None
    assert (bench.path / "bye").exists()


async def test_ended_attempt_is_left_alone(bench: Bench) -> None:
    handle = await bench.sh("exit 0")
    await bench.substrate.wait(bench.folder, 1, handle)
    assert await stop(bench, handle) == 0
    assert not bench.file("stop").exists()


async def test_stranger_under_the_same_pid_is_never_signalled(bench: Bench) -> None:
    handle = await bench.up(COUNTS)
    elsewhere = Bench(bench.path / "elsewhere")
    for stranger in (
        msgspec.structs.replace(handle, start_ticks=handle.start_ticks - 1000),
        msgspec.structs.replace(handle, boot_id="another"),
    ):
        await elsewhere.substrate.stop(elsewhere.folder, 1, stranger, signal=15, grace_seconds=0)
    stat = stat_of(handle.pid)
    assert stat is not None
    assert stat.alive
    assert not (bench.path / "terms").exists()


def test_kill_session_ends_a_child_with_all_that_it_started(tmp_path: Path) -> None:
    code = f"import os; os.chdir({str(tmp_path)!r})\n{ESCAPES.replace('sys.exit(0)', 'time.sleep(60)')}"
    with subprocess.Popen((sys.executable, "-c", code), start_new_session=True) as process:
        escaped = int(anyio.run(appears, tmp_path / "escaped"))
        fd = os.pidfd_open(escaped)
        kill_session(process.pid)
        assert process.wait(10) == -9
    anyio.run(anyio.wait_readable, fd)
    os.close(fd)
