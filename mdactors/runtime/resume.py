"""From the log to where it leads: the residue of the newest snapshot, then everything after it."""

from __future__ import annotations

from collections.abc import AsyncIterator

from events.base import Record
from mdactors.ports import Journal, Snapshot


async def resume(journal: Journal, snapshot: Snapshot | None) -> AsyncIterator[Record]:
    """Yield what a start has to fold, in order; without a snapshot, the whole log."""
    if snapshot is not None:
        async for record in journal.pick(snapshot.needed):
            yield record
    async for record in journal.read(snapshot.seq if snapshot else 0):
        yield record
