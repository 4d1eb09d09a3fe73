"""A batch as plain lines."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from events.devices import DeviceRecovered, DeviceUnhealthy
from mdactors.cli.lines import sentence, tell
from mdactors.cli.output import Output
from mdactors.views.jobs import job_row
from tests.mdactors.api.world import REFUSAL, World, populated


def test_a_sentence_for_each_state(tmp_path: Path) -> None:
    world = populated(tmp_path)
    assert [sentence(job_row(row, world.matrix)) for row in world.jobs.rows.values()] == [
        "job 1 water: completed, 123.4 ns/day",
        "job 2 ala2: running on cpu:0/1 (gromacs/CPU/mixed)",
        "job 3 jac: queued",
        f"job 4 dimer: rejected: {REFUSAL.text()}",
        "job 5 villin: failed: constraints failed",
    ]


async def test_each_change_is_told_once_and_only_of_these_jobs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(tmp_path)
    job, other = world.queue(name="mine"), world.queue(name="other")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tell, Output({}), world, [job], world.last_seq)
        await anyio.wait_all_tasks_blocked()
        world.start(job)
        world.start(other, "cpu:0/1")
        await anyio.wait_all_tasks_blocked()
        world.complete(job)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert capsys.readouterr().err.splitlines() == [
        "job 1 mine: running on cpu:0/0 (gromacs/CPU/mixed)",
        "job 1 mine: completed, 123.4 ns/day",
    ]


async def test_a_device_that_is_taken_out_is_told_with_the_way_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(tmp_path)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tell, Output({}), world, [world.queue()], world.last_seq)
        await anyio.wait_all_tasks_blocked()
        world.append(DeviceUnhealthy(device="cpu:0", reason="3 attempts in a row failed by its fault"))
        world.append(DeviceRecovered(device="cpu:0"))
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    out, back = capsys.readouterr().err.splitlines()
    assert out.startswith("cpu:0 takes no work: 3 attempts in a row failed by its fault; ")
    assert out.endswith(f"when it is well again: python run.py --state {tmp_path} inject device-recovered cpu:0")
    assert back == "cpu:0 takes work again"
