"""What is not in the archive yet."""

from __future__ import annotations

from events.base import Event
from events.outcome import Figures
from events.results import PerformanceRecorded
from mdactors.core.archiving import ArchivistCore
from mdactors.core.effects import Archive
from tests.builders import Story, an_end
from tests.mdactors.archive.builders import a_context


def written(job: int = 1, attempt: int = 1) -> Event:
    return PerformanceRecorded(job=job, attempt=attempt, outcome="completed", context=a_context(), figures=Figures())


def test_every_end_is_archived_once_however_it_ended() -> None:
    story = Story(ArchivistCore())
    completed, vanished = an_end(job=1), an_end("vanished", job=2)
    story.tell(completed, vanished)
    assert story.decide() == [Archive(completed, 1), Archive(vanished, 2)]
    assert story.decide() == []


def test_what_is_written_is_not_asked_for_again_after_a_restart() -> None:
    story = Story(ArchivistCore())
    story.tell(an_end(job=1), an_end(job=2), written(1))
    assert story.decide() == [Archive(an_end(job=2), 2)]


def test_what_was_asked_for_and_not_written_is_asked_for_in_the_next_life() -> None:
    story = Story(ArchivistCore())
    story.tell(an_end())
    story.decide()
    again = Story(ArchivistCore())
    again.tell(*(record.event for record in story.log))
    assert again.decide() == [Archive(an_end(), 1)]


def test_the_attempts_of_a_job_are_archived_one_by_one() -> None:
    story = Story(ArchivistCore())
    story.tell(an_end("stopped", attempt=1), written(attempt=1), an_end(attempt=2))
    assert story.decide() == [Archive(an_end(attempt=2), 3)]


def test_nothing_is_kept_of_what_is_done() -> None:
    core = ArchivistCore()
    story = Story(core)
    story.tell(an_end())
    story.decide()
    story.tell(written())
    assert (core.open, core._asked) == ({}, set())
