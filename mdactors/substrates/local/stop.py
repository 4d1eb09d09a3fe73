"""Ending an attempt: one polite signal, patience, then force."""

from __future__ import annotations

import contextlib
import os
import signal
import time

import anyio

from events.attempts import Handle
from mdactors.substrates.local.place import Place
from mdactors.substrates.local.processes import Stat, ended, exists, handle_of, send, session
from mdactors.substrates.local.watch import gone, living

_INFANCY_SECONDS = 0.5
"""An engine that has not installed its handlers yet dies of the stop signal without a checkpoint."""
_KILLING_SECONDS = 5.0
"""After this long what still lives is waiting for a device and can't be killed."""
_RECORD_SECONDS = 2.0
"""For the shim, to write how the engine was killed."""


async def stop(place: Place, handle: Handle, number: int, grace_seconds: float) -> None:
    """Ask the attempt to stop, once in its life; after the grace end it and everything it started.

    Returns when nothing of it lives, or when even SIGKILL has had no effect for some seconds.
    """
    with anyio.move_on_after(_infancy_left(handle)):
        await gone(place, handle)
        return
    _ask_once(place, handle, number)
    with anyio.move_on_after(grace_seconds):
        await gone(place, handle)
        return
    await _end(place, handle)


def kill_session(sid: int) -> None:
    """Kill everything in the session of a child that has not been waited for, whatever group it is in."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(sid, signal.SIGKILL)
    for stat in session(sid):
        send(handle_of(stat), signal.SIGKILL)


def _infancy_left(handle: Handle) -> float:
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - handle.start_ticks / os.sysconf("SC_CLK_TCK")
    return min(max(_INFANCY_SECONDS - age, 0.0), _INFANCY_SECONDS)


def _ask_once(place: Place, handle: Handle, number: int) -> None:
    """Signal the process group, unless that was done before, by whomever.

    A second TERM would make GROMACS stop between two pair-list steps, a third abort it. Processes in groups of their own are
    left to the one that put them there: `mpirun` passes the signal on to its ranks. The mark is made after the signal: a crash
    between the two repeats the signal, where the other order would lose it, and the engine its checkpoint.
    """
    left = living(place, handle)
    if not left or os.path.exists(place.stop):
        return
    for stat in left:
        if stat.state == "T":
            send(handle_of(stat), signal.SIGCONT)
    _signal(left, handle, number)
    with contextlib.suppress(OSError):  # on a full disk the attempt has to be stopped all the same
        os.close(os.open(place.stop, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))


def _signal(left: tuple[Stat, ...], handle: Handle, number: int) -> None:
    if any(stat.session == handle.pid for stat in left):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(handle.pid, number)
        return
    for stat in left:  # they left the session, and nobody is in it any more who could pass the signal on
        send(handle_of(stat), number)


async def _end(place: Place, handle: Handle) -> None:
    """Kill the engine and what it started, then let the shim write its record and go."""
    with anyio.move_on_after(_KILLING_SECONDS):
        while others := [each for each in map(handle_of, living(place, handle)) if each != handle]:
            for each in others:
                send(each, signal.SIGKILL)
            await ended(others[0])
    if exists(handle):
        send(handle, signal.SIGCONT)
        with anyio.move_on_after(_RECORD_SECONDS):
            await ended(handle)
    for stat in living(place, handle):
        send(handle_of(stat), signal.SIGKILL)
    with anyio.move_on_after(_KILLING_SECONDS):
        await gone(place, handle)
