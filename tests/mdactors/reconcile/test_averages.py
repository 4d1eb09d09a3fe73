from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mdactors.reconcile.averages import BLOCKS_MIN, Mean, blocked, mean_of, span, student, window
from tests.mdactors.reconcile.builders import correlated


@pytest.mark.parametrize(
    ("freedom", "tail", "t"),
    # Two-sided critical values, M. Abramowitz, I. A. Stegun, table 26.10
    [(10, 0.05, 2.228), (10, 0.01, 3.169), (30, 0.01, 2.750), (7, 0.02, 2.998), (120, 0.001, 3.373)],
)
def test_student_gives_the_tabulated_values(freedom: int, tail: float, t: float) -> None:
    assert student(freedom, tail) == pytest.approx(t, rel=2e-3)


def test_uncorrelated_frames_count_in_full() -> None:
    made = mean_of(correlated(1, 4000, mean=5.0, spread=2.0, memory=0.0))
    assert made.value == pytest.approx(5.0, abs=4 * made.error)
    assert made.error == pytest.approx(2.0 / math.sqrt(4000), rel=0.6)
    assert made.judged


def test_the_error_of_a_correlated_series_is_the_true_one() -> None:
    """For x_n = m x_(n-1) + noise the statistical inefficiency is (1 + m) / (1 - m)."""
    memory, length = 0.9, 8192
    expected = 2.0 * math.sqrt((1 + memory) / (1 - memory) / length)
    errors = [mean_of(correlated(seed, length, mean=0.0, spread=2.0, memory=memory)).error for seed in range(20)]
    assert np.median(errors) == pytest.approx(expected, rel=0.4)
    naive = 2.0 / math.sqrt(length)
    assert min(errors) > 2 * naive


def test_a_short_series_is_not_judged() -> None:
    few = mean_of(np.arange(BLOCKS_MIN - 1.0))
    assert few == Mean(3.0, math.inf, 0, 0.0)
    assert not few.judged
    assert not mean_of(correlated(3, 100, mean=0.0, spread=1.0, memory=0.97)).judged


def test_a_drifting_series_is_not_judged() -> None:
    assert not mean_of(np.linspace(0.0, 1.0, 400)).judged


def test_a_constant_series_has_no_error() -> None:
    made = mean_of(np.full(64, -54.3))
    assert made.value == pytest.approx(-54.3)
    assert made.error == 0.0
    assert made.judged
    assert span(made, made, 5) == 0.0


def test_looking_at_more_terms_widens_the_span() -> None:
    made = Mean(0.0, 1.0, 50, 100.0)
    assert span(made, made, 10) > span(made, made, 1) > 3.0 * math.sqrt(2.0)
    assert span(made, Mean(0.0, 1.0, 8, 100.0), 1) > span(made, made, 1)


def test_the_common_window_leaves_out_the_settling() -> None:
    assert window(np.arange(0.0, 11.0), np.arange(0.0, 21.0)) == (2.0, 10.0)
    start, end = window(np.array([0.0, 1.0]), np.array([2.0, 3.0]))
    assert start > end
    start, end = window(np.array([]), np.array([1.0]))
    assert start > end


@given(arrays(np.float64, st.integers(8, 200), elements=st.floats(-1e3, 1e3)), st.floats(-1e4, 1e4))
def test_an_offset_moves_the_mean_and_not_the_error(series: np.ndarray, offset: float) -> None:
    before, after = mean_of(series), mean_of(series + offset)
    assert after.value == pytest.approx(before.value + offset, abs=1e-6)
    assert after.error == pytest.approx(before.error, rel=1e-5, abs=1e-9)


@given(arrays(np.float64, st.integers(0, 200), elements=st.floats(-1e3, 1e3)))
def test_levels_halve_and_never_go_below_the_fewest_blocks(series: np.ndarray) -> None:
    counts = [blocks for _, blocks in blocked(series)]
    assert all(count >= BLOCKS_MIN for count in counts)
    assert counts == [len(series) >> level for level in range(len(counts))]
