"""The chain of facts that led to where a job stands."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from events.base import Record
from events.devices import DeviceReported
from events.results import ReconcileRequested
from mdactors.core.why import Link, concerns, why
from tests.builders import a_submission
from tests.mdactors.core.courses import Course, courses


def told(links: list[Link]) -> list[tuple[str, bool]]:
    return [(type(link.record.event).__name__, link.about) for link in links]


def test_a_job_that_moved_is_led_back_to_the_report_about_its_device() -> None:
    course = Course()
    course.submit()
    course.submit()
    course.tell(DeviceReported(device="cpu:0", condition="lost"))
    course.tell(DeviceReported(device="cuda:0", condition="recovered"))
    assert told(why(course.log, 1)) == [
        ("JobSubmitted", True),
        ("JobAccepted", True),
        ("JobAssigned", True),
        ("DeviceReported", False),
        ("DeviceUnhealthy", False),
        ("AttemptStopRequested", True),
    ]


def test_a_comparison_concerns_both_jobs() -> None:
    asked = ReconcileRequested(a=1, b=2)
    assert [concerns(asked, job) for job in (1, 2, 3)] == [True, True, False]


def test_of_a_job_that_the_log_does_not_know_nothing_is_told() -> None:
    assert why([Record(1, 0.0, 0, a_submission(1))], 2) == []


def test_a_cause_that_the_log_does_not_have_ends_the_chain() -> None:
    lonely = Record(5, 0.0, 4, a_submission(1))
    assert why([lonely], 1) == [Link(lonely, about=True)]


@given(courses(), st.integers(1, 3))
def test_a_chain_has_every_fact_about_the_job_all_their_causes_and_nothing_else(log: list[Record], job: int) -> None:
    links = why(log, job)
    found = {link.record.seq for link in links}
    about = {record.seq for record in log if concerns(record.event, job)}
    assert [link.record.seq for link in links] == sorted(found)
    assert {link.record.seq for link in links if link.about} == about
    causes = {link.record.cause for link in links} - {0}
    assert causes <= found
    assert found - about <= causes
