"""A stopped platform's files, read without changing them."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from mdactors.cli.stopped import Stopped, records, rows
from mdactors.errors import JournalError, NewerJournalError, NoPlatformError, UnknownJobError
from mdactors.runtime.journal.files import JOURNAL_NAME
from mdactors.runtime.journal.sql import FORMAT
from tests.mdactors.api.world import World


def test_the_read_models_are_those_of_the_platform(stopped: World) -> None:
    files = Stopped(str(stopped.state))
    assert {number: row.state for number, row in files.models.rows.items()} == {
        number: row.state for number, row in stopped.jobs.rows.items()
    }
    assert (files.last_seq, files.version, files.node) == (stopped.last_seq, "0.1.0", "node")
    with pytest.raises(UnknownJobError):
        files.row(99)


def test_reading_changes_nothing(stopped: World) -> None:
    journal = stopped.state / JOURNAL_NAME
    before = journal.read_bytes()
    assert len(list(records(str(stopped.state), since=3))) == stopped.last_seq - 3
    assert journal.read_bytes() == before


def test_a_journal_that_is_being_written_can_be_read(stopped: World) -> None:
    with sqlite3.connect(stopped.state / JOURNAL_NAME) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert len(list(rows(str(stopped.state)))) == stopped.last_seq
    writer.close()


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_to(stopped: World) -> None:
    stopped.state.chmod(0o500)
    try:
        assert len(list(rows(str(stopped.state)))) == stopped.last_seq
    finally:
        stopped.state.chmod(0o700)


def test_where_there_is_no_journal(tmp_path: Path) -> None:
    with pytest.raises(NoPlatformError, match="no event log"):
        Stopped(str(tmp_path))


def test_a_file_that_is_no_journal(tmp_path: Path) -> None:
    (tmp_path / JOURNAL_NAME).write_bytes(b"not a database, but long enough to be looked at" * 20)
    with pytest.raises(JournalError, match="can't be read"):
        Stopped(str(tmp_path))


def test_a_record_that_makes_no_sense_is_told_with_the_last_good_one(stopped: World) -> None:
    change(stopped, "UPDATE events SET type = 'JobTeleported' WHERE seq = 5")
    with pytest.raises(JournalError, match="readable up to record 4"):
        Stopped(str(stopped.state))


def test_a_newer_journal_is_refused(stopped: World) -> None:
    change(stopped, f"PRAGMA user_version={FORMAT + 1}")
    with pytest.raises(NewerJournalError, match="reads up to"):
        Stopped(str(stopped.state))


def change(world: World, statement: str) -> None:
    with sqlite3.connect(world.state / JOURNAL_NAME) as connection:
        connection.execute(statement)
    connection.close()


def test_a_name_that_is_not_utf_8_is_a_name(stopped: World, tmp_path: Path) -> None:
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    stopped.state.rename(odd)
    assert len(list(rows(odd))) == stopped.last_seq


def test_what_the_system_says_about_a_folder_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"can't be read: .* too long"):
        list(rows(str(tmp_path / ("x" * 300))))
