"""The event log in SQLite: WAL, synchronous=FULL, one transaction and two thread hops for a whole group."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import aiosqlite
import anyio

from events.base import Event, Record
from events.codec import STORED_AS, encode
from mdactors.core.lifecycle import Job
from mdactors.errors import JournalError
from mdactors.ports import Snapshot
from mdactors.runtime.journal import snapshots
from mdactors.runtime.journal.files import finish
from mdactors.runtime.journal.sql import (
    APPLICATION_ID,
    FAULTS,
    INSERT,
    PICK,
    SELECT,
    SELECT_KIND,
    Row,
    check_format,
    listed,
    record_of,
    schema,
)


class SqliteJournal:
    """The event log of one state folder; open it with `SqliteJournal.open`."""

    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        self._connection = connection
        self._closed: snapshots.ClosedRows | None = None
        self.path = path

    @classmethod
    async def open(cls, path: Path) -> SqliteJournal:
        """Open or make the log.

        Raises:
            NewerJournalError: a newer mdactors wrote it.
            JournalError: it can't be opened, or is no event log.
        """
        try:
            finish(path)
            # Tried first: where it can't be opened, aiosqlite would leave a thread that complains later.
            sqlite3.connect(path).close()
            connection = await aiosqlite.connect(path)
        except (sqlite3.Error, OSError) as error:
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

    async def read(self, since: int = 0, kind: type[Event] | None = None) -> AsyncIterator[Record]:
        """Yield the records after `since`, in order, without holding them all; only facts of one kind where one is named.

        Raises:
            JournalError: a row can't be read; the message says which was the last good one.
        """
        good = since
        try:
            async with self._connection.execute(*_question(since, kind)) as cursor:
                while rows := await cursor.fetchmany(1000):
                    for row in rows:
                        yield record_of(row)
                        good = row[0]
        except FAULTS as error:
            raise JournalError(f"{self.path} is readable at least up to record {good}: {error}") from error

    async def pick(self, seqs: Sequence[int]) -> AsyncIterator[Record]:
        """Yield the records with these numbers, in order. Raises as `read` does."""
        try:
            async with self._connection.execute(PICK, (listed(seqs),)) as cursor:
                async for row in cursor:
                    yield record_of(row)
        except FAULTS as error:
            raise JournalError(f"{self.path} can't be read: {error}") from error

    async def keep(self, snapshot: Snapshot, closed: Sequence[Job]) -> None:
        """Make a snapshot durable, with the jobs that were closed since the one before, all or nothing.

        Raises:
            JournalError: it is not; the one before stays.
        """
        try:
            await snapshots.write(self._connection, snapshot, closed)
        except sqlite3.Error as error:
            await self._give_up()
            raise JournalError(f"{self.path}: a snapshot could not be kept: {error}") from error

    async def snapshot(self) -> tuple[Snapshot, snapshots.ClosedRows] | None:
        """Return the newest snapshot and all closed jobs; None where there is none that this version can use."""
        found = await anyio.to_thread.run_sync(snapshots.newest, self.path)
        if found is not None:
            self._closed = found[1]
        return found

    async def last(self) -> int:
        """Return the greatest sequence number, 0 for an empty log."""
        async with self._connection.execute("SELECT coalesce(max(seq), 0) FROM events") as cursor:
            row = await cursor.fetchone()
        return int(row[0]) if row else 0

    async def close(self) -> None:
        """Release the file."""
        if self._closed is not None:
            self._closed.close()
        await self._connection.close()


def _question(since: int, kind: type[Event] | None) -> tuple[str, tuple[int | str, ...]]:
    return (SELECT, (since,)) if kind is None else (SELECT_KIND, (since, STORED_AS[kind][0]))


def _rows(records: Sequence[Record]) -> list[Row]:
    return [
        (
            record.seq,
            record.time,
            record.cause,
            *STORED_AS[type(event := record.event)],
            encode(event).decode(),
            record.seen,
        )
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
    check_format(path, found)
    if found == 0:
        await connection.executescript(schema())
        await connection.commit()
