"""A GROMACS topology means to OpenMM what it means to GROMACS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openmm
import pytest
from openmm import unit

from mdactors.engines.openmm.gro import read_gro
from mdactors.engines.openmm.gromacs_top import build_gromacs
from mdactors.engines.openmm.mdp import parse_mdp
from mdactors.errors import InputError
from tests.mdactors.engines.openmm.samples import (
    bead_gro,
    bead_top,
    chain_gro,
    chain_top,
    mdp,
    water_gro,
    water_top,
    write_inputs,
)


def built(folder: Path, gro: str, top: str, **settings: str) -> Any:
    files = write_inputs(folder, gro, top, mdp(**settings))
    run = parse_mdp(files["mdp"].read_text()).settings
    return build_gromacs(files["top"], read_gro(gro).box, run)[0]


def force(system: Any, kind: type) -> Any:
    found = [one for one in system.getForces() if isinstance(one, kind)]
    return found[0] if found else None


def constraints(system: Any) -> set[tuple[int, int]]:
    return {tuple(sorted(system.getConstraintParameters(i)[:2])) for i in range(system.getNumConstraints())}


def pair(system: Any, a: int, b: int) -> tuple[float, float]:
    """Return charge product and epsilon of one exception."""
    nonbonded = force(system, openmm.NonbondedForce)
    for index in range(nonbonded.getNumExceptions()):
        i, j, charge, _, epsilon = nonbonded.getExceptionParameters(index)
        if {i, j} == {a, b}:
            return charge._value, epsilon._value
    raise AssertionError(f"{a} and {b} are no exception")


def energy(system: Any, positions: Any) -> float:
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(positions)
    return float(context.getState(getEnergy=True).getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole))


# ---------------------------------------------------------------- constraints


@pytest.mark.parametrize("number", [1, 2])
def test_hydrogens_are_told_by_name_whatever_their_number_says(tmp_path: Path, number: int) -> None:
    system = built(tmp_path, chain_gro(1, 2.0), chain_top(1, number=number))
    assert constraints(system) == {(2, 3)}
    assert force(system, openmm.HarmonicBondForce).getNumBonds() == 2


def test_an_atom_without_an_h_in_front_is_none_even_if_its_number_is_1(tmp_path: Path) -> None:
    assert constraints(built(tmp_path, chain_gro(1, 2.0), chain_top(1).replace("CHN H4", "CHN D4"))) == set()


@pytest.mark.parametrize(("word", "count"), [("none", 0), ("all-bonds", 3)])
def test_constraints_are_what_the_settings_say(tmp_path: Path, word: str, count: int) -> None:
    assert built(tmp_path, chain_gro(1, 2.0), chain_top(1), constraints=word).getNumConstraints() == count


def test_water_is_rigid_by_its_settles_and_not_flexible(tmp_path: Path) -> None:
    top = (
        water_top()
        .replace("[ settles ]", "#ifdef FLEXIBLE\n[ bonds ]\n1 2 1 0.1 1000\n#else\n[ settles ]")
        .replace("[ exclusions ]", "#endif\n[ exclusions ]")
    )
    system = built(tmp_path, water_gro(), top, constraints="none")
    assert system.getNumConstraints() == 81
    assert force(system, openmm.HarmonicBondForce) is None


def test_a_water_with_bonds_and_no_settles_stays_as_flexible_as_the_settings_say(tmp_path: Path) -> None:
    top = water_top(1).replace(
        "[ settles ]\n1 1 0.1 0.16330", "[ bonds ]\n1 2 1 0.1 1000\n1 3 1 0.1 1000\n[ angles ]\n2 1 3 1 109.5 400"
    )
    assert built(tmp_path, water_gro(1, 2.0), top, constraints="none").getNumConstraints() == 0
    assert constraints(built(tmp_path, water_gro(1, 2.0), top)) == {(0, 1), (0, 2)}


# ---------------------------------------------------------------- non-bonded


@pytest.mark.parametrize("rule", [1, 2, 3])
def test_1_4_interactions_are_those_that_are_listed(tmp_path: Path, rule: int) -> None:
    listed = built(tmp_path, chain_gro(1, 2.0), chain_top(1, rule=rule))
    unlisted = built(tmp_path, chain_gro(1, 2.0), chain_top(1, rule=rule, pairs=""))
    assert pair(listed, 0, 3)[0] == pytest.approx(-0.1 * 0.1 * 0.8333)
    assert pair(unlisted, 0, 3) == (0.0, 0.0)
    assert pair(listed, 0, 2) == (0.0, 0.0)


def test_the_splitting_parameter_and_grid_follow_the_settings(tmp_path: Path) -> None:
    system = built(tmp_path, water_gro(), water_top(), fourierspacing="0.1", fourier_nx="20")
    alpha, *grid = force(system, openmm.NonbondedForce).getPMEParameters()
    assert grid == [20, 12, 12]
    assert alpha.value_in_unit(unit.nanometer**-1) == pytest.approx(6.24683, abs=1e-4)


@pytest.mark.parametrize(("word", "on"), [("no", False), ("EnerPres", True)])
def test_both_forces_follow_disp_corr(tmp_path: Path, word: str, *, on: bool) -> None:
    system = built(tmp_path, chain_gro(), chain_top(rule=3), DispCorr=word)
    assert force(system, openmm.NonbondedForce).getUseDispersionCorrection() is on
    assert force(system, openmm.CustomNonbondedForce).getUseLongRangeCorrection() is on


def test_one_sigma_needs_no_custom_force_and_gives_the_same_energy(tmp_path: Path) -> None:
    positions = read_gro(water_gro()).positions
    plain = built(tmp_path, water_gro(), water_top())
    assert force(plain, openmm.CustomNonbondedForce) is None
    # a second sigma on a bead that touches nothing keeps the custom force
    two = water_top().replace("HW 1  1.0080 0.0 A 0.0 0.0", "HW 1  1.0080 0.0 A 0.1 1e-12")
    custom = built(tmp_path, water_gro(), two)
    assert force(custom, openmm.CustomNonbondedForce) is not None
    assert energy(plain, positions) == pytest.approx(energy(custom, positions), rel=1e-7)


def test_switching_reaches_both_forces(tmp_path: Path) -> None:
    system = built(tmp_path, chain_gro(), chain_top(rule=3), vdw_modifier="potential-switch", rvdw_switch="0.4")
    for kind in (openmm.NonbondedForce, openmm.CustomNonbondedForce):
        assert force(system, kind).getUseSwitchingFunction()
        assert force(system, kind).getSwitchingDistance().value_in_unit(unit.nanometer) == 0.4


@pytest.mark.parametrize("rule", [2, 3])
def test_a_cut_off_without_charges_is_lennard_jones_alone(tmp_path: Path, rule: int) -> None:
    top, positions = bead_top(rule=rule), read_gro(bead_gro()).positions
    system = built(tmp_path, bead_gro(), top, coulombtype="Cut-off", DispCorr="Ener")
    nonbonded, custom = force(system, openmm.NonbondedForce), force(system, openmm.CustomNonbondedForce)
    assert nonbonded.getNonbondedMethod() == openmm.NonbondedForce.CutoffPeriodic
    assert (custom is not None) is (rule == 3)
    if custom is not None:
        assert custom.getNonbondedMethod() == openmm.CustomNonbondedForce.CutoffPeriodic
    mesh = built(tmp_path, bead_gro(), top, DispCorr="Ener")
    assert energy(system, positions) == pytest.approx(energy(mesh, positions), rel=1e-12)


def test_a_cut_off_of_charges_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cut-off with charges \(OW of SOL1: -0\.82\)"):
        built(tmp_path, water_gro(), water_top(), coulombtype="Cut-off")


# ---------------------------------------------------------------- the rest


def test_the_centre_of_mass_is_held_as_often_as_asked(tmp_path: Path) -> None:
    assert force(built(tmp_path, water_gro(), water_top(), nstcomm="30"), openmm.CMMotionRemover).getFrequency() == 30
    assert force(built(tmp_path, water_gro(), water_top(), comm_mode="none"), openmm.CMMotionRemover) is None


def test_included_files_come_from_beside_the_topology_only(tmp_path: Path) -> None:
    (tmp_path / "inputs/ff").mkdir(parents=True)
    (tmp_path / "inputs/ff/rest.itp").write_text(chain_top().partition("[ system ]")[0])
    top = '#include "ff/rest.itp"\n[ system ]\nx\n[ molecules ]\nCHN 27\n'
    assert built(tmp_path, chain_gro(), top).getNumParticles() == 108
    with pytest.raises(InputError, match=r"amber99\.ff/forcefield\.itp is not there"):
        built(tmp_path, chain_gro(), '#include "amber99.ff/forcefield.itp"\n' + top)


def test_what_openmm_would_skip_is_an_input_error(tmp_path: Path) -> None:
    top = chain_top().replace("[ pairs ]", "[ position_restraints ]\n1 1 9 9 9\n[ pairs ]")
    with pytest.raises(InputError, match="position_restraints"):
        built(tmp_path, chain_gro(), top)
