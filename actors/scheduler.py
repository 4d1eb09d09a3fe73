"""Scheduler: decides when each job runs and on which slot, and what follows from each attempt's end."""

from __future__ import annotations

from actors.shell import PureShell
from mdactors.core.scheduling import SchedulerCore


class Scheduler(PureShell):
    """The shell of `SchedulerCore`.

    Args:
        assigns: give free slots to waiting jobs.
    """

    name = "scheduler"

    def __init__(self, *, assigns: bool = True) -> None:
        self._assigns = assigns

    def core(self) -> SchedulerCore:
        """Return a fresh core."""
        return SchedulerCore(assigns=self._assigns)
