"""One writer: a lock on the state folder, and a clear word about who holds it."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from mdactors.errors import ConfigError, StateBusyError


@contextlib.contextmanager
def hold(state: Path, since: str) -> Iterator[None]:
    """Hold the state folder for the length of the block; the kernel lets go of it however the process ends.

    Args:
        state: the folder; made where it is missing.
        since: the time, as others should read it.

    Raises:
        StateBusyError: another platform holds it.
        ConfigError: the folder can't be made or written.
    """
    try:
        state.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(state / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(
            f"state folder {state} can't be used: {error.strerror}; choose another with --state"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "another process"
        os.close(descriptor)
        raise StateBusyError(f"state folder {state} is held by {holder}") from error
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"pid {os.getpid()} since {since}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)
