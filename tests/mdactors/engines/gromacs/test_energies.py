from __future__ import annotations

import pytest

from mdactors.engines.gromacs.energies import common_terms, read_energies
from mdactors.errors import EnergiesMissingError
from tests.mdactors.engines.gromacs.conftest import Job, corpus_bytes, params


@pytest.mark.parametrize("row", params("edr"))
def test_real_files(job: Job, row: dict[str, str]) -> None:
    job.corpus("ener.edr", row["file"])
    energies = read_energies(job.folder)
    facts = dict(part.split("=") for part in row["other"].split("; ") if "=" in part)
    assert len(energies.times_ps) == int(facts["frames"])
    assert energies.times_ps[0] == float(facts["first time"])
    assert energies.times_ps[-1] == pytest.approx(float(facts["last time"]), rel=1e-5)
    assert {"potential", "kinetic", "total"} <= set(energies.terms)
    assert all(len(values) == len(energies.times_ps) for values in energies.terms.values())
    assert energies.source.endswith("ener.edr")


def test_the_parts_make_the_whole(job: Job) -> None:
    job.corpus("ener.edr", "gmx2022_5_double_spc.edr")
    terms = read_energies(job.folder).terms
    for sums in zip(terms["lj_sr"], terms["coulomb_sr"], terms["coulomb_recip"], terms["potential"], strict=True):
        assert sum(sums[:3]) == pytest.approx(sums[3], rel=1e-9)
    for potential, kinetic, total in zip(terms["potential"], terms["kinetic"], terms["total"], strict=True):
        assert potential + kinetic == pytest.approx(total, rel=1e-9)


def test_columns_of_one_meaning_are_added_and_others_left_out() -> None:
    names = ["Proper Dih.", "Ryckaert-Bell.", "Pressure", "Temperature", "Vir-XX", "Bond"]
    terms = common_terms(names, [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [10.0, 20.0, 0.0, 0.0, 0.0, -1.0]])
    assert terms == {"proper": (3.0, 30.0), "bond": (6.0, -1.0)}


def test_whole_frames_of_a_file_that_was_cut_off(job: Job) -> None:
    job.write("ener.edr", corpus_bytes("gmx2022_5_spc.edr")[:-100])
    assert len(read_energies(job.folder).times_ps) == 10


@pytest.mark.parametrize("data", [b"", b"not an energy file at all, but text", b"\0" * 400, b"\xff" * 400])
def test_what_is_no_energy_file(job: Job, data: bytes) -> None:
    job.write("ener.edr", data)
    with pytest.raises(EnergiesMissingError, match=r"ener\.edr"):
        read_energies(job.folder)


def test_a_file_without_frames(job: Job) -> None:
    data = corpus_bytes("gmx2022_5_spc.edr")
    first_frame = data.index((-7777777).to_bytes(4, "big", signed=True)) - 4
    job.write("ener.edr", data[:first_frame])
    with pytest.raises(EnergiesMissingError, match=r"ener\.edr"):
        read_energies(job.folder)


def test_no_file(job: Job) -> None:
    with pytest.raises(EnergiesMissingError, match=r"no ener\.edr"):
        read_energies(job.folder)
