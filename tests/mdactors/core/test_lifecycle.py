"""The table of states, and the read model that folds the journal."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.attempts import (
    AttemptEnded,
    AttemptFound,
    AttemptProgressed,
    AttemptStarted,
    AttemptStopRequested,
    Handle,
    JobAssigned,
)
from events.base import Event, Record
from events.devices import ProbeRequested
from events.jobs import (
    JobAccepted,
    JobCancelled,
    JobCancelRequested,
    JobCompleted,
    JobFailed,
    JobRejected,
    JobRequeued,
)
from events.outcome import Figures, Refusal
from events.results import PerformanceRecorded
from mdactors.core.lifecycle import ACTIVE, STATE_FACTS, TERMINAL, TRANSITIONS, Job, Jobs, JobState
from mdactors.errors import IllegalTransitionError
from tests.builders import (
    START,
    a_diagnosis,
    a_start,
    a_stop,
    a_submission,
    an_acceptance,
    an_assignment,
    an_end,
    records,
)
from tests.mdactors.archive.builders import a_context

REFUSAL = Refusal(subject="gmx", clause="precision", found="built in mixed precision")

EXAMPLES: dict[type[Event], Event] = {
    JobAccepted: an_acceptance(),
    JobRejected: JobRejected(job=1, refusals=(REFUSAL,)),
    JobAssigned: an_assignment(),
    JobRequeued: JobRequeued(job=1, attempt=1, reason="stopped"),
    JobCompleted: JobCompleted(job=1, attempt=1),
    JobFailed: JobFailed(job=1, attempt=1, diagnosis=a_diagnosis()),
    JobCancelled: JobCancelled(job=1),
    AttemptStarted: a_start(),
    AttemptStopRequested: a_stop(),
    AttemptEnded: an_end(),
}


def folded(*events: Event) -> Jobs:
    jobs = Jobs()
    for record in records(*events):
        jobs.apply(record)
    return jobs


def only(*events: Event) -> Job:
    """The row of job 1, submitted and then told about."""
    return folded(a_submission(1), *events)[1]


def paths() -> dict[JobState, list[type[Event]]]:
    """For each state a shortest way to it."""
    found: dict[JobState, list[type[Event]]] = {JobState.SUBMITTED: []}
    waiting = deque(found)
    while waiting:
        state = waiting.popleft()
        for (before, fact), after in TRANSITIONS.items():
            if before is state and after not in found:
                found[after] = [*found[state], fact]
                waiting.append(after)
    return found


PATHS = paths()


def at(state: JobState) -> Jobs:
    return folded(a_submission(1), *(EXAMPLES[fact] for fact in PATHS[state]))


# ---------------------------------------------------------------- the table


def test_every_state_can_be_reached_and_every_fact_has_its_place() -> None:
    assert set(PATHS) == set(JobState)
    assert set(EXAMPLES) == STATE_FACTS


def test_a_job_that_has_ended_stays_as_it_is_and_any_other_can_end() -> None:
    leaving = {state for state, _ in TRANSITIONS}
    assert leaving == set(JobState) - TERMINAL
    ways_out = {state: {after for (before, _), after in TRANSITIONS.items() if before is state} for state in leaving}
    ending = set(TERMINAL)
    for _ in JobState:
        ending |= {state for state, after in ways_out.items() if after & ending}
    assert ending == set(JobState)


@pytest.mark.parametrize("fact", EXAMPLES, ids=lambda fact: fact.__name__)
@pytest.mark.parametrize("state", JobState)
def test_a_fact_moves_a_job_as_the_table_says_or_is_refused_with_its_story(state: JobState, fact: type[Event]) -> None:
    jobs = at(state)
    record = Record(99, START, 0, EXAMPLES[fact])
    if (state, fact) in TRANSITIONS:
        jobs.apply(record)
        assert jobs[1].state is TRANSITIONS[state, fact]
        assert jobs[1].last_seq == 99
        return
    with pytest.raises(
        IllegalTransitionError, match=rf"job 1 is {state} and can't take {fact.__name__} \(record 99\)"
    ) as raised:
        jobs.apply(record)
    assert "(1, 'JobSubmitted')" in str(raised.value)


@given(st.data())
def test_after_any_legal_story_counts_and_lists_agree_with_the_rows(data: st.DataObject) -> None:
    jobs = Jobs()
    seq = 0
    states: dict[int, JobState] = {}
    for _ in range(data.draw(st.integers(1, 25))):
        seq += 1
        job = data.draw(st.integers(1, 3))
        if job not in states:
            jobs.apply(Record(seq, START + seq, 0, a_submission(job)))
            states[job] = JobState.SUBMITTED
            continue
        legal = [(fact, after) for (before, fact), after in TRANSITIONS.items() if before is states[job]]
        if not legal:
            continue
        fact, states[job] = data.draw(st.sampled_from(legal))
        jobs.apply(Record(seq, START + seq, 0, _about(EXAMPLES[fact], job, jobs[job])))
    assert {job: row.state for job, row in jobs.rows.items()} == states
    assert jobs.counts == {state: list(states.values()).count(state) for state in JobState}
    assert set(jobs.active) == {job for job, state in states.items() if state in ACTIVE}
    for state in JobState:
        assert {row.job for row in jobs.in_state(state)} == {job for job, found in states.items() if found is state}
    assert all((row.ended_at is not None) == (row.state in TERMINAL) for row in jobs.rows.values())


def _about(event: Any, job: int, row: Job) -> Event:
    number = len(row.attempts) + isinstance(event, JobAssigned)
    changes = {"job": job} | ({"attempt": number} if "attempt" in event.__struct_fields__ else {})
    return type(event)(**{name: getattr(event, name) for name in event.__struct_fields__} | changes)  # type: ignore[no-any-return]


# ---------------------------------------------------------------- what a row knows


def test_a_submitted_job_waits_from_then_on() -> None:
    row = only()
    assert (row.state, row.submitted_at, row.queued_since, row.attempt) == ("submitted", START + 1, START + 1, None)


def test_an_accepted_job_knows_its_candidates_and_a_rejected_one_why() -> None:
    row = only(an_acceptance(1, "cuda:0", "cpu:0"))
    assert ([each.device for each in row.candidates], row.queued_since) == (["cuda:0", "cpu:0"], START + 2)
    row = only(EXAMPLES[JobRejected])
    assert (row.refusals, row.ended_at) == ((REFUSAL,), START + 2)


def test_an_attempt_knows_how_it_came_about_and_how_it_ended() -> None:
    failed = an_end("failed", diagnosis=a_diagnosis(), steps=7)
    row = only(an_acceptance(), an_assignment(), a_start(from_step=5), a_stop(reason="device"), failed)
    (attempt,) = row.attempts
    assert (attempt.number, attempt.slot, attempt.device) == (1, "cpu:0/0", "cpu:0")
    assert (attempt.assigned, attempt.started, attempt.ended) == (START + 3, START + 4, START + 6)
    assert (attempt.folder, attempt.argv, attempt.from_step) == ("/state/jobs/000001", ("gmx", "mdrun"), 5)
    assert (attempt.stop_reason, attempt.outcome, attempt.figures.steps_done) == ("device", "failed", 7)
    assert (attempt.diagnosis, attempt.archived) == (a_diagnosis(), False)


def test_only_failed_and_vanished_attempts_are_failures() -> None:
    begun = (an_acceptance(), an_assignment())
    assert [only(*begun, an_end(outcome)).failures for outcome in ("completed", "stopped", "failed", "vanished")] == [
        *(0, 0),
        *(1, 1),
    ]


def test_a_requeued_job_waits_anew_and_remembers_what_to_avoid() -> None:
    again = JobRequeued(job=1, attempt=1, reason="its fault", avoid="cpu:0")
    row = only(an_acceptance(), an_assignment(), an_end("failed"), again, an_assignment(attempt=2, slot="cuda:0/0"))
    assert (row.queued_since, row.avoid) == (START + 5, frozenset({"cpu:0"}))
    assert [attempt.number for attempt in row.attempts] == [1, 2]
    assert row.attempt is row.attempts[-1]


def test_a_failed_job_keeps_its_diagnosis() -> None:
    row = only(an_acceptance(), an_assignment(), an_end("failed"), EXAMPLES[JobFailed])
    assert row.diagnosis == a_diagnosis()


def test_a_wish_to_cancel_that_comes_too_late_changes_nothing() -> None:
    over = (an_acceptance(), an_assignment(), an_end(), EXAMPLES[JobCompleted])
    assert only(*over, JobCancelRequested(job=1, by="ada")) == only(*over)


def test_a_wish_to_cancel_is_noted_and_moves_nothing() -> None:
    row = only(an_acceptance(), JobCancelRequested(job=1, by="ada"))
    assert (row.state, row.cancel_requested, row.last_seq) == ("queued", True, 3)
    assert row.story == [(1, "JobSubmitted"), (2, "JobAccepted")]


def test_an_attempt_that_was_found_again_has_the_process_that_was_found() -> None:
    handle = Handle(pid=77, start_ticks=8, boot_id="c")
    found = AttemptFound(job=1, attempt=1, state="running", handle=handle)
    row = only(an_acceptance(), an_assignment(), a_start(), found)
    assert (row.attempts[0].handle, row.state) == (handle, "running")
    gone = AttemptFound(job=1, attempt=1, state="vanished")
    assert only(an_acceptance(), an_assignment(), a_start(), gone).attempts[0].handle == a_start().handle


def test_the_attempt_that_was_archived_is_the_one_that_is_named() -> None:
    written = PerformanceRecorded(job=1, attempt=1, outcome="failed", context=a_context(), figures=Figures())
    again = JobRequeued(job=1, attempt=1, reason="again")
    row = only(an_acceptance(), an_assignment(), an_end("failed"), again, an_assignment(attempt=2), written)
    assert [attempt.archived for attempt in row.attempts] == [True, False]


def test_progress_is_shown_while_the_attempt_runs_and_never_of_another_one() -> None:
    progress = AttemptProgressed(job=1, attempt=1, step=10)
    running = (an_acceptance(), an_assignment(), a_start())
    assert only(*running, progress).attempts[0].progress == progress
    assert only(*running, AttemptProgressed(job=1, attempt=2, step=10)).attempts[0].progress is None
    assert only(*running, progress, an_end()).attempts[0].progress is None
    assert only(*running, an_end(), progress).attempts[0].progress is None
    assert only(progress).attempts == []


def test_facts_about_no_job_or_an_unknown_one_change_nothing() -> None:
    jobs = folded(ProbeRequested(), an_end(job=7), AttemptProgressed(job=7, attempt=1, step=1))
    assert (jobs.rows, jobs.last_number, 7 in jobs) == ({}, 0, False)


def test_the_last_number_is_the_greatest() -> None:
    jobs = folded(a_submission(1), a_submission(3), a_submission(2))
    assert (jobs.last_number, 3 in jobs, 4 in jobs) == (3, True, False)


def test_the_last_number_is_kept_and_not_looked_for() -> None:
    class Uncounted(dict[int, Job]):
        def __iter__(self) -> Iterator[int]:
            raise AssertionError("went through all jobs")

    jobs = folded(a_submission(1))
    jobs.rows = Uncounted(jobs.rows)
    assert jobs.last_number == 1


def test_rows_share_nothing() -> None:
    jobs = folded(a_submission(1), a_submission(2), an_acceptance(1), an_assignment(1))
    assert (len(jobs[1].attempts), len(jobs[2].attempts), len(jobs[2].story)) == (1, 0, 1)


# ---------------------------------------------------------------- closed jobs


class Kept:
    """Closed jobs, and which of them were fetched."""

    def __init__(self, *rows: Job) -> None:
        self._rows = {row.job: row for row in rows}
        self.counts = Counter(row.state for row in rows)
        self.fetched: list[int] = []

    def __contains__(self, job: object) -> bool:
        return job in self._rows

    def numbers(self) -> list[int]:
        return sorted(self._rows)

    def row(self, job: int) -> Job:
        self.fetched.append(job)
        return self._rows[job]


def a_closed(job: int, state: JobState = JobState.COMPLETED) -> Job:
    return Job(job=job, submitted=a_submission(job), submitted_at=START, state=state, attempts=[])


def test_closed_jobs_are_known_counted_and_fetched_only_when_asked_for() -> None:
    kept = Kept(a_closed(1), a_closed(5, JobState.FAILED))
    jobs = Jobs(kept)
    for record in records(a_submission(2), a_submission(9)):
        jobs.apply(record)
    assert ([job in jobs for job in (1, 2, 3, 5, 9)], len(jobs)) == ([True, True, False, True, True], 4)
    assert (jobs.numbers(), jobs.last_number) == ([1, 5, 2, 9], 9)
    counts = {state: count for state, count in jobs.counts.items() if count}
    assert counts == {JobState.COMPLETED: 1, JobState.FAILED: 1, JobState.SUBMITTED: 2}
    assert kept.fetched == []
    assert [row.job for row in jobs.ordered()] == [1, 2, 5, 9]
    assert [row.job for row in jobs.ordered(newest=True)] == [9, 5, 2, 1]
    assert [row.job for row in jobs.in_state(JobState.FAILED, JobState.SUBMITTED)] == [2, 5, 9]
    with pytest.raises(KeyError):
        jobs[3]


def test_states_in_which_no_job_is_are_not_looked_for() -> None:
    kept = Kept(a_closed(1))
    assert Jobs(kept).in_state(JobState.RUNNING) == []
    assert kept.fetched == []


def test_numbers_go_on_after_the_closed_ones() -> None:
    assert Jobs(Kept(a_closed(7))).last_number == 7
    assert (Jobs(Kept()).last_number, len(Jobs(Kept()))) == (0, 0)


def test_what_comes_too_late_about_a_closed_job_changes_nothing() -> None:
    kept = Kept(a_closed(1))
    jobs = Jobs(kept)
    jobs.apply(Record(99, START, 0, JobCancelRequested(job=1)))
    assert (jobs.rows, kept.fetched, len(jobs)) == ({}, [], 1)
    assert not jobs[1].cancel_requested
