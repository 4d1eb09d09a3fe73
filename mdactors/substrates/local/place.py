"""Where everything of one attempt lies, and the lock that tells whether any of it lives."""

from __future__ import annotations

import fcntl
import os

import msgspec

LOCK_FD = 9
"""The descriptor under which everything of an attempt holds the lock; `shim.sh` counts on it."""


class Place(msgspec.Struct, frozen=True):
    """The files of one attempt inside its job's folder."""

    folder: str
    attempt: int

    @property
    def lock(self) -> str:
        """Held for as long as anything of the folder's newest attempt lives."""
        return f"{self.folder}/.lock"

    @property
    def claim(self) -> str:
        """The attempt's own folder; who creates it may launch the attempt."""
        return f"{self.folder}/attempts/{self.attempt}"

    @property
    def shim(self) -> str:
        """Boot id and /proc/PID/stat of the shim, written before the engine starts; there: the attempt ran."""
        return f"{self.claim}/shim"

    @property
    def exit(self) -> str:
        """Exit code and times, written when the engine has ended."""
        return f"{self.claim}/exit"

    @property
    def stop(self) -> str:
        """There: the stop signal was sent."""
        return f"{self.claim}/stop"

    @property
    def stdout(self) -> str:
        """What the engine prints."""
        return f"{self.claim}/stdout"

    @property
    def stderr(self) -> str:
        """What it prints as errors, and what the shim has to say."""
        return f"{self.claim}/stderr"

    def claimed(self) -> bool:
        """Return whether somebody claimed the attempt."""
        return os.path.isdir(self.claim)

    def ran(self) -> bool:
        """Return whether the engine may have been started; a torn record counts, so that nothing ever runs twice."""
        return os.path.exists(self.shim)

    def locked(self) -> bool:
        """Return whether something of this attempt, or its launch, holds the lock."""
        return is_held(self.lock) and not self._superseded()

    def _superseded(self) -> bool:
        # A later attempt is claimed under the lock, so nothing of this one held it any more.
        try:
            names = os.listdir(f"{self.folder}/attempts")
        except FileNotFoundError:
            return False
        return any(name.isdecimal() and int(name) > self.attempt for name in names)


def acquire(path: str) -> int:
    """Lock the file, which is created where it is missing, and return its descriptor; closing it lets go.

    Raises:
        BlockingIOError: somebody holds it.
        OSError: it can't be opened.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(fd)
        raise
    return fd


def is_held(path: str) -> bool:
    """Return whether somebody holds the lock. Looking takes a shared lock for some microseconds."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
