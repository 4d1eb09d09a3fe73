"""How far two energies of the same configuration may lie apart, and where each number comes from.

Pairs are classed by the precision in which forces are stored: S (single, GROMACS's and OpenMM's `mixed` included) or D
(double). Sources: single-point comparisons of GROMACS 2022.5 in mixed and double precision, on one and two threads, with
OpenMM 8.6 Reference and CPU on systems of 648 to 23,558 atoms; the hard stop is the SAMPL5 criterion, "better than 0.1 %
for every component" (Shirts et al. 2017, J. Comput. Aided Mol. Des. 31:147). In single precision it is the short-range
Coulomb sum that loses digits, by the order in which threads add it up; everything that contains it is judged on its scale.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

PairKind = Literal["S-S", "S-D", "D-D"]
Judgement = Literal["pass", "warn", "fail"]
Identity = tuple[str, str]
"""(engine, precision) of one side."""

WARN_FACTOR = 5.0
"""Up to this many times the tolerance a difference is a warning; beyond it, a failure."""

HARD_STOP = 1e-3
"""Relative difference that is a failure whatever the pair."""

BONDED = frozenset(
    {"bond", "angle", "proper", "improper", "dihedral", "cmap", "position_restraint", "lj14", "coulomb14", "kinetic"}
    | {"dispersion_correction"}
)
"""Short sums over a fixed list; they are judged on their own scale."""


class Tolerance(NamedTuple):
    """One row of the table."""

    bonded: float
    """Relative to the term itself."""
    floor: float
    """kJ/mol; below it no difference counts (rounding of files and of single precision)."""
    nonbonded: float
    """Relative: in S pairs to the short-range Coulomb energy, in D-D pairs to the term itself."""
    per_atom: float
    """kJ/mol for each atom; the larger of this and `nonbonded` holds. 0: no such allowance."""


SAME_ENGINE: dict[PairKind, Tolerance] = {
    # gmx_d on 1 and 2 threads: 5e-14 relative
    "D-D": Tolerance(bonded=1e-9, floor=1e-6, nonbonded=1e-9, per_atom=0.0),
    # gmx against gmx_d: -0.07 kJ/mol on 2,269 atoms, +36.7 (1.2e-4) on 23,558
    "S-D": Tolerance(bonded=1e-5, floor=1e-3, nonbonded=3e-4, per_atom=5e-3),
    # gmx on 1 against 2 threads: 68 kJ/mol of 303,600 on 23,558 atoms, all of it short-range Coulomb
    "S-S": Tolerance(bonded=2e-5, floor=1e-3, nonbonded=5e-4, per_atom=0.0),
}

ACROSS_ENGINES: dict[PairKind, Tolerance] = {
    # OpenMM Reference against gmx_d with a converged PME grid: 1.3e-6 to 6e-6
    "D-D": Tolerance(bonded=1e-6, floor=1e-3, nonbonded=2e-5, per_atom=0.0),
    "S-D": Tolerance(bonded=1e-5, floor=1e-3, nonbonded=5e-4, per_atom=0.0),
    "S-S": Tolerance(bonded=1e-5, floor=1e-3, nonbonded=5e-4, per_atom=0.0),
}

KINETIC_MEAN_ACROSS = 5e-3
"""Relative. Engines report kinetic energy at different points of a leap-frog step and count the centre of mass
differently (3 of N degrees of freedom): means differ by a few tenths of a percent without a fault."""


class Scale(NamedTuple):
    """Magnitudes on which a term is judged, kJ/mol."""

    term: float
    """Of the term itself, the larger of both sides."""
    coulomb: float
    """Of the short-range Coulomb energy, or of the nearest thing to it that the sides report."""


def storage(precision: str) -> Literal["S", "D"]:
    """Return S for `mixed` and `single`, D for `double`."""
    return "D" if precision == "double" else "S"


def pair_kind(a: str, b: str) -> PairKind:
    """Return the class of a pair of precisions."""
    kinds = {storage(a), storage(b)}
    if kinds == {"S"}:
        return "S-S"
    return "D-D" if kinds == {"D"} else "S-D"


def pair_of(a: Identity, b: Identity) -> str:
    """Return the pair's label in a fixed order: `gromacs-mixed:openmm-mixed`."""
    return ":".join(sorted("-".join(side) for side in (a, b)))


def tolerance_of(a: Identity, b: Identity) -> Tolerance:
    """Return the row of the table for two sides."""
    table = SAME_ENGINE if a[0] == b[0] else ACROSS_ENGINES
    return table[pair_kind(a[1], b[1])]


def reference(term: str, scale: Scale, kind: PairKind) -> float:
    """Return the magnitude (kJ/mol) to which a term's relative tolerance refers."""
    if term in BONDED or kind == "D-D":
        return scale.term
    return max(scale.term, scale.coulomb)


def allowed(term: str, scale: Scale, a: Identity, b: Identity, atoms: int = 0) -> float:
    """Return the absolute difference (kJ/mol) that a term may have; `atoms` 0: not known."""
    row = tolerance_of(a, b)
    magnitude = reference(term, scale, pair_kind(a[1], b[1]))
    if term in BONDED:
        return max(row.bonded * magnitude, row.floor)
    return max(row.nonbonded * magnitude, row.per_atom * atoms, row.floor)


def judge(difference: float, tolerance: float, hard: float = float("inf")) -> Judgement:
    """Return the verdict on a difference: pass up to the tolerance, warn up to five times that, but not beyond `hard`."""
    size = abs(difference)
    if size <= tolerance:
        return "pass"
    return "warn" if size <= min(WARN_FACTOR * tolerance, hard) else "fail"
