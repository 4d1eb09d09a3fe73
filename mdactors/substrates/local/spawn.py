"""The one place where processes are started: spawned, never forked, each in a session of its own."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Mapping, Sequence
from typing import Any

DEVNULL_IN = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
"""File action: nothing to read on standard input."""

# The platform's interpreter ignores SIGPIPE, and `nohup` ignores SIGHUP: children start with defaults.
_CATCHABLE = frozenset(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}

FileAction = tuple[Any, ...]
"""As `os.posix_spawn` takes them."""


def spawn(argv: Sequence[str], environment: Mapping[str, str], file_actions: Sequence[FileAction]) -> int:
    """Start argv, whose first word is a path, and return its pid, which is its session's number as well.

    It gets the descriptors of `file_actions` and no other, not even those that the platform was started with: a pipe among
    them would be held open by an engine for days.

    Raises:
        OSError: it could not be started.
        ValueError: a word or a variable holds a NUL.
    """
    return os.posix_spawn(  # noqa: TID251 - the door itself
        argv[0],
        tuple(argv),
        environment,
        file_actions=(*file_actions, *_closes(file_actions)),
        setsid=True,
        setsigmask=(),
        setsigdef=_CATCHABLE,
    )


def _closes(file_actions: Sequence[FileAction]) -> tuple[FileAction, ...]:
    wanted = {int(action[2] if action[0] == os.POSIX_SPAWN_DUP2 else action[1]) for action in file_actions}
    return tuple((os.POSIX_SPAWN_CLOSE, fd) for fd in _inherited() if fd not in wanted)


@functools.cache
def _inherited() -> tuple[int, ...]:
    """Return the descriptors beyond the standard streams that children would inherit: what Python opens by itself is none."""
    return tuple(fd for fd in map(int, os.listdir("/proc/self/fd")) if fd > 2 and _is_inheritable(fd))


def _is_inheritable(fd: int) -> bool:
    try:
        return os.get_inheritable(fd)
    except OSError:  # the listing itself, closed by now
        return False
