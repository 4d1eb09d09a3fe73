"""The event log in SQLite: WAL, synchronous=FULL, one transaction and two thread hops for a whole group."""

from __future__ import annotations

import importlib.resources
import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import aiosqlite
import msgspec

from events.base import Record
from events.codec import STORED_AS, decode, encode
from mdactors.errors import JournalError, NewerJournalError

FORMAT = 1
"""Raised when the table's shape changes; kept in `user_version`."""

APPLICATION_ID = 0x4D444163  # "MDAc"

INSERT = "INSERT INTO events (seq, time, cause, type, version, body) VALUES (?, ?, ?, ?, ?, ?)"
SELECT = "SELECT seq, time, cause, type, version, body FROM events WHERE seq > ? ORDER BY seq"


class SqliteJournal:
    """The event log of one state folder; open it with `SqliteJournal.open`."""

    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        self._connection = connection
        self.path = path

    @classmethod
    async def open(cls, path: Path) -> SqliteJournal:
        """Open or make the log.

        Raises:
            NewerJournalError: a newer mdactors wrote it.
            JournalError: it can't be opened, or is no event log.
        """
        try:
            # Tried first: where it can't be opened, aiosqlite would leave a thread that complains later.
            sqlite3.connect(path).close()
            connection = await aiosqlite.connect(path)
        except sqlite3.Error as error:
            raise JournalError(f"{path} can't be opened: {error}") from error
        try:
            await _prepare(connection, path)
        except sqlite3.Error as error:
            await connection.close()
            raise JournalError(f"{path} can't be used as an event log: {error}") from error
        except JournalError:
            await connection.close()
            raise
        return cls(connection, path)

    async def append(self, records: Sequence[Record]) -> None:
        """Make the records durable, all or none.

        Raises:
            JournalError: nothing of the group was kept.
        """
        try:
            # Python's sqlite3 begins the transaction by itself with the first INSERT: two hops instead of three.
            await self._connection.executemany(INSERT, _rows(records))
            await self._connection.commit()
        except sqlite3.Error as error:
            await self._give_up()
            raise JournalError(f"{self.path}: {len(records)} events could not be made durable: {error}") from error

    async def _give_up(self) -> None:
        try:
            await self._connection.rollback()
        except sqlite3.Error:
            return  # the first error is the one to tell

    async def read(self, since: int = 0) -> AsyncIterator[Record]:
        """Yield the records after `since`, in order, without holding them all.

        Raises:
            JournalError: a row can't be read; the message says which was the last good one.
        """
        good = since
        try:
            async with self._connection.execute(SELECT, (since,)) as cursor:
                while rows := await cursor.fetchmany(1000):
                    for seq, time, cause, name, version, body in rows:
                        yield Record(seq, time, cause, decode(name, version, body))
                        good = seq
        except (sqlite3.Error, ValueError, LookupError, msgspec.MsgspecError) as error:
            raise JournalError(f"{self.path} is readable up to record {good}: {error}") from error

    async def last(self) -> int:
        """Return the greatest sequence number, 0 for an empty log."""
        async with self._connection.execute("SELECT coalesce(max(seq), 0) FROM events") as cursor:
            row = await cursor.fetchone()
        return int(row[0]) if row else 0

    async def close(self) -> None:
        """Release the file."""
        await self._connection.close()


def _rows(records: Sequence[Record]) -> list[tuple[int, float, int, str, int, str]]:
    return [
        (record.seq, record.time, record.cause, *STORED_AS[type(event := record.event)], encode(event).decode())
        for record in records
    ]


async def _prepare(connection: aiosqlite.Connection, path: Path) -> None:
    await connection.execute("PRAGMA journal_mode=WAL")
    await connection.execute("PRAGMA synchronous=FULL")
    async with connection.execute("PRAGMA user_version") as cursor:
        row = await cursor.fetchone()
    found = int(row[0]) if row else 0
    async with connection.execute("PRAGMA application_id") as cursor:
        row = await cursor.fetchone()
    if found and row != (APPLICATION_ID,):
        raise JournalError(f"{path} is no event log: another program's database")
    if found > FORMAT:
        raise NewerJournalError(f"{path} has format {found}; this version of mdactors reads up to {FORMAT}")
    if found == 0:
        schema = importlib.resources.files(__package__).joinpath("schema.sql").read_text(encoding="utf-8")
        await connection.executescript(f"{schema}PRAGMA application_id={APPLICATION_ID};PRAGMA user_version={FORMAT};")
        await connection.commit()
