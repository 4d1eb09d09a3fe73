"""What lives of an attempt, waiting for its end, and what it left."""

from __future__ import annotations

import os
import resource

import anyio

from events.attempts import Handle
from events.outcome import ExitRecord
from mdactors.substrates.local.place import Place
from mdactors.substrates.local.processes import Stat, boot_id, ended, exists, handle_of, holders, session
from mdactors.substrates.local.records import parse_exit

_UNSEEN_SECONDS = 1.0
"""Pace of looking where somebody holds the lock whom we can't see (another user, another PID namespace)."""


def living(place: Place, handle: Handle) -> tuple[Stat, ...]:
    """Return everything of the attempt that lives: its session and whoever holds its lock. Never a stranger.

    While any member of a session lives, the kernel gives its number to nobody else. So all members are ours as soon as one
    is proven ours: the shim itself by its start time, others by the lock or by working in the job's folder.
    """
    if handle.boot_id != boot_id():
        return ()
    holding = holders(place.lock) if place.locked() else ()
    members = session(handle.pid)
    known = {stat.pid for stat in holding}
    if not exists(handle) and not any(stat.pid in known or _works_in(stat, place.folder) for stat in members):
        members = ()
    return tuple({stat.pid: stat for stat in (*holding, *members)}.values())


async def gone(place: Place, handle: Handle) -> None:
    """Wait until nothing of the attempt lives any more."""
    await ended(handle)
    while True:
        if left := living(place, handle):
            await ended(handle_of(left[0]))
        elif place.locked():
            await anyio.sleep(_UNSEEN_SECONDS)
        else:
            return


async def wait(place: Place, handle: Handle) -> ExitRecord | None:
    """Wait until nothing of the attempt lives any more and return its exit record; None: it left none."""
    await gone(place, handle)
    return last_word(place, handle)


def last_word(place: Place, handle: Handle | None) -> ExitRecord | None:
    """Return the exit record of an attempt of which nothing lives, and let the kernel forget its shim."""
    peak = _reap(handle) if handle is not None else 0
    return _read_exit(place.exit, peak) or _read_exit(place.shim, peak)


def _works_in(stat: Stat, folder: str) -> bool:
    try:
        return stat.alive and os.path.samefile(f"/proc/{stat.pid}/cwd", folder)
    except OSError:
        return False


def _reap(handle: Handle) -> int:
    """Return the peak memory, bytes, of the largest process of an attempt that this process started; 0: not known.

    A spawned process is charged with the memory of whoever spawned it, so a figure below our own says nothing.
    """
    if not exists(handle):
        return 0
    try:
        peak = os.wait4(handle.pid, os.WNOHANG)[2].ru_maxrss
    except ChildProcessError:
        return 0
    return peak * 1024 if peak > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss else 0


def _read_exit(path: str, peak: int) -> ExitRecord | None:
    try:
        with open(path, "rb") as file:
            return parse_exit(file.read(), os.fstat(file.fileno()).st_mtime, peak)
    except OSError:
        return None
