"""Stories in which the simulation, or a thought about it, once found the platform wanting; kept so that it stays mended."""

from __future__ import annotations

import msgspec

from events.attempts import AttemptEnded, AttemptFound, AttemptStarted, AttemptStopRequested, JobAssigned
from events.base import Event
from events.jobs import JobCancelRequested, JobCompleted, JobFailed, JobRequeued
from events.platform import JobsRegained
from mdactors.config import PolicySettings, SlotSettings
from tests.simulation.invariants import Witness
from tests.simulation.scenario import Cancel, Refresh, Restart, Scenario, Submit, Trouble, Wish, cpu, gpu
from tests.simulation.script import Fate, Script
from tests.simulation.substrate import Delays
from tests.simulation.world import simulate

LONG = Script(steps=2000)
SHORT = Script(steps=500)


def told(scenario: Scenario) -> Witness:
    """Return what was seen of a story in which nothing goes wrong that should not."""
    seen = simulate(scenario)
    assert seen.problems == []
    assert seen.witness is not None
    return seen.witness


def submitted(*scripts: Script) -> tuple[Submit, ...]:
    return (Submit(at=1.0, wishes=tuple(Wish(script=script) for script in scripts)),)


def facts(seen: Witness, kind: type[Event], job: int) -> list[Event]:
    return [event for event in seen.of(kind) if event.job == job]


def moment_of(scenario: Scenario, what: str) -> int:
    """Return the number of the first moment of that name in the first life."""
    lines = [line.partition("moment ")[2] for line in simulate(scenario, trace=True).trace]
    return next(int(line.partition(":")[0]) for line in lines if line.endswith(f": {what}"))


def test_a_disk_that_is_full_for_a_while_costs_no_job_an_attempt() -> None:
    seen = told(Scenario(devices=(cpu(1),), deeds=submitted(SHORT, SHORT), files_full=((40.0, 80.0),)))
    assert [len(facts(seen, AttemptEnded, job)) for job in (1, 2)] == [1, 1]
    assert len(list(seen.of(JobCompleted))) == 2


def test_a_row_of_the_ledger_that_a_loss_of_power_takes_is_written_again() -> None:
    for seed in range(3):
        power = Trouble(at=80.0, kind="power")
        seen = told(Scenario(seed=seed, devices=(cpu(2),), deeds=submitted(SHORT, LONG), troubles=(power,)))
        assert [(row["job"], row["outcome"]) for row in seen.ledger] == [
            ("1", "completed"),
            ("2", "vanished"),
            ("2", "completed"),
        ]


def test_slots_that_are_laid_out_anew_share_no_core_with_what_still_runs() -> None:
    seen = told(
        Scenario(
            devices=(cpu(2),),
            slots=(SlotSettings(threads=1), SlotSettings(threads=2)),
            deeds=(*submitted(SHORT, LONG, SHORT), Restart(at=10.0), Refresh(at=20.0)),
        )
    )
    assert [event.cpus for event in seen.of(AttemptStarted)] == [(0,), (1,), (0, 1)]
    assert [(type(event), event.job) for event in seen.of(AttemptEnded, AttemptStarted)][-3:] == [
        (AttemptEnded, 2),
        (AttemptStarted, 3),
        (AttemptEnded, 3),
    ]


def test_a_job_whose_slot_is_gone_before_it_starts_goes_on_in_one_that_exists() -> None:
    story = Scenario(
        devices=(cpu(2),),
        slots=(SlotSettings(count=2), SlotSettings(count=2), SlotSettings(count=1)),
        deeds=submitted(SHORT, SHORT),
        policies=(PolicySettings(probe_ttl_seconds=30.0),),
    )
    assigned = moment_of(story, "after commit: JobAssigned JobAssigned")
    seen = told(msgspec.structs.replace(story, deaths=(assigned, 1), away=(60.0,), between=("work", "look")))
    assert [getattr(event, "slot", "") for event in facts(seen, JobAssigned, 2)] == ["cpu:0/1", "cpu:0/0"]
    assert len(list(seen.of(JobCompleted))) == 2


def test_a_job_that_comes_back_is_not_overtaken_by_one_behind_it() -> None:
    seen = told(Scenario(devices=(cpu(1),), deeds=submitted(Script(fates=(Fate("files", 500),)), SHORT)))
    assert [event.job for event in seen.of(JobAssigned)] == [1, 1, 2]


def test_a_life_decides_by_its_own_policy_from_the_first_decision_on() -> None:
    story = Scenario(
        devices=(cpu(1),),
        deeds=submitted(Script(fates=(Fate("files", 500),))),
        policies=(PolicySettings(retries=1), PolicySettings(retries=0)),
    )
    ended = moment_of(story, "after commit: AttemptEnded")
    assert [type(event) for event in told(story).of(JobRequeued, JobFailed)] == [JobRequeued]
    again = told(msgspec.structs.replace(story, deaths=(ended,)))
    assert [type(event) for event in again.of(JobRequeued, JobFailed)] == [JobFailed]


def test_a_log_that_is_lost_while_jobs_run_is_made_again_and_nothing_runs_twice() -> None:
    crash = Trouble(at=50.0, kind="crash")
    jobs = submitted(LONG, SHORT, SHORT, SHORT)
    seen = told(Scenario(devices=(cpu(2),), deeds=jobs, troubles=(crash,), torn=(0.0,)))
    assert seen.records[0].event == JobsRegained(jobs=(1, 2))
    assert sorted(key for key, _ in seen.processes()) == [(1, 1), (2, 1)]
    assert [event.job for event in seen.of(JobCompleted)] == [2, 1]


def test_a_log_that_is_cut_off_anywhere_gets_its_end_from_the_job_folders() -> None:
    story = Scenario(
        devices=(cpu(2),),
        deeds=submitted(LONG, Script(fates=(Fate("files", 250),)), SHORT),
        troubles=(Trouble(at=70.0, kind="crash"),),
    )
    whole = told(story)
    for left in range(len(whole.records)):
        seen = told(msgspec.structs.replace(story, torn=(left / len(whole.records),)))
        assert seen.regainable
        assert {*seen.regainable} <= {event.job for event in seen.of(JobCompleted)}


def test_a_stop_is_caused_by_the_wish_that_it_fulfils_whatever_is_found_in_the_same_instant() -> None:
    fails = Script(fates=(Fate("numerics", 500),))
    story = Scenario(
        devices=(cpu(2),),
        deeds=(*submitted(fails, LONG), Cancel(at=58.0, job=1)),
        delays=Delays(find=0.5, commit=1.0),
    )
    ended = moment_of(story, "after commit: AttemptEnded")
    seen = told(msgspec.structs.replace(story, deaths=(ended,)))
    stop = next(record for record in seen.records if isinstance(record.event, AttemptStopRequested))
    wish, found = seen.records[stop.cause - 1], seen.records[stop.cause]
    assert isinstance(wish.event, JobCancelRequested)
    assert isinstance(found.event, AttemptFound)


def test_the_causes_of_a_second_attempt_lead_back_to_the_device_that_failed() -> None:
    seen = told(
        Scenario(
            devices=(cpu(1), gpu(0)),
            deeds=submitted(LONG),
            troubles=(Trouble(at=30.0, kind="lose", device="cuda:0"),),
        )
    )
    last = facts(seen, JobAssigned, 1)[-1]
    chain = [record for record in seen.records if record.event is last]
    while chain[-1].cause:
        chain.append(seen.records[chain[-1].cause - 1])
    assert [type(record.event).__name__ for record in chain] == [
        "JobAssigned",
        "JobRequeued",
        "AttemptEnded",
        "AttemptStopRequested",
        "DeviceUnhealthy",
        "DeviceReported",
    ]
