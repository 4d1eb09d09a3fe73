"""The same jobs and durations under another policy or on other slots."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.attempts import JobAssigned
from events.base import Event, Record
from events.jobs import JobCancelRequested, JobCompleted, JobRequeued
from mdactors.core.whatif import Change, Course, happened, what_if
from tests.builders import START, a_node, a_start, a_stop, a_submission, an_acceptance, an_assignment, an_end
from tests.mdactors.core.courses import a_beginning

SECONDS = st.lists(st.integers(1, 1000), min_size=1, max_size=12)
SLOTS = st.integers(1, 4)

Told = tuple[float, Event]
"""When, and what."""


def a_log(*facts: Told) -> list[Record]:
    ordered = sorted(facts, key=lambda fact: fact[0])
    return [Record(seq, START + time, 0, event) for seq, (time, event) in enumerate(ordered, 1)]


def told_of(job: int, asked: float, begun: float, seconds: float, slot: str = "cpu:0/0") -> list[Told]:
    """What a log has of a job that went well."""
    facts = (an_assignment(job, slot=slot), a_start(job, slot=slot))
    over = (an_end(job=job, slot=slot, steps=9), JobCompleted(job=job, attempt=1))
    return [
        (asked, a_submission(job)),
        (asked, an_acceptance(job)),
        *((begun, fact) for fact in facts),
        *((begun + seconds, fact) for fact in over),
    ]


def in_line(durations: Sequence[float], slots: int) -> list[Told]:
    """What a log has of a batch whose jobs began in their order, each on the slot that was free first."""
    free = [(0.0, f"cpu:0/{place}") for place in range(slots)]
    facts: list[Told] = [(0.0, a_beginning()), (0.0, a_node(slots=slots))]
    for job, seconds in enumerate(durations, 1):
        begun, slot = heapq.heappop(free)
        facts += told_of(job, 0.0, begun, seconds, slot)
        heapq.heappush(free, (begun + seconds, slot))
    return facts


def figures(course: Course) -> Any:
    return course.jobs, course.makespan, course.mean_wait, course.worst_wait


def about(course: Course) -> Any:
    """The same figures, within rounding."""
    return pytest.approx(figures(course), abs=1e-3)


# ---------------------------------------------------------------- what happened


def test_what_happened_is_read_from_the_log() -> None:
    log = a_log((0, a_node(slots=1)), *told_of(1, 10, 10, 100), *told_of(2, 20, 110, 50))
    assert happened(log) == Course(jobs=2, makespan=150.0, mean_wait=45.0, worst_wait=90.0)


def test_of_a_log_without_an_ended_job_there_is_nothing_to_tell() -> None:
    log = a_log((0, a_node()), (1, a_submission()), (1, an_acceptance()), (1, an_assignment()), (1, a_start()))
    nothing = Course(jobs=0, makespan=0.0, mean_wait=0.0, worst_wait=0.0)
    assert happened(log) == nothing
    assert what_if(log, Change(slots=3)) == nothing


# ---------------------------------------------------------------- what would have happened


@given(SECONDS, SLOTS)
def test_with_no_change_it_goes_as_it_went(durations: list[int], slots: int) -> None:
    log = a_log(*in_line(durations, slots))
    assert figures(what_if(log, Change())) == about(happened(log))


@given(SECONDS, SLOTS, SLOTS)
def test_on_other_slots_it_goes_as_a_batch_does_there(durations: list[int], slots: int, others: int) -> None:
    there = happened(a_log(*in_line(durations, others)))
    assert figures(what_if(a_log(*in_line(durations, slots)), Change(slots=others))) == about(there)


@given(SECONDS, SLOTS, SLOTS)
def test_more_slots_never_make_a_batch_longer(durations: list[int], slots: int, more: int) -> None:
    log = a_log(*in_line(durations, slots))
    few, many = what_if(log, Change()), what_if(log, Change(slots=slots + more))
    assert many.makespan <= few.makespan + 1e-3
    assert many.worst_wait <= few.worst_wait + 1e-3


def test_without_aging_an_old_job_of_little_priority_waits_longer() -> None:
    facts = in_line([3600.0], 1)
    facts += told_of(2, 60.0, 3600.0, 60.0)  # by age alone before 3
    facts += told_of(3, 3000.0, 3660.0, 600.0)
    urgent = [(time, _urgent(event)) for time, event in facts]
    assert what_if(a_log(*urgent), Change(aging=60.0)).mean_wait < what_if(a_log(*urgent), Change(aging=0.0)).mean_wait


def _urgent(event: Event) -> Event:
    return a_submission(3, priority=5.0) if event == a_submission(3) else event


def test_the_attempts_of_a_job_count_together() -> None:
    log = a_log(
        (0, a_node(slots=1)),
        (0, a_submission()),
        (0, an_acceptance()),
        (0, an_assignment()),
        (0, a_start()),
        (10, a_stop(reason="device")),
        (12, an_end("stopped", steps=5)),
        (12, JobRequeued(job=1, attempt=1, reason="goes on")),
        (100, an_assignment(attempt=2)),
        (100, a_start(attempt=2)),
        (130, an_end(attempt=2, steps=9)),
        (130, JobCompleted(job=1, attempt=2)),
    )
    assert happened(log).makespan == 130.0
    assert what_if(log, Change()).makespan == pytest.approx(42.0, abs=1e-3)


def test_a_job_whose_duration_is_not_known_takes_no_part() -> None:
    running = [(0.0, a_submission(3)), (0.0, an_acceptance(3)), (200.0, an_assignment(3)), (200.0, a_start(3))]
    batch = in_line([100.0, 100.0], 1)
    assert what_if(a_log(*batch, *running), Change()) == what_if(a_log(*batch), Change())


def test_a_job_that_was_cancelled_while_it_ran_ends_then() -> None:
    batch = in_line([100.0, 50.0], 1)
    wish = (30.0, JobCancelRequested(job=1, by="ada"))
    assert what_if(a_log(*batch, wish), Change()).makespan == pytest.approx(80.0, abs=1e-3)


def test_only_the_cpu_is_laid_out_anew() -> None:
    slots = {"cpu:0": 1, "cuda:0": 1}
    facts: list[Told] = [(0.0, a_beginning()), (0.0, a_node(slots=slots))]
    for job in (1, 2):
        facts += [(time, _on_the_gpu(event)) for time, event in told_of(job, 0.0, 100.0 * (job - 1), 100.0, "cuda:0/0")]
    assert what_if(a_log(*facts), Change(slots=8)).makespan == pytest.approx(200.0, abs=1e-3)


def _on_the_gpu(event: Event) -> Event:
    return an_acceptance(event.job, "cuda:0") if event in (an_acceptance(1), an_acceptance(2)) else event


def test_the_log_that_is_asked_stays_as_it_is() -> None:
    log = a_log(*in_line([5.0, 7.0, 9.0], 2))
    before = list(log)
    what_if(log, Change(slots=3, aging=0.0))
    assert log == before
    assert sum(isinstance(record.event, JobAssigned) for record in log) == 3
