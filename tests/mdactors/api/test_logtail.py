"""The engine's output while it is written."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from mdactors.api import logtail
from mdactors.api.logtail import output
from tests.mdactors.api.world import World


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logtail, "PACE_SECONDS", 0.001)


def written(world: World, job: int, name: str = "attempts/1/stdout") -> Path:
    return world.state / "jobs" / str(job) / name


async def test_what_is_there_comes_in_chunks(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logtail, "CHUNK_BYTES", 4)
    written(world, 2).write_bytes(b"step 1\nstep 2\n")
    chunks = [each async for each in output(world.jobs[2], "stdout", follow=False, closing=anyio.Event())]
    assert b"".join(chunks) == b"step 1\nstep 2\n"
    assert len(chunks) == 4


async def test_a_job_that_never_ran_has_no_output(world: World) -> None:
    assert [each async for each in output(world.jobs[3], "auto", follow=False, closing=anyio.Event())] == []


async def test_following_goes_on_until_the_job_ends(world: World) -> None:
    path = written(world, 2)
    path.write_bytes(b"one\n")
    found = b""
    async for chunk in output(world.jobs[2], "stdout", follow=True, closing=anyio.Event()):
        found += chunk
        if found == b"one\n":
            with path.open("ab") as file:
                file.write(b"two\n")
        elif found == b"one\ntwo\n":
            with path.open("ab") as file:
                file.write(b"last\n")
            world.complete(2)
    assert found == b"one\ntwo\nlast\n"


async def test_following_ends_when_the_platform_stops(world: World) -> None:
    written(world, 2).write_bytes(b"one\n")
    closing = anyio.Event()
    async for chunk in output(world.jobs[2], "stdout", follow=True, closing=closing):
        assert chunk == b"one\n"
        closing.set()


async def test_following_before_the_first_start_waits_for_it(world: World) -> None:
    async with anyio.create_task_group() as tasks:
        found: list[bytes] = []

        async def listen() -> None:
            found.extend([each async for each in output(world.jobs[job], "auto", follow=True, closing=anyio.Event())])

        job = world.queue()
        tasks.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        later = world.run(slot="cpu:0/0")
        assert later != job
        await world.cancel([job], by="test")
    assert found == []
