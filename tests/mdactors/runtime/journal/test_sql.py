"""The log's file, read by those who change nothing in it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from mdactors.errors import NewerJournalError
from mdactors.runtime.journal.sql import FAULTS, FORMAT, check_format, connect, picked, record_of, rows, schema
from mdactors.runtime.journal.sqlite import SqliteJournal
from tests.mdactors.runtime.journal.kit import edited, story, written

LOG = story(3)


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    return await written(tmp_path / "a log? 100%.sqlite", LOG)


async def test_rows_are_records(path: Path) -> None:
    assert list(map(record_of, rows(path))) == LOG
    assert list(map(record_of, rows(path, since=20))) == LOG[20:]


async def test_rows_are_picked_in_order_whatever_the_order_of_the_question(path: Path) -> None:
    assert list(map(record_of, picked(path, (9, 2, 2, 5000, 3)))) == [LOG[1], LOG[2], LOG[8]]
    assert list(picked(path, ())) == []


async def test_a_reader_can_t_write(path: Path) -> None:
    with closing(connect(path)) as connection, pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM events")


async def test_a_log_that_is_open_is_read_with_what_was_written_last(tmp_path: Path) -> None:
    journal = await SqliteJournal.open(tmp_path / "log")
    await journal.append(LOG[:3])
    assert list(map(record_of, rows(journal.path))) == LOG[:3]
    await journal.close()


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
async def test_a_log_in_a_folder_that_may_not_be_written_to_is_read(path: Path) -> None:
    path.parent.chmod(0o500)
    try:
        assert len(list(rows(path))) == len(LOG)
    finally:
        path.parent.chmod(0o700)


async def test_a_newer_one_is_refused(path: Path) -> None:
    check_format(path, FORMAT)
    edited(path, f"PRAGMA user_version={FORMAT + 1}")
    with pytest.raises(NewerJournalError, match=f"has format {FORMAT + 1}"):
        connect(path)


@pytest.mark.parametrize("content", [b"", b"no database at all" * 1000, bytes(8192)], ids=["empty", "text", "zeros"])
def test_what_is_no_log_raises_what_a_damaged_one_does(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises(FAULTS):
        list(rows(path))
    with pytest.raises(FAULTS):
        list(rows(tmp_path / "nothing"))
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize(
    ("column", "value"), [(3, "FromTheFuture"), (4, 99), (5, "{"), (5, "{}"), (5, '{"type":"ProbeRequested"}')]
)
async def test_a_row_that_is_no_record_raises_what_a_damaged_log_does(path: Path, column: int, value: object) -> None:
    row = list(next(rows(path, since=1)))
    row[column] = value
    with pytest.raises(FAULTS):
        record_of(row)


def test_an_empty_log_is_made_at_once() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        statements: list[str] = []
        connection.set_trace_callback(statements.append)
        connection.executescript(schema())
        assert [line for line in statements if line.startswith(("BEGIN", "COMMIT"))] == ["BEGIN;", "COMMIT;"]
        assert connection.execute("PRAGMA user_version").fetchone() == (FORMAT,)


def test_faults_are_no_faults_of_ours() -> None:
    assert issubclass(msgspec.DecodeError, FAULTS)
    assert not issubclass(TypeError, FAULTS)


async def test_a_damaged_schema_is_a_fault_of_the_file(path: Path) -> None:
    data = bytearray(path.read_bytes())
    place = data.index(b"CREATE TABLE events")
    data[place + 7 : place + 9] = b"\x80\xff"
    path.write_bytes(data)
    with pytest.raises(sqlite3.DatabaseError):
        connect(path)
