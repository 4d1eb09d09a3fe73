from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.outcome import Examination
from events.spec import AmberJob, OpenMMJob
from mdactors.engines.gromacs.examine import FIRST_VERLET_FORMAT, examine
from tests.mdactors.engines.gromacs.conftest import TOP_JOB, TPR_JOB, Job, corpus_bytes, params, system

GRO = "water\n    1\n    1SOL     OW    1   0.230   0.628   0.113\n   1.86206   1.86206   1.86206\n"
MDP = "integrator = md\nnsteps = 100\ncoulombtype = PME\nconstraints = h-bonds\n"


def top_files(job: Job, **changes: str | bytes | None) -> dict[str, Path]:
    """Write gro, top and mdp, changed or left out by role."""
    contents: dict[str, str | bytes | None] = {"gro": GRO, "top": "[ system ]\nx\n", "mdp": MDP, **changes}
    return {role: job.write(f"in.{role}", text) for role, text in contents.items() if text is not None}


def said(found: Examination) -> list[str]:
    assert all(refusal.clause for refusal in found.refusals)
    return [refusal.text() for refusal in found.refusals]


@pytest.mark.parametrize("row", params("tpr"))
def test_real_run_inputs(job: Job, row: dict[str, str]) -> None:
    found = examine(TPR_JOB, {"tpr": job.write("x.tpr", corpus_bytes(row["file"]))})
    if row["engine_version"].startswith(("3.", "4.")):
        assert "group cut-off scheme" in said(found)[0]
        assert found.refusals[0].remedy
        return
    assert found.refusals == ()
    needs = {need.name: need.value for need in found.requires}
    assert needs["tpx_version"] >= FIRST_VERLET_FORMAT
    assert f"tpx file version={needs['tpx_version']};" in row["other"]
    assert f"generation={needs['tpx_generation']};" in f"{row['other']};"
    assert row["engine_version"] in found.requires[0].text
    assert found.system == f"{found.atoms} atoms"


def test_a_real_system() -> None:
    found = examine(TPR_JOB, {"tpr": system("jac/nvt.tpr")})
    assert (found.atoms, found.refusals) == (23558, ())


def test_double_precision_coordinates_are_noted(job: Job) -> None:
    found = examine(TPR_JOB, {"tpr": job.corpus("x.tpr", "tpr_2020_double.tpr")})
    assert "double" in found.notes[0]


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"", "empty"), (b"[ system ]\nwater\n", "not a tpr"), (b"\0\0\0\x0f\0\0\0\x0eVERSION 20", "cut off")],
)
def test_why_a_tpr_is_refused(job: Job, data: bytes, words: str) -> None:
    found = examine(TPR_JOB, {"tpr": job.write("bad.tpr", data)})
    assert words in said(found)[0]
    assert "bad.tpr" in said(found)[0]
    assert found.refusals[0].clause == "input"


def test_files_that_are_not_there(job: Job) -> None:
    assert "names no tpr" in said(examine(TPR_JOB, {}))[0]
    assert "no such file" in said(examine(TPR_JOB, {"tpr": job.folder / "none.tpr"}))[0]
    assert "no such file" in said(examine(TOP_JOB, top_files(job) | {"mdp": job.folder}))[0]


def test_topology_and_settings(job: Job) -> None:
    found = examine(TOP_JOB, top_files(job))
    assert (found.refusals, found.atoms, found.system) == ((), 1, "1 atoms, PME, h-bonds")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gro": None}, "names no gro"),
        ({"top": ""}, "empty"),
        ({"mdp": b"\0\1"}, "binary"),
        ({"gro": "HEADER PDB\nATOM\n"}, "line 2"),
        ({"gro": GRO.replace("    1\n", "    9\n", 1)}, "cut off"),
        ({"mdp": "nsteps 100\n"}, "line 1 is no 'name = value'"),
        ({"mdp": "nsteps = many\n"}, "'many'"),
        ({"mdp": "nsteps = -1\n"}, "never ends"),
    ],
)
def test_why_topology_and_settings_are_refused(job: Job, changes: dict[str, str | bytes | None], words: str) -> None:
    found = examine(TOP_JOB, top_files(job, **changes))
    assert len(found.refusals) == 1
    assert words in said(found)[0]


def test_all_faults_are_told_at_once(job: Job) -> None:
    assert len(examine(TOP_JOB, top_files(job, gro="x\ny\n", mdp="z\n")).refusals) == 2


def test_a_total_of_its_own_ends_what_would_never_end(job: Job) -> None:
    found = examine(msgspec.structs.replace(TOP_JOB, nsteps=10), top_files(job, mdp="nsteps = -1\n"))
    assert found.refusals == ()


@pytest.mark.parametrize("spec", [OpenMMJob(system="s.xml"), AmberJob(prmtop="a", inpcrd="b")])
def test_kinds_of_other_engines_are_refused_in_plain_words(spec: OpenMMJob | AmberJob) -> None:
    (refusal,) = examine(spec, {}).refusals
    assert (refusal.clause, refusal.subject) == ("kind", "gromacs")
    assert "gromacs-top" in refusal.remedy


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_no_input_raises(job: Job, data: bytes) -> None:
    assert examine(TPR_JOB, {"tpr": job.write("x.tpr", data)}).refusals
    examine(TOP_JOB, top_files(job, gro=data, mdp=data, top=data))


# ---------------------------------------------------------------- included files


def test_what_a_topology_includes_and_grompp_could_not_find_is_refused(job: Job) -> None:
    top = (
        '#include "amber99sb.ff/forcefield.itp"\n#include "ions.itp"\n#include "toppar/mol.itp"\n#include "../a.itp"\n'
    )
    inner = {"include:toppar/mol.itp": job.write("mol", '#include "./part.itp"\n#include "mol.itp"\n')}
    found = examine(TOP_JOB, top_files(job, top=top) | inner)
    assert [refusal.found for refusal in found.refusals] == [
        "the topology includes ../a.itp, which is not in its folder",
        "the topology includes ./part.itp, which is not in its folder",
    ]
    assert "a link to it" in found.refusals[0].remedy
    part = {"include:toppar/part.itp": job.write("part", "")}
    (refusal,) = examine(TOP_JOB, top_files(job, top=top) | inner | part).refusals
    assert "../a.itp" in refusal.found


@pytest.mark.parametrize(
    ("top", "mdp"),
    [
        ('#ifdef POSRES\n#include "./posre.itp"\n#endif\n', MDP),
        ('#ifndef A\n#ifdef B\n#endif\n#include "./posre.itp"\n#endif\n', MDP),
        ('; #include "./old.itp"\n', MDP),
        ('#include "./mol.itp"\n', MDP + "include = -I/data/top\n"),
    ],
)
def test_what_may_not_be_needed_or_lie_elsewhere_is_left_to_grompp(job: Job, top: str, mdp: str) -> None:
    assert examine(TOP_JOB, top_files(job, top=top, mdp=mdp)).refusals == ()
