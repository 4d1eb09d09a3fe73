"""Each invariant can fail: a log that was tampered with, and a platform that was broken, are both found out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import msgspec
import pytest

from actors.healthwatcher import HealthWatcher
from events.attempts import AttemptEnded, AttemptStarted, AttemptStopRequested, JobAssigned
from events.base import Event, Record
from events.devices import DeviceReported, DeviceUnhealthy
from events.jobs import JobAccepted, JobCancelRequested, JobCompleted, JobFailed, JobRequeued, JobSubmitted
from events.outcome import Diagnosis
from events.platform import ActorRestarted, PlatformStarted, Policy
from events.results import PerformanceRecorded, ReconcileRequested
from mdactors.core.archiving import ArchivistCore
from mdactors.core.lifecycle import Jobs
from mdactors.core.queue import Queue
from mdactors.core.scheduling import SchedulerCore
from mdactors.ports import Found, Situation
from tests.simulation import invariants
from tests.simulation.engine import SimulatedEngine
from tests.simulation.invariants import INVARIANTS, Invariant, Witness, drift
from tests.simulation.journal import SyncedJournal
from tests.simulation.scenario import Scenario, Submit, Trouble, Wish, cpu, gpu
from tests.simulation.script import Fate, Script
from tests.simulation.substrate import SimulatedSubstrate
from tests.simulation.test_crashes import STORY
from tests.simulation.world import simulate

Change = Callable[[list[Record]], list[Record]]


@pytest.fixture(scope="module")
def seen() -> Witness:
    witness = simulate(STORY).witness
    assert witness is not None
    return witness


# ---------------------------------------------------------------- logs that were tampered with


def without(kind: type[Event]) -> Change:
    """The first fact of a kind was never recorded."""
    return at_first(kind, lambda records, place: records[:place] + records[place + 1 :])


def twice(kind: type[Event]) -> Change:
    """The first fact of a kind was recorded twice."""
    return at_first(kind, lambda records, place: records[: place + 1] + records[place:])


def other(kind: type[Event], **fields: Any) -> Change:
    """The first fact of a kind said something else."""

    def change(records: list[Record], place: int) -> list[Record]:
        event = msgspec.structs.replace(records[place].event, **fields)
        return [*records[:place], msgspec.structs.replace(records[place], event=event), *records[place + 1 :]]

    return at_first(kind, change)


def late(kind: type[Event]) -> Change:
    """The first fact of a kind, and all that followed it, were recorded a minute later."""

    def change(records: list[Record], place: int) -> list[Record]:
        moved = [msgspec.structs.replace(record, time=record.time + 60.0) for record in records[place:]]
        return records[:place] + moved

    return at_first(kind, change)


def after(kind: type[Event], event: Event) -> Change:
    """Something else was recorded after the first fact of a kind."""

    def change(records: list[Record], place: int) -> list[Record]:
        added = msgspec.structs.replace(records[place], event=event)
        return [*records[: place + 1], added, *records[place + 1 :]]

    return at_first(kind, change)


def at_first(kind: type[Event], change: Callable[[list[Record], int], list[Record]]) -> Change:
    return lambda records: change(records, [type(record.event) for record in records].index(kind))


def with_record(place: int, **fields: Any) -> Change:
    """A record has another number, time or cause."""
    return lambda records: [
        msgspec.structs.replace(record, **fields) if record.seq == place else record for record in records
    ]


def more_urgent(job: int) -> Change:
    """A job had had a greater priority than all others."""

    def urgent(event: Event) -> Event:
        if isinstance(event, JobSubmitted) and event.job == job:
            return msgspec.structs.replace(event, spec=msgspec.structs.replace(event.spec, priority=100.0))
        return event

    return lambda records: [msgspec.structs.replace(record, event=urgent(record.event)) for record in records]


FULL = Diagnosis(kind="files", code="folder-unusable", summary="no space left on device", retry="same")
UNJUDGED = Diagnosis(kind="unknown", code="unjudged", summary="KeyError: 'step'")
ELSEWHERE = Diagnosis(kind="visibility", code="no-device", summary="no device is seen", retry="other")

TAMPERED: list[tuple[Invariant, Change]] = [
    (invariants.the_log_is_a_total_order, without(JobAssigned)),
    (invariants.the_log_is_a_total_order, twice(JobAssigned)),
    (invariants.the_log_is_a_total_order, with_record(5, cause=6)),
    (invariants.the_log_is_a_total_order, with_record(5, time=0.0)),
    (invariants.causes_say_why, with_record(13, cause=9)),
    (invariants.causes_say_why, with_record(13, cause=3)),
    (invariants.the_log_can_be_folded, twice(JobCompleted)),
    (invariants.nothing_raises, other(AttemptEnded, diagnosis=UNJUDGED)),
    (invariants.nothing_raises, after(JobAssigned, ActorRestarted(actor="", error="", at_seq=7, restarts=1))),
    (invariants.no_job_is_lost, without(JobSubmitted)),
    (invariants.no_job_is_lost, twice(JobSubmitted)),
    (invariants.every_job_ends_once, without(JobCompleted)),
    (invariants.every_job_ends_once, twice(JobFailed)),
    (invariants.every_attempt_ends_once, without(AttemptEnded)),
    (invariants.every_attempt_ends_once, twice(AttemptStarted)),
    (invariants.every_attempt_ends_once, without(JobAssigned)),
    (invariants.the_log_tells_what_happened, other(AttemptStarted, from_step=1)),
    (invariants.the_log_tells_what_happened, other(AttemptStarted, attempt=9)),
    (invariants.the_log_tells_what_happened, other(AttemptEnded, exit=None)),
    (invariants.the_log_tells_what_happened, without(AttemptEnded)),
    (invariants.a_job_is_completed_by_its_last_step, without(JobCompleted)),
    (invariants.a_job_is_completed_by_its_last_step, other(JobCompleted, job=4)),
    (invariants.every_end_has_its_result, without(PerformanceRecorded)),
    (invariants.every_end_has_its_result, twice(PerformanceRecorded)),
    (invariants.only_what_was_asked_to_stop_is_stopped, without(AttemptStopRequested)),
    (invariants.cancelled_means_asked, without(JobCancelRequested)),
    (invariants.a_full_disk_costs_no_job, other(AttemptEnded, diagnosis=FULL)),
    (invariants.retries_are_bounded, other(AttemptEnded, outcome="failed")),
    (invariants.retries_are_bounded, other(AttemptEnded, outcome="failed", diagnosis=ELSEWHERE)),
    (invariants.retries_are_bounded, other(JobRequeued, avoid="cpu:0")),
    (invariants.retries_are_bounded, other(PlatformStarted, policy=Policy(retries=0))),
    (invariants.nobody_is_overtaken, more_urgent(4)),
    (invariants.nothing_waits_in_calm, late(JobAccepted)),
    (invariants.nothing_waits_in_calm, late(JobAssigned)),
    (invariants.nothing_waits_in_calm, late(AttemptStarted)),
    (invariants.nothing_waits_in_calm, late(AttemptEnded)),
    (invariants.nothing_waits_in_calm, late(JobRequeued)),
    (invariants.failed_devices_are_left, after(AttemptStarted, DeviceUnhealthy(device="cpu:0", reason="hot"))),
    (invariants.reports_are_heard, late(DeviceReported)),
    (invariants.questions_are_answered, after(JobAssigned, ReconcileRequested(a=1, b=2))),
]


@pytest.mark.parametrize(
    ("invariant", "change"), TAMPERED, ids=[f"{row[0].__name__}-{place}" for place, row in enumerate(TAMPERED)]
)
def test_a_log_that_was_tampered_with_is_found_out(seen: Witness, invariant: Invariant, change: Change) -> None:
    assert list(invariant(seen)) == []
    assert list(invariant(msgspec.structs.replace(seen, records=change(seen.records)))) != []


def test_a_live_read_model_that_missed_a_record_is_found_out(seen: Witness) -> None:
    live = Jobs()
    for record in seen.records[:-2]:
        live.apply(record)
    assert drift(live, seen.records[:-2]) == []
    assert drift(live, seen.records) == ["the live read model differs from the log's in job 1"]


def test_a_disturbed_time_is_no_calm(seen: Witness) -> None:
    made = msgspec.structs.replace(seen, epoch=1000.0, spans=((0.0, 100.0), (200.0, 400.0)), full=((250.0, 300.0),))
    assert made.calm(1000.0, 1100.0) == 100.0
    assert made.calm(1050.0, 1220.0) == 50.0
    assert made.calm(1100.0, 1200.0) <= 0.0
    assert made.calm(1210.0, 1400.0) == 400.0 - 300.0 - invariants.BACKOFF
    assert made.calm(1260.0, 1290.0) <= 0.0


# ---------------------------------------------------------------- platforms that were broken


def last_in_line(self: Queue, free: frozenset[str]) -> int | None:
    return max((job for job, (place, _) in self._where.items() if place & free), default=None)


def retried_for_ever(ended: AttemptEnded, **known: Any) -> Event:
    done = ended.outcome == "completed"
    again = JobRequeued(job=ended.job, attempt=ended.attempt, reason="")
    return JobCompleted(job=ended.job, attempt=ended.attempt) if done else again


async def never_there(self: SimulatedSubstrate, folder: str, attempt: int) -> Found:
    return Found(state="absent")


async def deaf(self: HealthWatcher) -> None:
    return


class Forgetful(SyncedJournal):
    """Says for a while that things are durable, and keeps none."""

    async def append(self, records: Sequence[Record]) -> None:
        if not 50.0 < self._clock.monotonic() < 65.0:
            await super().append(records)


def wishes(*scripts: Script) -> Scenario:
    return Scenario(
        devices=(cpu(1), gpu(0)), deeds=(Submit(at=1.0, wishes=tuple(map(wish_of, scripts))),), horizon=2000.0
    )


def wish_of(script: Script) -> Wish:
    return Wish(script=script)


LONG = Script(steps=5000)
FAILS = Script(fates=(Fate(end="numerics", step=500),))
STAYS_ON_A_LOST_DEVICE = msgspec.structs.replace(
    wishes(LONG), troubles=(Trouble(at=60.0, kind="lose", device="cuda:0"),)
)
DIES = msgspec.structs.replace(wishes(LONG, LONG), troubles=(Trouble(at=60.0, kind="crash"),))
WAS_TOLD = msgspec.structs.replace(DIES, deeds=(*DIES.deeds, Submit(at=55.0, wishes=(Wish(),))))
WAS_TOLD_THE_SAME = msgspec.structs.replace(DIES, deeds=(*WAS_TOLD.deeds, Submit(at=66.0, wishes=(Wish(),))))
IS_KILLED = msgspec.structs.replace(wishes(LONG), troubles=(Trouble(at=60.0, kind="kill"),))

BROKEN: list[tuple[Invariant, Scenario, Any]] = [
    (invariants.nobody_is_overtaken, wishes(LONG, *[Script()] * 4), mock.patch.object(Queue, "best", last_in_line)),
    (invariants.nothing_waits_in_calm, wishes(LONG), mock.patch.object(SchedulerCore, "_free_slots", return_value={})),
    (invariants.every_job_ends_once, wishes(LONG), mock.patch.object(SchedulerCore, "_free_slots", return_value={})),
    (
        invariants.failed_devices_are_left,
        STAYS_ON_A_LOST_DEVICE,
        mock.patch.object(SchedulerCore, "_stop", return_value=None),
    ),
    (invariants.reports_are_heard, STAYS_ON_A_LOST_DEVICE, mock.patch.object(HealthWatcher, "_listen", deaf)),
    (
        invariants.retries_are_bounded,
        wishes(FAILS),
        mock.patch("mdactors.core.scheduling.consequence", retried_for_ever),
    ),
    (invariants.the_machine_was_well_treated, DIES, mock.patch.object(SimulatedSubstrate, "find", never_there)),
    (
        invariants.the_machine_was_well_treated,
        IS_KILLED,
        mock.patch.object(SimulatedEngine, "survey", return_value=Situation()),
    ),
    (invariants.no_job_is_lost, WAS_TOLD, mock.patch("tests.simulation.world.SyncedJournal", Forgetful)),
    (invariants.no_job_is_lost, WAS_TOLD_THE_SAME, mock.patch("tests.simulation.world.SyncedJournal", Forgetful)),
    (
        invariants.every_end_has_its_result,
        wishes(LONG),
        mock.patch.object(ArchivistCore, "decide", return_value=[]),
    ),
]


@pytest.mark.parametrize(
    ("invariant", "scenario", "breakage"),
    BROKEN,
    ids=[f"{row[0].__name__}-{place}" for place, row in enumerate(BROKEN)],
)
def test_a_platform_that_was_broken_is_found_out(invariant: Invariant, scenario: Scenario, breakage: Any) -> None:
    assert simulate(scenario).problems == []
    with breakage:
        found = simulate(scenario)
    assert found.witness is not None, found.problems
    assert list(invariant(found.witness)) != []


def test_every_invariant_was_seen_to_fail() -> None:
    assert {row[0] for row in TAMPERED} | {row[0] for row in BROKEN} == set(INVARIANTS)
