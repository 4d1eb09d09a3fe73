"""Starting an attempt: lock the folder, claim the attempt, spawn the shim.

The order makes every crash harmless. A claim is made under the lock, and the shim inherits the lock: whoever finds a claim
without the shim's record and the lock free knows that nothing of it ever ran, and may launch it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio
import anyio.lowlevel

from events.attempts import Handle
from mdactors.errors import AlreadyClaimedError, FolderBusyError, LaunchError
from mdactors.ports import LaunchOrder
from mdactors.substrates.local.place import LOCK_FD, Place, acquire
from mdactors.substrates.local.processes import handle_of, stat_of
from mdactors.substrates.local.spawn import DEVNULL_IN, spawn

_SHIM = str(Path(__file__).with_name("shim.sh"))
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND
_LOOKING_SECONDS = 0.01
"""Who looks whether a lock is free holds it for microseconds; after this long it was no such look."""


async def launch(order: LaunchOrder) -> Handle:
    """Start the attempt detached and return who runs it.

    Raises:
        AlreadyClaimedError: it was launched before.
        FolderBusyError: something still lives in the job's folder.
        LaunchError: the process could not be started; the attempt may be launched again.
    """
    place = Place(order.folder, order.attempt)
    try:
        _check_program(order)
        lock = await _lock(place)
        try:
            _claim(place)
            with bound(order.cpus):
                pid = _spawn_shim(place, order, lock)
        finally:
            os.close(lock)  # the shim has inherited it
    except (OSError, ValueError) as error:
        raise LaunchError(f"attempt {order.attempt} in {order.folder} could not be started: {error}") from error
    # The kernel shows a process only when its exec is complete, some 100 us from now: others may go first. Shielded, because
    # a launch that has happened has to be told.
    await anyio.lowlevel.cancel_shielded_checkpoint()
    stat = stat_of(pid)
    assert stat is not None, "a child stays in the process table until it is waited for"
    return handle_of(stat)


async def _lock(place: Place) -> int:
    try:
        return acquire(place.lock)
    except BlockingIOError:
        await anyio.sleep(_LOOKING_SECONDS)
    try:
        return acquire(place.lock)
    except BlockingIOError as error:
        raise _busy(place) from error


def _busy(place: Place) -> LaunchError:
    if place.claimed():
        return AlreadyClaimedError(f"attempt {place.attempt} in {place.folder} was launched before")
    return FolderBusyError(f"something of an earlier attempt still lives in {place.folder}")


def _check_program(order: LaunchOrder) -> None:
    program = os.path.join(order.folder, order.argv[0])
    if not os.path.isfile(program) or not os.access(program, os.X_OK):
        raise FileNotFoundError(f"{order.argv[0]} is no program that can be run")


def _claim(place: Place) -> None:
    os.makedirs(os.path.dirname(place.claim), exist_ok=True)
    try:
        os.mkdir(place.claim)
    except FileExistsError as error:
        if place.ran():
            raise AlreadyClaimedError(f"attempt {place.attempt} in {place.folder} was launched before") from error


def _spawn_shim(place: Place, order: LaunchOrder, lock: int) -> int:
    return spawn(
        ("/bin/sh", _SHIM, order.folder, str(order.attempt), *order.argv),
        order.environment,
        (
            # First, while the lock's own number, whatever it is, has not been taken by the streams below.
            (os.POSIX_SPAWN_DUP2, lock, LOCK_FD),
            DEVNULL_IN,
            (os.POSIX_SPAWN_OPEN, 1, place.stdout, _APPEND, 0o644),
            (os.POSIX_SPAWN_OPEN, 2, place.stderr, _APPEND, 0o644),
        ),
    )


@contextlib.contextmanager
def bound(cpus: Sequence[int]) -> Iterator[None]:
    """Bind this thread to `cpus` while a child is spawned, which inherits the mask before its first instruction.

    Binding the child afterwards would race with the engine that the shim starts, and a helper like `taskset` would cost
    another exec; this costs three system calls.

    Raises:
        OSError: the kernel does not let us use these CPUs.
    """
    if not cpus:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        granted = os.sched_getaffinity(0)
        if granted != set(cpus):  # the kernel silently drops what a cpuset forbids
            raise PermissionError(f"of the CPUs {sorted(cpus)} only {sorted(granted)} may be used")
        yield
    finally:
        os.sched_setaffinity(0, before)
