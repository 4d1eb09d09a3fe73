"""The worker's life, in this process and on the slow and exact platform."""

from __future__ import annotations

import errno
import signal
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from mdactors.engines.openmm import job, running
from mdactors.engines.openmm.energies import read_energies
from mdactors.engines.openmm.gro import read_gro
from mdactors.engines.openmm.log import read_result
from mdactors.engines.openmm.loop import Loop
from mdactors.engines.openmm.parts import frame_steps
from mdactors.engines.openmm.reports import NumericsError
from mdactors.engines.openmm.running import Stop, main, run
from mdactors.engines.openmm.simulation import Simulation
from mdactors.engines.openmm.survey import survey
from tests.mdactors.engines.openmm.samples import an_order, chain_gro, chain_top, mdp, top_job, write_inputs
from tests.mdactors.engines.openmm.test_systems import serialised_job


class StopAt(Stop):
    """A wish to stop from a step on."""

    def __init__(self, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        advance = Simulation.advance

        def watched(simulation: Simulation, target: int) -> None:
            advance(simulation, target)
            if simulation.step >= step:
                self.asked = "SIGTERM"

        monkeypatch.setattr(Simulation, "advance", watched)


def prepare(folder: Path, attempt: int = 1, **changes: Any) -> job.Order:
    write_inputs(folder, chain_gro(), chain_top(), mdp(tinit="1"))
    (folder / f"attempts/{attempt}").mkdir(parents=True, exist_ok=True)
    return an_order(folder, attempt=attempt, **changes)


def steps(folder: Path) -> list[int]:
    return [round((time - 1) / 0.001) for time in read_energies(folder).times_ps]


def frames(folder: Path) -> list[int]:
    return [step - 1000 for part in sorted(folder.glob("*.xtc")) for step in frame_steps(part)]


def test_a_whole_run_leaves_everything(tmp_path: Path) -> None:
    assert run(prepare(tmp_path), tmp_path, Stop()) == job.COMPLETED
    result = read_result(tmp_path, 1)
    assert result is not None
    assert (result.outcome, result.steps_done, result.atoms, result.constraints) == ("completed", 40, 108, 27)
    assert (result.seeds, result.trajectory, result.pme["nx"]) == (
        {"velocities": 7, "thermostat": 8},
        ("traj.part0001.xtc",),
        16,
    )
    assert result.energies["step"] == 40
    assert (steps(tmp_path), frames(tmp_path)) == ([0, 10, 20, 30, 40], [0, 20, 40])
    assert survey(tmp_path, top_job()).finished
    final = read_gro((tmp_path / "confout.gro").read_text())
    assert final.velocities is not None
    assert final.labels[5] == "    2CHN     C2    6"


def test_stopped_and_resumed_is_bitwise_the_same_as_uninterrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert run(prepare(whole), whole, Stop()) == job.COMPLETED
    with monkeypatch.context() as patch:
        assert run(prepare(parts), parts, StopAt(15, patch)) == job.STOPPED
    stopped = read_result(parts, 1)
    assert stopped is not None
    assert stopped.outcome == "stopped"
    assert survey(parts, top_job()).step == stopped.steps_done < 40
    assert run(prepare(parts, attempt=2), parts, Stop()) == job.COMPLETED
    assert (whole / "confout.gro").read_text() == (parts / "confout.gro").read_text()
    assert read_energies(whole).terms == read_energies(parts).terms
    assert (steps(parts), frames(parts)) == ([0, 10, 20, 30, 40], [0, 20, 40])
    resumed = read_result(parts, 2)
    assert resumed is not None
    assert (resumed.first_step, resumed.steps_done, resumed.remarks) == (stopped.steps_done, 40, ())


def test_what_was_written_beyond_the_checkpoint_is_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        assert run(prepare(tmp_path), tmp_path, StopAt(15, patch)) == job.STOPPED

    def killed(_: Loop, __: object) -> None:
        raise KeyboardInterrupt

    second = prepare(tmp_path, attempt=2)
    with monkeypatch.context() as patch:
        patch.setattr(Simulation, "save_final", killed)
        with pytest.raises(KeyboardInterrupt):
            run(second, tmp_path, Stop())
    for name in ("checkpoint.chk", "state.xml"):  # as if the last save had never happened
        (tmp_path / job.PREVIOUS[name]).replace(tmp_path / name)
    assert steps(tmp_path) == [0, 10, 20, 30, 40]
    assert run(prepare(tmp_path, attempt=3), tmp_path, Stop()) == job.COMPLETED
    assert (steps(tmp_path), frames(tmp_path)) == ([0, 10, 20, 30, 40], [0, 20, 40])


def test_half_a_checkpoint_is_refused_and_the_portable_state_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        run(prepare(tmp_path), tmp_path, StopAt(15, patch))
    path = tmp_path / "checkpoint.chk"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert run(prepare(tmp_path, attempt=2), tmp_path, Stop()) == job.COMPLETED
    result = read_result(tmp_path, 2)
    assert result is not None
    assert "digest is wrong" in result.remarks[0]
    assert "not bitwise" in result.remarks[1]
    assert (tmp_path / "checkpoint.chk.damaged").exists()
    assert steps(tmp_path) == [0, 10, 20, 30, 40]


def test_another_platform_goes_on_from_the_portable_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        run(prepare(tmp_path), tmp_path, StopAt(15, patch))
    order = prepare(tmp_path, attempt=2, platform="CPU", precision="mixed", properties={"Threads": "1"})
    assert run(order, tmp_path, Stop()) == job.COMPLETED
    result = read_result(tmp_path, 2)
    assert result is not None
    assert "platform was Reference, is CPU" in result.remarks[0]
    assert result.first_step > 0


def test_another_job_s_checkpoint_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        run(prepare(tmp_path), tmp_path, StopAt(15, patch))
    assert run(prepare(tmp_path, attempt=2, identity="other"), tmp_path, Stop()) == job.COMPLETED
    result = read_result(tmp_path, 2)
    assert result is not None
    assert result.first_step == 0
    assert "started at step 0" in result.remarks[-1]
    assert steps(tmp_path) == [0, 10, 20, 30, 40]


def test_a_longer_job_goes_on_where_the_shorter_one_ended(tmp_path: Path) -> None:
    run(prepare(tmp_path), tmp_path, Stop())
    assert not survey(tmp_path, top_job(nsteps=60)).finished
    assert run(prepare(tmp_path, attempt=2, nsteps=60), tmp_path, Stop()) == job.COMPLETED
    assert (steps(tmp_path), frames(tmp_path)) == ([0, 10, 20, 30, 40, 50, 60], [0, 20, 40, 60])


def test_a_blow_up_leaves_a_result_and_the_checkpoints_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        run(prepare(tmp_path), tmp_path, StopAt(15, patch))
    before = (tmp_path / "checkpoint.chk").read_bytes()
    restore = Simulation.restore

    def poisoned(simulation: Simulation, *arguments: Any) -> None:
        restore(simulation, *arguments)
        simulation.context.setVelocities(np.full((108, 3), np.nan))

    monkeypatch.setattr(Simulation, "restore", poisoned)
    with pytest.raises(NumericsError):
        run(prepare(tmp_path, attempt=2), tmp_path, Stop())
    result = read_result(tmp_path, 2)
    assert result is not None
    assert result.outcome == "failed"
    assert (tmp_path / "checkpoint.chk").read_bytes() == before


# ---------------------------------------------------------------- other kinds


def test_a_system_with_a_state_leaves_a_final_state_only(tmp_path: Path) -> None:
    (tmp_path / "attempts/1").mkdir(parents=True)
    order = an_order(kind="openmm", inputs=serialised_job(tmp_path), nsteps=20)
    assert run(order, tmp_path, Stop()) == job.COMPLETED
    assert {path.name for path in tmp_path.glob("final*")} == {"final_state.xml"}


# ---------------------------------------------------------------- exit codes


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NumericsError("Energy is NaN at step 3"), job.NUMERICS),
        (OSError(errno.ENOSPC, "No space left on device"), job.DISK),
        (OSError(errno.EACCES, "Permission denied"), job.UNEXPECTED),
    ],
)
def test_each_error_has_its_exit_code_and_the_reason_is_the_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, code: int
) -> None:
    def fail(*_: object) -> int:
        raise error

    monkeypatch.setattr(running, "run", fail)
    order = tmp_path / "worker.json"
    order.write_bytes(msgspec.json.encode(an_order()))
    assert main([str(order)], Stop()) == code
    assert capsys.readouterr().err.splitlines()[-1] == f"mdactors: {error}"


def test_a_platform_that_is_not_there_and_inputs_that_are_no_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    order = tmp_path / "worker.json"
    order.write_bytes(msgspec.json.encode(prepare(tmp_path, platform="CUDA")))
    assert main([str(order)], Stop()) == job.ENGINE
    (tmp_path / "inputs/topol.top").write_text("nonsense")
    assert main([str(order)], Stop()) == job.INPUT
    order.write_text("{}")
    assert main([str(order)], Stop()) == job.INPUT


def test_a_signal_is_a_wish_with_a_name() -> None:
    stop = Stop()
    stop(signal.SIGTERM, None)
    assert stop.asked == "SIGTERM"
