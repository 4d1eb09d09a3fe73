"""Which comparisons were asked for and are not answered."""

from __future__ import annotations

from events.base import Record
from events.results import PairReconciled, ReconcileFailed, ReconcileRequested
from mdactors.core.effects import Compare, Effect


class ReconcilerCore:
    """Asks for each wanted comparison once in a life, until it is answered."""

    def __init__(self) -> None:
        self.open: dict[tuple[int, int], int] = {}
        """The two jobs -> the record that asked."""
        self._asked: set[tuple[int, int]] = set()

    def apply(self, record: Record) -> None:
        """Fold one record."""
        match record.event:
            case ReconcileRequested(a=a, b=b):
                self.open[a, b] = record.seq
            case PairReconciled(a=a, b=b) | ReconcileFailed(a=a, b=b):
                self.open.pop((a, b), None)
                self._asked.discard((a, b))
            case _:
                pass

    def decide(self, now: float) -> list[Effect]:
        """Return what is not answered and was not asked for yet."""
        new = [key for key in self.open if key not in self._asked]
        self._asked.update(new)
        return [Compare(*key, self.open[key]) for key in new]
