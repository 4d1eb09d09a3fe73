"""Rows, frames and progress on disk; nothing that is not finite."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from openmm import app

from mdactors.engines.openmm.log import newest
from mdactors.engines.openmm.parts import frame_steps
from mdactors.engines.openmm.reports import EnergyLog, Frames, NumericsError, ProgressLog, check_finite, ns_per_day

ROW = {
    "step": 10.0,
    "time_ps": 0.02,
    "potential": -5.5,
    "kinetic": 2.25,
    "total": -3.25,
    "temperature": 300.0,
    "bond": 1.0,
}


def test_rows_are_on_disk_as_soon_as_they_are_written(tmp_path: Path) -> None:
    log = EnergyLog(tmp_path / "e.csv", ("bond",))
    log.write(ROW)
    log.sync()
    text = (tmp_path / "e.csv").read_text().splitlines()
    assert text[0] == "step,time_ps,potential,kinetic,total,temperature,bond"
    assert text[1] == "10,0.020000,-5.500000,2.250000,-3.250000,300.000000,1.000000"
    assert log.last == ROW
    log.close()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_value_that_is_not_finite_is_not_written(tmp_path: Path, value: float) -> None:
    log = EnergyLog(tmp_path / "e.csv", ("bond",))
    with pytest.raises(NumericsError, match="Energy is NaN at step 10"):
        log.write({**ROW, "bond": value})
    assert len((tmp_path / "e.csv").read_text().splitlines()) == 1
    log.close()


def test_the_atom_that_flew_away_is_named() -> None:
    positions = np.zeros((5, 3))
    check_finite(positions, 1)
    positions[3, 2] = np.nan
    with pytest.raises(NumericsError, match="particle 3 at step 70"):
        check_finite(positions, 70)


def test_frames_carry_step_and_box(tmp_path: Path) -> None:
    topology = app.Topology()
    residue = topology.addResidue("X", topology.addChain())
    for _ in range(12):
        topology.addAtom("X", None, residue)
    topology.setUnitCellDimensions((2, 2, 2))
    frames = Frames(tmp_path / "t.xtc", topology, timestep_ps=0.002, first_step=500, interval=50)
    for shift in (0.0, 0.1):
        frames.write(np.full((12, 3), shift), np.diag([2.0, 2.0, 2.0]))
    frames.sync()
    assert frame_steps(tmp_path / "t.xtc") == [500, 550]


def test_progress_keeps_its_pace_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    log = ProgressLog(path, interval=1.0, timestep_ps=0.002, steps_asked=900, start_ps=5.0)
    for step, elapsed in ((0, 0.0), (10, 0.4), (20, 0.9), (30, 1.1), (40, 1.2)):
        log.offer(step, elapsed)
    log.offer(45, 1.3, force=True)
    log.close()
    steps = [newest(line + b"\n") for line in path.read_bytes().splitlines()]
    assert [line.step for line in steps if line] == [0, 30, 45]
    last = steps[1]
    assert last is not None
    assert last.time_ps == pytest.approx(5.06)
    assert last.steps_asked == 900
    assert last.ns_per_day == pytest.approx(ns_per_day(30, 1.1, 0.002))


def test_no_speed_before_anything_was_timed(tmp_path: Path) -> None:
    log = ProgressLog(tmp_path / "p.jsonl", interval=1.0, timestep_ps=0.002, steps_asked=9, start_ps=0.0)
    log.offer(0, 0.0)
    log.close()
    line = newest((tmp_path / "p.jsonl").read_bytes())
    assert line is not None
    assert line.ns_per_day is None
