"""Saying no before a run, for each kind of input."""

from __future__ import annotations

from pathlib import Path

import pytest

from events.outcome import Examination
from events.spec import AmberJob, OpenMMJob, Settings, TprJob
from mdactors.engines.openmm.examine import examine
from tests.mdactors.engines.openmm.samples import (
    bead_gro,
    bead_top,
    chain_gro,
    chain_top,
    mdp,
    top_job,
    water_gro,
    water_top,
    write_inputs,
)

SYSTEM = """<?xml version="1.0" ?>
<System openmmVersion="8.6" type="System" version="1">
	<Particles>
		<Particle mass="1"/>
		<Particle mass="1"/>
	</Particles>
	<Constraints/>
	<Forces>
		<Force alpha="0" cutoff="1" method="4" name="NonbondedForce" type="NonbondedForce" version="4"/>
	</Forces>
</System>
"""
STATE = """<?xml version="1.0" ?>
<State openmmVersion="8.6" type="State" version="1">
	<Positions>
		<Position x="0" y="0" z="0"/>
		<Position x="1" y="0" z="0"/>
	</Positions>
</State>
"""
PDB = "ATOM      1  H   HOH A   1       0.000   0.000   0.000\nHETATM    2  H   HOH A   2       0.000   0.000   0.000\nEND\n"


def found(examination: Examination) -> str:
    return "\n".join(refusal.text() for refusal in examination.refusals)


# ---------------------------------------------------------------- gromacs-top


def test_a_good_job_has_atoms_a_system_class_and_notes(tmp_path: Path) -> None:
    files = write_inputs(tmp_path, water_gro(), water_top(), mdp(vdw_modifier=""))
    examination = examine(top_job(), files)
    assert examination.refusals == ()
    assert (examination.engine, examination.atoms, examination.system) == ("openmm", 81, "81 atoms, PME, h-bonds")
    assert any("potential-shift" in note for note in examination.notes)


def test_everything_wrong_is_said_at_once(tmp_path: Path) -> None:
    top = '#include "posre.itp"\n' + chain_top().replace("1 2 3 4 9", "1 2 3 4 8")
    files = write_inputs(tmp_path, water_gro(), top, mdp(pcoupl="Berendsen"))
    text = found(examine(top_job(), files))
    for word in ("pcoupl = Berendsen", "posre.itp", "function type 8", "it has 81 atoms, and topol.top has 108"):
        assert word in text


def test_included_files_are_found_by_name(tmp_path: Path) -> None:
    kept = tmp_path / "0af3"
    kept.write_text(chain_top().partition("[ system ]")[0])
    files = write_inputs(tmp_path, chain_gro(), '#include "ff/rest.itp"\n[ molecules ]\nCHN 27\n', mdp())
    assert examine(top_job(), {**files, "include:ff/rest.itp": kept}).refusals == ()
    assert "ff/rest.itp" in found(examine(top_job(), files))


def test_a_box_that_is_too_small_for_the_cut_off_is_refused(tmp_path: Path) -> None:
    files = write_inputs(tmp_path, water_gro(), water_top(), mdp(rcoulomb="0.7", rvdw="0.7"))
    assert "less than twice the cut-off" in found(examine(top_job(), files))


@pytest.mark.parametrize("gro", ["", "title\nmany\n", "title\n 3\n", "title\n 1\nx\nno box at all\n"])
def test_a_broken_gro_is_refused(tmp_path: Path, gro: str) -> None:
    assert "conf.gro" in found(examine(top_job(), write_inputs(tmp_path, gro, water_top(), mdp())))


@pytest.mark.parametrize("word", ["Cut-off", ""])
def test_a_cut_off_is_taken_where_nothing_is_charged(tmp_path: Path, word: str) -> None:
    examination = examine(top_job(), write_inputs(tmp_path, bead_gro(), bead_top(), mdp(coulombtype=word)))
    assert (examination.refusals, examination.system) == ((), "81 atoms, cut-off, h-bonds")


@pytest.mark.parametrize("word", ["Cut-off", ""])
def test_a_cut_off_of_charges_is_refused_with_the_reason_and_the_ways_out(tmp_path: Path, word: str) -> None:
    files = write_inputs(tmp_path, water_gro(), water_top(), mdp(coulombtype=word))
    (refusal,) = examine(top_job(), files).refusals
    assert (refusal.subject, refusal.clause, refusal.wanted) == ("run.mdp", "mdp", "coulombtype = cut-off")
    assert "topol.top has charges (OW of SOL1: -0.82)" in refusal.found
    assert "reaction field" in refusal.found
    assert refusal.remedy == 'use coulombtype = PME, or use backend_pref "gromacs"'


def test_an_endless_run_needs_a_length(tmp_path: Path) -> None:
    files = write_inputs(tmp_path, water_gro(), water_top(), mdp(nsteps="-1"))
    assert "endless" in found(examine(top_job(), files))
    assert examine(top_job(nsteps=10), files).refusals == ()


def test_disagreeing_elements_are_a_note(tmp_path: Path) -> None:
    examination = examine(top_job(), write_inputs(tmp_path, chain_gro(), chain_top(number=2), mdp()))
    assert examination.refusals == ()
    assert any("at.num 2" in note for note in examination.notes)


def test_a_missing_file_is_refused_and_not_raised(tmp_path: Path) -> None:
    files = write_inputs(tmp_path, water_gro(), water_top(), mdp())
    files["top"].unlink()
    assert examine(top_job(), files).refusals[0].clause == "input"
    assert examine(top_job(), {}).refusals[0].clause == "input"


# ---------------------------------------------------------------- tpr


def test_a_tpr_is_refused_with_the_way_out() -> None:
    (refusal,) = examine(TprJob(tpr="a.tpr"), {}).refusals
    assert (refusal.clause, refusal.found) == ("kind", "OpenMM can't read a tpr")
    assert "gromacs-top" in refusal.remedy


# ---------------------------------------------------------------- openmm


def openmm_files(folder: Path, **texts: str) -> dict[str, Path]:
    files = {"system": SYSTEM, **texts}
    for role, text in files.items():
        (folder / role).write_text(text)
    return {role: folder / role for role in files}


def test_a_system_with_a_state_or_a_pdb_is_taken(tmp_path: Path) -> None:
    by_state = examine(OpenMMJob(system="s.xml", state="p.xml", nsteps=5), openmm_files(tmp_path, state=STATE))
    by_pdb = examine(OpenMMJob(system="s.xml", pdb="p.pdb", nsteps=5), openmm_files(tmp_path, pdb=PDB))
    assert by_state.refusals == by_pdb.refusals == ()
    assert (by_state.atoms, by_state.system) == (2, "2 atoms, PME, no constraints")


@pytest.mark.parametrize(
    ("fields", "texts", "word"),
    [
        ({"nsteps": 5}, {}, "exactly one of"),
        ({"nsteps": 5, "state": "p", "pdb": "q"}, {"state": STATE, "pdb": PDB}, "exactly one of"),
        ({"nsteps": 5, "state": "p"}, {"state": STATE[:150]}, "not a complete serialised OpenMM State"),
        ({"nsteps": 5, "pdb": "p"}, {"pdb": PDB[:50]}, "it has 1 positions"),
        ({"nsteps": 5, "pdb": "p"}, {"pdb": PDB, "system": SYSTEM[:200]}, "not a complete serialised OpenMM System"),
        ({"pdb": "p"}, {"pdb": PDB}, "give the job nsteps"),
        ({"nsteps": 5, "pdb": "p", "integrator": "i"}, {"pdb": PDB, "integrator": "<Force/>"}, "not a serialised OpenMM Integrator"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_system_is_said(
    tmp_path: Path, fields: dict[str, object], texts: dict[str, str], word: str
) -> None:
    spec = OpenMMJob(system="s.xml", **fields)  # type: ignore[arg-type]  # the table gives what fits
    assert word in found(examine(spec, openmm_files(tmp_path, **texts)))


# ---------------------------------------------------------------- amber


def amber_files(folder: Path, prmtop: str, inpcrd: bytes) -> dict[str, Path]:
    (folder / "prmtop").write_text(prmtop)
    (folder / "inpcrd").write_bytes(inpcrd)
    return {"prmtop": folder / "prmtop", "inpcrd": folder / "inpcrd"}


def prmtop(atoms: int, box: int = 1) -> str:
    numbers = [atoms, *([0] * 26), box, 0, 0, 0]
    rows = [numbers[i : i + 10] for i in range(0, len(numbers), 10)]
    body = "\n".join("".join(f"{n:8d}" for n in row) for row in rows)
    return f"%VERSION  VERSION_STAMP = V0001.000\n%FLAG TITLE\n%FORMAT(20a4)\nx\n%FLAG POINTERS\n%FORMAT(10I8)\n{body}\n%FLAG ATOM_NAME\n%FORMAT(20a4)\n"


INPCRD = b"title\n     2\n   1.0   2.0   3.0   4.0   5.0   6.0\n"


def amber(nsteps: int | None = 10) -> AmberJob:
    return AmberJob(prmtop="x.prmtop", inpcrd="x.inpcrd", nsteps=nsteps, settings=Settings(constraints="all-bonds"))


def test_an_amber_pair_is_taken(tmp_path: Path) -> None:
    boxed = examine(amber(), amber_files(tmp_path, prmtop(2), INPCRD))
    assert (boxed.refusals, boxed.atoms, boxed.system) == ((), 2, "2 atoms, PME, all-bonds")
    assert examine(amber(), amber_files(tmp_path, prmtop(2, box=0), INPCRD)).system == "2 atoms, no cut-off, all-bonds"


@pytest.mark.parametrize(
    ("top", "coordinates", "word"),
    [
        ("nothing", INPCRD, "not a complete Amber topology"),
        (prmtop(3), INPCRD, "it has 2 atoms, and the prmtop has 3"),
        (prmtop(2), b"CDF\x01", "NetCDF"),
        (prmtop(2), b"\x89HDF", "NetCDF"),
        (prmtop(2), b"title\n", "not a complete Amber coordinate file"),
        (prmtop(2, box=7), INPCRD, "box type is 7"),
    ],
)
def test_what_is_wrong_with_an_amber_pair_is_said(tmp_path: Path, top: str, coordinates: bytes, word: str) -> None:
    assert word in found(examine(amber(), amber_files(tmp_path, top, coordinates)))


def test_amber_needs_a_length(tmp_path: Path) -> None:
    assert "nsteps" in found(examine(amber(None), amber_files(tmp_path, prmtop(2), INPCRD)))
