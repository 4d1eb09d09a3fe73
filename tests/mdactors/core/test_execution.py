"""What one slot sees through."""

from __future__ import annotations

from mdactors.core.effects import RunAttempt, StopAttempt
from mdactors.core.execution import ExecutorCore
from tests.builders import Story, a_start, a_stop, an_assignment, an_end


def slot_story() -> Story:
    return Story(ExecutorCore("cpu:0/0"))


def test_an_assignment_is_run_once() -> None:
    story = slot_story()
    story.tell(an_assignment(1))
    assert story.decide() == [RunAttempt(an_assignment(1), 1)]
    story.tell(a_start(1))
    assert story.decide() == []


def test_other_slots_attempts_are_not_ours() -> None:
    story = slot_story()
    story.tell(an_assignment(1, slot="cpu:0/1"), a_stop(1), an_end(job=1, slot="cpu:0/1"))
    assert story.decide() == []


def test_a_stop_is_passed_on_once_with_its_reason() -> None:
    story = slot_story()
    story.tell(an_assignment(1), a_start(1))
    story.decide()
    story.tell(a_stop(1, reason="device"))
    assert story.decide() == [StopAttempt(1, 1, "device")]
    story.tell(a_stop(1, reason="cancelled"))
    assert story.decide() == []


def test_a_stop_that_came_with_the_assignment_comes_after_it() -> None:
    story = slot_story()
    story.tell(an_assignment(1), a_stop(1))
    assert story.decide() == [RunAttempt(an_assignment(1), 1), StopAttempt(1, 1, "cancelled")]


def test_an_attempt_that_has_ended_is_neither_run_nor_stopped() -> None:
    story = slot_story()
    story.tell(an_assignment(1), an_end(job=1), a_stop(1))
    assert story.decide() == []


def test_after_a_restart_everything_open_is_asked_for_again() -> None:
    story = slot_story()
    story.tell(an_assignment(1), a_start(1), a_stop(1))
    story.decide()
    again = slot_story()
    again.tell(*(record.event for record in story.log))
    assert again.decide() == [RunAttempt(an_assignment(1), 1), StopAttempt(1, 1, "cancelled")]


def test_the_next_attempt_of_a_job_is_another_one() -> None:
    story = slot_story()
    story.tell(an_assignment(1), a_stop(1))
    story.decide()
    story.tell(an_end("stopped", 1), an_assignment(1, attempt=2))
    assert story.decide() == [RunAttempt(an_assignment(1, attempt=2), 4)]


def test_nothing_is_kept_of_what_has_ended() -> None:
    core = ExecutorCore("cpu:0/0")
    story = Story(core)
    story.tell(an_assignment(1), a_stop(1))
    story.decide()
    story.tell(an_end("stopped", 1))
    assert (core.open, core.stops, core._asked) == ({}, {}, set())
