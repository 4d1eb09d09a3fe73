"""When and on which slot: stories with exactly what follows, and a machine that tries every story."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from events.attempts import AttemptStopRequested, JobAssigned
from events.base import Event
from events.devices import DeviceRecovered, DeviceUnhealthy
from events.jobs import (
    JobCancelled,
    JobCancelRequested,
    JobCompleted,
    JobFailed,
    JobRejected,
    JobRequeued,
)
from events.platform import PlatformStarted, Policy
from mdactors.core.capabilities import Matrix
from mdactors.core.effects import Effect, Publish
from mdactors.core.lifecycle import ACTIVE, TERMINAL, Job, Jobs, JobState
from mdactors.core.queue import CLASS_BONUS
from mdactors.core.scheduling import SchedulerCore
from tests.builders import (
    START,
    Story,
    a_capability,
    a_diagnosis,
    a_node,
    a_slot,
    a_start,
    a_stop,
    a_submission,
    an_acceptance,
    an_assignment,
    an_end,
)


def waiting(*jobs: int, slots: int | dict[str, int] = 1, devices: tuple[str, ...] = ()) -> Story:
    """A story in which these jobs are accepted and nothing is decided yet."""
    story = Story(SchedulerCore())
    story.tell(a_node(slots=slots))
    for job in jobs:
        story.tell(a_submission(job), an_acceptance(job, *devices))
    return story


def running(*jobs: int, slots: int | dict[str, int] = 1, devices: tuple[str, ...] = ()) -> Story:
    """The same with the first ones on the slots and started."""
    story = waiting(*jobs, slots=slots, devices=devices)
    for event in story.follow():
        assert isinstance(event, JobAssigned)
        story.tell(a_start(event.job, slot=event.slot))
    return story


def sick(device: str = "cpu:0") -> Event:
    return DeviceUnhealthy(device=device, reason="hot")


def assigned(events: list[Event]) -> list[tuple[int, str]]:
    """Which job got which slot."""
    assert all(isinstance(event, JobAssigned) for event in events), events
    return [(event.job, event.slot) for event in events if isinstance(event, JobAssigned)]


# ---------------------------------------------------------------- filling the slots


def test_a_job_that_is_accepted_gets_the_first_free_slot_by_the_record_that_freed_it() -> None:
    story = waiting(1, slots=2)
    assert story.decide() == [Publish(an_assignment(1), 3)]


def test_every_slot_is_filled_and_the_others_wait() -> None:
    story = waiting(1, 2, 3, slots=2)
    assert assigned(story.follow()) == [(1, "cpu:0/0"), (2, "cpu:0/1")]
    assert story.decide() == []


def test_a_slot_that_becomes_free_goes_to_the_next_in_line() -> None:
    story = running(1, 2, 3)
    story.tell(an_end(job=1))
    assert story.follow() == [JobCompleted(job=1, attempt=1), an_assignment(2)]


def test_priority_and_class_decide_among_those_who_wait() -> None:
    story = Story(SchedulerCore())
    story.tell(a_node(slots=1))
    asked: list[dict[str, Any]] = [{}, {"priority": 1.0}, {"priority_class": "interactive"}, {"priority_class": "bulk"}]
    for job, fields in enumerate(asked, 1):
        story.tell(a_submission(job, **fields), an_acceptance(job))
    order = []
    for _ in asked:
        (assignment,) = assigned([event for event in story.follow() if isinstance(event, JobAssigned)])
        order.append(assignment[0])
        story.tell(a_start(assignment[0]), an_end(job=assignment[0]))
    assert order == [3, 2, 1, 4]


def test_a_job_goes_to_the_best_of_its_devices_that_is_free() -> None:
    story = waiting(1, 2, 3, slots={"cpu:0": 1, "cuda:0": 1}, devices=("cuda:0", "cpu:0"))
    assert assigned(story.follow()) == [(1, "cuda:0/0"), (2, "cpu:0/0")]


def test_a_job_that_waits_for_one_device_holds_up_nobody_who_would_take_another() -> None:
    story = Story(SchedulerCore())
    story.tell(a_node(slots={"cpu:0": 1, "cuda:0": 1}))
    for job, device in ((1, "cuda:0"), (2, "cuda:0"), (3, "cpu:0")):
        story.tell(a_submission(job), an_acceptance(job, device))
    assert assigned(story.follow()) == [(1, "cuda:0/0"), (3, "cpu:0/0")]


def test_nothing_is_started_where_only_what_was_begun_is_seen_through() -> None:
    story = Story(SchedulerCore(assigns=False))
    story.tell(a_node(), a_submission(1), an_acceptance(1), an_assignment(1), a_submission(2), an_acceptance(2))
    assert story.follow() == []
    story.tell(an_end(job=1))
    assert story.follow() == [JobCompleted(job=1, attempt=1)]


def test_a_rejected_job_is_forgotten() -> None:
    core = SchedulerCore()
    Story(core).tell(a_submission(1), JobRejected(job=1, refusals=()))
    assert (core.entries, len(core.queue)) == ({}, 0)


def test_slots_that_appear_are_filled() -> None:
    story = running(1, 2)
    story.tell(a_node(slots=2))
    assert assigned(story.follow()) == [(2, "cpu:0/1")]


def test_a_build_that_is_gone_starts_nothing_until_it_is_back() -> None:
    story = waiting(1)
    story.tell(a_node(a_capability(version="2026"), slots=1))
    assert story.follow() == []
    story.tell(a_node(slots=1))
    assert assigned(story.follow()) == [(1, "cpu:0/0")]


def test_a_frozen_build_starts_nothing_and_stops_nothing() -> None:
    story = running(1, 2)
    story.tell(a_node(a_capability(health="frozen"), slots=2))
    assert story.follow() == []


# ---------------------------------------------------------------- age


def test_a_new_rate_of_aging_counts_for_all_who_wait() -> None:
    """A restart with another policy must not leave old jobs in line by the old one."""
    story = Story(SchedulerCore())
    story.tell(PlatformStarted(version="1", node="n0", pid=1, boot_id="b", policy=Policy(aging_per_hour=1.0)))
    story.tell(a_node(slots=1), a_submission(1), an_acceptance(1), a_submission(2), an_acceptance(2))
    story.tell(PlatformStarted(version="1", node="n0", pid=2, boot_id="b", policy=Policy(aging_per_hour=2.0)))
    story.tell(a_submission(3, priority=5.0), an_acceptance(3))
    assert assigned(story.follow()) == [(3, "cpu:0/0")]


def test_a_job_that_comes_back_has_its_original_age() -> None:
    story = running(1, 2)
    story.wait(3600.0)
    story.tell(a_submission(3), an_acceptance(3), a_stop(1, reason="preempted"), an_end("stopped", 1, steps=5))
    events = story.follow()
    assert [type(event) for event in events] == [JobRequeued, JobAssigned]
    assert assigned(events[1:]) == [(1, "cpu:0/0")]


# ---------------------------------------------------------------- cancelling


def test_a_waiting_job_is_cancelled_at_once() -> None:
    story = running(1, 2)
    asked = story.tell(JobCancelRequested(job=2))
    cancelled = story.decide()
    assert cancelled == [Publish(JobCancelled(job=2), asked)]
    story.publish(cancelled)
    story.tell(an_end(job=1))
    assert story.follow() == [JobCompleted(job=1, attempt=1)]


def test_a_running_job_is_asked_to_stop_once_and_is_cancelled_when_it_has_ended() -> None:
    story = running(1)
    asked = story.tell(JobCancelRequested(job=1))
    stop = story.decide()
    assert stop == [Publish(a_stop(1), asked)]
    story.publish(stop)
    story.tell(JobCancelRequested(job=1))
    assert story.follow() == []
    story.tell(an_end("stopped", 1, steps=5))
    assert story.follow() == [JobCancelled(job=1, attempt=1)]


def test_a_job_that_is_cancelled_before_its_verdict_is_cancelled_after_it() -> None:
    story = Story(SchedulerCore())
    story.tell(a_node(), a_submission(1), JobCancelRequested(job=1))
    assert story.follow() == []
    story.tell(an_acceptance(1))
    assert story.follow() == [JobCancelled(job=1)]


def test_a_cancellation_that_comes_with_the_slot_gets_no_slot() -> None:
    story = waiting(1)
    story.tell(JobCancelRequested(job=1))
    assert story.follow() == [JobCancelled(job=1)]


def test_a_cancellation_that_overtakes_the_assignment_stops_it() -> None:
    story = waiting(1)
    assignment = story.decide()
    story.tell(JobCancelRequested(job=1))
    story.publish(assignment)
    assert story.follow() == [a_stop(1)]


def test_a_cancellation_that_overtakes_the_return_to_the_line_ends_it_there() -> None:
    story = running(1)
    story.tell(an_end("vanished", 1))
    again = story.decide()
    story.tell(JobCancelRequested(job=1))
    story.publish(again)
    assert story.follow() == [JobCancelled(job=1)]


def test_who_is_done_can_not_be_cancelled() -> None:
    story = running(1)
    story.tell(an_end(job=1), JobCancelRequested(job=1))
    assert story.follow() == [JobCompleted(job=1, attempt=1)]
    story.tell(JobCancelRequested(job=1))
    assert story.follow() == []


# ---------------------------------------------------------------- slots that are laid out anew


def test_a_slot_is_not_free_while_an_attempt_of_an_older_layout_holds_one_of_its_cpus() -> None:
    def layout(*shares: tuple[int, ...]) -> Event:
        slots = tuple(msgspec.structs.replace(a_slot(f"cpu:0/{n}"), cpus=cpus) for n, cpus in enumerate(shares))
        return msgspec.structs.replace(a_node(), slots=slots)

    story = Story(SchedulerCore())
    story.tell(layout((0,), (1,)), a_submission(1), an_acceptance(1), a_submission(2), an_acceptance(2))
    assert assigned(story.follow()) == [(1, "cpu:0/0"), (2, "cpu:0/1")]
    story.tell(a_submission(3), an_acceptance(3), layout((0, 1)), an_end(job=1))
    assert story.follow() == [JobCompleted(job=1, attempt=1)]
    story.tell(an_end(job=2, slot="cpu:0/1"))
    assert assigned(story.follow()[1:]) == [(3, "cpu:0/0")]


# ---------------------------------------------------------------- devices that fail


def test_a_device_that_fails_loses_its_jobs_to_another_one_and_they_go_on() -> None:
    story = running(1, slots={"cuda:0": 1, "cpu:0": 1}, devices=("cuda:0", "cpu:0"))
    failed = story.tell(sick("cuda:0"))
    stop = story.decide()
    assert stop == [Publish(a_stop(1, reason="device"), failed)]
    story.publish(stop)
    story.tell(an_end("stopped", 1, slot="cuda:0/0", steps=5))
    events = story.follow()
    assert [type(event) for event in events] == [JobRequeued, JobAssigned]
    assert assigned(events[1:]) == [(1, "cpu:0/0")]


def test_a_job_that_was_stopped_once_can_be_stopped_again() -> None:
    story = running(1)
    for attempt in (1, 2):
        story.tell(sick())
        assert story.follow() == [a_stop(1, attempt, reason="device")]
        story.tell(an_end("stopped", 1, attempt, steps=5), DeviceRecovered(device="cpu:0"))
        assert [type(event) for event in story.follow()] == [JobRequeued, JobAssigned]


def test_a_device_that_failed_gets_nothing_until_it_recovers() -> None:
    story = waiting(1)
    story.tell(sick())
    assert story.follow() == []
    story.tell(DeviceRecovered(device="cpu:0"))
    assert assigned(story.follow()) == [(1, "cpu:0/0")]


def test_a_device_that_fails_while_its_slot_is_given_away_is_left_again() -> None:
    story = waiting(1)
    assignment = story.decide()
    story.tell(sick())
    story.publish(assignment)
    assert story.follow() == [a_stop(1, reason="device")]


def test_jobs_on_other_devices_are_left_alone() -> None:
    story = running(1, slots={"cuda:0": 1, "cpu:0": 1}, devices=("cuda:0",))
    story.tell(sick("cpu:0"))
    assert story.follow() == []


def test_a_job_avoids_the_device_that_failed_it_even_if_it_has_to_wait() -> None:
    story = running(1, 2, slots={"cuda:0": 1, "cpu:0": 1}, devices=("cuda:0", "cpu:0"))
    story.tell(an_end("failed", 1, slot="cuda:0/0", diagnosis=a_diagnosis("other")))
    (again,) = story.follow()
    assert again == JobRequeued(job=1, attempt=1, reason="it broke", avoid="cuda:0")
    story.tell(an_end(job=2))
    assert story.follow() == [JobCompleted(job=2, attempt=1), an_assignment(1, attempt=2)]


def test_a_failure_that_only_another_device_can_mend_is_final_where_there_is_none() -> None:
    story = running(1)
    story.tell(an_end("failed", 1, diagnosis=a_diagnosis("other")))
    assert story.follow() == [JobFailed(job=1, attempt=1, diagnosis=a_diagnosis("other"))]


# ---------------------------------------------------------------- retries


def test_failures_are_counted_over_all_attempts_and_stops_are_none() -> None:
    story = Story(SchedulerCore())
    story.tell(PlatformStarted(version="1", node="n0", pid=1, boot_id="b", policy=Policy(retries=2)))
    story.tell(a_node(slots=1), a_submission(1), an_acceptance(1))
    followed = []
    for attempt, outcome in enumerate(("vanished", "stopped", "vanished", "vanished"), 1):
        followed += [type(event) for event in story.follow()]
        story.tell(a_start(1, attempt), an_end(outcome, 1, attempt, steps=5))  # type: ignore[arg-type]
    followed += [type(event) for event in story.follow()]
    assert followed == [*[JobAssigned, JobRequeued] * 3, JobAssigned, JobFailed]


@pytest.mark.parametrize(("from_step", "kind"), [(4, JobRequeued), (5, JobFailed)])
def test_an_attempt_that_somebody_stopped_has_to_have_moved_since_its_start(from_step: int, kind: type[Event]) -> None:
    story = waiting(1)
    story.follow()
    story.tell(a_start(1, from_step=from_step), an_end("stopped", 1, steps=5))
    assert type(story.follow()[0]) is kind


def test_the_start_of_an_earlier_attempt_does_not_count_for_the_next_one() -> None:
    story = waiting(1)
    story.follow()
    story.tell(a_start(1, from_step=100), an_end("vanished", 1))
    story.follow()
    story.tell(an_end("stopped", 1, 2, steps=5))
    assert type(story.follow()[0]) is JobRequeued


# ---------------------------------------------------------------- every story

DEVICES = ("cpu:0", "cuda:0", "cuda:1")
HARDWARE = st.fixed_dictionaries({"cpu:0": st.integers(1, 2), "cuda:0": st.integers(0, 2), "cuda:1": st.integers(0, 1)})
MOSTLY = st.sampled_from([True, True, True, False])
RATE = Policy().aging_per_hour
RETRIES = Policy().retries
MOMENTS = 1e-6
"""Priorities nearer than this are equal: a key of today's date is a float of that grain."""


@settings(max_examples=120, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
class Laboratory(RuleBasedStateMachine):
    """The scheduler over random hardware, people and ends, beside the plain read models, which know no queue.

    Any fact may be recorded between a decision and the record of that decision (`late`), as it happens when two actors
    publish at the same time.
    """

    def __init__(self) -> None:
        super().__init__()
        self.core = SchedulerCore()
        self.jobs = Jobs()
        self.matrix = Matrix()
        self.story = Story(self.core)
        self.flying: list[Effect] = []
        """Decided and not yet recorded."""
        self.line: set[int] = set()
        """Jobs that could be thought of when that was decided."""
        self.asked_to_stop: set[tuple[int, int]] = set()
        self.record(a_node(slots=1))

    # ------------------------------------------------------------ what happens

    def record(self, event: Event) -> None:
        self.check_assignment(event)
        if isinstance(event, AttemptStopRequested):
            assert (event.job, event.attempt) not in self.asked_to_stop
            self.asked_to_stop.add((event.job, event.attempt))
        self.story.tell(event)
        self.jobs.apply(self.story.log[-1])  # raises if the fact is not legal
        self.matrix.apply(self.story.log[-1])

    def land(self) -> None:
        flying, self.flying = self.flying, []
        for effect in flying:
            assert isinstance(effect, Publish)
            self.record(effect.event)

    def happens(self, late: bool, *events: Event) -> None:
        for event in events:
            self.record(event)
        self.land()
        self.decide()
        if late:
            return
        while self.flying:
            self.land()
            self.decide()
        self.check_rest()

    def decide(self) -> None:
        self.line = {row.job for row in self.jobs.in_state(JobState.QUEUED) if not row.cancel_requested}
        self.flying = self.story.decide()
        events = [effect.event for effect in self.flying if isinstance(effect, Publish)]
        self.line |= {event.job for event in events if isinstance(event, JobRequeued)}

    def pick(self, data: st.DataObject, *states: JobState) -> Job:
        return data.draw(st.sampled_from(self.jobs.in_state(*states)))

    @rule(
        late=st.booleans(),
        priority=st.sampled_from([0.0, 0.0, 1.0, 5.0]),
        priority_class=st.sampled_from(sorted(CLASS_BONUS)),
        devices=st.lists(st.sampled_from(DEVICES), min_size=1, unique=True),
        accepted=MOSTLY,
    )
    def somebody_submits(
        self, late: bool, priority: float, priority_class: str, devices: list[str], accepted: bool
    ) -> None:
        job = self.jobs.last_number + 1
        submitted = a_submission(job, priority=priority, priority_class=priority_class)
        self.happens(late, submitted, *([an_acceptance(job, *devices)] if accepted else []))

    @precondition(lambda self: self.jobs.in_state(JobState.SUBMITTED))
    @rule(late=st.booleans(), data=st.data(), accepted=MOSTLY)
    def the_negotiator_answers(self, late: bool, data: st.DataObject, accepted: bool) -> None:
        job = self.pick(data, JobState.SUBMITTED).job
        self.happens(late, an_acceptance(job, *DEVICES) if accepted else JobRejected(job=job, refusals=()))

    @precondition(lambda self: self.jobs.rows)
    @rule(late=st.booleans(), data=st.data())
    def somebody_cancels(self, late: bool, data: st.DataObject) -> None:
        self.happens(late, JobCancelRequested(job=data.draw(st.sampled_from(sorted(self.jobs.rows)))))

    @precondition(lambda self: self.jobs.in_state(JobState.ASSIGNED, JobState.STOPPING))
    @rule(late=st.booleans(), data=st.data(), from_step=st.integers(0, 2))
    def an_attempt_starts(self, late: bool, data: st.DataObject, from_step: int) -> None:
        attempt = self.pick(data, JobState.ASSIGNED, JobState.STOPPING)
        newest = attempt.attempts[-1]
        if newest.started is None:
            self.happens(late, a_start(attempt.job, newest.number, newest.slot, from_step=from_step))

    @precondition(lambda self: self.jobs.in_state(JobState.ASSIGNED, JobState.RUNNING, JobState.STOPPING))
    @rule(
        late=st.booleans(),
        data=st.data(),
        outcome=st.sampled_from(["completed", "stopped", "failed", "vanished"]),
        steps=st.integers(0, 3),
        diagnosis=st.sampled_from([None, *map(a_diagnosis, ("same", "other", "no"))]),
    )
    def an_attempt_ends(self, late: bool, data: st.DataObject, outcome: Any, steps: int, diagnosis: Any) -> None:
        row = self.pick(data, JobState.ASSIGNED, JobState.RUNNING, JobState.STOPPING)
        newest = row.attempts[-1]
        self.happens(late, an_end(outcome, row.job, newest.number, newest.slot, steps=steps, diagnosis=diagnosis))

    @rule(late=st.booleans(), device=st.sampled_from(DEVICES), well=MOSTLY)
    def a_device_changes(self, late: bool, device: str, well: bool) -> None:
        self.happens(late, DeviceRecovered(device=device) if well else sick(device))

    @rule(late=st.booleans(), slots=HARDWARE)
    def the_node_is_probed(self, late: bool, slots: dict[str, int]) -> None:
        self.happens(late, a_node(slots={device: count for device, count in slots.items() if count}))

    @rule(hours=st.sampled_from([0.1, 1.0, 20.0]))
    def time_passes(self, hours: float) -> None:
        self.story.wait(hours * 3600.0)

    @rule()
    def the_platform_is_killed_and_starts_again(self) -> None:
        """What was decided and not recorded is lost; the new life decides by the log alone."""
        self.flying = []
        self.core = SchedulerCore()
        for record in self.story.log:
            self.core.apply(record)
        self.story.cores = (self.core,)
        self.happens(False)

    # ------------------------------------------------------------ what must hold

    def check_assignment(self, event: Event) -> None:
        """A slot goes to whoever has the highest effective priority of those it will do for; nobody else is on it."""
        if not isinstance(event, JobAssigned):
            return
        assert event.slot not in self.slots_in_use()
        assert event.device not in self.jobs[event.job].avoid
        rivals = [
            self.effective(row)
            for row in self.jobs.in_state(JobState.QUEUED)
            if row.job in self.line and event.device in self.places(row)
        ]
        assert self.effective(self.jobs[event.job]) >= max(rivals, default=-math.inf) - MOMENTS

    def check_rest(self) -> None:
        self.check_nobody_waits_beside_an_idle_slot()
        for row in self.jobs.rows.values():
            assert row.state is not JobState.ENDING
            assert row.failures <= RETRIES or row.state in TERMINAL
            if row.cancel_requested:
                assert row.state in TERMINAL | {JobState.SUBMITTED, JobState.STOPPING}
            if row.state in {JobState.ASSIGNED, JobState.RUNNING}:
                assert row.attempts[-1].device not in self.matrix.unhealthy
        assert set(self.core.busy) == self.slots_in_use()
        assert {job for job in self.jobs.rows if job in self.core.queue} == {
            row.job for row in self.jobs.in_state(JobState.QUEUED)
        }
        assert set(self.core.entries) == {row.job for row in self.jobs.rows.values() if row.state not in TERMINAL}

    def check_nobody_waits_beside_an_idle_slot(self) -> None:
        in_use = self.slots_in_use()
        idle = {slot.device for slot in self.matrix.slots.values() if slot.id not in in_use}
        for row in self.jobs.in_state(JobState.QUEUED):
            assert not self.places(row) & idle, f"job {row.job} waits beside an idle slot"

    def slots_in_use(self) -> set[str]:
        rows = [row for row in self.jobs.rows.values() if row.state in ACTIVE - {JobState.ENDING}]
        slots = [row.attempts[-1].slot for row in rows]
        assert len(set(slots)) == len(slots), f"two jobs on a slot: {slots}"
        return set(slots)

    def places(self, row: Job) -> set[str]:
        """Where a job could run now."""
        devices = {each.device for each in row.candidates if each.capability in self.matrix.capabilities}
        return devices - row.avoid - set(self.matrix.unhealthy)

    def effective(self, row: Job) -> float:
        waited = (self.story.now - row.submitted_at) / 3600.0
        spec = row.submitted.spec
        return spec.priority + CLASS_BONUS[spec.priority_class] + RATE * waited


TestLaboratory = Laboratory.TestCase


def test_a_thousand_jobs_are_told_apart_by_who_came_first() -> None:
    story = waiting(*range(1, 1001), slots=1)
    for job in range(1, 1001):
        events = story.follow()
        assert assigned(events[-1:]) == [(job, "cpu:0/0")]
        story.tell(a_start(job), an_end(job=job))
    assert story.now > START


def test_an_end_that_becomes_known_late_frees_no_slot_that_another_job_has_by_now() -> None:
    core = SchedulerCore()
    story = Story(core)
    story.tell(a_node(slots=1), a_submission(1), an_acceptance(1), an_assignment(1))
    story.tell(a_submission(2), an_acceptance(2), an_assignment(2), an_end(job=1))
    assert core.busy == {"cpu:0/0": 2}
    story.tell(an_end(job=2))
    assert core.busy == {}
