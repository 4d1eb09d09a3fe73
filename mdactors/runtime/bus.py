"""Append, then dispatch: one total order, committed in groups, the same for everyone.

`publish` puts events into the waiting group and returns when their group is durable, folded into the read models and
in every inbox. While one group is being committed the next one gathers, so a busy platform makes few commits and an
idle one answers at once. Inboxes are unbounded: flow is controlled at the edge (admission), never between actors, so
no ring of full channels can deadlock. One await per group, never one per event.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from events.base import Event, Record
from mdactors.core.effects import Publish
from mdactors.errors import JournalError
from mdactors.ports import Clock, Journal

Batch = list[Record]
Fold = Callable[[Record], None]
Chore = Callable[[], Awaitable[None]]
Publisher = tuple[int, asyncio.Future[int]]
"""How many events of the group there were with this publisher's own, and what resolves when they are durable."""

OVER = "the event log takes no more: the platform is stopping"


class Inbox:
    """What one listener has still to see, in lists of records; unbounded, and cheap however many listen."""

    def __init__(self, bus: Bus, name: str, *, ephemeral: bool) -> None:
        self.name = name
        self.ephemeral = ephemeral
        self._bus = bus
        self._waiting: list[Batch] = []
        self._filled = asyncio.Event()

    def put(self, batch: Batch) -> None:
        """Add a group; the listener must not change the list, for all others have the same one."""
        self._waiting.append(batch)
        self._filled.set()

    async def receive(self) -> Batch:
        """Wait until something is there, and return all of it.

        Who publishes and then receives has its own events in what it gets, so that no actor decides without them.
        """
        await self._filled.wait()
        self._filled.clear()
        waiting, self._waiting = self._waiting, []
        return waiting[0] if len(waiting) == 1 else [record for batch in waiting for record in batch]

    def close(self) -> None:
        """Listen no longer."""
        self._bus.inboxes.pop(self, None)


class Bus:
    """The only way from one actor to another, and into the journal.

    Args:
        journal: where the events become durable.
        clock: gives each group its time.
        folds: read models, applied to every record before anyone else sees it; they must not raise for any legal log.
        last: sequence number of the newest record in the journal.
    """

    def __init__(self, journal: Journal, clock: Clock, folds: Sequence[Fold] = (), *, last: int = 0) -> None:
        self._journal = journal
        self._clock = clock
        self._folds = tuple(folds)
        self.last = last
        self.inboxes: dict[Inbox, None] = {}
        """In the order of their subscription, in which they are woken: a simulation has to replay."""
        self._events: list[tuple[Event, int, int]] = []
        self._publishers: list[Publisher] = []
        self._chores: list[Chore] = []
        self._over = False
        self._wake = asyncio.Event()

    def subscribe(self, name: str, *, ephemeral: bool = False) -> Inbox:
        """Return an inbox that sees every record after `last`; with `ephemeral`, those without a place too."""
        inbox = Inbox(self, name, ephemeral=ephemeral)
        self.inboxes[inbox] = None
        return inbox

    def publish(self, *events: Event, cause: int = 0) -> asyncio.Future[int]:
        """Append events; awaited, return the last one's sequence number when all are durable and everybody has them.

        Raises:
            JournalError: they are not durable, nobody has seen them.
        """
        for event in events:
            self._events.append((event, cause, 0))
        return self._durable()

    def decided(self, effects: Iterable[Publish], seen: int) -> asyncio.Future[int]:
        """Append what a core decided, each with its own cause, after it had folded `seen`; otherwise like `publish`."""
        self._events += [(effect.event, effect.cause, seen) for effect in effects]
        return self._durable()

    def announce(self, event: Event) -> None:
        """Show an ephemeral event to those who listen for such; it has no place and is not stored."""
        batch = [Record(0, self._clock.time(), 0, event)]
        self._fold(batch)
        for inbox in self.inboxes:
            if inbox.ephemeral:
                inbox.put(batch)

    def between(self, chore: Chore) -> None:
        """Have something done with the journal between two groups, when all of the one before is folded."""
        self._chores.append(chore)
        self._wake.set()

    async def run(self) -> None:
        """Commit what waits, group after group, until cancelled; who waits then, or publishes later, is refused."""
        publishers: list[Publisher] = []
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._publishers or self._chores:
                    while self._chores:
                        await self._chores.pop(0)()
                    events, self._events = self._events, []
                    publishers, self._publishers = self._publishers, []
                    if publishers:
                        await self._commit(events, publishers)
        finally:
            self._over = True
            _refuse([*publishers, *self._publishers], JournalError(OVER))

    def _durable(self) -> asyncio.Future[int]:
        """Return what resolves when everything that waits now is durable."""
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        if self._over:
            _refuse([(0, done)], JournalError(OVER))
            return done
        if not self._publishers:
            self._wake.set()
        self._publishers.append((len(self._events), done))
        return done

    async def _commit(self, events: list[tuple[Event, int, int]], publishers: list[Publisher]) -> None:
        now, before = self._clock.time(), self.last
        batch = [Record(seq, now, cause, event, seen) for seq, (event, cause, seen) in enumerate(events, before + 1)]
        try:
            await self._journal.append(batch)
        except Exception as error:  # noqa: BLE001 - whatever it is, the publishers must hear it
            _refuse(publishers, error)
            return
        self.last += len(batch)
        self._fold(batch)
        # Who publishes wakes before who listens, and finds everything done: an acknowledgement waits for no actor.
        for end, done in publishers:
            if not done.done():  # a publisher that was cancelled meanwhile has published all the same
                done.set_result(before + end)
        for inbox in self.inboxes:
            inbox.put(batch)

    def _fold(self, batch: Batch) -> None:
        for fold in self._folds:
            for record in batch:
                fold(record)


def _refuse(publishers: Iterable[Publisher], error: Exception) -> None:
    for _, done in publishers:
        if not done.done():
            done.set_exception(error)
