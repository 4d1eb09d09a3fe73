from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mdactors.reconcile.terms import ACROSS_ENGINES, NEEDED, SUMS, TERMS, comparable, one_sided, values
from tests.mdactors.reconcile.builders import ALA2_MIXED, at_start, openmm_view, series

NAMES = st.sets(st.sampled_from(sorted(TERMS)), min_size=1)


def test_every_name_is_explained_and_sums_are_made_of_terms() -> None:
    assert all(TERMS.values())
    assert set(SUMS) == set(NEEDED) <= set(TERMS)
    assert {part for parts in SUMS.values() for part in parts} <= set(TERMS)
    assert set(ACROSS_ENGINES) <= set(TERMS)
    assert all(NEEDED[name] <= set(parts) for name, parts in SUMS.items())


def test_a_sum_is_made_of_the_parts_that_are_there() -> None:
    made = values(series({"proper": [1.0, 2.0], "improper": [0.5, -2.0]}), "dihedral")
    assert made is not None
    np.testing.assert_array_equal(made, [1.5, 0.0])
    only = values(at_start({"proper": 3.0}), "dihedral")
    assert only is not None
    np.testing.assert_array_equal(only, [3.0])


def test_what_is_reported_goes_before_what_could_be_summed() -> None:
    made = values(at_start({"nonbonded": 7.0, "lj_sr": 1.0, "coulomb_sr": 1.0}), "nonbonded")
    assert made is not None
    assert made[0] == 7.0


def test_a_fragment_is_no_sum() -> None:
    assert values(at_start({"coulomb_sr": -5.0}), "nonbonded") is None
    assert values(at_start({"bond": 1.0}), "dihedral") is None
    assert values(at_start({"bond": 1.0}), "no such term") is None


def test_one_engine_is_compared_part_by_part() -> None:
    both = at_start(ALA2_MIXED)
    assert comparable(both, both, same_engine=True) == tuple(name for name in TERMS if name in ALA2_MIXED)


def test_across_engines_sums_are_compared() -> None:
    a, b = at_start(ALA2_MIXED), at_start(openmm_view(ALA2_MIXED))
    expected = ("bond", "angle", "dihedral", "nonbonded", "potential", "kinetic", "total")
    assert set(comparable(a, b, same_engine=False)) == set(expected)
    assert set(comparable(a, a, same_engine=False)) == set(expected)
    assert one_sided(a, b, same_engine=False) == {}


def test_a_side_that_has_only_the_sum_is_met_there() -> None:
    a, b = at_start(ALA2_MIXED), at_start(openmm_view(ALA2_MIXED))
    names = comparable(a, b, same_engine=True)
    assert "nonbonded" in names
    assert "dihedral" in names
    assert one_sided(a, b, same_engine=True) == {}


def test_what_only_one_side_has_is_named() -> None:
    a, b = at_start({"bond": 1.0, "cmap": 2.0, "potential": 3.0}), at_start({"bond": 1.0, "potential": 3.0})
    assert one_sided(a, b, same_engine=True) == {"cmap": "a"}
    assert one_sided(b, a, same_engine=False) == {"cmap": "b"}


@given(NAMES, NAMES)
def test_comparing_is_symmetric_and_never_asks_for_what_is_not_there(a: set[str], b: set[str]) -> None:
    ours, theirs = at_start(dict.fromkeys(a, 1.0)), at_start(dict.fromkeys(b, 1.0))
    for same in (True, False):
        names = comparable(ours, theirs, same_engine=same)
        assert names == comparable(theirs, ours, same_engine=same)
        assert all(values(side, name) is not None for side in (ours, theirs) for name in names)
        assert not set(names) & set(one_sided(ours, theirs, same_engine=same))
