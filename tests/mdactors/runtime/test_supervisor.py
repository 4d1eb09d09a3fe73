"""An actor that raises is rebuilt by replay; one that keeps raising closes the intake and says where."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager

import anyio
import pytest
import structlog.testing
from anyio.abc import TaskGroup
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.shell import PureShell
from events.base import Record
from events.platform import ActorRestarted, IntakeClosed
from mdactors.core.base import Core
from mdactors.core.effects import Effect, Look
from mdactors.errors import JournalError
from mdactors.runtime.actor import Actor
from mdactors.runtime.clock import VirtualLoop
from mdactors.runtime.supervisor import RESTARTS, WINDOW, Supervisor
from tests.mdactors.runtime.kit import VIRTUAL, Quiet, Room, fact, names, room

HOUR = 3600.0
DAY = 24 * HOUR


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, type[VirtualLoop]]]:
    return VIRTUAL


@pytest.fixture(scope="module", autouse=True)
def logged() -> Iterator[list[structlog.typing.EventDict]]:
    """Keep the log, and off the terminal."""
    with structlog.testing.capture_logs() as entries:
        yield entries


class Frail(Quiet):
    """A core that asks for one `Look` a wish, and raises on what a test says."""

    def __init__(self, shell: Fragile) -> None:
        super().__init__()
        self._shell = shell
        self._due: list[int] = []

    def apply(self, record: Record) -> None:
        if self._shell.poison(record):
            raise ZeroDivisionError("poison")
        super().apply(record)
        if names([record]):
            self._due.append(record.seq)

    def decide(self, now: float) -> list[Effect]:
        due, self._due = self._due, []
        return [Look(seq) for seq in due]


class Fragile(PureShell):
    """Its shell: performing raises as long as a test says."""

    def __init__(self, it: Room, name: str = "fragile") -> None:
        self.name = name
        self.cores: list[Frail] = []
        self.born: list[float] = []
        self.performed: list[int] = []
        self.poison: Callable[[Record], bool] = lambda record: False
        self.faults = 0.0
        """How often performing will raise."""
        self._it = it

    def core(self) -> Core:
        self.cores.append(Frail(self))
        return self.cores[-1]

    def attend(self, tasks: TaskGroup) -> None:
        self.born.append(self._it.clock.monotonic())

    async def perform(self, effect: Effect, tasks: TaskGroup) -> None:
        assert isinstance(effect, Look)
        if self.faults > 0:
            self.faults -= 1
            raise ZeroDivisionError("by nothing")
        self.performed.append(effect.cause)

    @property
    def seen(self) -> list[Record]:
        """What its present core has folded."""
        return self.cores[-1].seen


@asynccontextmanager
async def kept() -> AsyncIterator[tuple[Room, Fragile, TaskGroup]]:
    """Keep a fragile actor alive, and leave without waiting for anything."""
    async with room() as it:
        shell = Fragile(it)
        async with anyio.create_task_group() as tasks:
            keep(it, shell, tasks)
            yield it, shell, tasks
            tasks.cancel_scope.cancel()


def keep(it: Room, shell: Fragile, tasks: TaskGroup) -> None:
    actor = Actor(shell, it.bus, it.clock)
    supervisor = Supervisor(it.bus, it.journal, it.clock)
    tasks.start_soon(supervisor.keep, actor, actor.core(), it.bus.subscribe(shell.name))


# ---------------------------------------------------------------- once


async def test_it_is_rebuilt_from_the_journal_and_does_what_it_had_not_done() -> None:
    async with kept() as (it, shell, _):
        shell.faults = 1
        await it.bus.publish(fact("wish"))
        await it.clock.sleep(1)
        assert len(shell.cores) == 2
        assert shell.performed == [1]
        assert shell.seen == await it.journal.records()


async def test_everybody_is_told_who_raised_what_and_at_which_record() -> None:
    async with kept() as (it, shell, _):
        await it.bus.publish(fact("good"))
        await it.clock.sleep(1)
        shell.faults = 1
        await it.bus.publish(fact("bad"))
        await it.clock.sleep(1)
        [restarted] = await it.journal.events(ActorRestarted)
        assert restarted.event == ActorRestarted(
            actor="fragile", error="ZeroDivisionError: by nothing", at_seq=2, restarts=1
        )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.01, 0.1, 0.15, 1.0]), st.booleans()), max_size=12))
def test_what_comes_while_it_is_rebuilt_is_neither_missed_nor_seen_twice(steps: list[tuple[float, bool]]) -> None:
    """Facts at odd times, some of which kill the actor."""

    async def story() -> None:
        async with kept() as (it, shell, _):
            left = RESTARTS
            for pause, kills in steps:
                await it.clock.sleep(pause)
                shell.faults += kills and left > 0
                left -= kills
                await it.bus.publish(fact())
            await it.clock.sleep(DAY)
            assert shell.seen == await it.journal.records()
            assert sorted(set(shell.performed)) == [record.seq for record in shell.seen if names([record])]

    anyio.run(story, backend_options={"loop_factory": VirtualLoop})


async def test_what_is_durable_and_not_dispatched_when_it_is_rebuilt_is_seen_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with kept() as (it, shell, _):
        append = it.journal.append

        async def late(records: Sequence[Record]) -> None:
            await append(records)
            await it.clock.sleep(10)

        monkeypatch.setattr(it.journal, "append", late)
        shell.faults = 1
        await it.bus.publish(fact("fatal"))
        for number in range(5):
            await it.bus.publish(fact(number))
        await it.clock.sleep(1)
        assert len(shell.cores) == 2
        assert shell.seen == await it.journal.records()


async def test_its_pause_is_doubled_each_time_and_limited() -> None:
    async with kept() as (it, shell, _):
        shell.faults = 5
        began = it.clock.monotonic()
        await it.bus.publish(fact("wish"))
        await it.clock.sleep(100)
        assert [moment - began for moment in shell.born] == pytest.approx([0, 0.1, 0.3, 0.7, 1.5, 3.1])


# ---------------------------------------------------------------- again and again


async def test_one_that_keeps_raising_closes_the_intake_and_names_the_record() -> None:
    async with kept() as (it, shell, _):
        await it.bus.publish(fact("harmless"))
        await it.clock.sleep(1)
        shell.faults = float("inf")
        await it.bus.publish(fact("fatal"))
        await it.clock.sleep(DAY)
        [closed] = await it.journal.events(IntakeClosed)
        assert isinstance(closed.event, IntakeClosed)
        assert (closed.event.actor, closed.event.error) == ("fragile", "ZeroDivisionError: by nothing")
        restarts = await it.journal.events(ActorRestarted)
        counted = [record.event.restarts for record in restarts if isinstance(record.event, ActorRestarted)]
        assert counted == list(range(1, RESTARTS + 1))
        assert len(shell.born) == RESTARTS + 1


async def test_a_record_that_can_t_be_folded_is_named_at_each_replay() -> None:
    async with kept() as (it, shell, _):
        shell.poison = lambda record: names([record]) == ["poison"]
        await it.bus.publish(fact("good"))
        await it.bus.publish(fact("poison"))
        await it.clock.sleep(DAY)
        told = [record.event for record in await it.journal.records() if not names([record])]
        assert [type(event) for event in told] == [ActorRestarted] * RESTARTS + [IntakeClosed]
        assert {event.at_seq for event in told if isinstance(event, ActorRestarted | IntakeClosed)} == {2}


async def test_the_others_go_on() -> None:
    async with kept() as (it, shell, tasks):
        other = Fragile(it, "other")
        keep(it, other, tasks)
        shell.faults = float("inf")
        await it.bus.publish(fact("fatal"))
        await it.clock.sleep(DAY)
        number = await it.bus.publish(fact("afterwards"))
        await it.clock.sleep(1)
        assert other.performed == [1, number]
        assert len(other.cores) == 1
        assert set(it.bus.inboxes) == {inbox for inbox in it.bus.inboxes if inbox.name == "other"}


async def test_faults_that_lie_far_apart_are_forgiven() -> None:
    async with kept() as (it, shell, _):
        for _ in range(3 * RESTARTS):
            shell.faults = 1
            await it.bus.publish(fact())
            await it.clock.sleep(WINDOW + 1)
        assert await it.journal.events(IntakeClosed) == []
        assert len(await it.journal.events(ActorRestarted)) == 3 * RESTARTS


# ---------------------------------------------------------------- a full disk


class Publishing(Fragile):
    """Answers each wish with a fact."""

    async def perform(self, effect: Effect, tasks: TaskGroup) -> None:
        await super().perform(effect, tasks)
        await self._it.bus.publish(IntakeClosed(actor="answer", error="", at_seq=0))


@asynccontextmanager
async def answering() -> AsyncIterator[tuple[Room, Publishing]]:
    async with room() as it:
        shell = Publishing(it)
        async with anyio.create_task_group() as tasks:
            keep(it, shell, tasks)
            yield it, shell
            tasks.cancel_scope.cancel()


async def test_a_full_disk_is_nobody_s_fault_and_is_tried_for_ever() -> None:
    async with answering() as (it, shell):
        publishing = it.bus.publish(fact("wish"))
        await publishing
        it.journal.fill()
        await it.clock.sleep(HOUR)
        assert len(shell.born) > HOUR / 10
        assert max(b - a for a, b in zip(shell.born, shell.born[1:], strict=False)) == pytest.approx(10.0)
        it.journal.empty()
        await it.clock.sleep(60)
        answers = [record.event for record in (await it.journal.records())[1:]]
        assert answers == [IntakeClosed(actor="answer", error="", at_seq=0)]


async def test_who_can_t_be_given_up_in_writing_is_tried_again() -> None:
    async with kept() as (it, shell, _):
        await it.bus.publish(fact("fatal"))
        shell.faults = 20
        it.journal.fill()
        await it.clock.sleep(5)
        assert len(it.journal.rows) == 1
        shell.faults = 0
        await it.clock.sleep(DAY)
        assert shell.performed == [1]
        it.journal.empty()
        assert await it.bus.publish(fact("next")) == 2
        await it.clock.sleep(1)
        assert shell.performed == [1, 2]
        assert await it.journal.events(IntakeClosed) == []


async def test_a_journal_that_can_t_be_read_for_a_while_is_nobody_s_fault_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def unreadable(since: int = 0) -> AsyncIterator[Record]:
        raise JournalError("the disk is away")
        yield

    async with kept() as (it, shell, _):
        shell.faults = 1
        with monkeypatch.context() as patched:
            patched.setattr(it.journal, "read", unreadable)
            await it.bus.publish(fact("wish"))
            await it.clock.sleep(HOUR)
            assert shell.performed == []
        await it.clock.sleep(60)
        assert shell.performed == [1]
        assert await it.journal.events(IntakeClosed) == []
