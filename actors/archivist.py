"""Archivist: every ended attempt becomes one row of the ledger and one entry of the performance archive."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import structlog
from anyio.abc import TaskGroup

from actors.shell import PureShell
from events.base import Record
from events.results import Context, PerformanceRecorded
from mdactors.archive import perf
from mdactors.archive.ledger import Ledger
from mdactors.core.archiving import ArchivistCore
from mdactors.core.capabilities import Matrix
from mdactors.core.effects import Archive, Effect
from mdactors.core.lifecycle import Attempt, Job, Jobs
from mdactors.ports import Journal
from mdactors.runtime.bus import Bus
from mdactors.runtime.workshop import Offload

log = structlog.get_logger("mdactors.archivist")


class Archivist(PureShell):
    """The shell of `ArchivistCore`."""

    name = "archivist"

    def __init__(self, *, bus: Bus, jobs: Jobs, matrix: Matrix, ledger: Ledger, offload: Offload[Any]) -> None:
        self._bus = bus
        self._jobs = jobs
        self._matrix = matrix
        self._ledger = ledger
        self._offload = offload

    def core(self) -> ArchivistCore:
        """Return a fresh core."""
        return ArchivistCore()

    async def perform(self, effect: Effect, tasks: TaskGroup) -> None:
        """Write the row, then say that it is written; a row that is there already is not written twice."""
        assert isinstance(effect, Archive)
        ended = effect.ended
        job = self._jobs[ended.job]
        attempt = next(row for row in job.attempts if row.number == ended.attempt)
        context = self._context(job, attempt)
        await self._offload(lambda: self._ledger.append(job, attempt, context))
        await self._bus.publish(
            PerformanceRecorded(
                job=ended.job, attempt=ended.attempt, outcome=ended.outcome, context=context, figures=ended.figures
            ),
            cause=effect.cause,
        )

    def _context(self, job: Job, attempt: Attempt) -> Context:
        """Everything without which a figure would say nothing."""
        capability = self._matrix.ever[attempt.capability]
        device = self._matrix.devices.get(attempt.device)
        slot = self._matrix.slots.get(attempt.slot)
        cpus = attempt.cpus or (slot.cpus if slot else ())
        return Context(
            engine=capability.engine,
            version=capability.version,
            build=capability.build,
            backend=capability.backend,
            precision=capability.precision,
            device=attempt.device,
            device_name=device.name if device else "",
            driver=device.driver if device else "",
            node=capability.node,
            slot=attempt.slot,
            threads=attempt.figures.threads or (slot.threads if slot else 0),
            cpus=cpus,
            system=system_class(job, attempt, capability.engine),
            inputs_sha256=tuple(item.sha256 for item in job.submitted.inputs),
            added=attempt.added,
            neighbours=sum(other is not job for other in self._jobs.active.values()),
        )


def system_class(job: Job, attempt: Attempt, engine: str) -> str:
    """Return the system class that the engine read in the input; by the atoms of the run where it read none."""
    for examination in job.submitted.examinations:
        if examination.engine == engine and examination.system:
            return examination.system
    return f"{attempt.figures.atoms} atoms" if attempt.figures.atoms else ""


def restore_rows(archived: Iterable[Record], jobs: Jobs, ledger: Ledger) -> None:
    """Write recorded rows again where they did not reach the disk before the machine went down, or the file was lost."""
    for record in archived:
        event = record.event
        assert isinstance(event, PerformanceRecorded)
        job = jobs[event.job]
        attempt = next(row for row in job.attempts if row.number == event.attempt)
        try:
            ledger.append(job, attempt, event.context)
        except OSError as error:
            log.warning("a row of the ledger could not be written again", job=job.job, error=str(error))


async def export_archive(journal: Journal, path: Path) -> int:
    """Write `perf-archive.json` from the journal; return the number of entries."""
    records: list[Record] = [record async for record in journal.read(kind=PerformanceRecorded)]
    return perf.export(path, records)
