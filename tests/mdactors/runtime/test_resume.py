"""What a start folds leads to where the whole log leads."""

from __future__ import annotations

import pytest

from events.base import Record
from mdactors.core.capabilities import Matrix
from mdactors.core.digest import digest
from mdactors.core.history import History
from mdactors.core.lifecycle import Jobs
from mdactors.ports import Snapshot
from mdactors.runtime.journal.memory import MemoryJournal
from mdactors.runtime.resume import resume
from tests.mdactors.runtime.journal.kit import a_snapshot, story

LOG = story(4)


async def folded(journal: MemoryJournal, snapshot: Snapshot | None) -> list[Record]:
    return [record async for record in resume(journal, snapshot)]


async def test_without_a_snapshot_it_is_the_whole_log() -> None:
    journal = MemoryJournal()
    await journal.append(LOG)
    assert await folded(journal, None) == LOG


async def test_with_one_it_is_what_is_still_needed_and_all_that_came_later() -> None:
    journal = MemoryJournal()
    await journal.append(LOG)
    snapshot = Snapshot(seq=20, needed=(1, 16), counters=b"")
    assert [record.seq for record in await folded(journal, snapshot)] == [1, 16, *range(21, len(LOG) + 1)]


@pytest.mark.parametrize("at", range(1, len(LOG) + 1))
async def test_wherever_the_snapshot_was_made_the_state_is_the_same(at: int) -> None:
    journal = MemoryJournal()
    await journal.append(LOG)
    await journal.keep(*a_snapshot(LOG[:at]))
    found = await journal.snapshot()
    assert found
    jobs, matrix = Jobs(found[1]), Matrix()
    for record in await folded(journal, found[0]):
        jobs.apply(record)
        matrix.apply(record)
    assert digest(jobs, matrix) == History(LOG).digest()
    assert (len(jobs), jobs.counts) == (5, History(LOG).jobs.counts)
