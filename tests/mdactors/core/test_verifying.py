"""Every decision of a log is made again: what the real cores decided stands, what was doctored is found out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.attempts import AttemptStopRequested, JobAssigned
from events.base import Event, Record
from events.devices import DeviceReported, DeviceUnhealthy
from events.jobs import (
    JobAccepted,
    JobCancelled,
    JobCancelRequested,
    JobCompleted,
    JobFailed,
    JobRejected,
    JobRequeued,
)
from events.platform import ActorRestarted, JobsRegained
from mdactors.core.verifying import DECIDERS, LOGIC, verify
from tests.builders import a_diagnosis, a_node, a_submission, an_acceptance
from tests.mdactors.core.courses import DEVICES, Course, a_beginning, courses

SAID = tuple(kind for decider in DECIDERS for kind in decider.says)


@pytest.fixture(scope="module")
def log() -> list[Record]:
    """A course in which every kind of decision is made."""
    course = Course()
    course.tell(a_submission(1), a_submission(2), a_submission(3, device="cuda:7"))
    course.submit(device="cuda:0")
    course.submit(device="cuda:0")
    course.run(1)
    course.run(2, outcome="failed", diagnosis=a_diagnosis("no", "numerics"))
    course.tell(JobCancelRequested(job=5, by="ada"))
    course.tell(DeviceReported(device="cuda:0", condition="lost"))
    course.run(4, outcome="stopped")
    course.restart()
    course.tell(DeviceReported(device="cuda:0", condition="recovered"))
    course.run(4)
    assert {type(record.event) for record in course.log if record.seen} == set(SAID)
    return course.log


def decided(log: list[Record], kind: type[Event]) -> Record:
    """The first decision of a kind."""
    return next(record for record in log if isinstance(record.event, kind))


def doctored(log: list[Record], record: Record, **fields: Any) -> list[Record]:
    """The log in which that decision says something else."""
    event = msgspec.structs.replace(record.event, **fields)
    return [msgspec.structs.replace(each, event=event) if each is record else each for each in log]


# ---------------------------------------------------------------- what stands


@given(courses())
def test_what_the_real_cores_decided_they_decide_again(log: list[Record]) -> None:
    verdict = verify(log)
    assert verdict.difference is None
    assert verdict.decisions == sum(1 for record in log if record.seen)
    assert verdict.foreign == ()


def test_every_kind_of_decision_is_made_again(log: list[Record]) -> None:
    assert verify(log).difference is None
    assert verify(log).decisions == sum(1 for record in log if isinstance(record.event, SAID))


def test_an_empty_log_has_no_decision() -> None:
    assert verify([]).decisions == 0


@pytest.mark.parametrize("after", [(), (a_beginning(),), (JobsRegained(jobs=(2,)), a_beginning())])
def test_what_a_log_that_was_cut_off_has_lost_of_a_moment_is_no_difference(after: tuple[Event, ...]) -> None:
    course = Course()
    course.tell(a_submission(1), a_submission(2))
    first = decided(course.log, JobAssigned)
    left = course.log[: first.seq]
    later = [Record(first.seq + place, first.time, 0, event) for place, event in enumerate(after, 1)]
    assert verify([*left, *later]).difference is None
    assert verify([*doctored(left, first, slot="cpu:0/9"), *later]).difference is not None


def test_a_core_that_was_rebuilt_decides_as_one_that_was_not() -> None:
    course = Course()
    course.submit()
    course.tell(ActorRestarted(actor="scheduler", error="it broke", at_seq=3, restarts=1))
    course.run(1)
    assert verify(course.log).difference is None


def test_a_platform_that_only_settles_is_judged_as_one_that_assigns_nothing() -> None:
    settles, works = Course("settle"), Course("work")
    settles.submit()
    works.submit()
    (assigned,) = [record for record in works.log if isinstance(record.event, JobAssigned)]
    assert verify(settles.log).difference is None
    found = verify([*settles.log, assigned]).difference
    assert found is not None
    assert (found.logged, found.decided) == ((assigned.event,), ())


# ---------------------------------------------------------------- what was doctored

DOCTORED: list[tuple[type[Event], dict[str, Any]]] = [
    (JobAssigned, {"slot": "cpu:0/1"}),
    (JobAssigned, {"device": "cuda:0", "slot": "cuda:0/0"}),
    (JobAssigned, {"attempt": 2}),
    (JobAccepted, {"candidates": an_acceptance(1, "cuda:0").candidates}),
    (JobRejected, {"refusals": ()}),
    (JobFailed, {"diagnosis": a_diagnosis(summary="it blew up")}),
    (AttemptStopRequested, {"reason": "preempted"}),
    (JobRequeued, {"avoid": "cuda:0"}),
    (DeviceUnhealthy, {"reason": "a whim"}),
]


@pytest.mark.parametrize(("kind", "fields"), DOCTORED, ids=lambda value: getattr(value, "__name__", ""))
def test_a_decision_that_says_something_else_is_found_out(
    log: list[Record], kind: type[Event], fields: dict[str, Any]
) -> None:
    record = decided(log, kind)
    found = verify(doctored(log, record, **fields)).difference
    assert found is not None
    assert found.seen == record.seen
    assert found.logged == (msgspec.structs.replace(record.event, **fields),)
    assert found.decided == (record.event,)
    assert found.seq <= record.seq


@pytest.mark.parametrize(
    ("kind", "instead"),
    [
        (JobCompleted, lambda event: JobCancelled(job=event.job, attempt=event.attempt)),
        (JobFailed, lambda event: JobRequeued(job=event.job, attempt=event.attempt, reason="once more")),
        (JobRejected, lambda event: an_acceptance(event.job)),
    ],
)
def test_a_decision_in_whose_place_is_another_is_found_out(
    log: list[Record], kind: type[Event], instead: Callable[[Any], Event]
) -> None:
    record = decided(log, kind)
    swapped = [msgspec.structs.replace(each, event=instead(each.event)) if each is record else each for each in log]
    found = verify(swapped).difference
    assert found is not None
    assert (found.logged, found.decided) == ((instead(record.event),), (record.event,))


def test_a_job_that_was_given_another_ones_slot_is_found_out() -> None:
    course = Course()
    course.tell(a_node(slots={"cpu:0": 1}))
    course.tell(a_submission(1), a_submission(2))
    first = decided(course.log, JobAssigned)
    found = verify(doctored(course.log, first, job=2)).difference
    assert found is not None
    assert (found.actor, found.seq) == ("Scheduler", first.seq)
    assert [getattr(event, "job", 0) for event in (*found.logged, *found.decided)] == [2, 1]


def test_the_first_of_several_differences_is_told(log: list[Record]) -> None:
    one, other = decided(log, JobAssigned), decided(log, JobFailed)
    both = doctored(doctored(log, one, slot="cpu:0/9"), other, diagnosis=a_diagnosis(summary="it blew up"))
    found = verify(both).difference
    assert found is not None
    assert one.event in found.decided


def test_a_decision_that_the_log_lacks_is_missed() -> None:
    course = Course()
    course.tell(a_submission(1), a_submission(2))
    place = [record.seq for record in course.log if isinstance(record.event, JobAssigned)][-1]
    course.submit()
    lacking = [
        msgspec.structs.replace(each, event=a_node(slots=DEVICES), seen=0) if each.seq == place else each
        for each in course.log
    ]
    found = verify(lacking).difference
    assert found is not None
    assert found.decided == (course.log[place - 1].event,)


@given(courses(), st.data())
def test_no_assignment_to_another_slot_stays_hidden(log: list[Record], data: st.DataObject) -> None:
    made = [record for record in log if isinstance(record.event, JobAssigned)]
    if made:
        record = data.draw(st.sampled_from(made))
        found = verify(doctored(log, record, slot="cpu:0/9")).difference
        assert found is not None
        assert found.seen == record.seen


# ---------------------------------------------------------------- what is not ours to judge


def test_what_another_logic_decided_is_folded_and_not_judged() -> None:
    course = Course()
    course.restart(logic=LOGIC + 1)
    course.submit()
    doubtful = doctored(course.log, decided(course.log, JobAssigned), slot="cpu:0/1")
    verdict = verify(doubtful)
    assert verdict.difference is None
    assert (verdict.decisions, verdict.foreign) == (0, (LOGIC + 1,))


def test_after_it_our_own_logic_is_judged_again() -> None:
    course = Course()
    course.restart(logic=LOGIC + 1)
    course.submit()
    course.restart()
    course.submit()
    assert verify(course.log).decisions == 2
    last = [record for record in course.log if isinstance(record.event, JobAssigned)][-1]
    assert verify(doctored(course.log, last, slot="cpu:0/9")).difference is not None


def test_what_no_core_decided_is_not_judged() -> None:
    course = Course()
    course.tell(a_submission(1), an_acceptance(1, "cuda:0"))
    assert verify(course.log).difference is None
