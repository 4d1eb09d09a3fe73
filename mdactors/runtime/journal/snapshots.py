"""Snapshots, in the log's own file.

They are made from the events and can be made again from them, so one that this version did not make is thrown away.
"""

from __future__ import annotations

import bisect
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import aiosqlite
import msgspec

from mdactors import __version__
from mdactors.core.lifecycle import Job, JobState
from mdactors.errors import JournalError
from mdactors.ports import Snapshot
from mdactors.runtime.journal.sql import FAULTS, connect, listed

MADE_BY = __version__

NEWEST = (
    "SELECT seq, needed, counters FROM snapshots "
    "WHERE made_by = ? AND seq <= (SELECT max(seq) FROM events) ORDER BY seq DESC LIMIT 1"
)
"""One of a record that the log has lost would hide what is written under that number next."""


async def write(connection: aiosqlite.Connection, snapshot: Snapshot, closed: Sequence[Job]) -> None:
    """Put a snapshot in the place of the one before, and the jobs that were closed since to the others."""
    rows = [(row.job, row.state.value, msgspec.json.encode(row).decode()) for row in closed]  # may raise: first of all
    await connection.execute(
        "DELETE FROM closed WHERE NOT EXISTS (SELECT 1 FROM snapshots WHERE made_by = ?)", (MADE_BY,)
    )
    await connection.executemany("INSERT OR REPLACE INTO closed (job, state, row) VALUES (?, ?, ?)", rows)
    await connection.execute("DELETE FROM snapshots")
    await connection.execute(
        "INSERT INTO snapshots (seq, made_by, needed, counters) VALUES (?, ?, ?, ?)",
        (snapshot.seq, MADE_BY, listed(snapshot.needed), snapshot.counters.decode()),
    )
    await connection.commit()


def newest(path: Path) -> tuple[Snapshot, ClosedRows] | None:
    """Return the newest snapshot and the closed jobs; None where there is none that this version can use."""
    try:
        connection = connect(path)
    except (sqlite3.Error, JournalError):
        return None  # whoever reads the events says what is wrong with the file
    try:
        snapshot = _newest(connection)
        if snapshot is not None:
            return snapshot, ClosedRows(connection)
    except FAULTS:
        pass  # the events are what counts
    connection.close()
    return None


def _newest(connection: sqlite3.Connection) -> Snapshot | None:
    row = connection.execute(NEWEST, (MADE_BY,)).fetchone()
    if row is None:
        return None
    seq, needed, counters = row
    return Snapshot(seq=seq, needed=msgspec.json.decode(needed, type=tuple[int, ...]), counters=counters.encode())


class ClosedRows:
    """The closed jobs of one log: their numbers in memory, their rows fetched one by one.

    Args:
        connection: reads the log.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._numbers = sorted(
            number for (number,) in connection.execute("SELECT job FROM closed INDEXED BY closed_by_state")
        )
        counted = connection.execute("SELECT state, count(*) FROM closed GROUP BY state")
        self.counts = {JobState(state): int(count) for state, count in counted}

    def __contains__(self, job: object) -> bool:
        if not isinstance(job, int):
            return False
        place = bisect.bisect_left(self._numbers, job)
        return place < len(self._numbers) and self._numbers[place] == job

    def numbers(self) -> Sequence[int]:
        """Return their numbers, ascending."""
        return self._numbers

    def row(self, job: int) -> Job:
        """Return one of them."""
        (body,) = self._connection.execute("SELECT row FROM closed WHERE job = ?", (job,)).fetchone()
        return msgspec.json.decode(body, type=Job)

    def close(self) -> None:
        """Release the file."""
        self._connection.close()
