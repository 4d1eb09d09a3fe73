from __future__ import annotations

import pytest

from events.results import TermComparison
from mdactors.reconcile import hints
from mdactors.reconcile.terms import TERMS
from tests.mdactors.reconcile.builders import ALA2_MIXED, at_start


def a_row(name: str, a: float, b: float, *, tolerance: float = 0.1, verdict: str = "fail") -> TermComparison:
    return TermComparison(
        term=name,
        a=a,
        b=b,
        difference=a - b,
        relative=0.0,
        tolerance=tolerance,
        verdict=verdict,  # type: ignore[arg-type]
    )


def rows(*made: TermComparison) -> dict[str, TermComparison]:
    return {row.term: row for row in made}


def test_patterns_speak_of_terms_that_exist() -> None:
    assert all(terms <= set(TERMS) and text for terms, text in hints.PATTERNS)


@pytest.mark.parametrize(
    ("off", "word"),
    [
        ({"lj14", "coulomb14"}, "1-4 pairs"),
        ({"coulomb14"}, "1-4 pairs"),
        ({"coulomb_recip"}, "grid"),
        ({"coulomb_sr", "coulomb_recip"}, "charges"),
        ({"lj_sr"}, "combination rule"),
        ({"lj_sr", "dispersion_correction"}, "dispersion correction"),
        ({"nonbonded"}, "dispersion correction"),
        ({"angle", "dihedral"}, "topology"),
        ({"kinetic"}, "masses"),
    ],
)
def test_the_terms_at_fault_name_the_layer_at_fault(off: set[str], word: str) -> None:
    (text,) = hints.pattern(off)
    assert word in text


def test_no_pattern_no_hint() -> None:
    assert hints.pattern(set()) == []
    assert hints.pattern({"bond", "nonbonded"}) == []


def test_sums_of_everything_are_not_at_fault_themselves() -> None:
    made = rows(a_row("bond", 1, 2), a_row("potential", 1, 2), a_row("angle", 1, 1, verdict="pass"))
    assert hints.off(made) == {"bond"}


def test_an_offset_that_stays_is_a_setting() -> None:
    first = rows(a_row("potential", -9261.2, -9315.7))
    (text,) = hints.constant_offset(first, rows(a_row("potential", -9000.0, -9054.3, tolerance=3.0)))
    assert "constant in time" in text
    assert "54.5" in text


def test_an_offset_that_can_t_be_followed_is_not_called_constant() -> None:
    first = rows(a_row("potential", -9261.2, -9315.7))
    assert hints.constant_offset(first, rows(a_row("potential", -9000.0, -9054.3, verdict="info"))) == []
    assert hints.constant_offset(first, rows(a_row("potential", -9000.0, -9054.3, tolerance=60.0))) == []
    assert hints.constant_offset(first, rows(a_row("potential", -9000.0, -9000.0, tolerance=3.0))) == []
    assert hints.constant_offset(first, {}) == []


def test_a_dispersion_correction_of_one_side_is_recognised() -> None:
    a, b = at_start({"dispersion_correction": -54.3}), at_start({"lj_sr": 1.0})
    off = rows(a_row("nonbonded", -154.5, -100.0), a_row("potential", -154.5, -100.0))
    (text,) = hints.dispersion(a, b, off)
    assert "only a reports" in text
    assert "nonbonded" in text
    (mirrored,) = hints.dispersion(b, a, rows(a_row("potential", -100.0, -154.5)))
    assert "only b reports" in mirrored
    assert hints.dispersion(a, a, off) == []
    assert hints.dispersion(a, b, rows(a_row("potential", -100.0, -300.0))) == []


def test_urey_bradley_under_another_name() -> None:
    assert hints.urey_bradley(rows(a_row("bond", 10.0, 15.0), a_row("angle", 25.0, 20.0))) == [hints.UREY_BRADLEY]
    assert hints.urey_bradley(rows(a_row("bond", 10.0, 15.0), a_row("angle", 20.0, 25.0))) == []
    assert hints.urey_bradley(rows(a_row("bond", 10.0, 15.0))) == []


def test_other_electric_constants_are_recognised() -> None:
    (text,) = hints.electric_constant(rows(a_row("coulomb14", 200.0 * (1 - 3.5e-5), 200.0)))
    assert "AMBER" in text
    assert hints.electric_constant(rows(a_row("coulomb14", 200.0, 200.0))) == []
    assert hints.electric_constant(rows(a_row("coulomb14", 0.0, 0.0))) == []


def test_what_is_missing_is_named_unless_it_is_nothing() -> None:
    a, b = at_start(ALA2_MIXED, cmap=-12.25, position_restraint=0.0), at_start(ALA2_MIXED)
    sides = {"cmap": "a", "position_restraint": "a"}
    (text,) = hints.missing(a, b, sides, 1e-3)
    assert "only a reports cmap (-12.25 kJ/mol" in text
