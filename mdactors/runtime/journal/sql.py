"""The log's file: its tables, its questions, and how it is read by those who change nothing in it."""

from __future__ import annotations

import contextlib
import importlib.resources
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from events.base import Record
from events.codec import decode
from mdactors.errors import NewerJournalError

FORMAT = 1
"""Raised when a table's shape changes; kept in `user_version`."""
APPLICATION_ID = 0x4D444163  # "MDAc"

Row = tuple[int, float, int, str, int, str, int]
"""seq, time, cause, type, version, body, seen."""

INSERT = "INSERT INTO events (seq, time, cause, type, version, body, seen) VALUES (?, ?, ?, ?, ?, ?, ?)"
SELECT = "SELECT seq, time, cause, type, version, body, seen FROM events WHERE seq > ? ORDER BY seq"
SELECT_KIND = "SELECT seq, time, cause, type, version, body, seen FROM events WHERE seq > ? AND type = ? ORDER BY seq"
PICK = (
    "SELECT seq, time, cause, type, version, body, seen FROM events "
    "WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq"
)
"""With the wanted numbers as a JSON array."""

FAULTS = (sqlite3.Error, ValueError, LookupError, msgspec.MsgspecError)
"""What a damaged log raises on reading."""


def schema() -> str:
    """Return the script that makes an empty log, in one transaction: each would wait for the disk."""
    tables = importlib.resources.files(__package__).joinpath("schema.sql").read_text(encoding="utf-8")
    return f"BEGIN;{tables}PRAGMA application_id={APPLICATION_ID};PRAGMA user_version={FORMAT};COMMIT;"


def record_of(row: Sequence[Any]) -> Record:
    """Return a row as a record.

    Raises:
        ValueError, msgspec.MsgspecError: the event is not known, or does not have its shape.
    """
    seq, time, cause, name, version, body, seen = row
    return Record(seq, time, cause, decode(name, version, body), seen)


def check_format(path: Path, found: int) -> None:
    """Refuse the file of a newer mdactors.

    Raises:
        NewerJournalError: it is one.
    """
    if found > FORMAT:
        raise NewerJournalError(f"{path} has format {found}; this version of mdactors reads up to {FORMAT}")


def connect(path: Path) -> sqlite3.Connection:
    """Open a log for reading.

    Raises:
        NewerJournalError: a newer mdactors wrote it.
        sqlite3.Error: it can't be read.
    """
    try:
        return _connect(path, "mode=ro")
    except sqlite3.OperationalError:
        # The log of a folder that we may not write to: nobody else writes there either.
        return _connect(path, "mode=ro&immutable=1")


def _connect(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(os.fsencode(path))}?{how}", uri=True, check_same_thread=False)
    try:
        check_format(path, int(connection.execute("PRAGMA user_version").fetchone()[0]))
        connection.execute("SELECT 1 FROM events LIMIT 1").fetchone()
    except UnicodeDecodeError as error:  # names in a damaged schema
        connection.close()
        raise sqlite3.DatabaseError(str(error)) from error
    except BaseException:
        connection.close()
        raise
    return connection


def rows(path: Path, since: int = 0) -> Iterator[Row]:
    """Yield the rows after `since`, in order. Raises as `connect` does."""
    with contextlib.closing(connect(path)) as connection:
        yield from connection.execute(SELECT, (since,))


def picked(path: Path, seqs: Sequence[int]) -> Iterator[Row]:
    """Yield the rows with these numbers, in order. Raises as `connect` does."""
    with contextlib.closing(connect(path)) as connection:
        yield from connection.execute(PICK, (listed(seqs),))


def listed(seqs: Sequence[int]) -> str:
    """Return numbers as `PICK` wants them."""
    return msgspec.json.encode(list(seqs)).decode()
