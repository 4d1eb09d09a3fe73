"""A batch as a live table."""

from __future__ import annotations

import io
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from rich.console import Console

from events.devices import DeviceUnhealthy
from mdactors.cli import live
from mdactors.cli.live import chosen, counts, picture, watch
from tests.mdactors.api.world import World, populated


@pytest.fixture
def crowd(tmp_path: Path) -> World:
    return populated(tmp_path)


def drawn(world: World, numbers: list[int], room: int, width: int = 140) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    with console.capture() as capture:
        console.print(picture(world, numbers, room))
    return capture.get()


def test_a_row_for_each_job_with_speed_and_time_to_finish(crowd: World) -> None:
    lines = drawn(crowd, [1, 2, 3, 4, 5], 20).splitlines()
    assert lines[0].split() == ["job", "name", "state", "slot", "engine", "step", "progress", "ns/day", "left"]
    assert len(lines) == 7
    running = lines[2].split()
    assert running[:6] == ["2", "ala2", "running", "cpu:0/1", "gromacs/CPU/mixed", "1250/5000"]
    assert running[-1] == "1:05"
    assert "100" in running
    assert "━" in lines[1]
    assert lines[-1].startswith("5 jobs: 1 completed, 1 failed, 1 queued, 1 rejected, 1 running")


def test_on_a_narrow_terminal_the_bar_gives_way(crowd: World) -> None:
    lines = drawn(crowd, [1, 2, 3, 4, 5], 20, width=80).splitlines()
    assert all(len(line.rstrip()) <= 80 for line in lines)
    assert "gromacs/CPU/mixed" in lines[2]
    assert "…" not in "".join(lines)


def test_a_long_name_gives_way_too(crowd: World) -> None:
    number = crowd.run(name="equilibration-of-the-whole-complex-in-water")
    head, line, _ = drawn(crowd, [number], 20, width=80).splitlines()
    assert head.split() == ["job", "name", "state", "slot", "engine", "step", "progress", "ns/day", "left"]
    assert "running cpu:0/0 gromacs/CPU/mixed" in line
    assert "6 equilib" in line


@pytest.mark.parametrize("room", [1, 3, 10, 50])
def test_what_matters_most_gets_the_room(crowd: World, room: int) -> None:
    for _ in range(20):
        crowd.queue()
    shown = chosen(list(crowd.jobs.rows.values()), room)
    assert len(shown) == min(room, 25)
    assert crowd.jobs[2] in shown
    assert [job.job for job in shown] == sorted(job.job for job in shown)


def test_counts_are_of_all(crowd: World) -> None:
    assert counts([crowd.jobs[1], crowd.jobs[2]]) == "2 jobs: 1 completed, 1 running"


async def test_it_is_kept_up_to_date_until_cancelled(crowd: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PACE_SECONDS", 0)
    screen = io.StringIO()
    console = Console(file=screen, width=140, height=40, force_terminal=True, color_system=None)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch, crowd, [2], console)
        while "1250/5000" not in screen.getvalue():
            await anyio.lowlevel.checkpoint()
        crowd.progress(2, 2500)
        while "2500/5000" not in screen.getvalue():
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()


def test_a_device_that_takes_no_work_is_told_below_the_table(crowd: World) -> None:
    crowd.append(DeviceUnhealthy(device="cpu:0", reason="fan"))
    last = " ".join("".join(drawn(crowd, [3], 20, width=60)).split("1 job: 1 queued")[1].split())
    assert last.startswith("cpu:0 takes no work: fan; when it is well again: python run.py --state")
    assert last.endswith("inject device-recovered cpu:0")


def test_a_name_can_not_move_the_cursor(crowd: World) -> None:
    number = crowd.run(name="a\x1b[2J\nb")
    assert "a\\u001b[2J\\nb" in drawn(crowd, [number], 20)
