"""What was measured and compared."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.results import Context, PairReconciled, TermComparison
from tests.builders import without
from tests.events.strategies import any_of

DISPENSABLE = {"added", "neighbours"}


@given(any_of(Context), st.sampled_from(sorted(set(Context.__struct_fields__) - DISPENSABLE)))
def test_no_figure_without_its_whole_context(context: Context, field: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert(without(context, field), Context)


def test_a_comparison_keeps_every_number_and_its_verdict() -> None:
    term = TermComparison(term="bond", a=1.0, b=2.0, difference=-1.0, relative=-0.5, tolerance=0.1, verdict="fail")
    pair = PairReconciled(a=1, b=2, pair="gromacs-mixed:openmm-mixed", verdict="fail", terms=(term,))
    assert without(pair)["terms"] == (without(term),)
    assert len(without(term)) == 7


def test_a_pair_passes_warns_or_fails_and_nothing_else() -> None:
    plain = {"type": "PairReconciled", "a": 1, "b": 2, "pair": "x:y", "verdict": "info", "terms": []}
    with pytest.raises(msgspec.ValidationError, match=r"\$\.verdict"):
        msgspec.convert(plain, PairReconciled)
