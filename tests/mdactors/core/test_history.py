"""A log folded for those who look back: state at any point, what each record changed, the line, facts as sentences."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from events.base import Record
from events.devices import DeviceReported
from mdactors.core.history import SHORT, History, sentence
from tests.builders import START, a_diagnosis, a_node, a_stop, a_submission, an_assignment, an_end
from tests.mdactors.core.courses import Course, a_beginning, courses


def a_history() -> History:
    """Of a platform with one slot: job 1 runs, two others wait."""
    course = Course()
    course.tell(a_node(slots={"cpu:0": 1}))
    for priority in (0.0, 1.0, 2.0):
        course.submit(priority=priority)
    return History(course.log)


def test_a_history_of_nothing_is_empty() -> None:
    history = History([])
    assert (history.seq, history.time, len(history.jobs), history.line()) == (0, None, 0, [])


def test_it_stands_where_its_last_record_stands() -> None:
    course = Course()
    course.submit()
    history = History(course.log)
    assert (history.seq, history.time) == (len(course.log), course.story.now)
    assert history.scheduler.busy == {"cpu:0/0": 1}
    assert history.jobs[1] == course.jobs[1]


@given(courses(), st.data())
def test_taking_the_rest_one_by_one_leads_where_the_whole_leads(log: list[Record], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(log)))
    history = History(log[:place])
    for record in log[place:]:
        history.take(record)
    whole = History(log)
    assert (history.seq, history.time, history.digest()) == (whole.seq, whole.time, whole.digest())
    assert history.line() == whole.line()


@given(courses())
def test_the_line_has_every_waiting_job_once_and_never_one_before_a_better(log: list[Record]) -> None:
    history = History(log)
    line = history.line()
    assert [each.place for each in line] == [*range(1, len(line) + 1)]
    assert {each.job for each in line} == {job for job in history.jobs.rows if job in history.scheduler.queue}
    worth = [round(each.effective, 6) for each in line]
    assert worth == sorted(worth, reverse=True)


def test_the_line_says_what_each_place_is_worth_and_where_it_may_run() -> None:
    first, second = a_history().line()
    assert (first.place, first.job, first.priority, first.priority_class, first.devices) == (
        1,
        3,
        2.0,
        "normal",
        "cpu:0",
    )
    assert (second.place, second.job) == (2, 2)
    assert second.waited_seconds > first.waited_seconds > 0
    assert second.effective == 1.0 + second.waited_seconds / 3600.0


def test_each_record_says_what_it_changed() -> None:
    course = Course()
    course.submit()
    history = History(course.log[:2])
    assert [history.take(record) for record in course.log[2:]] == [
        ["job 1: none -> submitted"],
        ["jobs in line: 0 -> 1", "job 1: submitted -> queued"],
        ["slot cpu:0/0: free -> job 1", "jobs in line: 1 -> 0", "job 1: queued -> assigned"],
    ]


def test_a_device_that_fails_is_a_change() -> None:
    course = Course()
    before = len(course.log)
    course.tell(DeviceReported(device="cpu:0", condition="lost"))
    history = History(course.log[:before])
    assert [history.take(record) for record in course.log[before:]] == [
        [],
        ["device cpu:0: none -> unhealthy: reported lost"],
    ]


def test_a_record_that_changes_nothing_says_nothing() -> None:
    assert History([]).take(Record(1, START, 0, a_beginning())) == []


def test_a_fact_is_told_by_its_name_and_its_plain_fields() -> None:
    assert sentence(a_stop(2, 3, "device")) == "AttemptStopRequested job=2 attempt=3 reason=device"
    assert sentence(a_submission(4)) == "JobSubmitted job=4"


def test_a_failure_is_told_with_its_reason() -> None:
    ended = an_end("failed", diagnosis=a_diagnosis(summary="the system exploded"))
    assert sentence(ended).endswith("outcome=failed (the system exploded)")


def test_a_long_value_is_cut_short() -> None:
    told = sentence(an_assignment(slot="x" * 100 + ":0/0"))
    assert "slot=" + "x" * (SHORT - 1) + "… " in told
