"""Simulated time: it jumps when all wait, and never otherwise."""

from __future__ import annotations

import socket
import time
from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdactors.runtime.clock import DeadlockError, LoopClock, SystemClock, VirtualLoop

YEAR = 365 * 86_400.0


def in_simulated_time(story: Callable[[], Awaitable[None]]) -> None:
    anyio.run(story, backend_options={"loop_factory": VirtualLoop})


def test_a_year_passes_at_once() -> None:
    async def story() -> None:
        clock = LoopClock()
        began = clock.time()
        await clock.sleep(YEAR)
        assert clock.time() - began == YEAR

    before = time.monotonic()
    in_simulated_time(story)
    assert time.monotonic() - before < 60


def test_time_begins_where_it_is_told_to() -> None:
    async def story() -> None:
        clock = LoopClock(epoch=1000.0)
        assert (clock.time(), clock.monotonic()) == (1000.0, 0.0)
        await clock.sleep(1.5)
        assert (clock.time(), clock.monotonic()) == (1001.5, 1.5)

    in_simulated_time(story)


def test_work_takes_no_time() -> None:
    async def story() -> None:
        for _ in range(1000):
            await anyio.lowlevel.checkpoint()
        assert LoopClock().monotonic() == 0.0

    in_simulated_time(story)


def test_time_does_not_jump_over_what_can_be_done_now() -> None:
    log: list[str] = []

    async def work() -> None:
        for step in range(5):
            log.append(f"step {step}")
            await anyio.lowlevel.checkpoint()

    async def story() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            await anyio.sleep(1e-6)
            log.append("woken")

    in_simulated_time(story)
    assert log == [*[f"step {step}" for step in range(5)], "woken"]


def test_what_has_come_from_outside_is_heard_before_time_jumps() -> None:
    ours, theirs = socket.socketpair()

    async def story() -> None:
        theirs.send(b"x")
        with anyio.fail_after(1000):
            await anyio.wait_readable(ours)
        assert LoopClock().monotonic() == 0.0

    with ours, theirs:
        in_simulated_time(story)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=20))
def test_everybody_wakes_exactly_in_time(pauses: list[float]) -> None:
    woken: list[tuple[float, float]] = []

    async def sleep(seconds: float) -> None:
        await anyio.sleep(seconds)
        woken.append((seconds, LoopClock().monotonic()))

    async def story() -> None:
        async with anyio.create_task_group() as tasks:
            for seconds in pauses:
                tasks.start_soon(sleep, seconds)

    in_simulated_time(story)
    assert [seconds for seconds, _ in woken] == sorted(pauses)
    assert all(moment == pytest.approx(seconds, abs=1e-6) for seconds, moment in woken)


def test_when_nothing_can_ever_happen_again_it_says_so() -> None:
    async def story() -> None:
        await anyio.Event().wait()

    with pytest.raises(DeadlockError, match="no deadline is left"):
        in_simulated_time(story)


async def test_the_machine_s_clock_is_the_machine_s() -> None:
    clock = SystemClock()
    assert abs(clock.time() - time.time()) < 60
    assert abs(clock.monotonic() - time.monotonic()) < 60
