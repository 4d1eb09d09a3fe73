"""What every core is: a fold and a decision."""

from __future__ import annotations

from typing import Protocol

from events.base import Record
from mdactors.core.effects import Effect


class Core(Protocol):
    """A pure state machine: `apply` folds facts, `decide` says what should be done now.

    The same `apply` serves live running, recovery and replay. `decide` looks at state, never at a single event; the
    shell folds what it has published before it decides again, so that nothing is asked for twice.
    """

    def apply(self, record: Record) -> None:
        """Fold one record; records arrive in sequence order, each exactly once."""

    def decide(self, now: float) -> list[Effect]:
        """Return what should be done at `now` (epoch seconds)."""
