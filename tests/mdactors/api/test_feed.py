"""The event feed: in order, nothing twice, nothing missed, and a slow client harms only itself."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest
from anyio.lowlevel import checkpoint

from events.base import Record
from events.devices import ProbeRequested
from mdactors.api import feed
from mdactors.api.feed import Client, Filter, Gap, Hub, Line, batches
from tests.mdactors.api.world import World


def numbered(seq: int) -> Line:
    return Line(Record(seq, 0.0, 0, ProbeRequested(by="test")))


def seqs(batch: list[Line | Gap]) -> list[int | str]:
    return [f"{entry.first}-{entry.last}" if isinstance(entry, Gap) else entry.seq for entry in batch]


async def take(stream: AsyncIterator[list[Line | Gap]], count: int) -> list[int | str]:
    """Return the next `count` sequence numbers of a stream."""
    found: list[int | str] = []
    async for batch in stream:
        found += seqs(batch)
        if len(found) >= count:
            break
    return found


class TestClient:
    def test_what_is_offered_is_taken_once_and_in_order(self) -> None:
        client = Client(Filter())
        for seq in (1, 2, 3):
            client.offer(numbered(seq))
        assert seqs(client.take()) == [1, 2, 3]
        assert seqs(client.take()) == []

    def test_a_full_buffer_ends_in_a_gap_that_names_what_was_lost(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(feed, "BUFFER_BYTES", 2 * len(numbered(1).text) - 1)
        client = Client(Filter())
        for seq in range(1, 6):
            client.offer(numbered(seq))
        assert seqs(client.take()) == [1, 2, "3-5"]
        client.offer(numbered(6))
        assert seqs(client.take()) == [6]

    def test_lost_ephemeral_facts_are_counted_but_have_no_place(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(feed, "BUFFER_BYTES", 0)
        client = Client(Filter(progress=True))
        for seq in (1, 0, 0):
            client.offer(numbered(seq))
        gap = client.take()[-1]
        assert isinstance(gap, Gap)
        assert (gap.first, gap.last, gap.lost) == (0, 0, 2)


class TestFilter:
    def test_by_pattern_job_and_kind_of_fact(self, world: World) -> None:
        lines = [Line(record) for record in world.log]
        assert {line.kind for line in lines if Filter(kind="Job*").accepts(line)} == {
            "JobSubmitted",
            "JobAccepted",
            "JobAssigned",
            "JobCompleted",
            "JobRejected",
            "JobFailed",
        }
        assert all(3 in line.jobs for line in lines if Filter(job=3).accepts(line))
        ephemeral = [line for line in lines if not line.seq]
        assert ephemeral
        assert not any(Filter().accepts(line) for line in ephemeral)
        assert all(Filter(progress=True).accepts(line) for line in ephemeral)


async def test_the_past_is_read_in_chunks_and_ends_without_follow(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "HISTORY_CHUNK", 4)
    hub = Hub(world)
    async with hub.running():
        found = [seq async for batch in batches(hub, world, Filter(), since=3, follow=False) for seq in seqs(batch)]
    assert found == list(range(4, world.last_seq + 1))
    assert world.reads > 2


async def test_past_and_present_meet_without_gap_or_duplicate(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "HISTORY_CHUNK", 3)
    hub = Hub(world)
    async with hub.running():
        stream = batches(hub, world, Filter(), since=0, follow=True)
        found: list[int | str] = []
        async for batch in stream:
            found += seqs(batch)
            if len(found) < 40:
                world.append(ProbeRequested(by="meanwhile"))
                await checkpoint()
            if len(found) >= 60 or (found[-1] == world.last_seq and len(found) >= 40):
                break
    assert found == list(range(1, len(found) + 1))


async def test_a_client_resumes_exactly_where_it_was(world: World) -> None:
    hub = Hub(world)
    async with hub.running():
        first = await take(batches(hub, world, Filter(), since=0, follow=True), 10)
        world.append(ProbeRequested(by="while away"))
        last = first[-1]
        assert isinstance(last, int)
        rest = await take(batches(hub, world, Filter(), since=last, follow=True), 1)
        assert first + rest == list(range(1, world.last_seq + 1))


async def test_the_log_is_followed_only_while_somebody_listens(world: World) -> None:
    hub = Hub(world)
    async with hub.running():
        client = hub.join(Filter())
        other = hub.join(Filter())
        await anyio.wait_all_tasks_blocked()
        world.append(ProbeRequested(by="x"))
        await client.wait()
        await other.wait()
        assert seqs(client.take()) == seqs(other.take()) == [world.last_seq]
        hub.leave(client)
        hub.leave(other)
        await anyio.wait_all_tasks_blocked()
        again = hub.join(Filter())
        world.append(ProbeRequested(by="y"))
        await again.wait()
        assert seqs(again.take()) == [world.last_seq]


async def test_a_stalled_client_gets_a_gap_and_costs_nobody_else(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "BUFFER_BYTES", 2000)
    monkeypatch.setattr(feed, "PACE_SECONDS", 0)
    hub = Hub(world)
    async with hub.running():
        start = world.last_seq
        stalled = batches(hub, world, Filter(), since=start - 1, follow=True)
        assert seqs(await anext(stalled)) == [start]
        world.append(ProbeRequested(by="first"))
        start += 1
        assert seqs(await anext(stalled)) == [start]  # it has the past and follows; now it reads no more
        quick = hub.join(Filter())
        seen: list[int | str] = []
        for _ in range(200):
            world.append(ProbeRequested(by="load"))
            await quick.wait()
            seen += seqs(quick.take())
        assert seen == list(range(start + 1, start + 201))
        late = seqs(await anext(stalled))
        assert late[0] == start + 1
        assert isinstance(late[-1], str)
        first_lost = int(late[-1].partition("-")[0])
        assert late[:-1] == list(range(start + 1, first_lost))
        assert late[-1] == f"{first_lost}-{start + 200}"
        world.append(ProbeRequested(by="after"))
        assert seqs(await anext(stalled)) == [start + 201]


async def test_what_was_lost_while_reading_the_past_is_read_from_the_journal(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "BUFFER_BYTES", 500)
    hub = Hub(world)
    async with hub.running():
        stream = batches(hub, world, Filter(), since=0, follow=True)
        found = seqs(await anext(stream))
        for _ in range(50):
            world.append(ProbeRequested(by="flood"))
        await anyio.wait_all_tasks_blocked()
        found += await take(stream, 50)
    assert found == list(range(1, world.last_seq + 1))


async def test_closing_ends_every_stream(world: World) -> None:
    hub = Hub(world)
    async with hub.running(), anyio.create_task_group() as tasks:
        ended = []

        async def listen() -> None:
            async for _ in batches(hub, world, Filter(), since=world.last_seq, follow=True):
                pass
            ended.append(True)

        tasks.start_soon(listen)
        tasks.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        hub.close()
    assert ended == [True, True]
    assert not hub.clients
    assert hub.join(Filter()).closed


async def test_the_end_of_the_log_ends_every_stream(world: World) -> None:
    hub = Hub(world)
    async with hub.running():
        stream = batches(hub, world, Filter(), since=world.last_seq - 1, follow=True)
        await anext(stream)
        world.stop()
        assert [batch async for batch in stream] == []
