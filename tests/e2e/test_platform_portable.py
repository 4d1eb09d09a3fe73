"""One description, several engines: portable jobs go where they are sent, or to what is there."""

from __future__ import annotations

import pytest

from tests.e2e.kit import SYSTEMS, Desk, needs_gromacs, portable

pytestmark = pytest.mark.e2e


def ran_on(desk: Desk, *jobs: dict[str, object]) -> list[tuple[str, str]]:
    """Run jobs to their end; return state and engine of each."""
    said = desk.run("submit", desk.file("jobs.json", *jobs), "--json")
    assert said.code == 0, said
    return [(job["state"], job["engine"]) for job in said.json()["jobs"]]


@needs_gromacs
def test_the_preference_decides(desk: Desk) -> None:
    jobs = [portable("water", 20, backend_pref=engine) for engine in ("gromacs", "openmm", None)]
    assert ran_on(desk, *jobs) == [("completed", "gromacs"), ("completed", "openmm"), ("completed", "gromacs")]


def test_without_gromacs_openmm_takes_it_without_a_word(desk: Desk) -> None:
    (desk.folder / "bin").mkdir()
    desk.environ["PATH"] = str(desk.folder / "bin")
    assert ran_on(desk, portable("water", 20)) == [("completed", "openmm")]


@needs_gromacs
@pytest.mark.skipif(not SYSTEMS.exists(), reason="the real systems are absent")
def test_the_real_systems_run_on_both(desk: Desk) -> None:
    def files(system: str) -> dict[str, str]:
        folder = SYSTEMS / system
        return {"gro": str(folder / "conf.gro"), "top": str(folder / "topol.top"), "mdp": str(SYSTEMS / "nvt.mdp")}

    def on(engine: str, system: str) -> dict[str, object]:
        return {"kind": "gromacs-top", **files(system), "nsteps": 10, "backend_pref": engine}

    water = {"kind": "tpr", "tpr": str(SYSTEMS / "water216" / "nvt.tpr"), "nsteps": 100}
    jobs = [water, *(on(engine, system) for system in ("water216", "ala2") for engine in ("gromacs", "openmm"))]
    assert ran_on(desk, *jobs) == [
        ("completed", "gromacs"),
        *[("completed", "gromacs"), ("completed", "openmm")] * 2,
    ]
