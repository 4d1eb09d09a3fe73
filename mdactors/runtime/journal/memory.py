"""A journal in memory: for simulations, previews and tests, held to the same contract as the real one."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence

import msgspec

from events.base import Event, Record
from events.codec import STORED_AS, decode, encode
from mdactors.core.lifecycle import Job, JobState
from mdactors.errors import JournalError
from mdactors.ports import Snapshot

Row = tuple[int, float, int, str, int, bytes, int]


class MemoryJournal:
    """Keeps records encoded, so that what can't be stored can't pass a test either."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._snapshot: Snapshot | None = None
        self._closed: dict[int, bytes] = {}

    async def append(self, records: Sequence[Record]) -> None:
        """Keep the records, all or none.

        Raises:
            JournalError: a number is taken; nothing was kept.
        """
        rows: list[Row] = [
            (row.seq, row.time, row.cause, *STORED_AS[type(row.event)], encode(row.event), row.seen) for row in records
        ]
        taken = await self.last()
        if any(row[0] <= taken for row in rows):
            raise JournalError(f"record {taken} is there already")
        self.rows += rows

    async def read(self, since: int = 0, kind: type[Event] | None = None) -> AsyncIterator[Record]:
        """Yield the records after `since`, in order; only facts of one kind where one is named."""
        for row in list(self.rows):
            if row[0] > since and (kind is None or row[3] == STORED_AS[kind][0]):
                yield _record(row)

    async def pick(self, seqs: Sequence[int]) -> AsyncIterator[Record]:
        """Yield the records with these numbers, in order."""
        wanted = set(seqs)
        for row in list(self.rows):
            if row[0] in wanted:
                yield _record(row)

    async def last(self) -> int:
        """Return the greatest sequence number."""
        return self.rows[-1][0] if self.rows else 0

    async def keep(self, snapshot: Snapshot, closed: Sequence[Job]) -> None:
        """Keep a snapshot, and the jobs that were closed since the one before."""
        self._closed |= {row.job: msgspec.json.encode(row) for row in closed}
        self._snapshot = snapshot

    async def snapshot(self) -> tuple[Snapshot, ClosedRows] | None:
        """Return the newest snapshot and all closed jobs."""
        return (self._snapshot, ClosedRows(dict(sorted(self._closed.items())))) if self._snapshot else None

    async def close(self) -> None:
        """Nothing to release."""


class ClosedRows:
    """The closed jobs of one journal."""

    def __init__(self, rows: dict[int, bytes]) -> None:
        self._rows = rows
        self.counts: dict[JobState, int] = Counter(self.row(job).state for job in rows)

    def __contains__(self, job: object) -> bool:
        return job in self._rows

    def numbers(self) -> Sequence[int]:
        """Return their numbers, ascending."""
        return list(self._rows)

    def row(self, job: int) -> Job:
        """Return one of them."""
        return msgspec.json.decode(self._rows[job], type=Job)


def _record(row: Row) -> Record:
    seq, time, cause, name, version, body, seen = row
    return Record(seq, time, cause, decode(name, version, body), seen)
