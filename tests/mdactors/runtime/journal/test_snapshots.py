"""Snapshots in the log's file: used as long as they are ours and can be read, thrown away otherwise."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mdactors.core.digest import digest
from mdactors.core.history import History
from mdactors.core.lifecycle import Jobs, JobState
from mdactors.runtime.journal import snapshots
from mdactors.runtime.journal.snapshots import newest
from mdactors.runtime.journal.sqlite import SqliteJournal
from tests.mdactors.runtime.journal.kit import a_snapshot, edited, story, written

LOG = story(12)


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    return await written(tmp_path / "journal.sqlite", LOG, snapshot_at=len(LOG))


def closed_numbers(path: Path) -> list[int]:
    with closing(sqlite3.connect(path)) as connection:
        return [job for (job,) in connection.execute("SELECT job FROM closed ORDER BY job")]


async def test_closed_jobs_are_found_by_number_and_fetched_when_asked_for(path: Path) -> None:
    found = newest(path)
    assert found
    snapshot, closed = found
    assert snapshot == a_snapshot(LOG)[0]
    assert list(closed.numbers()) == list(range(1, 13))
    assert closed.counts == {JobState.COMPLETED: 12}
    assert [job in closed for job in (0, 1, 12, 13, "1", None)] == [False, True, True, False, False, False]
    assert closed.row(7) == History(LOG).jobs[7]
    closed.close()


async def test_rows_come_back_as_they_were_whatever_is_in_them(path: Path) -> None:
    found = newest(path)
    assert found
    jobs, history = Jobs(found[1]), History(LOG)
    for record in LOG[-1:]:
        jobs.apply(record)
    assert digest(jobs, history.matrix) == history.digest()
    found[1].close()


async def test_without_a_log_or_a_snapshot_there_is_none(tmp_path: Path) -> None:
    assert newest(tmp_path / "nothing") is None
    assert newest(await written(tmp_path / "log", LOG)) is None


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE snapshots SET made_by = '0.0.0'",
        "UPDATE snapshots SET needed = 'garbage'",
        "UPDATE snapshots SET needed = '[\"one\"]'",
        "UPDATE closed SET state = 'asleep' WHERE job = 3",
        "UPDATE snapshots SET seq = 10000",
        "PRAGMA user_version = 99",
        "DROP TABLE snapshots",
        "DROP TABLE closed",
    ],
)
async def test_one_that_can_t_be_used_is_none(path: Path, damage: str) -> None:
    edited(path, damage)
    assert newest(path) is None


async def test_another_version_throws_away_what_this_one_closed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may make other rows of the same facts, so it has folded all of them again."""
    monkeypatch.setattr(snapshots, "MADE_BY", "99.0.0")
    journal = await SqliteJournal.open(path)
    assert await journal.snapshot() is None
    snapshot, closed = a_snapshot(LOG)
    await journal.keep(snapshot, closed[:4])
    await journal.close()
    assert closed_numbers(path) == [1, 2, 3, 4]


async def test_the_same_version_adds_to_them(path: Path) -> None:
    journal = await SqliteJournal.open(path)
    snapshot, closed = a_snapshot(LOG)
    await journal.keep(snapshot, closed[3:4])
    await journal.close()
    assert closed_numbers(path) == list(range(1, 13))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM snapshots").fetchone() == (1,)
