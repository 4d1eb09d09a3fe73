"""Processes: who one is, whether it lives, and that no stranger is ever taken for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import anyio
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.attempts import Handle
from mdactors.substrates.local.place import LOCK_FD, acquire
from mdactors.substrates.local.processes import (
    boot_id,
    ended,
    exists,
    handle_of,
    holders,
    parse_stat,
    send,
    session,
    stat_of,
)

TAIL = b" S 1 2 3 " + b" ".join(b"%d" % n for n in range(7, 53)) + b"\n"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(("/bin/sleep", "60"), start_new_session=True) as process:
        yield process
        process.kill()


def name(process: subprocess.Popen[bytes]) -> Handle:
    stat = stat_of(process.pid)
    assert stat is not None
    return handle_of(stat)


@pytest.mark.parametrize("comm", [b"sh", b"a) R 1 (b", b"two words", b")", b"line\nbreak", b"\xff"])
def test_stat_is_read_whatever_the_name(comm: bytes) -> None:
    stat = parse_stat(b"42 (" + comm + b")" + TAIL)
    assert stat is not None
    assert (stat.pid, stat.state, stat.session, stat.start_ticks) == (42, "S", 3, 22)


@given(st.binary())
def test_garbage_is_no_stat(data: bytes) -> None:
    assert parse_stat(data) is None


def test_process_is_known_by_its_start(sleeper: subprocess.Popen[bytes]) -> None:
    handle = name(sleeper)
    assert exists(handle)
    assert not exists(msgspec.structs.replace(handle, start_ticks=handle.start_ticks + 1))
    assert not exists(msgspec.structs.replace(handle, boot_id="another"))
    assert handle.boot_id == boot_id()


def test_session_has_those_who_left_the_group() -> None:
    code = "import os, time\nif os.fork() == 0: os.setpgid(0, 0)\nos.write(1, b'1\\n')\ntime.sleep(60)"
    with subprocess.Popen((sys.executable, "-c", code), start_new_session=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == [b"1\n", b"1\n"]
        members = session(process.pid)
        assert len(members) == 2
        for stat in members:
            send(handle_of(stat), signal.SIGKILL)


def test_zombie_is_dead_but_exists(sleeper: subprocess.Popen[bytes]) -> None:
    handle = name(sleeper)
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert session(sleeper.pid) == ()
    assert exists(handle)
    sleeper.wait()
    assert not exists(handle)


def test_signal_reaches_the_one_who_was_meant(sleeper: subprocess.Popen[bytes]) -> None:
    handle = name(sleeper)
    send(msgspec.structs.replace(handle, start_ticks=handle.start_ticks + 1), signal.SIGKILL)
    assert sleeper.poll() is None
    send(handle, signal.SIGTERM)
    assert sleeper.wait(10) == -signal.SIGTERM
    send(handle, signal.SIGKILL)


async def test_end_of_a_process_is_heard(sleeper: subprocess.Popen[bytes]) -> None:
    handle = name(sleeper)
    with anyio.fail_after(10):
        await ended(msgspec.structs.replace(handle, start_ticks=handle.start_ticks + 1))
        async with anyio.create_task_group() as group:
            group.start_soon(ended, handle)
            await anyio.lowlevel.checkpoint()
            sleeper.kill()
        sleeper.wait()
        await ended(handle)


def test_holders_are_those_who_inherited_the_lock(tmp_path: str, sleeper: subprocess.Popen[bytes]) -> None:
    lock = f"{tmp_path}/.lock"
    fd = acquire(lock)
    actions = [(os.POSIX_SPAWN_DUP2, fd, LOCK_FD)]
    pid = os.posix_spawn("/bin/sleep", ("sleep", "60"), {}, file_actions=actions)
    assert [stat.pid for stat in holders(lock)] == [pid]
    os.close(fd)
    assert [stat.pid for stat in holders(lock)] == [pid]
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert holders(lock) == ()
    assert sleeper.poll() is None


def test_who_has_the_file_open_without_the_lock_is_no_holder(tmp_path: str) -> None:
    lock = f"{tmp_path}/.lock"
    os.close(acquire(lock))
    code = f"import os, time; fd = os.open({lock!r}, os.O_RDWR); os.dup2(fd, {LOCK_FD}); os.write(1, b'1\\n'); time.sleep(60)"
    with subprocess.Popen((sys.executable, "-c", code), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert holders(lock) == ()
        process.kill()
