"""What follows from an ended attempt."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.base import Event
from events.jobs import JobCancelled, JobCompleted, JobFailed, JobRequeued
from events.outcome import Diagnosis, ExitRecord, OutcomeName
from mdactors.core.retry import VANISHED, consequence
from tests.builders import a_diagnosis, an_end

OUTCOMES = get_args(OutcomeName)


def after(outcome: Any, *, steps: int | None = None, diagnosis: Diagnosis | None = None, **state: Any) -> Event:
    known: dict[str, Any] = {
        "from_step": 0,
        "device": "cuda:0",
        "elsewhere": ["cuda:0"],
        "stop_asked": False,
        "cancelled": False,
        "failures": int(outcome in {"failed", "vanished"}),
        "retries": 3,
    }
    return consequence(an_end(outcome, steps=steps, diagnosis=diagnosis), **known | state)


def reason(event: Event) -> str:
    assert isinstance(event, JobRequeued), event
    return event.reason


def diagnosis_of(event: Event) -> Diagnosis:
    assert isinstance(event, JobFailed), event
    return event.diagnosis


def test_who_reached_the_last_step_is_done_even_if_somebody_had_cancelled() -> None:
    for cancelled in (False, True):
        assert after("completed", cancelled=cancelled, stop_asked=cancelled) == JobCompleted(job=1, attempt=1)


@pytest.mark.parametrize("outcome", ["stopped", "failed", "vanished"])
def test_a_cancelled_job_is_not_tried_again(outcome: str) -> None:
    again = a_diagnosis("same")
    assert after(outcome, cancelled=True, stop_asked=True, steps=5, diagnosis=again) == JobCancelled(job=1, attempt=1)


def test_who_was_asked_to_stop_goes_on_from_there_though_no_step_was_made() -> None:
    assert "goes on from there" in reason(after("stopped", stop_asked=True))


def test_who_was_stopped_by_somebody_else_goes_on_as_long_as_steps_advance() -> None:
    assert reason(after("stopped", steps=101, from_step=100))
    assert diagnosis_of(after("stopped", steps=100, from_step=100)).code == "no-progress"
    assert diagnosis_of(after("stopped", steps=None)).code == "no-progress"


@pytest.mark.parametrize(("retry", "kind"), [("same", JobRequeued), ("no", JobFailed), ("other", JobFailed)])
def test_a_failure_is_retried_only_where_a_retry_can_mend_it(retry: str, kind: type[Event]) -> None:
    assert type(after("failed", diagnosis=a_diagnosis(retry))) is kind


def test_what_only_another_device_can_mend_goes_there_and_avoids_this_one() -> None:
    event = after("failed", diagnosis=a_diagnosis("other"), elsewhere=["cuda:0", "cpu:0"])
    assert event == JobRequeued(job=1, attempt=1, reason="it broke", avoid="cuda:0")


def test_what_will_do_here_avoids_nothing() -> None:
    assert after("failed", diagnosis=a_diagnosis("same")) == JobRequeued(job=1, attempt=1, reason="it broke")


def test_retries_are_used_up() -> None:
    again = a_diagnosis("same")
    assert [type(after("failed", diagnosis=again, failures=n)) for n in (1, 3, 4)] == [
        *(JobRequeued, JobRequeued),
        JobFailed,
    ]
    assert type(after("vanished", failures=1, retries=0)) is JobFailed


def test_what_vanished_is_tried_again_and_in_the_end_says_where_to_look() -> None:
    assert reason(after("vanished")) == VANISHED.summary
    assert diagnosis_of(after("vanished", failures=4)) == VANISHED


def test_what_nobody_can_explain_is_not_repeated() -> None:
    bare = an_end("failed")
    known: dict[str, Any] = {"from_step": 0, "device": "", "elsewhere": (), "stop_asked": False, "cancelled": False}
    with_code = type(bare)(job=1, attempt=1, slot="s", outcome="failed", exit=ExitRecord(code=-11, time=0.0))
    assert "exit code -11" in diagnosis_of(consequence(with_code, **known, failures=1, retries=3)).summary
    assert "exit code unknown" in diagnosis_of(consequence(bare, **known, failures=1, retries=3)).summary


@settings(max_examples=500)
@given(
    outcome=st.sampled_from(OUTCOMES),
    steps=st.none() | st.integers(0, 10),
    diagnosis=st.sampled_from([None, *map(a_diagnosis, ("same", "other", "no"))]),
    from_step=st.integers(0, 10),
    elsewhere=st.lists(st.sampled_from(["cuda:0", "cuda:1", "cpu:0"])),
    stop_asked=st.booleans(),
    cancelled=st.booleans(),
    failures=st.integers(0, 5),
    retries=st.integers(0, 5),
)
def test_whatever_happens_something_follows_and_no_job_goes_round_for_ever(**given_state: Any) -> None:
    event = after(**given_state)
    assert isinstance(event, JobCompleted | JobRequeued | JobFailed | JobCancelled)
    if isinstance(event, JobRequeued):
        assert not given_state["cancelled"]
        advanced = (given_state["steps"] or 0) > given_state["from_step"]
        stopped = given_state["outcome"] == "stopped" and (given_state["stop_asked"] or advanced)
        counted = given_state["outcome"] in {"failed", "vanished"} and given_state["failures"] <= given_state["retries"]
        assert stopped or counted
        assert event.avoid in ("", "cuda:0")
        assert not event.avoid or set(given_state["elsewhere"]) - {event.avoid}
