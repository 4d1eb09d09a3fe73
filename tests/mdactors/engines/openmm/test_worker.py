"""The worker as a process: found by its path, without a Python path of its own, and deaf to nobody."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from mdactors.engines.openmm import job
from mdactors.engines.openmm.plan import WORKER
from mdactors.engines.openmm.worker import EARLY_STOP
from tests.mdactors.engines.openmm.samples import an_order, mdp, water_gro, water_top, write_inputs


def work(folder: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-P", WORKER, job.order_file(1)]
    return subprocess.run(argv, cwd=folder, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)


def order(folder: Path, **changes: Any) -> None:
    write_inputs(folder, water_gro(), water_top(), mdp(nsteps="20"))
    (folder / "attempts/1").mkdir(parents=True)
    (folder / job.order_file(1)).write_bytes(msgspec.json.encode(an_order(**changes)))


def test_it_runs_an_order_in_an_almost_empty_environment(tmp_path: Path) -> None:
    order(tmp_path)
    done = work(tmp_path)
    assert (done.returncode, done.stderr) == (job.COMPLETED, "")
    assert "completed 20 steps" in done.stdout
    assert (tmp_path / "final_state.xml").exists()


def test_a_missing_platform_is_an_exit_code_and_a_last_line(tmp_path: Path) -> None:
    order(tmp_path, platform="CUDA")
    done = work(tmp_path)
    assert done.returncode == job.ENGINE
    assert 'There is no registered Platform called "CUDA"' in done.stderr.splitlines()[-1]


def test_an_early_stop_has_the_code_of_a_stop() -> None:
    assert EARLY_STOP == job.STOPPED
