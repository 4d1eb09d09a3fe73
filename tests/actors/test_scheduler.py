"""Scheduler: the one who moves jobs, in one life and over several."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.scheduler import Scheduler
from events.attempts import AttemptEnded, JobAssigned
from events.base import Record
from events.jobs import JobCancelled, JobCancelRequested, JobCompleted
from mdactors.runtime.clock import VirtualLoop
from tests.actors.kit import Stage, stage
from tests.builders import an_end
from tests.mdactors.runtime.kit import VIRTUAL


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, type[VirtualLoop]]]:
    return VIRTUAL


def places(it: Stage) -> list[tuple[int, str]]:
    return [(event.job, event.slot) for event in map(assignment_of, it.all(JobAssigned))]


def assignment_of(record: Record) -> JobAssigned:
    assert isinstance(record.event, JobAssigned)
    return record.event


async def test_free_slots_are_filled_and_the_rest_waits(tmp_path: Path) -> None:
    async with stage(tmp_path) as it:
        await it.act(Scheduler())
        await it.probed()
        for job in range(1, 6):
            await it.queued(job)
        await it.clock.sleep(1)
        assert places(it) == [(1, "cuda:0/0"), (2, "cpu:0/0"), (3, "cpu:0/1")]
        ended = await it.publish(an_end(job=2))
        assert (await it.record(JobCompleted)).cause == ended
        await it.record(JobAssigned, 4)
        assert places(it)[3:] == [(4, "cpu:0/0")]


async def test_a_full_disk_assigns_no_slot_twice(tmp_path: Path) -> None:
    async with stage(tmp_path) as it:
        await it.probed()
        for job in range(1, 6):
            await it.queued(job)
        it.journal.fill()
        await it.act(Scheduler())
        await it.clock.sleep(100)
        assert places(it) == []
        it.journal.empty()
        await it.clock.sleep(100)
        assert places(it) == [(1, "cuda:0/0"), (2, "cpu:0/0"), (3, "cpu:0/1")]


async def test_the_next_life_goes_on_where_the_last_one_was_cut_off(tmp_path: Path) -> None:
    async with stage(tmp_path) as first:
        await first.act(Scheduler())
        await first.probed()
        for job in range(1, 6):
            await first.queued(job)
        await first.clock.sleep(1)
    async with stage(tmp_path, first) as second:
        await second.publish(an_end(job=1, slot="cuda:0/0"))
        await second.act(Scheduler())
        await second.clock.sleep(1)
        assert places(second)[3:] == [(4, "cuda:0/0")]
        assert len(second.all(JobCompleted)) == len(second.all(AttemptEnded)) == 1


async def test_one_that_only_settles_starts_nothing_and_sees_the_rest_through(tmp_path: Path) -> None:
    async with stage(tmp_path) as it:
        await it.probed()
        await it.assigned(1)
        await it.queued(2)
        await it.queued(3)
        await it.act(Scheduler(assigns=False))
        await it.publish(an_end(job=1), JobCancelRequested(job=3))
        await it.fact(JobCompleted)
        assert (await it.fact(JobCancelled)).job == 3
        await it.clock.sleep(10)
        assert places(it) == [(1, "cpu:0/0")]
