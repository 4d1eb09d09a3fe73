from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.codec import decode, encode
from events.results import PairReconciled
from mdactors.ports import Energies
from mdactors.reconcile import hints
from mdactors.reconcile.compare import Comparison, Shared, compare, shared_start
from tests.mdactors.reconcile.builders import (
    ALA2_DOUBLE,
    ALA2_MIXED,
    at_start,
    correlated,
    gromacs,
    openmm,
    openmm_view,
    series,
)


def verdicts(made: Comparison) -> dict[str, str]:
    return {row.term: row.verdict for row in made.terms}


def a_run(seed: int, *, length: int = 1000, memory: float = 0.5, potential: float = -9000.0) -> Energies:
    """A run whose potential energy has a known mean and spread (kJ/mol)."""
    made = correlated(seed, length, mean=potential, spread=60.0, memory=memory)
    kinetic = correlated(seed + 10_000, length, mean=1600.0, spread=45.0, memory=memory)
    return series({"potential": made, "kinetic": kinetic, "total": made + kinetic})


# ---------------------------------------------------------------- what both start from


@pytest.mark.parametrize(
    ("a", "b", "shared"),
    [
        (("tpr", ("x",)), ("tpr", ("x",)), "state"),
        (("gromacs-top", ("x", "y", "z")), ("gromacs-top", ("z", "y", "x")), "positions"),
        (("tpr", ("x",)), ("tpr", ("y",)), "nothing"),
        (("tpr", ("x",)), ("gromacs-top", ("x",)), "nothing"),
        (("amber", ()), ("amber", ()), "nothing"),
    ],
)
def test_what_two_jobs_share(a: tuple[str, tuple[str, ...]], b: tuple[str, tuple[str, ...]], shared: Shared) -> None:
    assert shared_start(a, b) == shared


# ---------------------------------------------------------------- the first frame


def test_mixed_and_double_precision_agree_on_measured_energies() -> None:
    made = compare(gromacs(at_start(ALA2_MIXED)), gromacs(at_start(ALA2_DOUBLE), "double"), shared="state")
    assert (made.pair, made.verdict) == ("gromacs-double:gromacs-mixed", "pass")
    assert set(verdicts(made)) == set(ALA2_MIXED)
    assert set(verdicts(made).values()) == {"pass"}
    assert made.notes == ()


def test_the_numbers_are_those_of_the_sides_in_their_order() -> None:
    made = compare(gromacs(at_start(ALA2_MIXED)), gromacs(at_start(ALA2_DOUBLE), "double"), shared="state")
    (row,) = (row for row in made.terms if row.term == "coulomb_sr")
    assert (row.a, row.b) == (ALA2_MIXED["coulomb_sr"], ALA2_DOUBLE["coulomb_sr"])
    assert row.difference == pytest.approx(-0.13248)
    assert row.relative == pytest.approx(-0.13248 / 29137.46875)
    assert row.tolerance == pytest.approx(max(3e-4 * 29137.46875, 5e-3 * 2269))


def test_two_engines_are_compared_by_sums() -> None:
    made = compare(gromacs(at_start(ALA2_MIXED)), openmm(at_start(openmm_view(ALA2_DOUBLE))), shared="positions")
    assert made.pair == "gromacs-mixed:openmm-mixed"
    assert verdicts(made) == {
        "bond": "pass",
        "angle": "pass",
        "dihedral": "pass",
        "nonbonded": "pass",
        "potential": "pass",
        "kinetic": "info",
        "total": "info",
    }
    assert made.verdict == "pass"
    assert made.notes == (hints.NO_VELOCITIES,)


@pytest.mark.parametrize(
    ("changes", "term", "word"),
    [
        ({"bond": 0.2}, "bond", "topology"),
        ({"coulomb14": 204.9}, "coulomb14", "1-4 pairs"),
        ({"coulomb_sr": -29_230.0}, "coulomb_sr", "charges"),
        ({"lj_sr": 3400.0}, "lj_sr", "cut-off"),
        ({"kinetic": 5700.0}, "kinetic", "masses"),
    ],
)
def test_a_planted_fault_is_found_in_its_term(changes: dict[str, float], term: str, word: str) -> None:
    made = compare(gromacs(at_start(ALA2_MIXED)), gromacs(at_start(ALA2_MIXED, **changes)), shared="state")
    assert made.verdict == "fail"
    assert [name for name, verdict in verdicts(made).items() if verdict != "pass"] == [term]
    assert any(word in note for note in made.notes)


def test_up_to_five_times_the_tolerance_is_a_warning() -> None:
    made = compare(gromacs(at_start(ALA2_MIXED)), gromacs(at_start(ALA2_MIXED, coulomb14=204.485)), shared="state")
    assert (made.verdict, verdicts(made)["coulomb14"]) == ("warn", "warn")


def test_one_part_in_a_thousand_is_a_failure_whatever_the_pair() -> None:
    """Five times 5e-4 would still be a warning."""
    off = ALA2_MIXED["coulomb_sr"] * (1 - 2e-3)
    made = compare(gromacs(at_start(ALA2_MIXED)), gromacs(at_start(ALA2_MIXED, coulomb_sr=off)), shared="state")
    assert verdicts(made)["coulomb_sr"] == "fail"


def test_a_dispersion_correction_on_one_side_is_explained() -> None:
    """648 atoms of water: OpenMM kept its long-range correction, GROMACS ran without (54 kJ/mol)."""
    water = {"lj_sr": 2048.66, "coulomb_sr": -11317.24, "coulomb_recip": 66.15, "potential": -9202.43}
    theirs = {"nonbonded": -9202.43 - 54.5, "potential": -9202.43 - 54.5}
    made = compare(gromacs(at_start(water), atoms=648), openmm(at_start(theirs), atoms=648), shared="positions")
    assert made.verdict == "fail"
    assert any("dispersion correction" in note for note in made.notes)


def test_velocities_gate_only_where_both_have_the_same() -> None:
    other = gromacs(at_start(ALA2_MIXED, kinetic=5000.0, total=-19_426.8, conserved=-19_426.8))
    assert compare(gromacs(at_start(ALA2_MIXED)), other, shared="state").verdict == "fail"
    made = compare(gromacs(at_start(ALA2_MIXED)), other, shared="positions")
    assert made.verdict == "pass"
    assert {verdicts(made)[name] for name in ("kinetic", "total", "conserved")} == {"info"}


def test_a_term_that_only_one_side_reports_is_told() -> None:
    made = compare(gromacs(at_start(ALA2_MIXED, cmap=-3.0)), gromacs(at_start(ALA2_MIXED)), shared="state")
    assert any("only a reports cmap" in note for note in made.notes)


def test_not_a_number_fails_and_stays_out_of_the_event() -> None:
    made = compare(gromacs(at_start(ALA2_MIXED, lj_sr=math.nan)), gromacs(at_start(ALA2_MIXED)), shared="state")
    assert made.verdict == "fail"
    assert "lj_sr" not in verdicts(made)
    assert "not a number in: lj_sr" in made.notes


def test_different_systems_are_not_compared() -> None:
    made = compare(gromacs(at_start(ALA2_MIXED), atoms=648), gromacs(at_start(ALA2_MIXED)), shared="nothing")
    assert (made.verdict, made.terms) == ("fail", ())
    assert "648 atoms" in made.notes[0]


# ---------------------------------------------------------------- means


def test_nothing_judged_is_no_pass() -> None:
    made = compare(gromacs(at_start(ALA2_MIXED)), gromacs(at_start(ALA2_DOUBLE)), shared="nothing")
    assert (made.verdict, made.terms) == ("warn", ())
    assert hints.NOTHING_JUDGED in made.notes


def test_frames_at_other_times_have_no_common_start() -> None:
    late = series({name: [value] for name, value in ALA2_MIXED.items()}, start_ps=1.0)
    assert compare(gromacs(at_start(ALA2_MIXED)), gromacs(late), shared="state").terms == ()


def test_short_runs_are_info_and_say_so() -> None:
    made = compare(gromacs(a_run(1, length=20)), gromacs(a_run(2, length=20)), shared="nothing")
    assert set(verdicts(made).values()) == {"info"}
    assert made.verdict == "warn"
    assert any("too few independent frames" in note and "potential" in note for note in made.notes)


def test_long_honest_runs_pass_by_their_means() -> None:
    made = compare(gromacs(a_run(1)), gromacs(a_run(2)), shared="nothing")
    assert made.verdict == "pass"
    assert verdicts(made) == {"mean potential": "pass", "mean kinetic": "pass", "mean total": "pass"}
    assert hints.NO_FIRST_FRAME in made.notes


def test_no_false_alarm_in_two_hundred_honest_comparisons() -> None:
    runs = [a_run(seed, length=400, memory=0.6) for seed in range(201)]
    alarms = [
        seed
        for seed in range(200)
        if {"warn", "fail"}
        & set(verdicts(compare(gromacs(runs[seed]), gromacs(runs[seed + 1]), shared="nothing")).values())
    ]
    assert alarms == []


def test_a_shifted_mean_is_found() -> None:
    made = compare(gromacs(a_run(1)), gromacs(a_run(2, potential=-9060.0)), shared="nothing")
    assert verdicts(made)["mean potential"] in {"warn", "fail"}
    assert made.verdict != "pass"


def test_a_constant_offset_is_told_from_noise() -> None:
    ours = a_run(1)
    theirs = series({name: np.asarray(values) - 54.5 * (name != "kinetic") for name, values in ours.terms.items()})
    made = compare(gromacs(ours), openmm(theirs), shared="positions")
    assert made.verdict == "fail"
    assert any("constant in time" in note for note in made.notes)


def test_runs_of_different_length_are_compared_where_both_were() -> None:
    long = series({"potential": [*[1.0] * 100, *[5.0] * 900]})
    short = series({"potential": [1.0] * 100})
    assert verdicts(compare(gromacs(long), gromacs(short), shared="nothing")) == {"mean potential": "pass"}


def test_the_conserved_quantity_has_no_mean_to_compare() -> None:
    run = series({"conserved": np.zeros(200), "potential": np.zeros(200)})
    assert set(verdicts(compare(gromacs(run), gromacs(run), shared="nothing"))) == {"mean potential"}


def test_engines_may_count_kinetic_energy_their_own_way() -> None:
    ours = series({"kinetic": correlated(1, 2000, mean=1600.0, spread=1.0, memory=0.0)})
    theirs = series({"kinetic": correlated(2, 2000, mean=1604.0, spread=1.0, memory=0.0)})
    assert verdicts(compare(gromacs(ours), openmm(theirs), shared="nothing"))["mean kinetic"] == "pass"
    assert verdicts(compare(gromacs(ours), gromacs(theirs), shared="nothing"))["mean kinetic"] != "pass"


# ---------------------------------------------------------------- laws

ENERGY = st.floats(min_value=-1e6, max_value=1e6)
SOME_TERMS = st.fixed_dictionaries(dict.fromkeys(ALA2_MIXED, ENERGY))


@given(SOME_TERMS, st.sampled_from(["nothing", "positions", "state"]), st.sampled_from(["mixed", "double"]))
def test_everything_agrees_with_itself(terms: dict[str, float], shared: Shared, precision: str) -> None:
    side = gromacs(at_start(terms), precision)
    made = compare(side, side, shared=shared)
    assert {row.verdict for row in made.terms} <= {"pass", "info"}
    assert all(row.difference == 0.0 for row in made.terms)
    assert made.verdict == ("warn" if shared == "nothing" else "pass")


@given(SOME_TERMS, SOME_TERMS)
def test_the_sides_may_be_exchanged(ours: dict[str, float], theirs: dict[str, float]) -> None:
    a, b = gromacs(at_start(ours)), openmm(at_start(theirs), "double")
    there, back = compare(a, b, shared="positions"), compare(b, a, shared="positions")
    assert (there.pair, there.verdict) == (back.pair, back.verdict)
    assert verdicts(there) == verdicts(back)
    assert [row.difference for row in there.terms] == [-row.difference for row in back.terms]


@given(SOME_TERMS, st.sampled_from(sorted(ALA2_MIXED)), st.sampled_from([math.nan, math.inf, -math.inf, 1e308, 1.0]))
def test_the_outcome_can_be_stored(terms: dict[str, float], name: str, value: float) -> None:
    made = compare(gromacs(at_start(terms, **{name: value})), gromacs(at_start(terms)), shared="state")
    event = PairReconciled(a=1, b=2, pair=made.pair, verdict=made.verdict, terms=made.terms, notes=made.notes)
    assert decode("PairReconciled", 1, encode(event)) == event
