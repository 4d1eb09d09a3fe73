"""Which devices may be trusted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.attempts import AttemptFound
from events.base import Event
from events.devices import DeviceRecovered, DeviceReported, DeviceUnhealthy
from events.platform import PlatformStarted, Policy
from mdactors.core.effects import Publish
from mdactors.core.health import BLAMED, HealthCore
from tests.builders import CPU, Story, a_diagnosis, an_assignment, an_end


def report(condition: Any, reason: str = "", device: str = CPU) -> DeviceReported:
    return DeviceReported(device=device, condition=condition, reason=reason)


def watch(*events: Event) -> Story:
    story = Story(HealthCore())
    story.tell(*events)
    return story


def failures(count: int, kind: str = "visibility", *, start: int = 1) -> list[Event]:
    """Attempts in a row that fail by the device's fault."""
    told: list[Event] = []
    for job in range(start, start + count):
        told += [an_assignment(job), an_end("failed", job, diagnosis=a_diagnosis("other", kind))]
    return told


# ---------------------------------------------------------------- reports


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (report("unhealthy", "ECC"), "ECC"),
        (report("unhealthy"), "reported unhealthy"),
        (report("lost"), "reported lost"),
    ],
)
def test_a_report_makes_a_device_unhealthy_once_and_says_why(said: DeviceReported, reason: str) -> None:
    story = watch(said)
    assert story.decide() == [Publish(DeviceUnhealthy(device=CPU, reason=reason), 1)]
    assert len(story.follow()) == 1
    story.tell(said)
    assert story.decide() == []


def test_a_recovered_device_is_said_to_be_so_once() -> None:
    story = watch(report("lost"))
    story.follow()
    story.tell(report("recovered", "replaced"), report("recovered", "replaced"))
    assert story.follow() == [DeviceRecovered(device=CPU, reason="replaced")]


def test_a_healthy_device_does_not_recover() -> None:
    assert watch(report("recovered")).decide() == []


def test_of_two_reports_the_newest_counts() -> None:
    assert watch(report("unhealthy"), report("recovered")).decide() == []
    story = watch(report("unhealthy", "hot"), report("unhealthy", "hotter"))
    assert story.decide() == [Publish(DeviceUnhealthy(device=CPU, reason="hotter"), 2)]


def test_a_report_that_overtakes_the_answer_to_an_older_one_is_not_lost() -> None:
    """It is recorded between our decision and the record of it."""
    story = watch(report("unhealthy"))
    answer = story.decide()
    story.tell(report("recovered", "false alarm"))
    story.publish(answer)
    assert story.follow() == [DeviceRecovered(device=CPU, reason="false alarm")]
    story.tell(report("lost"))
    story.follow()
    story.tell(report("recovered"))
    answer = story.decide()
    story.tell(report("lost", "again"))
    story.publish(answer)
    assert story.follow() == [DeviceUnhealthy(device=CPU, reason="again")]


@given(st.lists(st.tuples(st.sampled_from(["unhealthy", "recovered", "lost"]), st.booleans()), max_size=12))
def test_the_last_report_always_has_the_last_word(reports: list[tuple[str, bool]]) -> None:
    """Whatever is recorded between a decision and its record."""
    core = HealthCore()
    story = Story(core)
    for condition, overtakes in reports:
        answers = story.decide() if overtakes else []
        story.tell(report(condition))
        story.publish(answers)
        if not overtakes:
            story.follow()
    story.follow()
    assert core.unhealthy == ({CPU} if reports and reports[-1][0] != "recovered" else set())


# ---------------------------------------------------------------- suspicions


@pytest.mark.parametrize("kind", sorted(BLAMED))
def test_failures_in_a_row_by_its_fault_take_a_device_out_of_service(kind: str) -> None:
    story = watch(*failures(2, kind))
    assert story.decide() == []
    last = story.tell(*failures(1, kind, start=3))
    assert story.decide() == [
        Publish(DeviceUnhealthy(device=CPU, reason="3 attempts in a row failed by its fault"), last)
    ]
    assert len(story.follow()) == 1


@pytest.mark.parametrize("kind", ["build", "numerics", "resource", "files", "performance", "user", "unknown"])
def test_failures_by_the_jobs_own_fault_do_not(kind: str) -> None:
    assert watch(*failures(9, kind)).decide() == []


def test_vanished_attempts_point_at_the_device() -> None:
    told = [event for job in (1, 2, 3) for event in (an_assignment(job), an_end("vanished", job))]
    assert len(watch(*told).decide()) == 1


def test_what_vanished_while_the_platform_was_away_blames_no_device() -> None:
    told: list[Event] = []
    for job in (1, 2, 3):
        told += [an_assignment(job), AttemptFound(job=job, attempt=1, state="vanished"), an_end("vanished", job)]
    assert watch(*told).decide() == []


@pytest.mark.parametrize("outcome", ["completed", "stopped"])
def test_an_attempt_that_goes_well_clears_the_suspicion(outcome: Any) -> None:
    assert watch(*failures(2), an_assignment(8), an_end(outcome, 8), *failures(2, start=11)).decide() == []


def test_devices_are_suspected_one_by_one() -> None:
    elsewhere: list[Event] = [an_assignment(9, slot="cuda:0/0"), an_end("vanished", 9, slot="cuda:0/0")]
    assert watch(*failures(2), *elsewhere).decide() == []


def test_how_many_are_too_many_is_the_policy_s_affair() -> None:
    born = PlatformStarted(version="1", node="n0", pid=1, boot_id="b", policy=Policy(suspicions=1))
    assert len(watch(born, *failures(1)).decide()) == 1


def test_a_device_that_recovers_starts_anew() -> None:
    story = watch(*failures(3))
    story.follow()
    story.tell(report("recovered"))
    assert story.follow() == [DeviceRecovered(device=CPU)]
    story.tell(*failures(2, start=11))
    assert story.decide() == []


def test_a_report_of_better_days_does_not_excuse_what_came_after_it() -> None:
    story = watch(report("recovered"), *failures(3))
    assert [type(event) for event in story.follow()] == [DeviceUnhealthy]
