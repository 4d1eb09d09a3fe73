"""Negotiator: every submission has its answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.negotiator import Negotiator
from events.jobs import JobAccepted, JobRejected
from mdactors.runtime.clock import VirtualLoop
from tests.actors.kit import CPU, GPU, stage
from tests.mdactors.runtime.kit import VIRTUAL


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, type[VirtualLoop]]]:
    return VIRTUAL


async def test_a_submission_is_answered_by_the_matrix_best_first(tmp_path: Path) -> None:
    async with stage(tmp_path) as it:
        await it.act(Negotiator())
        await it.probed()
        submitted = await it.publish(it.submission())
        accepted = await it.record(JobAccepted)
        assert accepted.cause == submitted
        assert isinstance(accepted.event, JobAccepted)
        assert [choice.capability for choice in accepted.event.candidates] == [GPU, CPU]


async def test_what_was_submitted_before_anything_was_known_is_answered_then(tmp_path: Path) -> None:
    async with stage(tmp_path) as it:
        await it.act(Negotiator())
        await it.publish(*[it.submission(job) for job in (1, 2, 3)])
        await it.clock.sleep(10)
        assert it.all(JobAccepted) == []
        await it.probed()
        assert [(await it.fact(JobAccepted, nth)).job for nth in (1, 2, 3)] == [1, 2, 3]


async def test_what_an_earlier_life_left_unanswered_is_answered_once(tmp_path: Path) -> None:
    async with stage(tmp_path) as first:
        await first.probed()
        await first.queued(1)
        await first.publish(first.submission(2))
    async with stage(tmp_path, first) as second:
        await second.act(Negotiator())
        await second.clock.sleep(10)
        assert [record.event.job for record in second.all(JobAccepted) if isinstance(record.event, JobAccepted)] == [
            1,
            2,
        ]
        assert second.all(JobRejected) == []
