"""Where a job stands: fresh, resumable, finished, or littered."""

from __future__ import annotations

from pathlib import Path

from mdactors.engines.openmm.checkpoint import seal
from mdactors.engines.openmm.survey import survey
from tests.mdactors.engines.openmm.samples import top_job
from tests.mdactors.engines.openmm.test_checkpoint import XML, header, write


def test_an_empty_folder_is_a_fresh_start(tmp_path: Path) -> None:
    situation = survey(tmp_path, top_job())
    assert (situation.finished, situation.step, situation.checkpoint, situation.stale) == (False, 0, "", ())


def test_a_checkpoint_is_where_it_goes_on(tmp_path: Path) -> None:
    write(tmp_path, "checkpoint.chk", 200)
    write(tmp_path, "state.xml", 200)
    situation = survey(tmp_path, top_job())
    assert (situation.step, situation.checkpoint, situation.stale) == (200, "checkpoint.chk", ())


def test_a_damaged_checkpoint_is_told_and_the_next_best_taken(tmp_path: Path) -> None:
    write(tmp_path, "state_prev.xml", 100)
    (tmp_path / "checkpoint.chk").write_bytes(b"\x00" * 100)
    situation = survey(tmp_path, top_job())
    assert (situation.step, situation.checkpoint) == (100, "state_prev.xml")
    assert "checkpoint.chk is not used" in situation.remarks[0]


def test_outputs_without_a_checkpoint_are_in_the_way(tmp_path: Path) -> None:
    for name in ("energies.part0001.csv", "traj.part0001.xtc", "notes.txt", "state.xml"):
        (tmp_path / name).write_text("x")
    assert survey(tmp_path, top_job()).stale == ("energies.part0001.csv", "state.xml", "traj.part0001.xtc")


def test_finished_means_a_whole_final_state_at_the_last_step(tmp_path: Path) -> None:
    final = tmp_path / "final_state.xml"
    final.write_bytes(seal(header(step=500), XML))
    assert survey(tmp_path, top_job()).finished
    assert survey(tmp_path, top_job(nsteps=500)).finished
    assert not survey(tmp_path, top_job(nsteps=900)).finished  # the job was made longer
    final.write_bytes(final.read_bytes()[:-20])
    assert not survey(tmp_path, top_job()).finished
