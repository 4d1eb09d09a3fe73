"""A journal in memory: for simulations and tests, held to the same contract as the real one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from events.base import Record
from events.codec import STORED_AS, decode, encode
from mdactors.errors import JournalError


class MemoryJournal:
    """Keeps records encoded, so that what can't be stored can't pass a test either."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, float, int, str, int, bytes]] = []

    async def append(self, records: Sequence[Record]) -> None:
        """Keep the records, all or none.

        Raises:
            JournalError: a number is taken; nothing was kept.
        """
        rows = [(row.seq, row.time, row.cause, *STORED_AS[type(row.event)], encode(row.event)) for row in records]
        taken = await self.last()
        if any(row[0] <= taken for row in rows):
            raise JournalError(f"record {taken} is there already")
        self.rows += rows

    async def read(self, since: int = 0) -> AsyncIterator[Record]:
        """Yield the records after `since`, in order."""
        for seq, time, cause, name, version, body in list(self.rows):
            if seq > since:
                yield Record(seq, time, cause, decode(name, version, body))

    async def last(self) -> int:
        """Return the greatest sequence number."""
        return self.rows[-1][0] if self.rows else 0

    async def close(self) -> None:
        """Nothing to release."""
