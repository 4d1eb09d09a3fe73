"""What every clock does, whatever time it tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from mdactors.ports import Clock
from mdactors.runtime.clock import LoopClock, SystemClock, VirtualLoop

CLOCKS: dict[str, tuple[Callable[[], Clock], dict[str, Any]]] = {
    "system": (SystemClock, {}),
    "loop": (LoopClock, {}),
    "virtual": (LoopClock, {"loop_factory": VirtualLoop}),
}
"""Name -> how it is made, and the event loop that it needs."""

TICK = 0.02


@pytest.fixture(scope="module", params=CLOCKS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def anyio_backend(kind: str) -> tuple[str, dict[str, Any]]:
    return "asyncio", CLOCKS[kind][1]


@pytest.fixture
async def clock(kind: str) -> Clock:
    return CLOCKS[kind][0]()


async def test_sleeping_takes_the_time_that_was_asked_for(clock: Clock) -> None:
    time, monotonic = clock.time(), clock.monotonic()
    await clock.sleep(TICK)
    assert clock.monotonic() - monotonic >= 0.99 * TICK
    assert clock.time() - time >= 0.99 * TICK


async def test_sleeping_for_no_time_lets_others_go_first(clock: Clock) -> None:
    order: list[str] = []

    async def other() -> None:
        order.append("other")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(other)
        await clock.sleep(0)
        order.append("self")
    assert order == ["other", "self"]


async def test_of_many_sleepers_none_wakes_early(clock: Clock) -> None:
    slept: list[tuple[int, float]] = []

    async def sleep(ticks: int) -> None:
        began = clock.monotonic()
        await clock.sleep(ticks * TICK)
        slept.append((ticks, (clock.monotonic() - began) / TICK))

    async with anyio.create_task_group() as tasks:
        for ticks in (3, 1, 2):
            tasks.start_soon(sleep, ticks)
    assert len(slept) == 3
    assert all(took >= 0.99 * asked for asked, took in slept)


async def test_a_sleeper_can_be_woken_by_cancelling_it(clock: Clock) -> None:
    began = clock.monotonic()
    with anyio.move_on_after(TICK):
        await clock.sleep(1000)
    assert clock.monotonic() - began < 500


async def test_deadlines_are_of_the_same_time(clock: Clock) -> None:
    """Actors wait for a deadline in one place and read the clock in another."""
    began = clock.monotonic()
    with anyio.move_on_after(TICK):
        await anyio.sleep_forever()
    assert clock.monotonic() - began >= 0.99 * TICK


async def test_time_is_after_the_beginning_of_the_project(clock: Clock) -> None:
    assert clock.time() >= 1_700_000_000
    before = clock.monotonic()
    assert clock.monotonic() >= before
