from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.reconcile import tolerances
from mdactors.reconcile.tolerances import Scale, allowed, judge, pair_kind, pair_of, tolerance_of

MIXED, DOUBLE = ("gromacs", "mixed"), ("gromacs", "double")
OPENMM, REFERENCE = ("openmm", "mixed"), ("openmm", "double")
JAC = Scale(term=303_570.0, coulomb=356_000.0)
SIZES = st.floats(min_value=0, max_value=1e9)


def test_pairs_are_labelled_in_a_fixed_order() -> None:
    assert pair_of(OPENMM, MIXED) == pair_of(MIXED, OPENMM) == "gromacs-mixed:openmm-mixed"
    assert pair_of(MIXED, DOUBLE) == "gromacs-double:gromacs-mixed"


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("mixed", "mixed", "S-S"),
        ("single", "mixed", "S-S"),
        ("mixed", "double", "S-D"),
        ("double", "single", "S-D"),
        ("double", "double", "D-D"),
    ],
)
def test_kinds(a: str, b: str, kind: str) -> None:
    assert pair_kind(a, b) == kind


def test_the_table_grows_wider_with_less_precision() -> None:
    for table in (tolerances.SAME_ENGINE, tolerances.ACROSS_ENGINES):
        assert table["D-D"].bonded < table["S-D"].bonded <= table["S-S"].bonded
        assert table["D-D"].nonbonded < table["S-D"].nonbonded <= table["S-S"].nonbonded
    assert tolerance_of(DOUBLE, DOUBLE).nonbonded < tolerance_of(DOUBLE, REFERENCE).nonbonded


def test_threads_in_single_precision_may_move_the_coulomb_sum() -> None:
    """One and two threads differ by 68 kJ/mol on 23,558 atoms, and both are right."""
    assert judge(68.0, allowed("potential", JAC, MIXED, MIXED, 23_558)) == "pass"
    assert judge(36.7, allowed("potential", JAC, MIXED, DOUBLE, 23_558)) == "pass"
    assert judge(68.0, allowed("potential", JAC, DOUBLE, DOUBLE, 23_558)) == "fail"


def test_bonded_terms_are_judged_on_their_own_scale() -> None:
    scale = Scale(term=204.47, coulomb=29_137.0)
    assert allowed("coulomb14", scale, MIXED, DOUBLE) == pytest.approx(204.47e-5)
    assert allowed("bond", Scale(0.1, 29_137.0), MIXED, DOUBLE) == 1e-3
    assert allowed("lj_sr", Scale(0.1, 29_137.0), MIXED, DOUBLE) == pytest.approx(29_137.0 * 3e-4)


def test_many_atoms_with_little_charge_are_allowed_for() -> None:
    assert allowed("potential", Scale(10.0, 0.0), MIXED, DOUBLE, 1000) == pytest.approx(5.0)
    assert allowed("potential", Scale(10.0, 0.0), MIXED, MIXED, 1000) == pytest.approx(5e-3)


def test_verdicts_at_their_borders() -> None:
    assert judge(1.0, 1.0) == judge(-1.0, 1.0) == "pass"
    assert judge(math.nextafter(1.0, 2.0), 1.0) == judge(-5.0, 1.0) == "warn"
    assert judge(5.1, 1.0) == "fail"
    assert judge(2.0, 1.0, hard=1.5) == "fail"
    assert judge(0.9, 1.0, hard=0.5) == "pass"


@given(SIZES, SIZES, st.sampled_from(["bond", "lj_sr", "potential", "kinetic"]))
def test_a_tolerance_is_positive_symmetric_and_grows_with_the_scale(term: float, coulomb: float, name: str) -> None:
    for a in (MIXED, DOUBLE, OPENMM, REFERENCE):
        for b in (MIXED, DOUBLE, OPENMM, REFERENCE):
            made = allowed(name, Scale(term, coulomb), a, b, 100)
            assert made == allowed(name, Scale(term, coulomb), b, a, 100) > 0
            assert allowed(name, Scale(2 * term, 2 * coulomb), a, b, 100) >= made
