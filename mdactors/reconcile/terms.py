"""Energy terms under common names, and the sums at which two sides can be compared.

The source of the mapping is the engines' own documentation: GROMACS names its terms in the .edr file, OpenMM gives one
energy for each Force (so that proper and improper torsions arrive together, and 1-4 pairs inside the non-bonded force),
LAMMPS folds 1-4 pairs into its pair energies. Across engines the non-bonded parts are therefore one sum: they carry
self-energies and excluded pairs differently, although their sum is the same physics.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TERMS: dict[str, str] = {
    "bond": "bonds, all functional forms",
    "angle": "angles, Urey-Bradley included",
    "proper": "proper torsions: periodic, Ryckaert-Bellemans, Fourier",
    "improper": "improper torsions, harmonic and periodic",
    "dihedral": "proper and improper torsions together",
    "cmap": "torsion correction maps",
    "lj14": "Lennard-Jones between 1-4 neighbours",
    "coulomb14": "Coulomb between 1-4 neighbours",
    "lj_sr": "Lennard-Jones inside the cut-off, 1-4 pairs excluded",
    "dispersion_correction": "analytic tail of the dispersion beyond the cut-off",
    "coulomb_sr": "Coulomb inside the cut-off, 1-4 pairs excluded",
    "coulomb_recip": "reciprocal part of the Ewald sum",
    "lj_recip": "reciprocal part of the Lennard-Jones Ewald sum",
    "position_restraint": "position restraints",
    "nonbonded": "everything non-bonded in one sum: 1-4 pairs, reciprocal parts and dispersion correction included",
    "potential": "potential energy",
    "kinetic": "kinetic energy",
    "total": "potential plus kinetic energy",
    "conserved": "the quantity that the integrator conserves",
}
"""Name -> meaning; every value is in kJ/mol for the whole system."""

SUMS: dict[str, tuple[str, ...]] = {
    "dihedral": ("proper", "improper"),
    "nonbonded": (
        "lj_sr",
        "coulomb_sr",
        "coulomb_recip",
        "lj_recip",
        "dispersion_correction",
        "lj14",
        "coulomb14",
    ),
}
"""Sum -> its parts. A part that an engine does not report is absent from the system."""

NEEDED: dict[str, frozenset[str]] = {
    "dihedral": frozenset(),
    "nonbonded": frozenset({"lj_sr", "coulomb_sr"}),
}
"""Parts without which a sum would be a fragment: every engine that reports parts at all reports these."""

ACROSS_ENGINES: tuple[str, ...] = (
    "bond",
    "angle",
    "dihedral",
    "cmap",
    "position_restraint",
    "nonbonded",
    "potential",
    "kinetic",
    "total",
)
"""What two different engines mean the same by. `conserved` depends on the integrator."""

MOTION = frozenset({"kinetic", "total", "conserved"})
"""Terms that depend on velocities as well as on positions."""


class Series(Protocol):
    """Energy terms over time, in kJ/mol; what `mdactors.ports.Energies` is."""

    @property
    def times_ps(self) -> Sequence[float]:
        """Shape (n,)."""

    @property
    def terms(self) -> Mapping[str, Sequence[float]]:
        """Name -> values, each of shape (n,)."""


def values(series: Series, name: str) -> Array | None:
    """Return a term's values in kJ/mol, shape (n,), summed from its parts where the series has only those.

    None: the series has neither the term nor the parts that its sum needs.
    """
    if name in series.terms:
        return np.asarray(series.terms[name], dtype=np.float64)
    parts = [part for part in SUMS.get(name, ()) if part in series.terms]
    if not parts or not NEEDED[name] <= set(parts):
        return None
    summed: Array = np.asarray([series.terms[part] for part in parts], dtype=np.float64).sum(axis=0)
    return summed


def comparable(a: Series, b: Series, *, same_engine: bool) -> tuple[str, ...]:
    """Return the terms to compare, at the finest level that both sides have, in the order of `TERMS`."""
    names = TERMS if same_engine else ACROSS_ENGINES
    both = [name for name in names if values(a, name) is not None and values(b, name) is not None]
    return tuple(name for name in both if not (same_engine and _is_split(name, both)))


def _is_split(name: str, both: Collection[str]) -> bool:
    """Both sides have the parts of this sum, so that the sum itself would say nothing new."""
    parts = [part for part in SUMS.get(name, ()) if part in both]
    return bool(parts) and NEEDED[name] <= set(parts)


def one_sided(a: Series, b: Series, *, same_engine: bool) -> dict[str, str]:
    """Return the terms that only one side can give: name -> `a` or `b`. Parts of a sum that both have are not named."""
    names = TERMS if same_engine else ACROSS_ENGINES
    compared = comparable(a, b, same_engine=same_engine)
    covered = {part for name in compared for part in SUMS.get(name, ())}
    found: dict[str, str] = {}
    for name in names:
        in_a, in_b = values(a, name) is not None, values(b, name) is not None
        if in_a != in_b and name not in covered and name not in MOTION and not (same_engine and name in SUMS):
            found[name] = "a" if in_a else "b"
    return found
