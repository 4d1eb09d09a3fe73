"""Inputs of each kind become the System that they describe."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openmm
import pytest
from openmm import app, unit

from mdactors.engines.openmm.systems import build, group_by_term
from mdactors.errors import InputError
from tests.mdactors.engines.openmm.samples import (
    an_order,
    chain_gro,
    chain_top,
    mdp,
    water_gro,
    water_top,
    write_inputs,
)


def two_particles() -> openmm.System:
    system = openmm.System()
    system.setDefaultPeriodicBoxVectors((3, 0, 0), (0, 3, 0), (0, 0, 3))
    force = openmm.NonbondedForce()
    force.setNonbondedMethod(openmm.NonbondedForce.PME)
    for charge in (1.0, -1.0):
        system.addParticle(10.0)
        force.addParticle(charge, 0.3, 0.5)
    system.addForce(force)
    return system


def serialised_job(folder: Path, *, moving: bool = True, integrator: openmm.Integrator | None = None) -> dict[str, str]:
    system = two_particles()
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions([(0, 0, 0), (0.5, 0, 0)])
    context.setVelocities([(0.1, 0, 0), (-0.1, 0, 0)])
    context.setPeriodicBoxVectors((2.5, 0, 0), (0, 2.5, 0), (0, 0, 2.5))
    context.setTime(4.0)
    state = context.getState(getPositions=True, getVelocities=moving)
    objects = {"system": system, "state": state} | ({} if integrator is None else {"integrator": integrator})
    for role, thing in objects.items():
        (folder / f"{role}.xml").write_text(openmm.XmlSerializer.serialize(thing))
    return {role: str(folder / f"{role}.xml") for role in objects}


def test_a_gromacs_topology_with_its_velocities_and_settings(tmp_path: Path) -> None:
    write_inputs(tmp_path, water_gro(moving=True), water_top(), mdp(tinit="2"))
    model = build(an_order(tmp_path))
    assert model.system.getNumParticles() == len(model.positions) == 81
    assert model.velocities is not None
    assert model.velocities[0].tolist() == [0.001, -0.25, 0.125]
    assert model.start_ps == 2.0
    assert model.box is not None
    assert np.allclose(model.box, np.diag([1.2] * 3))
    assert model.titles == {}


def test_bonded_terms_of_a_topology_have_groups_of_their_own(tmp_path: Path) -> None:
    write_inputs(tmp_path, chain_gro(), chain_top(), mdp())
    assert build(an_order(tmp_path)).titles == {1: "bond", 2: "angle", 3: "dihedral"}


def test_a_system_with_groups_keeps_them() -> None:
    system = two_particles()
    system.getForce(0).setForceGroup(3)
    assert group_by_term(system) is None
    assert system.getForce(0).getForceGroup() == 3


def test_settings_that_slipped_through_are_refused_again(tmp_path: Path) -> None:
    write_inputs(tmp_path, water_gro(), water_top(), mdp(pcoupl="Berendsen"))
    with pytest.raises(InputError, match="pcoupl"):
        build(an_order(tmp_path))


def test_a_gro_with_other_atoms_is_refused(tmp_path: Path) -> None:
    write_inputs(tmp_path, chain_gro(), water_top(), mdp())
    with pytest.raises(InputError, match="the gro has 108 atoms, the topology 81"):
        build(an_order(tmp_path))


def test_whatever_a_reader_raises_is_an_input_error_that_keeps_its_cause(tmp_path: Path) -> None:
    (tmp_path / "system.xml").write_text("<nothing/>")
    with pytest.raises(InputError, match="openmm:") as caught:
        build(an_order(kind="openmm", inputs={"system": str(tmp_path / "system.xml"), "pdb": "no.pdb"}))
    assert caught.value.__cause__ is not None


def test_a_system_with_a_state_starts_where_the_state_is(tmp_path: Path) -> None:
    model = build(an_order(kind="openmm", inputs=serialised_job(tmp_path)))
    assert model.positions.tolist() == [[0, 0, 0], [0.5, 0, 0]]
    assert model.velocities is not None
    assert model.velocities[1].tolist() == [-0.1, 0, 0]
    assert (model.start_ps, model.topology.getNumAtoms(), model.titles) == (4.0, 2, {})
    assert model.box is not None
    assert model.box[0, 0] == 2.5


def test_a_state_without_velocities_leaves_them_to_be_drawn(tmp_path: Path) -> None:
    assert build(an_order(kind="openmm", inputs=serialised_job(tmp_path, moving=False))).velocities is None


def test_with_an_integrator_of_the_user_the_force_groups_are_the_user_s(tmp_path: Path) -> None:
    inputs = serialised_job(tmp_path, integrator=openmm.LangevinMiddleIntegrator(300, 1, 0.002))
    model = build(an_order(kind="openmm", inputs=inputs))
    assert model.titles is None
    assert model.integrator.getStepSize().value_in_unit(unit.picosecond) == 0.002


def test_a_system_with_a_pdb(tmp_path: Path) -> None:
    inputs = serialised_job(tmp_path)
    topology = app.Topology()
    chain = topology.addChain()
    for name in ("NA", "CL"):
        topology.addAtom(name, None, topology.addResidue(name, chain))
    with (tmp_path / "start.pdb").open("w") as file:
        app.PDBFile.writeFile(topology, [(0, 0, 0), (1, 0, 0)] * unit.nanometer, file)
    model = build(an_order(kind="openmm", inputs={"system": inputs["system"], "pdb": str(tmp_path / "start.pdb")}))
    assert model.positions.tolist() == [[0, 0, 0], [1, 0, 0]]
    assert (model.velocities, model.box) == (None, None)


def test_the_digest_tells_systems_apart(tmp_path: Path) -> None:
    write_inputs(tmp_path, water_gro(), water_top(), mdp())
    first = build(an_order(tmp_path)).sha256()
    assert build(an_order(tmp_path)).sha256() == first
    write_inputs(tmp_path, water_gro(), water_top(), mdp(rcoulomb="0.55", rvdw="0.55"))
    assert build(an_order(tmp_path)).sha256() != first
