"""One order for everyone, durable before anyone sees it, committed in groups."""

from __future__ import annotations

import asyncio

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.attempts import AttemptProgressed
from events.base import Record
from mdactors.core.effects import Publish
from mdactors.errors import JournalError
from mdactors.runtime.bus import Bus
from mdactors.runtime.clock import VirtualLoop
from tests.mdactors.runtime.kit import VIRTUAL, Room, TestedJournal, fact, names, room

PROGRESS = AttemptProgressed(job=1, attempt=1, step=5)


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, type[VirtualLoop]]]:
    return VIRTUAL


async def turn() -> None:
    """Let everything go on that can."""
    await anyio.wait_all_tasks_blocked()


# ---------------------------------------------------------------- durable, then seen


async def test_a_fact_gets_its_place_its_time_and_its_cause() -> None:
    async with room() as it:
        assert await it.bus.publish(fact("a")) == 1
        await it.clock.sleep(10)
        assert await it.bus.publish(fact("b"), fact("c"), cause=1) == 3
        assert await it.journal.records() == it.folded
        a, b, c = it.folded
        assert [(r.seq, r.cause) for r in (a, b, c)] == [(1, 0), (2, 1), (3, 1)]
        assert b.time == c.time == a.time + 10


async def test_each_fact_of_a_decision_has_its_own_cause() -> None:
    async with room() as it:
        await it.bus.publish(fact(), fact(), fact())
        assert await it.bus.decided([Publish(fact("x"), 2), Publish(fact("y"), 1)], seen=3) == 5
        assert [(names([r]), r.cause, r.seen) for r in it.folded[3:]] == [(["x"], 2, 3), (["y"], 1, 3)]


async def test_publishing_returns_when_it_is_durable_and_not_before() -> None:
    async with room() as it, anyio.create_task_group() as tasks:
        inbox = it.bus.subscribe("listener")
        it.journal.hold()
        publishing = it.bus.publish(fact())
        tasks.start_soon(inbox.receive)
        await turn()
        assert len(it.journal.groups) == 1
        assert not publishing.done()
        assert it.folded == []
        assert it.bus.last == 0
        it.journal.release()
        assert await publishing == 1
        assert it.bus.last == 1


async def test_nobody_sees_what_is_not_durable() -> None:
    journal = TestedJournal()
    durable_when_folded: list[int] = []
    bus = Bus(journal, Room().clock, [lambda record: durable_when_folded.append(journal.rows[-1][0] >= record.seq)])
    inbox = bus.subscribe("listener")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bus.run)
        await bus.publish(fact(), fact())
        assert [record.seq for record in await inbox.receive()] == [1, 2]
        assert durable_when_folded == [True, True]
        tasks.cancel_scope.cancel()


async def test_who_has_published_finds_its_fact_in_the_read_models_and_in_its_inbox() -> None:
    async with room() as it:
        inbox = it.bus.subscribe("me")
        await it.bus.publish(fact("mine"))
        assert names(it.folded) == ["mine"]
        with anyio.fail_after(0):
            assert names(await inbox.receive()) == ["mine"]


async def test_who_publishes_wakes_before_who_listens() -> None:
    woken: list[str] = []

    async def listen() -> None:
        await inbox.receive()
        woken.append("listener")

    async with room() as it, anyio.create_task_group() as tasks:
        inbox = it.bus.subscribe("listener")
        tasks.start_soon(listen)
        await turn()
        await it.bus.publish(fact())
        woken.append("publisher")
    assert woken == ["publisher", "listener"]


async def test_a_journal_that_holds_something_is_continued() -> None:
    bus = Bus(TestedJournal(), Room().clock, last=41)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bus.run)
        assert await bus.publish(fact()) == 42
        tasks.cancel_scope.cancel()


# ---------------------------------------------------------------- groups


async def test_while_one_group_is_committed_the_next_one_gathers() -> None:
    async with room() as it, anyio.create_task_group() as tasks:
        it.journal.hold()
        tasks.start_soon(wait_for, it.bus.publish(fact("first")))
        await turn()
        for number in range(100):
            tasks.start_soon(wait_for, it.bus.publish(fact(number)))
        await turn()
        it.journal.release()
    assert [len(group) for group in it.journal.groups] == [1, 100]


async def test_a_hundred_publishers_at_once_make_one_commit() -> None:
    numbers: list[int] = []

    async def publish(it: Room) -> None:
        numbers.append(await it.bus.publish(fact()))

    async with room() as it:
        async with anyio.create_task_group() as tasks:
            for _ in range(100):
                tasks.start_soon(publish, it)
        assert sorted(numbers) == list(range(1, 101))
        assert len(it.journal.groups) == 1


async def wait_for(publishing: asyncio.Future[int]) -> None:
    await publishing


async def test_an_idle_platform_commits_at_once() -> None:
    async with room() as it:
        before = it.clock.monotonic()
        for _ in range(10):
            await it.bus.publish(fact())
        assert it.clock.monotonic() == before
        assert len(it.journal.groups) == 10


# ---------------------------------------------------------------- one order


@settings(max_examples=40, deadline=None)
@given(
    publishers=st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), max_size=6), max_size=6),
    pace=st.lists(st.integers(0, 3), min_size=1, max_size=5),
)
def test_everybody_sees_the_same_and_nothing_twice(publishers: list[list[tuple[int, int]]], pace: list[int]) -> None:
    """Publishers that publish (count) after a pause, listeners that look now and then."""
    anyio.run(same_for_all, publishers, pace, backend_options={"loop_factory": VirtualLoop})


async def same_for_all(publishers: list[list[tuple[int, int]]], pace: list[int]) -> None:
    total = sum(count for each in publishers for _, count in each)
    seen: list[list[Record]] = [[] for _ in pace]

    async def publish(it: Room, number: int, steps: list[tuple[int, int]]) -> None:
        for step, (pause, count) in enumerate(steps):
            await it.clock.sleep(pause)
            last = await it.bus.publish(*[fact(f"{number}.{step}.{part}") for part in range(count)])
            mine = it.folded[last - count : last]
            assert names(mine) == [f"{number}.{step}.{part}" for part in range(count)]

    async def listen(it: Room, place: int, pause: int) -> None:
        inbox = it.bus.subscribe(f"listener {place}")
        while len(seen[place]) < total:
            seen[place] += await inbox.receive()
            await it.clock.sleep(pause)

    async with room() as it, anyio.create_task_group() as tasks:
        for place, pause in enumerate(pace):
            tasks.start_soon(listen, it, place, pause)
        await anyio.lowlevel.checkpoint()
        for number, steps in enumerate(publishers):
            tasks.start_soon(publish, it, number, steps)
    durable = await it.journal.records()
    assert [record.seq for record in durable] == list(range(1, total + 1))
    assert all(each == durable for each in [*seen, it.folded])


async def test_listeners_are_woken_in_the_order_of_their_subscription() -> None:
    """Not in that of their addresses: a simulation has to replay in another process."""
    woken: list[int] = []

    async def listen(it: Room, number: int) -> None:
        await it.bus.subscribe(str(number)).receive()
        woken.append(number)

    async with room() as it, anyio.create_task_group() as tasks:
        for number in range(200):
            tasks.start_soon(listen, it, number)
        await turn()
        await it.bus.publish(fact())
    assert woken == list(range(200))


# ---------------------------------------------------------------- inboxes


async def test_a_listener_who_never_looks_holds_up_nobody() -> None:
    async with room() as it:
        deaf = it.bus.subscribe("deaf")
        for number in range(1000):
            await it.bus.publish(fact(number))
        assert names(await deaf.receive()) == [str(number) for number in range(1000)]


async def test_who_comes_later_sees_what_comes_later() -> None:
    async with room() as it:
        await it.bus.publish(fact("before"))
        inbox = it.bus.subscribe("late")
        await it.bus.publish(fact("after"))
        assert names(await inbox.receive()) == ["after"]


async def test_a_closed_inbox_is_filled_no_more() -> None:
    async with room() as it:
        inbox = it.bus.subscribe("leaves")
        inbox.close()
        inbox.close()
        assert not it.bus.inboxes
        await it.bus.publish(fact())
        with anyio.move_on_after(1) as scope:
            await inbox.receive()
        assert scope.cancelled_caught


async def test_who_gives_up_waiting_loses_nothing() -> None:
    async with room() as it:
        inbox = it.bus.subscribe("impatient")
        with anyio.move_on_after(1):
            await inbox.receive()
        await it.bus.publish(fact("late"))
        assert names(await inbox.receive()) == ["late"]


async def test_ephemeral_facts_are_shown_to_those_who_want_them_and_to_the_read_models() -> None:
    async with room() as it:
        watcher, actor = it.bus.subscribe("watcher", ephemeral=True), it.bus.subscribe("actor")
        it.bus.announce(PROGRESS)
        await it.bus.publish(fact())
        assert [record.seq for record in await watcher.receive()] == [0, 1]
        assert [record.seq for record in await actor.receive()] == [1]
        assert [record.seq for record in it.folded] == [0, 1]
        assert [record.seq for record in await it.journal.records()] == [1]


# ---------------------------------------------------------------- what fails


async def test_a_full_disk_reaches_every_publisher_of_the_group_and_nobody_sees_anything() -> None:
    heard: list[str] = []

    async def publish(it: Room, name: str) -> None:
        with pytest.raises(JournalError, match="disk is full"):
            await it.bus.publish(fact(name))
        heard.append(name)

    async with room() as it:
        inbox = it.bus.subscribe("listener")
        it.journal.fill()
        async with anyio.create_task_group() as tasks:
            for name in "abc":
                tasks.start_soon(publish, it, name)
        assert heard == ["a", "b", "c"]
        assert len(it.journal.groups) == 1
        assert (it.bus.last, it.folded) == (0, [])
        it.journal.empty()
        assert await it.bus.publish(fact("d")) == 1
        assert names(await inbox.receive()) == names(await it.journal.records()) == ["d"]


async def test_what_fails_otherwise_reaches_the_publisher_as_well_and_the_bus_goes_on() -> None:
    async with room() as it:
        it.journal.fault = ZeroDivisionError("a fault of ours")
        with pytest.raises(ZeroDivisionError):
            await it.bus.publish(fact())
        it.journal.fault = None
        assert await it.bus.publish(fact()) == 1


async def test_a_publisher_that_is_cancelled_has_published_all_the_same() -> None:
    async with room() as it:
        it.journal.hold()
        with anyio.move_on_after(1) as scope:
            await it.bus.publish(fact("given up"))
        assert scope.cancelled_caught
        next_one = it.bus.publish(fact("next"))
        it.journal.release()
        assert await next_one == 2
        assert names(it.folded) == ["given up", "next"]


async def test_a_publisher_cancelled_before_a_failure_harms_nobody() -> None:
    async with room() as it:
        it.journal.hold()
        with anyio.move_on_after(1):
            await it.bus.publish(fact())
        it.journal.fill()
        other = it.bus.publish(fact())
        it.journal.release()
        with pytest.raises(JournalError):
            await other


async def test_who_waits_when_the_bus_ends_is_refused_and_so_is_who_comes_later() -> None:
    it = Room()
    it.journal.hold()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(it.bus.run)
        committing = it.bus.publish(fact("committing"))
        await turn()
        waiting = it.bus.publish(fact("waiting"))
        tasks.cancel_scope.cancel()
    for publishing in (committing, waiting, it.bus.publish(fact("late"))):
        with pytest.raises(JournalError, match="stopping"):
            await publishing


async def test_a_read_model_that_raises_ends_the_bus_and_leaves_nobody_hanging() -> None:
    def fold(record: Record) -> None:
        raise ZeroDivisionError

    bus = Bus(TestedJournal(), Room().clock, [fold])
    publishing = bus.publish(fact())
    with pytest.raises(ZeroDivisionError):
        await bus.run()
    with pytest.raises(JournalError):
        await publishing
