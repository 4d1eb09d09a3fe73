"""Logs of released versions, made by real runs: whatever changes, they are read as they were meant.

A recording is never edited. Where an event's shape changes, `events.upcast` learns the step, and these tests say
whether it was learned.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mdactors
from events.attempts import AttemptFound
from events.base import Record
from events.codec import decode, encode, name_of
from events.devices import DeviceRecovered, DeviceUnhealthy
from events.results import PairReconciled
from mdactors.core.archiving import ArchivistCore
from mdactors.core.base import Core
from mdactors.core.capabilities import Matrix
from mdactors.core.execution import ExecutorCore
from mdactors.core.health import HealthCore
from mdactors.core.lifecycle import Job, Jobs
from mdactors.core.negotiation import NegotiatorCore
from mdactors.core.probing import ProberCore
from mdactors.core.reconciling import ReconcilerCore
from mdactors.core.scheduling import SchedulerCore

HERE = Path(__file__).parent
RECORDINGS = sorted(HERE.glob("*.jsonl"))

GMX = "gromacs@2022.5/CPU/mixed@n0/cpu:0"
OPENMM = "openmm@8.6.1/CPU/mixed@n0/cpu:0"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def log_of(path: Path) -> list[Record]:
    return [
        Record(row["seq"], row["time"], row["cause"], decode(row["type"], row["version"], json.dumps(row["body"])))
        for row in rows(path)
    ]


def folded(path: Path) -> tuple[Jobs, Matrix]:
    jobs, matrix = Jobs(), Matrix()
    for record in log_of(path):
        jobs.apply(record)
        matrix.apply(record)
    return jobs, matrix


def test_there_is_a_recording_of_this_version() -> None:
    assert HERE / f"{mdactors.__version__}.jsonl" in RECORDINGS, "make one: see tests/journals/record.py"


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_every_record_is_read_in_its_place_and_can_be_written_anew(path: Path) -> None:
    log = log_of(path)
    assert [record.seq for record in log] == list(range(1, len(log) + 1))
    assert all(record.cause < record.seq for record in log)
    assert [record.time for record in log] == sorted(record.time for record in log)
    for record in log:
        assert decode(name_of(record.event), type(record.event).VERSION, encode(record.event)) == record.event


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_what_is_over_leaves_nothing_to_decide(path: Path) -> None:
    """Each recording ends with a platform that had nothing left to do."""
    log = log_of(path)
    slots = folded(path)[1].slots
    cores: list[Core] = [
        SchedulerCore(),
        NegotiatorCore(),
        HealthCore(),
        ArchivistCore(),
        ReconcilerCore(),
        ProberCore("n0"),
    ]
    for core in [*cores, *map(ExecutorCore, slots)]:
        for record in log:
            core.apply(record)
        assert core.decide(log[-1].time) == []


def test_0_1_0_ended_as_it_did() -> None:
    jobs, _ = folded(HERE / "0.1.0.jsonl")
    assert {row.submitted.spec.name: str(row.state) for row in jobs.rows.values()} == {
        "argon-gromacs": "completed",
        "argon-openmm": "completed",
        "refused": "rejected",
        "long": "completed",
        "amber": "completed",
        "blows-up": "failed",
        "cancelled-waiting": "cancelled",
        "cancelled-running": "cancelled",
    }
    assert {str(state): count for state, count in jobs.counts.items() if count} == {
        "rejected": 1,
        "completed": 4,
        "failed": 1,
        "cancelled": 2,
    }
    assert jobs.active == {}
    assert all(attempt.archived for row in jobs.rows.values() for attempt in row.attempts)


def test_0_1_0_remembers_a_job_that_moved_on_from_its_checkpoint_and_outlived_the_platform() -> None:
    jobs, _ = folded(HERE / "0.1.0.jsonl")
    row = named(jobs, "long")
    first, second = row.attempts
    assert (first.outcome, first.stop_reason, second.outcome) == ("stopped", "device", "completed")
    assert first.figures.steps_done is not None
    assert 0 < second.from_step <= first.figures.steps_done < 6000 == second.figures.steps_done
    assert row.failures == 0
    assert row.submitted.spec.labels == {"purpose": "survives"}
    found = [record.event for record in log_of(HERE / "0.1.0.jsonl") if isinstance(record.event, AttemptFound)]
    assert [(each.job, each.attempt, each.state) for each in found] == [(row.job, 2, "running")]


def test_0_1_0_remembers_why() -> None:
    jobs, _ = folded(HERE / "0.1.0.jsonl")
    assert {refusal.clause for refusal in named(jobs, "refused").refusals} >= {
        "precision",
        "platform",
        "engine",
        "absent",
    }
    assert all(refusal.text() for refusal in named(jobs, "refused").refusals)
    diagnosis = named(jobs, "blows-up").diagnosis
    assert diagnosis is not None
    assert (diagnosis.kind, diagnosis.code, diagnosis.retry) == ("numerics", "nan", "no")


def test_0_1_0_remembers_what_it_ran_on() -> None:
    jobs, matrix = folded(HERE / "0.1.0.jsonl")
    assert list(matrix.slots) == ["cpu:0/0", "cpu:0/1"]
    assert (matrix.devices["cpu:0"].index, matrix.unhealthy) == (0, {})
    assert {GMX, OPENMM} <= set(matrix.capabilities)
    assert matrix.capabilities[GMX].limits["tpx_version"] == 127
    assert {row.engine for row in matrix.absences} == {"gromacs", "openmm"}
    assert {named(jobs, name).attempts[0].capability for name in ("argon-gromacs", "amber")} == {GMX, OPENMM}


def test_0_1_0_remembers_what_was_compared_and_which_device_was_sick() -> None:
    log = [record.event for record in log_of(HERE / "0.1.0.jsonl")]
    (pair,) = [event for event in log if isinstance(event, PairReconciled)]
    assert (pair.pair, pair.verdict) == ("gromacs-mixed:openmm-mixed", "pass")
    assert [type(event) for event in log if isinstance(event, DeviceUnhealthy | DeviceRecovered)] == [
        DeviceUnhealthy,
        DeviceRecovered,
    ]


def named(jobs: Jobs, name: str) -> Job:
    (row,) = [row for row in jobs.rows.values() if row.submitted.spec.name == name]
    return row
