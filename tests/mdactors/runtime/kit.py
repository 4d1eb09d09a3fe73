"""A bus over a journal that can be held up and filled, and facts to put on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio

from events.base import Event, Record
from events.devices import ProbeRequested
from mdactors.core.effects import Effect
from mdactors.errors import JournalError
from mdactors.ports import Clock
from mdactors.runtime.bus import Bus
from mdactors.runtime.clock import LoopClock, VirtualLoop
from mdactors.runtime.journal.memory import MemoryJournal

VIRTUAL = ("asyncio", {"loop_factory": VirtualLoop})
"""For `anyio_backend`: the module's tests run in simulated time."""


def fact(name: object = "") -> ProbeRequested:
    """A fact that can be told from others."""
    return ProbeRequested(by=str(name))


def names(records: Sequence[Record]) -> list[str]:
    """Return the names that facts were given."""
    return [record.event.by for record in records if isinstance(record.event, ProbeRequested)]


class TestedJournal(MemoryJournal):
    """In memory; keeps each group that it was given, commits when the test lets it, fails while the disk is full."""

    __test__ = False

    def __init__(self) -> None:
        super().__init__()
        self.groups: list[list[Record]] = []
        self.fault: Exception | None = None
        self._gate = anyio.Event()
        self._gate.set()

    def hold(self) -> None:
        """Let commits wait."""
        self._gate = anyio.Event()

    def release(self) -> None:
        """Let commits go on."""
        self._gate.set()

    def fill(self) -> None:
        """From now on the disk is full."""
        self.fault = JournalError("database or disk is full")

    def empty(self) -> None:
        """There is room again."""
        self.fault = None

    async def append(self, records: Sequence[Record]) -> None:
        self.groups.append(list(records))
        await self._gate.wait()
        if self.fault:
            raise self.fault
        await super().append(records)

    async def records(self) -> list[Record]:
        """Return what is durable."""
        return [record async for record in self.read()]

    async def events(self, kind: type[Event]) -> list[Record]:
        """Return what is durable, of one kind."""
        return [record for record in await self.records() if isinstance(record.event, kind)]


class Room:
    """A running bus, and what goes with it."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or LoopClock()
        self.journal = TestedJournal()
        self.folded: list[Record] = []
        self.bus = Bus(self.journal, self.clock, [self.folded.append])


@asynccontextmanager
async def room() -> AsyncIterator[Room]:
    """Run a bus for the length of the block; who still hangs on it afterwards is left hanging."""
    made = Room()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.bus.run)
        yield made
        tasks.cancel_scope.cancel()


class Quiet:
    """A core that only remembers."""

    def __init__(self) -> None:
        self.seen: list[Record] = []

    def apply(self, record: Record) -> None:
        self.seen.append(record)

    def decide(self, now: float) -> list[Effect]:
        return []
