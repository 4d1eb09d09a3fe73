"""The running platform as the API and a foreground command see it. (Interface first; bodies follow.)"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Literal

from events.base import Record
from events.results import PairReconciled, ReconcileFailed
from mdactors.core.capabilities import Matrix
from mdactors.core.lifecycle import Jobs
from mdactors.ports import Submission


class Platform:
    """What can be asked of a running platform."""

    jobs: Jobs
    """Read model; folded before `publish` returns."""
    matrix: Matrix
    version: str
    node: str
    state: Path
    """The state folder."""
    started_at: float
    last_seq: int
    """Sequence number of the newest record."""
    closed: str
    """Why no new work is taken; empty: it is."""

    async def submit(self, items: Sequence[Any], *, base: Path, owner: str) -> list[Submission]:
        """Take the entries of a job file (plain data, as decoded); durable on return.

        Entries with a wrong shape or unusable files come back with refusals and without a number; the others are
        `JobSubmitted`. Relative paths refer to `base`.
        """
        raise NotImplementedError

    async def verdicts(self, submissions: Sequence[Submission]) -> list[Submission]:
        """Wait until each submission is accepted or rejected; return them with state, refusals and candidates."""
        raise NotImplementedError

    async def preview(self, items: Sequence[Any], *, base: Path, owner: str) -> list[Submission]:
        """Negotiate without starting anything: state `feasible` or `refused`."""
        raise NotImplementedError

    async def cancel(self, jobs: Sequence[int], *, by: str) -> None:
        """Ask for the end of jobs. Raises UnknownJobError before anything is asked."""
        raise NotImplementedError

    async def refresh(self, *, by: str) -> None:
        """Probe the node again and wait for the new matrix."""
        raise NotImplementedError

    async def report_device(
        self, device: str, condition: Literal["unhealthy", "recovered", "lost"], *, reason: str, source: str
    ) -> None:
        """Inject what somebody knows about a device. Raises InputError for an unknown device."""
        raise NotImplementedError

    async def reconcile(self, a: int, b: int, *, by: str) -> PairReconciled | ReconcileFailed:
        """Compare the energies of two completed jobs."""
        raise NotImplementedError

    def events(self, *, since: int, follow: bool) -> AsyncIterator[Record]:
        """Yield the records after `since`, then (follow) new ones and ephemeral ones as they happen, without a gap."""
        raise NotImplementedError

    async def finished(self, jobs: Sequence[int]) -> None:
        """Wait until all these jobs have ended."""
        raise NotImplementedError

    def metrics(self) -> tuple[bytes, str]:
        """Return the Prometheus text and its content type."""
        raise NotImplementedError
