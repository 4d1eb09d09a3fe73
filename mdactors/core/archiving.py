"""Which ended attempts are not in the archive yet."""

from __future__ import annotations

from events.attempts import AttemptEnded
from events.base import Record
from events.results import PerformanceRecorded
from mdactors.core.effects import Archive, Effect


class ArchivistCore:
    """Asks for each ended attempt to be archived, once in a life, until the archive says that it was."""

    def __init__(self) -> None:
        self.open: dict[tuple[int, int], tuple[AttemptEnded, int]] = {}
        self._asked: set[tuple[int, int]] = set()

    def apply(self, record: Record) -> None:
        """Fold one record."""
        match record.event:
            case AttemptEnded(job=job, attempt=attempt) as ended:
                self.open[job, attempt] = (ended, record.seq)
            case PerformanceRecorded(job=job, attempt=attempt):
                self.open.pop((job, attempt), None)
                self._asked.discard((job, attempt))
            case _:
                pass

    def decide(self, now: float) -> list[Effect]:
        """Return what is not archived and was not asked for yet."""
        new = [key for key in self.open if key not in self._asked]
        self._asked.update(new)
        return [Archive(*self.open[key]) for key in new]
