"""Inputs of each kind -> an OpenMM System with its start configuration. Worker side."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import openmm
from openmm import app, unit

from mdactors.engines.openmm.boxes import Foreign, from_vectors, to_vectors
from mdactors.engines.openmm.gro import Array, Gro, read_gro
from mdactors.engines.openmm.gromacs_top import build_gromacs
from mdactors.engines.openmm.job import Order
from mdactors.engines.openmm.mdp import RunSettings, parse_mdp
from mdactors.errors import InputError


@dataclass
class Model:
    """What is simulated, and from where it starts. Arrays are in nm and nm/ps."""

    system: Foreign
    topology: Foreign
    positions: Array
    velocities: Array | None
    """None: to be drawn, or zero, as the settings say."""
    box: Array | None
    run: RunSettings | None = None
    """The mdp of a `gromacs-top` job."""
    gro: Gro | None = None
    integrator: Foreign = None
    """The integrator that an `openmm` job brings along."""
    start_ps: float = 0.0
    titles: dict[int, str] | None = None
    """Force group -> common name of its energy; None: the System's groups are the user's."""

    def sha256(self) -> str:
        """Return the digest of the serialised System."""
        return hashlib.sha256(openmm.XmlSerializer.serialize(self.system).encode()).hexdigest()


def build(order: Order) -> Model:
    """Build what the order names.

    Raises:
        InputError: a file can't be used.
    """
    try:
        return BUILDERS[order.kind](order)
    except InputError:
        raise
    except Exception as error:  # OpenMM's readers raise whatever comes; the traceback stays attached
        raise InputError(f"{order.kind}: {type(error).__name__}: {error}") from error


def _gromacs_top(order: Order) -> Model:
    parsed = parse_mdp(Path(order.inputs["mdp"]).read_text(errors="replace"), Path(order.inputs["mdp"]).name)
    if parsed.refusals:
        raise InputError("; ".join(refusal.text() for refusal in parsed.refusals))
    gro = read_gro(Path(order.inputs["gro"]).read_text(errors="replace"))
    system, topology = build_gromacs(Path(order.inputs["top"]), gro.box, parsed.settings)
    if system.getNumParticles() != len(gro.labels):
        raise InputError(f"the gro has {len(gro.labels)} atoms, the topology {system.getNumParticles()}")
    return Model(
        system=system,
        topology=topology,
        positions=gro.positions,
        velocities=gro.velocities,
        box=from_vectors(topology.getPeriodicBoxVectors()),
        run=parsed.settings,
        gro=gro,
        start_ps=parsed.settings.start_ps,
        titles=group_by_term(system),
    )


def _openmm(order: Order) -> Model:
    system = _deserialised(order.inputs["system"])
    integrator = _deserialised(order.inputs["integrator"]) if "integrator" in order.inputs else None
    titles = group_by_term(system) if integrator is None else None
    if "pdb" in order.inputs:
        pdb = app.PDBFile(order.inputs["pdb"])
        box = from_vectors(pdb.topology.getPeriodicBoxVectors() if system.usesPeriodicBoundaryConditions() else None)
        return Model(
            system, pdb.topology, _nm(pdb.getPositions(asNumpy=True)), None, box, integrator=integrator, titles=titles
        )
    state = _deserialised(order.inputs["state"])
    box = from_vectors(state.getPeriodicBoxVectors() if system.usesPeriodicBoundaryConditions() else None)
    topology = _bare_topology(system.getNumParticles(), box)
    start = state.getTime().value_in_unit(unit.picosecond)
    return Model(
        system,
        topology,
        _nm(state.getPositions(asNumpy=True)),
        _velocities(state),
        box,
        integrator=integrator,
        start_ps=start,
        titles=titles,
    )


def _deserialised(name: str) -> Foreign:
    return openmm.XmlSerializer.deserialize(Path(name).read_text())


def _velocities(state: Foreign) -> Array | None:
    try:
        return _per_ps(state.getVelocities(asNumpy=True))
    except openmm.OpenMMException:  # the State was saved without them
        return None


def _bare_topology(atoms: int, box: Array | None) -> Foreign:
    """Return a topology that knows only how many atoms there are; trajectories need no more."""
    topology = app.Topology()
    residue = topology.addResidue("SYS", topology.addChain())
    for _ in range(atoms):
        topology.addAtom("X", None, residue)
    topology.setPeriodicBoxVectors(to_vectors(box))
    return topology


def _amber(order: Order) -> Model:
    prmtop, inpcrd = app.AmberPrmtopFile(order.inputs["prmtop"]), app.AmberInpcrdFile(order.inputs["inpcrd"])
    settings, boxed = order.settings, prmtop.topology.getPeriodicBoxVectors() is not None
    system = prmtop.createSystem(
        nonbondedMethod=app.PME if boxed else app.NoCutoff,
        nonbondedCutoff=settings.cutoff_nm * unit.nanometer,
        constraints=CONSTRAINTS[settings.constraints],
        rigidWater=settings.constraints != "none",
    )
    box = (
        from_vectors(inpcrd.boxVectors if inpcrd.boxVectors is not None else prmtop.topology.getPeriodicBoxVectors())
        if boxed
        else None
    )
    velocities = None if inpcrd.velocities is None else _per_ps(inpcrd.getVelocities(asNumpy=True))
    positions = _nm(inpcrd.getPositions(asNumpy=True))
    return Model(system, prmtop.topology, positions, velocities, box, titles=group_by_term(system))


BUILDERS: dict[str, Callable[[Order], Model]] = {"gromacs-top": _gromacs_top, "openmm": _openmm, "amber": _amber}
CONSTRAINTS: dict[str, Foreign] = {
    "none": None,
    "h-bonds": app.HBonds,
    "all-bonds": app.AllBonds,
    "h-angles": app.HAngles,
}


def _nm(quantity: Foreign) -> Array:
    return np.asarray(quantity.value_in_unit(unit.nanometer), dtype=np.float64)


def _per_ps(quantity: Foreign) -> Array:
    return np.asarray(quantity.value_in_unit(unit.nanometer / unit.picosecond), dtype=np.float64)


# ---------------------------------------------------------------- energies by term

TERMS: dict[str, str] = {
    # class of a Force -> common name of its energy; what is not here is part of `nonbonded`, which is what remains
    "HarmonicBondForce": "bond",
    "CustomBondForce": "bond",
    "HarmonicAngleForce": "angle",
    "CustomAngleForce": "angle",
    "PeriodicTorsionForce": "dihedral",
    "RBTorsionForce": "dihedral",
    "CustomTorsionForce": "dihedral",
    "CMAPTorsionForce": "cmap",
    "CustomExternalForce": "position_restraint",
}


def group_by_term(system: Foreign) -> dict[int, str] | None:
    """Give every bonded term a force group of its own and return group -> name; None: it has groups, and keeps them."""
    forces = system.getForces()
    if any(force.getForceGroup() for force in forces):
        return None
    names: list[str] = []
    for force in forces:
        name = TERMS.get(type(force).__name__)
        if name and force.getName() != "LennardJonesExceptions":
            names += [] if name in names else [name]
            force.setForceGroup(names.index(name) + 1)
    return dict(enumerate(names, 1))
