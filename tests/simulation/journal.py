"""A journal that knows what was synced: what was appended and not committed is lost with the platform, or is not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

import anyio

from events.base import Record
from mdactors.errors import JournalError
from mdactors.ports import Clock
from mdactors.runtime.journal.memory import MemoryJournal
from tests.simulation.life import Life


class SyncedJournal:
    """One life's door to the log. A group becomes durable as a whole, at one instant, some time after it was appended.

    Args:
        durable: what is on the disk; it outlives this life.
        life: whose door it is.
        clock: simulated time.
        seconds: between the append and the sync.
        lucky: asked when the life ends in between: had the sync reached the disk?
        full: asked at each append: is the disk full?
    """

    def __init__(
        self,
        durable: MemoryJournal,
        life: Life,
        clock: Clock,
        *,
        seconds: float = 0.0,
        lucky: Callable[[], bool] = lambda: False,
        full: Callable[[], bool] = lambda: False,
    ) -> None:
        self._durable = durable
        self._life = life
        self._clock = clock
        self._seconds = seconds
        self._lucky = lucky
        self._full = full

    async def append(self, records: Sequence[Record]) -> None:
        """Make the records durable, all or none."""
        names = " ".join(type(record.event).__name__ for record in records)
        await self._life.moment(f"before commit: {names}")
        if self._full():
            raise JournalError("no space left on device")
        if self._seconds:
            await self._sync(records)
        else:
            await self._durable.append(records)
        await self._life.moment(f"after commit: {names}")
        self._life.moment_after_this_turn(f"after dispatch: {names}")

    async def _sync(self, records: Sequence[Record]) -> None:
        try:
            await self._clock.sleep(self._seconds)
        except anyio.get_cancelled_exc_class():
            if self._life.dead and self._lucky():
                await self._durable.append(records)
            raise
        await self._durable.append(records)

    async def read(self, since: int = 0) -> AsyncIterator[Record]:
        """Yield the records after `since`, in order."""
        async for record in self._durable.read(since):
            yield record

    async def last(self) -> int:
        """Return the greatest sequence number."""
        return await self._durable.last()

    async def close(self) -> None:
        """Nothing to release."""
