"""The waiting line: static keys, one heap for each set of devices that will do.

All waiting jobs age at the same rate, so the order among them never changes by waiting: effective priority at time t
is `priority + rate × (t - submitted)`, and `priority - rate × submitted` orders them the same way for ever. A decision
looks at the heads of the heaps, never at all jobs.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

CLASS_BONUS = {"interactive": 10.0, "normal": 0.0, "bulk": -10.0}
"""Priority that a class adds: an interactive job overtakes normal ones that have waited less than 10 / rate hours."""

Devices = frozenset[str]


def static_key(priority: float, priority_class: str, submitted: float, aging_per_hour: float) -> float:
    """Return the key that orders waiting jobs for ever, greater first (submitted: seconds since the epoch)."""
    return priority + CLASS_BONUS[priority_class] - aging_per_hour * submitted / 3600.0


class Queue:
    """Waiting jobs by the devices that will do for them."""

    def __init__(self) -> None:
        self._heaps: dict[Devices, list[tuple[float, int]]] = {}
        self._where: dict[int, tuple[Devices, float]] = {}

    def __len__(self) -> int:
        return len(self._where)

    def __contains__(self, job: int) -> bool:
        return job in self._where

    def waiting(self) -> list[tuple[int, float]]:
        """Return all jobs and their keys, first in line first."""
        return sorted(((job, key) for job, (_, key) in self._where.items()), key=lambda item: (-item[1], item[0]))

    def put(self, job: int, key: float, devices: Iterable[str]) -> None:
        """Add a job, or move it to other devices. With no devices it waits unseen until it is put again."""
        place = frozenset(devices)
        if self._where.get(job) == (place, key):
            return  # it is there already; a second entry would only make the heap grow
        self._where[job] = (place, key)
        heapq.heappush(self._heaps.setdefault(place, []), (-key, job))

    def drop(self, job: int) -> None:
        """Take a job out; unknown ones are ignored."""
        self._where.pop(job, None)

    def best(self, free: Devices) -> int | None:
        """Return the first job in line that one of the free devices will do for, or None; it stays in line."""
        heads = (head for place in list(self._heaps) if place & free and (head := self._head(place)))
        first = min(heads, default=None)
        return first[1] if first else None

    def _head(self, place: Devices) -> tuple[float, int] | None:
        """Return the heap's first live entry; entries of jobs that left or moved are thrown away on the way."""
        heap = self._heaps[place]
        while heap:
            key, job = heap[0]
            if self._where.get(job) == (place, -key):
                return heap[0]
            heapq.heappop(heap)
        del self._heaps[place]
        return None
