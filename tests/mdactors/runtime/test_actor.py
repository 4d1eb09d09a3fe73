"""Fold a group, decide, publish, perform; again when something comes or the time has."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import TaskGroup

from events.base import Record
from mdactors.core.base import Core
from mdactors.core.effects import Effect, Look, Publish, WakeAt
from mdactors.runtime.actor import Actor
from mdactors.runtime.clock import VirtualLoop
from tests.mdactors.runtime.kit import VIRTUAL, Quiet, Room, fact, names, room

Decide = Callable[["Script", float], list[Effect]]


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, type[VirtualLoop]]]:
    return VIRTUAL


class Script(Quiet):
    """A core that decides as a test says, and notes when it was asked."""

    def __init__(self, decide: Decide = lambda core, now: []) -> None:
        super().__init__()
        self.asked: list[tuple[float, int]] = []
        """(when, how many records it had seen)"""
        self.poisoned = False
        self._decide = decide

    def apply(self, record: Record) -> None:
        super().apply(record)
        if self.poisoned:
            raise ZeroDivisionError

    def decide(self, now: float) -> list[Effect]:
        self.asked.append((now, len(self.seen)))
        return self._decide(self, now)


class Performer:
    """A shell that notes what it performs, and how much was durable by then."""

    name = "performer"

    def __init__(self, core: Script, it: Room) -> None:
        self._core = core
        self._it = it
        self.performed: list[tuple[Effect, list[str]]] = []
        self.attended = 0
        self.fault: Exception | None = None
        self.side_fault: Exception | None = None

    def core(self) -> Core:
        return self._core

    async def perform(self, effect: Effect, tasks: TaskGroup) -> None:
        self.performed.append((effect, names(await self._it.journal.records())))
        if self.fault:
            raise self.fault
        if self.side_fault:
            tasks.start_soon(self._fail_later)

    async def _fail_later(self) -> None:
        assert self.side_fault
        await anyio.sleep(1)
        raise self.side_fault

    def attend(self, tasks: TaskGroup) -> None:
        self.attended += 1


@asynccontextmanager
async def acting(core: Script) -> AsyncIterator[tuple[Room, Performer, Actor]]:
    async with room() as it:
        shell = Performer(core, it)
        actor = Actor(shell, it.bus, it.clock)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(actor.run, actor.core(), it.bus.subscribe(actor.name))
            yield it, shell, actor
            tasks.cancel_scope.cancel()


def when_first_seen(*effects: Effect) -> Decide:
    """Return these effects once, as soon as there is a record."""
    left = [list(effects)]
    return lambda core, now: left.pop() if core.seen and left else []


async def test_it_decides_once_at_the_beginning_and_after_each_group() -> None:
    core = Script()
    async with acting(core) as (it, shell, actor):
        await it.clock.sleep(1)
        assert [seen for _, seen in core.asked] == [0]
        await it.bus.publish(fact(), fact(), fact())
        await it.clock.sleep(1)
        assert [seen for _, seen in core.asked] == [0, 3]
        assert actor.seen == 3
        assert shell.attended == 1


async def test_groups_that_came_meanwhile_are_folded_before_it_decides_again() -> None:
    core = Script()
    async with room() as it, anyio.create_task_group() as tasks:
        inbox = it.bus.subscribe("busy")
        for number in range(5):
            await it.bus.publish(fact(number))
        tasks.start_soon(Actor(Performer(core, it), it.bus, it.clock).run, core, inbox)
        await it.clock.sleep(1)
        tasks.cancel_scope.cancel()
    assert [seen for _, seen in core.asked] == [0, 5]


async def test_an_intent_is_in_the_journal_before_anything_is_done_about_it() -> None:
    core = Script(when_first_seen(Look(1), Publish(fact("intent"), 1), Look(2)))
    async with acting(core) as (it, shell, _):
        await it.bus.publish(fact("wish"))
        await it.clock.sleep(1)
        assert shell.performed == [(Look(1), ["wish", "intent"]), (Look(2), ["wish", "intent"])]
        assert [record.cause for record in it.folded] == [0, 1]


async def test_all_facts_of_a_decision_are_one_group() -> None:
    core = Script(when_first_seen(*[Publish(fact(number), 1) for number in range(50)]))
    async with acting(core) as (it, _, _):
        await it.bus.publish(fact())
        await it.clock.sleep(1)
        assert [len(group) for group in it.journal.groups] == [1, 50]


async def test_its_own_facts_are_folded_before_it_decides_again() -> None:
    """Else it would ask for the same thing twice."""

    def one_answer(core: Script, now: float) -> list[Effect]:
        return [] if "answer" in names(core.seen) else [Publish(fact("answer"))]

    core = Script(one_answer)
    async with acting(core) as (it, _, _):
        for _ in range(5):
            await it.bus.publish(fact("noise"))
        await it.clock.sleep(1)
        assert names(it.folded).count("answer") == 1


async def test_it_decides_again_at_the_earliest_time_that_it_named() -> None:
    def twice(core: Script, now: float) -> list[Effect]:
        return [WakeAt(now + 500), WakeAt(now + 20)] if len(core.asked) == 1 else []

    core = Script(twice)
    async with acting(core) as (it, _, _):
        await it.clock.sleep(1000)
        (first, _), (second, _) = core.asked
        assert second - first == pytest.approx(20)


async def test_a_record_before_that_time_is_decided_on_at_once() -> None:
    core = Script(lambda core, now: [WakeAt(core.asked[0][0] + 60)] if now < core.asked[0][0] + 60 else [])
    async with acting(core) as (it, _, _):
        await it.clock.sleep(10)
        await it.bus.publish(fact())
        await it.clock.sleep(1000)
        start = core.asked[0][0]
        assert [(round(now - start), seen) for now, seen in core.asked] == [(0, 0), (10, 1), (60, 1)]


async def test_a_time_in_the_past_means_now() -> None:
    core = Script(lambda core, now: [WakeAt(now - 5)] if len(core.asked) < 3 else [])
    async with acting(core) as (it, _, _):
        await it.clock.sleep(1)
        assert len({now for now, _ in core.asked}) == 1
        assert len(core.asked) == 3


@pytest.mark.parametrize("where", ["apply", "decide", "perform", "beside"])
async def test_what_raises_ends_it_wherever_it_happens(where: str) -> None:
    core = Script(when_first_seen(Look(1)))
    async with room() as it:
        shell = Performer(core, it)
        actor = Actor(shell, it.bus, it.clock)
        if where == "apply":
            core.poisoned = True
        elif where == "decide":
            core._decide = fail
        elif where == "perform":
            shell.fault = ZeroDivisionError()
        else:
            shell.side_fault = ZeroDivisionError()
        inbox = it.bus.subscribe("it")
        await it.bus.publish(fact())
        with pytest.raises(ExceptionGroup) as raised:
            await actor.run(core, inbox)
        assert raised.group_contains(ZeroDivisionError, depth=1)
        assert actor.seen == (0 if where == "decide" else 1)


def fail(core: Script, now: float) -> list[Effect]:
    raise ZeroDivisionError
