"""What a pattern of differences points to: settings, conversion of inputs, or numbers. Hints in words, never verdicts."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from events.results import TermComparison
from mdactors.reconcile.terms import Series, values

Rows = Mapping[str, TermComparison]
"""Common name of a term -> its comparison (kJ/mol)."""

OTHER_SYSTEM = "{a} atoms on one side and {b} on the other: not the same system"
NO_FIRST_FRAME = "the first frames do not start from the same configuration: only means were compared"
NO_VELOCITIES = "the velocities at the start are not known to be the same: kinetic and total energy do not gate there"
NOTHING_JUDGED = (
    "nothing could be judged: no common first frame, and the runs are too short for their means to say anything"
)
SHORT = "too few independent frames to judge the means of: {names}"
BROKEN = "not a number in: {names}"
MISSING = "only {side} reports {name} ({value:.6g} kJ/mol at its first frame): not compared by itself"
CONSTANT = (
    "{name} differs by {difference:.6g} kJ/mol at the first frame and by the same on average: an offset that is constant in "
    "time comes from a setting (dispersion correction, potential shift), not from the forces"
)
DISPERSION = (
    "only {side} reports a dispersion correction ({value:.6g} kJ/mol), which is the difference in {name}: the other side "
    "runs without it"
)
UREY_BRADLEY = "bond and angle differ by opposite amounts: the Urey-Bradley 1-3 bond is counted under the other term"
CONSTANT_OF_COULOMB = "the Coulomb terms stand in the ratio 1{ratio:+.2e}: one side uses the electric constant of {program} (scale before judging)"

PATTERNS: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"lj14", "coulomb14"}),
        "only 1-4 pairs differ: their scaling factors, or which pairs are 1-4 pairs",
    ),
    (
        frozenset({"coulomb_recip", "lj_recip"}),
        "only the reciprocal part differs: grid, interpolation order or Ewald tolerance",
    ),
    (
        frozenset({"coulomb_sr", "coulomb_recip", "coulomb14"}),
        "only Coulomb terms differ: charges, cut-off, Ewald coefficient, electric constant",
    ),
    (
        frozenset({"lj_sr", "lj_recip", "lj14", "dispersion_correction"}),
        "only Lennard-Jones terms differ: cut-off, switch, shift, dispersion correction, combination rule",
    ),
    (
        frozenset({"nonbonded"}),
        (
            "bonded terms agree, the non-bonded sum does not: dispersion correction (OpenMM adds one to custom forces unasked), "
            "potential shift, switch, cut-off, combination rule, charges, scaling of 1-4 pairs"
        ),
    ),
    (
        frozenset({"bond", "angle", "proper", "improper", "dihedral", "cmap"}),
        "only bonded terms differ: conversion of the topology, or bonds that only one side constrains",
    ),
    (frozenset({"position_restraint"}), "only the restraints differ: reference positions or force constant"),
    (frozenset({"kinetic"}), "only the kinetic energy differs: masses, constraints, or velocities drawn apart"),
)
"""(terms, what it points to if no other term is off); the first that fits is told. After the design of three-way
comparisons: the term at fault names the layer at fault."""

ELECTRIC_CONSTANTS: dict[str, float] = {
    "AMBER": -3.5e-5,
    "CHARMM": 2.4e-5,
    "NAMD": -3.4e-7,
}
"""Program -> relative difference of its electric constant from 138.93545764 kJ mol-1 nm e-2 (CODATA 2018)."""

DERIVED = frozenset({"potential", "total", "conserved"})
"""They are off whenever one of their parts is."""


def off(rows: Rows) -> frozenset[str]:
    """Return the terms whose verdict is warn or fail, without those that only contain them."""
    return frozenset(name for name, row in rows.items() if row.verdict in {"warn", "fail"}) - DERIVED


def pattern(names: Collection[str]) -> list[str]:
    """Return what it points to that exactly these terms, and no others, are off."""
    if not names:
        return []
    return [text for terms, text in PATTERNS if terms.issuperset(names)][:1]


def constant_offset(first: Rows, means: Rows) -> list[str]:
    """Return a hint for each term whose difference at the first frame is also the difference of the means."""
    return [
        CONSTANT.format(name=name, difference=row.difference)
        for name, row in first.items()
        if row.verdict in {"warn", "fail"} and name in means and name not in {"total", "conserved"}
        if _same_offset(row.difference, means[name])
    ]


def _same_offset(difference: float, mean: TermComparison) -> bool:
    if mean.verdict == "info":
        return False
    return abs(difference) > mean.tolerance >= abs(mean.difference - difference)


def dispersion(a: Series, b: Series, rows: Rows) -> list[str]:
    """Return a hint where one side's dispersion correction is the difference of a sum, to a tenth of it."""
    found = {side: _first_value(series, "dispersion_correction") for side, series in (("a", a), ("b", b))}
    have = {side: value for side, value in found.items() if value}
    if len(have) != 1:
        return []
    ((side, value),) = have.items()
    signed = value if side == "a" else -value
    return [
        DISPERSION.format(side=side, value=value, name=name)
        for name in ("nonbonded", "potential")
        if name in rows and rows[name].verdict in {"warn", "fail"}
        if abs(rows[name].difference - signed) <= 0.1 * abs(value)
    ][:1]


def urey_bradley(rows: Rows) -> list[str]:
    """Return a hint where bond and angle are both off and their differences cancel within both tolerances."""
    if not {"bond", "angle"} <= off(rows):
        return []
    bond, angle = rows["bond"], rows["angle"]
    return [UREY_BRADLEY] if abs(bond.difference + angle.difference) <= 2 * (bond.tolerance + angle.tolerance) else []


def electric_constant(rows: Rows) -> list[str]:
    """Return a hint where the 1-4 Coulomb energies, which no cut-off or grid touches, stand in a known ratio."""
    row = rows.get("coulomb14")
    if row is None or not row.a or not row.b:
        return []
    ratio = row.a / row.b - 1.0
    return [
        CONSTANT_OF_COULOMB.format(ratio=ratio, program=program)
        for program, constant in ELECTRIC_CONSTANTS.items()
        if abs(abs(ratio) - abs(constant)) <= 0.05 * abs(constant)
    ]


def missing(a: Series, b: Series, sides: Mapping[str, str], floor: float) -> list[str]:
    """Return a line for each term that only one side reports, unless it is zero (below `floor`, kJ/mol) there."""
    lines = []
    for name, side in sides.items():
        value = _first_value(a if side == "a" else b, name)
        if abs(value) > floor:
            lines.append(MISSING.format(side=side, name=name, value=value))
    return lines


def short(means: Rows) -> list[str]:
    """Return a line that names the means that could not be judged."""
    names = [name for name, row in means.items() if row.verdict == "info"]
    return [SHORT.format(names=", ".join(names))] if names else []


def _first_value(series: Series, name: str) -> float:
    found = values(series, name)
    return float(found[0]) if found is not None and len(found) else 0.0
