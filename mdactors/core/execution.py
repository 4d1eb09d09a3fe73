"""What one slot has to see through."""

from __future__ import annotations

from events.attempts import AttemptEnded, AttemptStopRequested, JobAssigned
from events.base import Record
from mdactors.core.effects import Effect, RunAttempt, StopAttempt

Key = tuple[int, int]
"""Job and attempt."""


class ExecutorCore:
    """Of one slot: every assignment is seen through to its end, and stopped when that is asked for.

    After a restart the same assignments are asked for again; what has become of them meanwhile is for the shell to
    find out, so that a first start and a recovery are one path.
    """

    def __init__(self, slot: str) -> None:
        self.slot = slot
        self.open: dict[Key, tuple[JobAssigned, int]] = {}
        """Assignments that have not ended, with the record that made them."""
        self.stops: dict[Key, AttemptStopRequested] = {}
        self._asked: set[Key | tuple[int, int, str]] = set()

    def apply(self, record: Record) -> None:
        """Fold one record; other slots' attempts are ignored."""
        match record.event:
            case JobAssigned(job=job, attempt=attempt, slot=self.slot) as assigned:
                self.open[job, attempt] = (assigned, record.seq)
            case AttemptStopRequested(job=job, attempt=attempt) as stop if (job, attempt) in self.open:
                self.stops[job, attempt] = stop
            case AttemptEnded(job=job, attempt=attempt) if (job, attempt) in self.open:
                self._forget((job, attempt))
            case _:
                pass

    def decide(self, now: float) -> list[Effect]:
        """Return what is open and was not asked for in this life yet."""
        effects: list[Effect] = []
        for key, (assigned, seq) in self.open.items():
            if key not in self._asked:
                self._asked.add(key)
                effects.append(RunAttempt(assigned, seq))
        for (job, attempt), stop in self.stops.items():
            if (job, attempt, "stop") not in self._asked:
                self._asked.add((job, attempt, "stop"))
                effects.append(StopAttempt(job, attempt, stop.reason))
        return effects

    def _forget(self, key: Key) -> None:
        del self.open[key]
        self.stops.pop(key, None)
        self._asked -= {key, (*key, "stop")}
