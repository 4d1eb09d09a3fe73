"""The CPU masks of an attempt's threads, for those who check that a slot's binding holds."""

from __future__ import annotations

import os
from collections.abc import Iterator

from events.attempts import Handle
from mdactors.substrates.local.affinity import parse_cpu_list
from mdactors.substrates.local.processes import exists, session

_FIELD = b"Cpus_allowed_list:"


def masks(handle: Handle) -> tuple[tuple[int, ...], ...]:
    """Return the distinct masks of all threads in the session, sorted; none where the process has ended."""
    if not exists(handle):
        return ()
    return tuple(sorted({mask for stat in session(handle.pid) for mask in _masks_of(stat.pid)}))


def _masks_of(pid: int) -> Iterator[tuple[int, ...]]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        if mask := _mask(f"/proc/{pid}/task/{thread}/status"):
            yield mask


def _mask(path: str) -> tuple[int, ...]:
    try:
        with open(path, "rb") as file:
            line = next(line for line in file if line.startswith(_FIELD))
    except (OSError, StopIteration):
        return ()
    return parse_cpu_list(line.removeprefix(_FIELD).decode("ascii"))
