"""The loop: everything that is due happens at its step, once; a wish to stop is heard between two blocks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mdactors.engines.openmm.energies import read_energies, read_table
from mdactors.engines.openmm.loop import Loop, next_due
from mdactors.engines.openmm.parts import frame_steps
from tests.mdactors.engines.openmm.test_simulation import started


@dataclass
class Wish:
    asked: str = ""


def run(folder: Path, wish: Wish | None = None, **settings: str) -> Loop:
    (folder / "attempts/1").mkdir(parents=True, exist_ok=True)
    loop = Loop(started(folder, **settings), folder)
    loop.run(wish or Wish())
    loop.close()
    return loop


def steps(folder: Path) -> list[float]:
    return [row[0] for row in read_table((folder / "energies.part0001.csv").read_text())[1]]


def test_rows_and_frames_come_at_their_steps_and_rows_also_last(tmp_path: Path) -> None:
    loop = run(tmp_path, nsteps="45")
    assert loop.simulation.step == 45
    assert steps(tmp_path) == [0, 10, 20, 30, 40, 45]
    assert frame_steps(tmp_path / "traj.part0001.xtc") == [0, 20, 40]
    assert loop.last_row["step"] == 45


def test_no_interval_means_first_and_last_only_and_no_trajectory(tmp_path: Path) -> None:
    run(tmp_path, nstenergy="0", nstxout_compressed="0")
    assert steps(tmp_path) == [0, 40]
    assert list(tmp_path.glob("*.xtc")) == []


def test_no_steps_are_one_row(tmp_path: Path) -> None:
    loop = run(tmp_path, nsteps="0")
    assert steps(tmp_path) == [0]
    assert (loop.timing.steps_timed, loop.timing.timed_seconds) == (0, 0.0)


def test_a_wish_that_is_there_already_stops_before_the_first_block(tmp_path: Path) -> None:
    loop = run(tmp_path, Wish("SIGTERM"))
    assert loop.simulation.step == 0


def test_only_steps_after_the_warm_up_are_timed(tmp_path: Path) -> None:
    timing = run(tmp_path).timing
    assert (timing.first_step, timing.steps_timed) == (0, 36)
    assert 0 < timing.timed_seconds <= timing.wall_seconds


def test_checkpoints_come_by_wall_time(tmp_path: Path) -> None:
    (tmp_path / "attempts/1").mkdir(parents=True)
    run(tmp_path, order={"checkpoint_seconds": 0.0})  # type: ignore[arg-type]  # passed on to the order
    assert {path.name for path in tmp_path.glob("*.chk")} == {"checkpoint.chk", "checkpoint_prev.chk"}
    assert read_energies(tmp_path).times_ps[-1] == 0.04


@given(
    step=st.integers(0, 10**6),
    ahead=st.integers(1, 10**6),
    intervals=st.lists(st.integers(0, 1000), max_size=4),
    cap=st.integers(0, 1000),
)
def test_a_block_ends_at_or_before_everything_that_is_due(
    step: int, ahead: int, intervals: list[int], cap: int
) -> None:
    target = next_due(step, step + ahead, intervals, cap=cap)
    assert step < target <= min(step + ahead, step + max(1, cap))
    assert all(target <= (step // interval + 1) * interval for interval in intervals if interval)
