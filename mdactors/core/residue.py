"""What a start still needs of the past: the records from which something may follow.

A job is closed when it has ended, its attempts are in the archive, no device is under suspicion because of it, and it
was not by it that one was last cleared of suspicion: what others did there before would count again. The facts of
closed jobs are not folded again, so that a log of years opens as fast as one of a day: a start folds the residue, then
everything after it, by the same `apply` as ever.
"""

from __future__ import annotations

from collections.abc import Iterable

from events.base import Record
from events.devices import CapabilitiesProbed, DeviceRecovered, DeviceReported, DeviceUnhealthy, ProbeRequested
from events.platform import PlatformStarted
from events.results import PairReconciled, ReconcileFailed, ReconcileRequested
from mdactors.core.health import HealthCore
from mdactors.core.lifecycle import TERMINAL, Job, Jobs

Subject = tuple[str | int, ...]
"""What only the newest record about counts."""


class Residue:
    """The residue, folded beside the read model.

    Args:
        jobs: the read model; it has folded each record before this does.
    """

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._health = HealthCore()
        self._of_job: dict[int, list[int]] = {}
        """Job that is not closed -> the records about it."""
        self._newest: dict[Subject, int] = {}
        self._probed: dict[str, int] = {}
        """Capability -> the newest record that has it."""
        self._ended: set[int] = set()
        """Jobs that may be closed by now."""

    def apply(self, record: Record) -> None:
        """Fold one record."""
        self._health.apply(record)
        job = getattr(record.event, "job", None)
        if job is not None:
            if job in self._jobs.rows:  # else it was closed before this life; nothing follows for it
                self._of_job.setdefault(job, []).append(record.seq)
                if self._jobs.rows[job].state in TERMINAL:
                    self._ended.add(job)
        else:
            self._note(record)

    def _note(self, record: Record) -> None:
        match record.event:
            case CapabilitiesProbed(node=node, capabilities=capabilities):
                self._newest["probed", node] = record.seq
                if self._newest.get(("look",), 0) <= record.cause:  # a later request is not answered by it
                    self._newest.pop(("look",), None)
                self._probed |= {row.id: record.seq for row in capabilities}
            case ProbeRequested():
                self._newest[("look",)] = record.seq
            case PlatformStarted():
                self._newest[("platform",)] = record.seq
            case DeviceUnhealthy(device=device):
                self._newest["unhealthy", device] = record.seq
            case DeviceRecovered(device=device):  # which lifts a suspicion for good, whatever comes later
                self._newest["recovered", device] = record.seq
            case DeviceReported(device=device):
                self._newest["reported", device] = record.seq
            case ReconcileRequested(a=a, b=b):
                self._newest["reconcile", a, b] = record.seq
            case PairReconciled(a=a, b=b) | ReconcileFailed(a=a, b=b):
                self._newest.pop(("reconcile", a, b), None)
            case _:
                pass

    def closable(self) -> list[Job]:
        """Return the jobs that are closed now and were not before."""
        suspects = {job for jobs in self._health.suspicion.values() for job in jobs}
        ended = [self._jobs.rows[job] for job in sorted(self._ended - suspects - {*self._health.lifted.values()})]
        return [row for row in ended if all(attempt.archived for attempt in row.attempts)]

    def forget(self, closed: Iterable[Job]) -> None:
        """These jobs are kept elsewhere now."""
        for row in closed:
            self._ended.discard(row.job)
            self._of_job.pop(row.job, None)

    def needed(self, *, without: Iterable[Job] = ()) -> list[int]:
        """Return the sequence numbers of all records that are still needed, ascending; `without` those of some jobs."""
        left_out = {row.job for row in without}
        of_jobs = (seq for job, records in self._of_job.items() if job not in left_out for seq in records)
        return sorted({*of_jobs, *self._newest.values(), *self._probed.values()})
