"""Processes as the kernel knows them: who one is, who belongs to a session, who holds a lock, when one ends.

A pid alone names nobody: it is reused. A `Handle` names a process for ever, and signals go through a pidfd whose identity was
checked after it was opened. A zombie counts as dead: it stays until its parent asks for it, which may be never.
"""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Iterator

import anyio
import msgspec

from events.attempts import Handle
from mdactors.substrates.local.place import LOCK_FD

_DEAD = "ZX"


class Stat(msgspec.Struct, frozen=True):
    """What is needed of /proc/PID/stat."""

    pid: int
    state: str
    """R running, S sleeping, D waiting for a device, T stopped, Z zombie ..."""
    session: int
    start_ticks: int

    @property
    def alive(self) -> bool:
        """Whether it still runs, or could."""
        return self.state not in _DEAD


def parse_stat(line: bytes) -> Stat | None:
    """Return the fields of a /proc/PID/stat line, None where it is garbage. The name in brackets may hold anything."""
    head, _, tail = line.rpartition(b")")
    fields = tail.split()
    try:
        return Stat(
            pid=int(head.split(b" ", 1)[0]),
            state=fields[0].decode("ascii"),
            session=int(fields[3]),
            start_ticks=int(fields[19]),
        )
    except (ValueError, IndexError):
        return None


def stat_of(pid: int) -> Stat | None:
    """Return what the kernel says of a process, None where there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return parse_stat(file.read())
    except (FileNotFoundError, ProcessLookupError):
        return None


@functools.cache
def boot_id() -> str:
    """Return what names this boot of the machine: after another one every handle is dead."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def handle_of(stat: Stat) -> Handle:
    """Return the name of a process of this boot."""
    return Handle(pid=stat.pid, start_ticks=stat.start_ticks, boot_id=boot_id())


def exists(handle: Handle) -> bool:
    """Return whether the process is there, be it as a zombie; another one under the same pid is not taken for it."""
    if handle.boot_id != boot_id():
        return False
    stat = stat_of(handle.pid)
    return stat is not None and stat.start_ticks == handle.start_ticks


def session(sid: int) -> tuple[Stat, ...]:
    """Return the living processes of a session, also those that left its process group."""
    members = (stat_of(pid) for pid in _pids() if _session_of(pid) == sid)
    return tuple(stat for stat in members if stat is not None and stat.alive and stat.session == sid)


def holders(lock: str) -> tuple[Stat, ...]:
    """Return the other processes that hold the lock by inheritance, under the descriptor that the shim got it under."""
    found = (stat_of(pid) for pid in _pids() if pid != os.getpid() and _holds(pid, lock))
    return tuple(stat for stat in found if stat is not None and stat.alive)


def send(handle: Handle, number: int) -> None:
    """Send a signal to exactly this process; nothing happens where it has ended."""
    try:
        fd = os.pidfd_open(handle.pid)
    except ProcessLookupError:
        return
    try:
        if exists(handle):  # asked after opening: from here on the pidfd can mean nobody else
            signal.pidfd_send_signal(fd, number)
    except ProcessLookupError:
        pass
    finally:
        os.close(fd)


async def ended(handle: Handle) -> None:
    """Wait until the process has ended, child of ours or not; the kernel tells."""
    try:
        fd = os.pidfd_open(handle.pid)
    except ProcessLookupError:
        return
    try:
        if exists(handle):
            await anyio.wait_readable(fd)
    finally:
        os.close(fd)


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdecimal())


def _session_of(pid: int) -> int:
    # One system call; a /proc/PID/stat costs twenty times as much, and a node may run thousands of processes.
    try:
        return os.getsid(pid)
    except OSError:
        return -1


def _holds(pid: int, lock: str) -> bool:
    link = f"/proc/{pid}/fd/{LOCK_FD}"
    try:
        if not os.readlink(link).endswith("/.lock") or not os.path.samefile(link, lock):
            return False
        with open(f"/proc/{pid}/fdinfo/{LOCK_FD}", "rb") as file:
            return b"FLOCK  ADVISORY  WRITE" in file.read()
    except OSError:
        return False
