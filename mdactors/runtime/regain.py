"""What the event log has lost and the job folders still know, as facts with the times at which they became true.

A log that was cut off, or is lost altogether, is behind its folders. Each folder says what was asked for (`job.json`),
what every attempt was given (`attempts/N.launch.json`), and the substrate says what became of it; from there on the
platform goes its usual way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import structlog

from events.attempts import AttemptEnded, JobAssigned
from events.base import Event, Record
from events.devices import CapabilitiesProbed, ProbeRequested
from events.jobs import JobAccepted, JobRequeued
from events.platform import JobsRegained
from mdactors.core.capabilities import Matrix
from mdactors.core.lifecycle import Jobs, JobState
from mdactors.ports import Engine, Evidence, Found, Substrate
from mdactors.runtime.folders import Folders, JobFile, Launched
from mdactors.runtime.judging import judged
from mdactors.runtime.workshop import Offload

log = structlog.get_logger("mdactors.regain")

Fact = tuple[float, Event]
"""When it became true (seconds since the epoch), and what."""


class Regainer:
    """Compares job folders with the read models.

    Args:
        folders: where the jobs lie.
        jobs: what the log knows of them.
        matrix: what it knows of hardware.
        substrate: knows what became of attempts.
        engines: judge those that ended.
        offload: runs what blocks.
    """

    def __init__(
        self,
        *,
        folders: Folders,
        jobs: Jobs,
        matrix: Matrix,
        substrate: Substrate,
        engines: Mapping[str, Engine],
        offload: Offload[Any],
    ) -> None:
        self._folders = folders
        self._jobs = jobs
        self._matrix = matrix
        self._substrate = substrate
        self._engines = engines
        self._offload = offload

    async def records(self, numbers: Iterable[int], first: int, now: float) -> list[Record]:
        """Return the records to append, from the folders with these numbers; none where the log knows everything.

        Args:
            numbers: of all job folders that are there.
            first: sequence number of the first record.
            now: seconds since the epoch.
        """
        probes: list[Launched] = []
        told = [(job, await self._facts(job, self._folders.of(job), probes, now)) for job in self._behind(numbers)]
        regained = [(job, facts) for job, facts in told if facts]
        if not regained:
            return []
        facts = [
            (now, JobsRegained(jobs=tuple(job for job, _ in regained))),
            *self._hardware(probes, now),
            *(fact for _, some in regained for fact in some),
        ]
        return [Record(first + place, time, first if place else 0, event) for place, (time, event) in enumerate(facts)]

    def _behind(self, numbers: Iterable[int]) -> list[int]:
        """Return the jobs about which a folder may know more: for others the executor asks the substrate, as at every start."""
        there = set(numbers)
        queued = {job for job, row in self._jobs.rows.items() if row.state is JobState.QUEUED}
        return sorted(there.difference(self._jobs.numbers()) | (there & queued))

    async def _facts(self, job: int, folder: Path, probes: list[Launched], now: float) -> list[Fact]:
        row = self._jobs.rows.get(job)
        told = await self._offload(lambda: self._folders.told(folder))
        if told is None:
            log.warning(
                "a job folder is not in the log and can't be read; its number is not used again", folder=str(folder)
            )
            return []
        attempts = await self._offload(lambda: self._folders.launches(folder))
        known = len(row.attempts) if row else 0
        later = [facts async for facts in self._attempts(told, folder, attempts[known:], now)]
        probes += [launched for _, launched in attempts[known:]]
        return [*([] if row else _submitted(told)), *(fact for facts in later for fact in facts)]

    async def _attempts(
        self, told: JobFile, folder: Path, launches: Sequence[tuple[int, Launched]], now: float
    ) -> AsyncIterator[list[Fact]]:
        job = told.submitted.job
        for place, (number, launched) in enumerate(launches):
            found = await self._substrate.find(str(folder), number)
            if found.state == "absent":
                return  # it will be given out again under the same number
            yield _began(job, number, folder, launched, found)
            if found.state == "running":
                return
            ended = await self._offload(lambda: self._end(told, number, folder, launched, found))  # noqa: B023 - awaited
            when = found.exit.time if found.exit else now
            yield [(when, ended)]
            if place + 1 < len(launches):
                yield [(when, JobRequeued(job=job, attempt=number, reason="another attempt followed"))]

    def _end(self, told: JobFile, number: int, folder: Path, launched: Launched, found: Found) -> AttemptEnded:
        evidence = Evidence(spec=told.submitted.spec, attempt=number, exit=found.exit, stop_asked=False)
        verdict = judged(self._engines.get(launched.capability.engine), folder, evidence)
        return AttemptEnded(
            job=told.submitted.job,
            attempt=number,
            slot=launched.slot.id,
            outcome=verdict.outcome,
            exit=found.exit,
            figures=verdict.figures,
            diagnosis=verdict.diagnosis,
            warnings=verdict.warnings,
        )

    def _hardware(self, launches: Sequence[Launched], now: float) -> list[Fact]:
        """What the attempts ran on, where the log does not know it; looked at again at once."""
        unknown = [each for each in launches if each.capability.id not in self._matrix.ever]
        if not unknown:
            return []
        probed = CapabilitiesProbed(
            node=unknown[0].capability.node,
            devices=tuple({each.device.id: each.device for each in unknown}.values()),
            slots=tuple({each.slot.id: each.slot for each in unknown}.values()),
            capabilities=tuple({each.capability.id: each.capability for each in unknown}.values()),
        )
        return [(now, probed), (now, ProbeRequested(by="recovery"))]


def _submitted(told: JobFile) -> list[Fact]:
    facts: list[Fact] = [(told.submitted_at, told.submitted)]
    if told.candidates:
        facts.append((told.submitted_at, JobAccepted(job=told.submitted.job, candidates=told.candidates)))
    return facts


def _began(job: int, number: int, folder: Path, launched: Launched, found: Found) -> list[Fact]:
    assigned = JobAssigned(
        job=job,
        attempt=number,
        slot=launched.slot.id,
        device=launched.device.id,
        capability=launched.capability.id,
        cpus=launched.slot.cpus,
    )
    facts: list[Fact] = [(launched.assigned_at, assigned)]
    if found.handle is not None:
        facts.append((launched.assigned_at, launched.started(job, number, folder, found.handle)))
    return facts
