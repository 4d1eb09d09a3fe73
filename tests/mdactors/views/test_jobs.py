"""Jobs as rows."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from events.attempts import AttemptEnded, AttemptStopRequested
from events.devices import DeviceRecovered, DeviceUnhealthy
from events.jobs import JobCancelled, JobCancelRequested, JobRequeued
from events.outcome import ExitRecord
from mdactors.core.lifecycle import JobState
from mdactors.views.jobs import JobDetail, JobRow, job_detail, job_page, job_row, job_span, name_of, reason
from tests.mdactors.api.world import GROMACS, World, populated


@pytest.fixture
def crowd(tmp_path: Path) -> World:
    return populated(tmp_path)


def row(world: World, job: int) -> JobRow:
    return job_row(world.jobs[job], world.matrix)


def why(world: World, job: int) -> str:
    return reason(world.jobs[job], world.matrix)


def test_a_running_job_shows_its_progress(crowd: World) -> None:
    shown = row(crowd, 2)
    assert (shown.engine, shown.backend, shown.precision) == ("gromacs", "CPU", "mixed")
    assert (shown.step, shown.steps_asked, shown.ns_per_day, shown.seconds_left) == (1250, 5000, 100.0, 65.0)
    assert (shown.slot, shown.device, shown.attempt) == ("cpu:0/1", "cpu:0", 1)
    assert shown.started_at is not None
    assert shown.wait_seconds == 2.0


def test_no_job_has_waited_less_than_nothing_where_the_clock_was_set_back(crowd: World) -> None:
    crowd.jobs[2].submitted_at += 3600.0
    assert row(crowd, 2).wait_seconds == 0.0


def test_an_ended_job_shows_what_was_measured(crowd: World) -> None:
    shown = row(crowd, 1)
    assert (shown.state, shown.step, shown.ns_per_day, shown.seconds_left) == ("completed", 5000, 123.4, None)
    assert shown.ended_at is not None


def test_a_waiting_job_shows_what_it_asks_for(crowd: World) -> None:
    number = crowd.queue(backend_pref="openmm", precision="any")
    shown = row(crowd, number)
    assert (shown.engine, shown.precision, shown.attempt, shown.slot) == ("openmm", "any", 0, "")
    assert (shown.step, shown.started_at, shown.wait_seconds) == (None, None, None)


def test_a_capability_that_is_gone_keeps_its_name(crowd: World) -> None:
    crowd.matrix.capabilities.pop(GROMACS)
    assert row(crowd, 1).engine == "gromacs"
    crowd.matrix.ever.clear()
    assert row(crowd, 1).engine == ""


def test_reasons(crowd: World) -> None:
    assert [why(crowd, job) for job in (1, 2, 3)] == ["", "", ""]
    assert why(crowd, 4).startswith(f"{GROMACS}: the job asks for double precision")
    assert why(crowd, 5) == "constraints failed"
    crowd.append(AttemptStopRequested(job=2, attempt=1, reason="device"))
    crowd.append(AttemptEnded(job=2, attempt=1, slot="cpu:0/1", outcome="stopped"))
    crowd.append(JobRequeued(job=2, attempt=1, reason="device"))
    assert why(crowd, 2) == "attempt 1 stopped: device"


def test_a_job_that_can_have_none_of_its_places_says_why(crowd: World) -> None:
    crowd.append(DeviceUnhealthy(device="cpu:0", reason="fan"))
    assert why(crowd, 3) == "waits: device cpu:0 is unhealthy: fan"
    crowd.append(DeviceRecovered(device="cpu:0"))
    assert why(crowd, 3) == ""
    crowd.jobs[3].avoid = frozenset({"cpu:0"})
    assert why(crowd, 3) == "waits: it failed on device cpu:0, and there is no other"
    crowd.matrix.capabilities.pop(GROMACS)
    assert why(crowd, 3) == f"waits: {GROMACS} is gone"


def test_a_job_whose_end_is_asked_for_says_so_at_once(crowd: World) -> None:
    for job in (2, 3):
        crowd.append(JobCancelRequested(job=job, by="ada"))
        assert why(crowd, job) == "it is being cancelled"


@pytest.mark.parametrize(("code", "forced"), [(-9, True), (1, False)])
def test_a_stop_by_force_has_its_own_word(crowd: World, code: int, forced: bool) -> None:
    crowd.append(AttemptStopRequested(job=2, attempt=1, reason="cancelled"))
    record = ExitRecord(code=code, time=0.0)
    crowd.append(AttemptEnded(job=2, attempt=1, slot="cpu:0/1", outcome="stopped", exit=record))
    crowd.append(JobCancelled(job=2, attempt=1))
    how = "was killed, since it did not stop" if forced else "stopped"
    assert why(crowd, 2) == f"attempt 1 {how}: cancelled"
    assert job_detail(crowd.jobs[2], crowd.matrix).attempts[0].by_force is forced


def test_a_job_without_a_name_is_called_after_its_input(crowd: World) -> None:
    assert name_of(crowd.jobs[crowd.add(name="")]) == "a.tpr"


def test_the_whole_story_begins_with_the_row(crowd: World) -> None:
    for job in crowd.jobs.rows.values():
        whole = msgspec.to_builtins(job_detail(job, crowd.matrix))
        assert whole.items() >= msgspec.to_builtins(job_row(job, crowd.matrix)).items()
    detail = job_detail(crowd.jobs[5], crowd.matrix)
    assert isinstance(detail, JobDetail)
    assert (detail.attempts[0].exit_code, detail.attempts[0].outcome, detail.attempts[0].pid) == (1, "failed", 42)
    assert detail.story[0].fact == "JobSubmitted"


def test_pages(crowd: World) -> None:
    def numbers(*states: JobState, newest: bool = False, offset: int = 0, limit: int = 50) -> list[int]:
        page = job_page(crowd.jobs, crowd.matrix, states=frozenset(states), newest=newest, offset=offset, limit=limit)
        return [each.job for each in page.jobs]

    assert numbers() == [1, 2, 3, 4, 5]
    assert numbers(newest=True, limit=2) == [5, 4]
    assert numbers(offset=3) == [4, 5]
    assert numbers(JobState.FAILED, JobState.COMPLETED) == [1, 5]
    assert numbers(JobState.CANCELLED) == []
    assert [each.job for each in job_span(crowd.jobs, crowd.matrix, first=4, last=900).jobs] == [4, 5]
