"""The event log in a file: durable groups, whole ones, and a clear word about what can't be read."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from events.base import Record
from events.devices import ProbeRequested
from events.jobs import JobCancelRequested
from mdactors.errors import JournalError, NewerJournalError
from mdactors.runtime.journal.sql import APPLICATION_ID, FORMAT
from mdactors.runtime.journal.sqlite import SqliteJournal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


@pytest.fixture
async def journal(path: Path) -> AsyncIterator[SqliteJournal]:
    opened = await SqliteJournal.open(path)
    yield opened
    await opened.close()


def some(count: int, first: int = 1) -> list[Record]:
    return [Record(seq, float(seq), 0, JobCancelRequested(job=seq)) for seq in range(first, first + count)]


async def seqs(journal: SqliteJournal) -> list[int]:
    return [record.seq async for record in journal.read()]


async def reopened(path: Path) -> list[int]:
    """Return what another life finds."""
    later = await SqliteJournal.open(path)
    try:
        return await seqs(later)
    finally:
        await later.close()


def copy(path: Path, folder: Path) -> Path:
    """Copy the files of a log as a crash would leave them."""
    folder.mkdir(exist_ok=True)
    for part in path.parent.glob(f"{path.name}*"):
        if not part.name.endswith("-shm"):
            shutil.copyfile(part, folder / part.name)
    return folder / path.name


def edited(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


# ---------------------------------------------------------------- durable


async def test_a_commit_waits_for_the_disk(journal: SqliteJournal) -> None:
    asked = {}
    for name in ("journal_mode", "synchronous", "user_version", "application_id"):
        async with journal._connection.execute(f"PRAGMA {name}") as cursor:
            asked[name] = await cursor.fetchone()
    assert asked == {
        "journal_mode": ("wal",),
        "synchronous": (2,),  # FULL
        "user_version": (FORMAT,),
        "application_id": (APPLICATION_ID,),
    }


async def test_a_group_is_one_transaction(journal: SqliteJournal) -> None:
    statements: list[str] = []
    await journal._connection.set_trace_callback(statements.append)
    await journal.append(some(500))
    kinds = [statement.split()[0] for statement in statements]
    assert (kinds[0], kinds[-1], kinds.count("COMMIT"), kinds.count("INSERT")) == ("BEGIN", "COMMIT", 1, 500)


async def test_it_survives_being_reopened(path: Path) -> None:
    for life in range(3):
        journal = await SqliteJournal.open(path)
        assert await journal.last() == 2 * life
        await journal.append(some(2, first=2 * life + 1))
        await journal.close()
    assert await reopened(path) == [1, 2, 3, 4, 5, 6]


async def test_what_was_appended_is_in_the_file_without_any_goodbye(
    journal: SqliteJournal, path: Path, tmp_path: Path
) -> None:
    await journal.append(some(3))
    assert await reopened(copy(path, tmp_path / "crashed")) == [1, 2, 3]


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from events.base import Record
from events.jobs import JobCancelRequested
from mdactors.runtime.journal.sqlite import INSERT, SqliteJournal, _rows

def some(count, first):
    return [Record(seq, 0.0, 0, JobCancelRequested(job=seq)) for seq in range(first, first + count)]

async def main():
    journal = await SqliteJournal.open(Path(sys.argv[1]))
    await journal.append(some(2, 1))
    await journal._connection.execute("PRAGMA cache_size=5")  # spill into the log file before the commit
    await journal._connection.executemany(INSERT, _rows(some(5000, 3)))
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_a_kill_in_the_middle_of_a_transaction_leaves_the_groups_before_it(path: Path) -> None:
    done = await anyio.run_process([sys.executable, "-c", KILLED, path], check=False, cwd=Path(__file__).parents[4])
    assert done.returncode == -signal.SIGKILL
    assert path.with_name(path.name + "-wal").stat().st_size > 100_000
    assert await reopened(path) == [1, 2]


async def test_a_log_torn_anywhere_holds_whole_groups(journal: SqliteJournal, path: Path, tmp_path: Path) -> None:
    for group in range(4):
        await journal.append(some(60, first=60 * group + 1))
    copied = copy(path, tmp_path / "torn")
    wal = copied.with_name(copied.name + "-wal")
    whole = wal.read_bytes()
    found = set()
    for size in range(0, len(whole) + 1, 1021):
        copied = copy(path, tmp_path / "torn")
        wal.write_bytes(whole[:size])
        there = await reopened(copied)
        assert there == list(range(1, len(there) + 1))
        found.add(len(there))
    assert found <= {0, 60, 120, 180, 240}
    assert len(found) >= 4


# ---------------------------------------------------------------- a full disk


async def test_a_full_disk_keeps_nothing_of_the_group_and_all_before_it(journal: SqliteJournal, path: Path) -> None:
    await journal.append(some(10))
    async with journal._connection.execute("PRAGMA page_count") as cursor:
        row = await cursor.fetchone()
    assert row
    await journal._connection.execute(f"PRAGMA max_page_count={row[0] + 2}")
    with pytest.raises(JournalError, match=r"journal\.sqlite: 5000 events could not be made durable: .* full"):
        await journal.append(some(5000, first=11))
    assert await seqs(journal) == list(range(1, 11))
    await journal._connection.execute("PRAGMA max_page_count=1000000")
    await journal.append(some(5000, first=11))
    assert await journal.last() == 5010


async def test_a_commit_that_fails_keeps_nothing(journal: SqliteJournal, path: Path) -> None:
    """Somebody else writes: what waits longer than SQLite does is a failure like any other."""
    await journal._connection.execute("PRAGMA busy_timeout=0")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalError, match="locked"):
            await journal.append(some(1))
        other.execute("ROLLBACK")
    await journal.append(some(1))
    assert await seqs(journal) == [1]


# ---------------------------------------------------------------- what can't be used


async def test_a_newer_log_is_refused_with_what_helps(path: Path) -> None:
    await (await SqliteJournal.open(path)).close()
    edited(path, f"PRAGMA user_version={FORMAT + 1}")
    with pytest.raises(NewerJournalError, match=f"has format {FORMAT + 1}; this version of mdactors reads up to"):
        await SqliteJournal.open(path)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda path: path.write_bytes(b"no database at all" * 100), "not a database"),
        (lambda path: path.mkdir(), "can't be opened"),
        (lambda path: edited(path, "PRAGMA user_version=1"), "another program's database"),
    ],
    ids=["text", "folder", "other program"],
)
async def test_what_is_no_log_is_refused(path: Path, make: Callable[[Path], None], word: str) -> None:
    make(path)
    with pytest.raises(JournalError, match=word):
        await SqliteJournal.open(path)


async def test_a_crash_while_the_log_was_made_is_mended(path: Path) -> None:
    await (await SqliteJournal.open(path)).close()
    edited(path, "PRAGMA user_version=0")
    assert await reopened(path) == []


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE events SET body = '{' WHERE seq = 3",
        'UPDATE events SET body = \'{"type":"ProbeRequested","by":7}\' WHERE seq = 3',
        "UPDATE events SET type = 'FromTheFuture' WHERE seq = 3",
        "UPDATE events SET version = 99 WHERE seq = 3",
        "UPDATE events SET version = 0 WHERE seq = 3",
    ],
)
async def test_a_damaged_row_is_told_with_the_last_good_one(journal: SqliteJournal, path: Path, damage: str) -> None:
    await journal.append([Record(seq, 0.0, 0, ProbeRequested()) for seq in range(1, 6)])
    edited(path, damage)
    with pytest.raises(JournalError, match="readable at least up to record 2: "):
        await seqs(journal)
