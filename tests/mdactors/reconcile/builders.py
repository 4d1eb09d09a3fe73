"""Energies of small systems: measured ones, and made-up series of known statistics."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mdactors.ports import Energies
from mdactors.reconcile.compare import Side
from mdactors.reconcile.terms import Array

ALA2_MIXED = {
    "bond": 0.106058,
    "angle": 1.620338,
    "proper": 8.036782,
    "improper": 0.060292,
    "lj14": 20.744795,
    "coulomb14": 204.469666,
    "lj_sr": 3248.578857,
    "coulomb_sr": -29137.46875,
    "coulomb_recip": 1227.016724,
    "potential": -24426.833984,
    "kinetic": 5662.030762,
    "total": -18764.802734,
    "conserved": -18764.802734,
}
"""Step 0 of 2,269 atoms (alanine dipeptide in water), kJ/mol, GROMACS 2022.5 in mixed precision."""

ALA2_DOUBLE = {
    "bond": 0.106064,
    "angle": 1.620327,
    "proper": 8.036791,
    "improper": 0.060293,
    "lj14": 20.744835,
    "coulomb14": 204.469769,
    "lj_sr": 3248.577573,
    "coulomb_sr": -29137.33627,
    "coulomb_recip": 1227.032223,
    "potential": -24426.688393,
    "kinetic": 5662.031637,
    "total": -18764.656756,
    "conserved": -18764.656756,
}
"""The same by the same version in double precision."""

ATOMS = 2269


def at_start(terms: Mapping[str, float], **changes: float) -> Energies:
    """One frame, some terms changed."""
    return series({name: [value] for name, value in {**terms, **changes}.items()})


def series(terms: Mapping[str, list[float] | Array], *, pace_ps: float = 0.2, start_ps: float = 0.0) -> Energies:
    """Terms over time, a frame each `pace_ps`."""
    length = len(next(iter(terms.values())))
    times = tuple(start_ps + pace_ps * n for n in range(length))
    return Energies(
        times_ps=times, terms={name: tuple(map(float, values)) for name, values in terms.items()}, source="made up"
    )


def openmm_view(terms: Mapping[str, float]) -> dict[str, float]:
    """The same energies as OpenMM reports them: torsions together, everything non-bonded in one sum."""
    nonbonded = ("lj14", "coulomb14", "lj_sr", "coulomb_sr", "coulomb_recip")
    return {
        "bond": terms["bond"],
        "angle": terms["angle"],
        "dihedral": terms["proper"] + terms["improper"],
        "nonbonded": sum(terms[name] for name in nonbonded),
        "potential": terms["potential"],
        "kinetic": terms["kinetic"],
        "total": terms["total"],
    }


def correlated(seed: int, length: int, *, mean: float, spread: float, memory: float) -> Array:
    """A stationary series x_n = memory x_(n-1) + noise, with this mean and standard deviation; shape (length,)."""
    random = np.random.default_rng(seed)
    noise = random.normal(size=length) * np.sqrt(1.0 - memory**2)
    made = np.empty(length)
    made[0] = random.normal()
    for n in range(1, length):
        made[n] = memory * made[n - 1] + noise[n]
    return mean + spread * made


def gromacs(energies: Energies, precision: str = "mixed", atoms: int = ATOMS) -> Side:
    """A side that GROMACS ran."""
    return Side(engine="gromacs", precision=precision, energies=energies, atoms=atoms)


def openmm(energies: Energies, precision: str = "mixed", atoms: int = ATOMS) -> Side:
    """A side that OpenMM ran."""
    return Side(engine="openmm", precision=precision, energies=energies, atoms=atoms)
