"""What the event log has lost and the job folders still know, as facts with the times at which they became true.

A log that was cut off, or is lost altogether, is behind its folders. Each folder says what was asked for (`job.json`),
what every attempt was given (`attempts/N.launch.json`), and the substrate says what became of it; from there on the
platform goes its usual way.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import structlog

from events.attempts import AttemptEnded, AttemptStarted, JobAssigned
from events.base import Event, Record
from events.devices import CapabilitiesProbed, ProbeRequested
from events.jobs import JobAccepted, JobRequeued
from events.outcome import Diagnosis
from events.platform import JobsRegained
from mdactors.core.capabilities import Matrix
from mdactors.core.lifecycle import ACTIVE, Job, Jobs, JobState
from mdactors.ports import Engine, Evidence, Found, Substrate, Verdict
from mdactors.runtime.folders import Folders, JobFile, Launched
from mdactors.runtime.judging import judged
from mdactors.runtime.workshop import Offload

log = structlog.get_logger("mdactors.regain")

BEHIND = ACTIVE | {JobState.SUBMITTED, JobState.QUEUED}
"""What the log may say of jobs whose folders know more."""
NOT_LAUNCHED = Diagnosis(
    kind="resource", code="not-launched", summary="it was never launched; another attempt followed", retry="same"
)

Fact = tuple[float, Event]
"""When it became true (seconds since the epoch), and what."""


class _Begun(NamedTuple):
    """An attempt of which a folder tells, and what became of it."""

    number: int
    launched: Launched
    found: Found

    def beginning(self, job: int, folder: Path) -> list[Fact]:
        """Return the facts by which it began."""
        launched = self.launched
        assigned = JobAssigned(
            job=job,
            attempt=self.number,
            slot=launched.slot.id,
            device=launched.device.id,
            capability=launched.capability.id,
            cpus=launched.slot.cpus,
        )
        facts: list[Fact] = [(launched.assigned_at, assigned)]
        if self.found.handle is not None:
            facts.append((launched.assigned_at, launched.started(job, self.number, folder, self.found.handle)))
        return facts


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
            *_running_last([fact for _, some in regained for fact in some]),
        ]
        return [Record(first + place, time, first if place else 0, event) for place, (time, event) in enumerate(facts)]

    def _behind(self, numbers: Iterable[int]) -> list[int]:
        """Return the jobs about which a folder may know more."""
        there = set(numbers)
        behind = {job for job, row in self._jobs.rows.items() if row.state in BEHIND}
        return sorted(there.difference(self._jobs.numbers()) | (there & behind))

    async def _facts(self, job: int, folder: Path, probes: list[Launched], now: float) -> list[Fact]:
        row = self._jobs.rows.get(job)
        told = await self._offload(lambda: self._folders.told(folder))
        if told is None or told.submitted.job != job:  # torn, or somebody's copy of another folder
            told = _logged(row) if row else None
        if told is None:
            log.warning(
                "a job folder is not in the log and does not tell of its job; its number is not used again",
                folder=str(folder),
            )
            return []
        launches = await self._offload(lambda: self._folders.launches(folder))
        begun = await self._begun(folder, launches[_ended(row) :])
        if row and row.state in ACTIVE and len(begun) < 2:
            return []  # what has become of the attempt that the log knows of is its executor's affair
        probes += [each.launched for each in begun]
        later = [
            fact for fact in await self._attempts(told, folder, begun, now) if row is None or _is_new(fact[1], row)
        ]
        return [*_accepted(told, row.state if row else None, began=bool(later)), *later]

    async def _begun(self, folder: Path, launches: Sequence[tuple[int, Launched]]) -> list[_Begun]:
        """Return what became of attempts, up to the last that was launched: one behind it is given out again, numbered alike."""
        begun = [_Begun(*each, await self._substrate.find(str(folder), each[0])) for each in launches]
        while begun and begun[-1].found.state == "absent":
            begun.pop()
        return begun

    async def _attempts(self, told: JobFile, folder: Path, begun: Sequence[_Begun], now: float) -> list[Fact]:
        facts: list[Fact] = []
        for place, each in enumerate(begun, 1):
            facts += each.beginning(told.submitted.job, folder)
            if each.found.state == "running":
                break
            followed = place < len(begun)
            ended = await self._offload(functools.partial(self._end, told, folder, each, followed=followed))
            gone_by = begun[place].launched.assigned_at if followed else now
            when = each.found.exit.time if each.found.exit else gone_by
            facts.append((when, ended))
            if followed:
                again = JobRequeued(job=ended.job, attempt=each.number, reason="another attempt followed")
                facts.append((when, again))
        return facts

    def _end(self, told: JobFile, folder: Path, begun: _Begun, *, followed: bool) -> AttemptEnded:
        found = begun.found
        evidence = Evidence(spec=told.submitted.spec, attempt=begun.number, exit=found.exit, stop_asked=False)
        if found.state == "absent":
            verdict = Verdict(outcome="failed", diagnosis=NOT_LAUNCHED)
        else:
            verdict = judged(self._engines.get(begun.launched.capability.engine), folder, evidence)
        if followed and verdict.outcome == "completed":  # the files are by now those of a later attempt
            verdict = Verdict(outcome="stopped" if found.exit else "vanished")
        return AttemptEnded(
            job=told.submitted.job,
            attempt=begun.number,
            slot=begun.launched.slot.id,
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


def _logged(row: Job) -> JobFile:
    """What the log says where the folder does not."""
    return JobFile(submitted_at=row.submitted_at, submitted=row.submitted, candidates=row.candidates)


def _accepted(told: JobFile, state: JobState | None, *, began: bool) -> list[Fact]:
    """What brings a job as far as the queue; None: the log does not know it."""
    facts: list[Fact] = []
    if state is None:
        facts.append((told.submitted_at, told.submitted))
    if state in {None, JobState.SUBMITTED} and (told.candidates or began):
        facts.append((told.submitted_at, JobAccepted(job=told.submitted.job, candidates=told.candidates)))
    return facts


def _running_last(facts: list[Fact]) -> list[Fact]:
    """Put the attempts that still run behind all others: the slots are theirs, whoever had them before."""
    ended = {(event.job, event.attempt) for _, event in facts if isinstance(event, AttemptEnded)}

    def runs(fact: Fact) -> bool:
        event = fact[1]
        return isinstance(event, JobAssigned | AttemptStarted) and (event.job, event.attempt) not in ended

    return sorted(facts, key=runs)


def _ended(row: Job | None) -> int:
    """Return how many attempts the log has the end of, and what followed from it."""
    return 0 if row is None else len(row.attempts) - (row.state in ACTIVE)


def _is_new(event: Any, row: Job) -> bool:  # noqa: ANN401 - whatever is about an attempt
    """Return whether the log lacks a fact."""
    if event.attempt > len(row.attempts):
        return True
    attempt = row.attempts[-1]
    match event:
        case JobAssigned():
            return False
        case AttemptStarted():
            return attempt.started is None and attempt.ended is None
        case AttemptEnded():
            return attempt.ended is None
        case _:
            return True
