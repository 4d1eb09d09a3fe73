"""One follower of the event log for all clients of the API.

Each record is encoded once. Every client has a bounded buffer of its own: one that reads too slowly loses records, is
told which (a `Gap`), and costs nobody else anything. What it lost it can have again from the journal, by `since`.
"""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.abc

from events.base import Record
from events.codec import line, name_of
from mdactors.runtime.platform import Platform

BUFFER_BYTES = 512 * 1024
"""What a client may leave unread before it loses records."""

HISTORY_CHUNK = 250
"""Records read from the journal at a time: no cursor stays open while a client takes its time."""

PACE_SECONDS = 0.01
"""Between two chunks to one client: what happens meanwhile travels together."""


class Line:
    """A record, encoded."""

    __slots__ = ("jobs", "kind", "seq", "text")

    def __init__(self, record: Record) -> None:
        event = record.event
        self.seq = record.seq
        self.kind = name_of(event)
        self.jobs = tuple(getattr(event, field) for field in ("job", "a", "b") if hasattr(event, field))
        self.text = line(record).encode()


class Gap:
    """Records that a slow client lost."""

    __slots__ = ("first", "last", "lost")

    def __init__(self, first: int, last: int, lost: int) -> None:
        self.first = first
        """Smallest sequence number among them; 0 where only ephemeral facts were lost."""
        self.last = last
        self.lost = lost

    def then(self, seq: int) -> Gap:
        """Return the gap with one more record lost."""
        return Gap(self.first or seq, seq or self.last, self.lost + 1)


class Filter:
    """Which records a client wants."""

    def __init__(self, *, kind: str = "*", job: int | None = None, progress: bool = False) -> None:
        self.job = job
        self.progress = progress
        self._fits = functools.cache(functools.partial(fnmatch.fnmatchcase, pat=kind))

    def accepts(self, entry: Line) -> bool:
        """Tell whether the client wants this record."""
        if not entry.seq and not self.progress:
            return False
        return self._fits(entry.kind) and (self.job is None or self.job in entry.jobs)


class Client:
    """What one client has not read yet."""

    def __init__(self, wanted: Filter) -> None:
        self.wanted = wanted
        self.gap: Gap | None = None
        self.closed = False
        self._entries: list[Line] = []
        self._bytes = 0
        self._news = anyio.Event()

    def offer(self, entry: Line) -> None:
        """Keep a record until it is taken; once the buffer is full, only note what is lost."""
        if not self.wanted.accepts(entry):
            return
        if self.gap or self._bytes > BUFFER_BYTES:
            self.gap = (self.gap or Gap(0, 0, 0)).then(entry.seq)
            return
        self._entries.append(entry)
        self._bytes += len(entry.text)
        self._news.set()

    def take(self) -> list[Line | Gap]:
        """Return what is there, oldest first, the gap where it is."""
        batch: list[Line | Gap] = [*self._entries]
        if self.gap:
            batch.append(self.gap)
        self._entries, self._bytes, self.gap = [], 0, None
        self._news = anyio.Event()
        return batch

    async def wait(self) -> None:
        """Wait until there is something to take, or nothing more will come."""
        if not self.closed:
            await self._news.wait()

    def close(self) -> None:
        """Let the client take what is there; nothing more will come."""
        self.closed = True
        self._news.set()


class Hub:
    """Hands the platform's events to the clients; follows the log only while somebody listens."""

    def __init__(self, platform: Platform) -> None:
        self.clients: set[Client] = set()
        self.closing = anyio.Event()
        """Set when all streams have to end."""
        self._platform = platform
        self._tasks: anyio.abc.TaskGroup | None = None
        self._pump: anyio.CancelScope | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Work inside this context; leaving it ends all streams."""
        async with anyio.create_task_group() as self._tasks:
            yield
            self.close()
            self._tasks.cancel_scope.cancel()

    def join(self, wanted: Filter) -> Client:
        """Return a new client: it gets every record after the platform's present last one."""
        client = Client(wanted)
        if self.closing.is_set() or self._tasks is None:
            client.close()
            return client
        self.clients.add(client)
        if self._pump is None:
            self._pump = anyio.CancelScope()
            self._tasks.start_soon(self._follow, self._pump, self._platform.last_seq)
        return client

    def leave(self, client: Client) -> None:
        """Forget a client."""
        self.clients.discard(client)
        if not self.clients and self._pump:
            self._pump.cancel()
            self._pump = None

    def close(self) -> None:
        """End all streams, those that follow a file included."""
        self.closing.set()
        for client in self.clients:
            client.close()

    async def _follow(self, scope: anyio.CancelScope, since: int) -> None:
        try:
            with scope:
                async for record in self._platform.events(since=since, follow=True):
                    if scope.cancel_called:
                        return  # another follower may have begun: nothing twice
                    self._deliver(Line(record))
        finally:
            if not scope.cancel_called:
                self.close()  # the log has ended, or can't be read: nobody waits for more

    def _deliver(self, entry: Line) -> None:
        for client in self.clients:
            client.offer(entry)


async def batches(
    hub: Hub, platform: Platform, wanted: Filter, *, since: int, follow: bool
) -> AsyncIterator[list[Line | Gap]]:
    """Yield the records after `since` from the journal, then (follow) new ones, in order, none twice and none missed."""
    client = hub.join(wanted) if follow else None
    try:
        position = since
        while True:
            async for chunk in _history(hub, platform, position):
                position = chunk[-1].seq
                yield [entry for entry in chunk if wanted.accepts(entry)]
            if client is None or client.gap is None:
                break
            client.take()  # it lost some while it read the past: by now they are in the journal
        if client:
            async for batch in _live(client, position):
                yield batch
    finally:
        if client:
            hub.leave(client)


async def _history(hub: Hub, platform: Platform, since: int) -> AsyncIterator[list[Line]]:
    while not hub.closing.is_set():
        chunk = await _read(platform, since)
        if chunk:
            yield chunk
            since = chunk[-1].seq
        if len(chunk) < HISTORY_CHUNK:
            return


async def _read(platform: Platform, since: int) -> list[Line]:
    chunk: list[Line] = []
    records = platform.events(since=since, follow=False)
    try:
        async for record in records:
            chunk.append(Line(record))
            if len(chunk) == HISTORY_CHUNK:
                break
    finally:
        if isinstance(records, AsyncGenerator):
            await records.aclose()
    return chunk


async def _live(client: Client, position: int) -> AsyncIterator[list[Line | Gap]]:
    while True:
        await client.wait()
        batch = [entry for entry in client.take() if isinstance(entry, Gap) or not 0 < entry.seq <= position]
        if batch:
            yield batch
        if client.closed:
            return
        await anyio.sleep(PACE_SECONDS)
