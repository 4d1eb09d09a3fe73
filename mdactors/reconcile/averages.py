"""Means of correlated series with honest errors, and when two of them differ.

A molecular-dynamics series is correlated in time, so that the naive error of its mean is too small. The error here is
the largest that block averaging finds: H. Flyvbjerg, H. G. Petersen, J. Chem. Phys. 91 (1989) 461. Two means differ where
they lie further apart than three standard errors of their difference, widened for few blocks (Student) and for many
terms looked at together (Bonferroni), so that a comparison of honest runs raises no alarm because it looks at much.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from mdactors.reconcile.terms import Array

SIGMA = 3.0
"""Standard errors that one difference of one term may span."""

BLOCKS_MIN = 8
"""Fewest blocks from which an error is taken."""

INDEPENDENT_MIN = 50.0
"""Fewest independent frames from which a mean is judged at all. While blocks are shorter than the correlation time, the
error still grows from level to level, and the count can't exceed the number of blocks by much; from here on the largest
blocks span several correlation times. (In 16 ps of 648 atoms the potential energy is worth 13 to 35 frames, still falling.)"""

SETTLING_SHARE = 0.2
"""First share of the common time that is left out: both runs are still leaving their common start."""


class Mean(NamedTuple):
    """A mean with what is known of its error."""

    value: float
    error: float
    """Standard error of the mean, same unit; infinite where the series is too short to tell."""
    freedom: int
    """Degrees of freedom of that error."""
    independent: float
    """Number of independent frames that the series is worth."""

    @property
    def judged(self) -> bool:
        """The series is long enough for a verdict."""
        return self.independent >= INDEPENDENT_MIN


def blocked(series: Array) -> list[tuple[float, int]]:
    """Return (standard error of the mean, blocks) for blocks of 1, 2, 4 ... frames of a series of shape (n,).

    For blocks x_i, i = 1 ... m: error = sqrt(sum (x_i - mean)^2 / (m (m - 1))). Levels of fewer than `BLOCKS_MIN` blocks
    are left out; empty for shorter series.
    """
    levels: list[tuple[float, int]] = []
    # Centred first: a large common offset would otherwise eat the digits of the variance.
    blocks = series - series.mean() if len(series) else series
    while len(blocks) >= BLOCKS_MIN:
        levels.append((float(np.std(blocks, ddof=1)) / math.sqrt(len(blocks)), len(blocks)))
        even = len(blocks) // 2 * 2
        blocks = blocks[:even].reshape(-1, 2).mean(axis=1)
    return levels


def mean_of(series: Array) -> Mean:
    """Return the mean of a series of shape (n,), n at least 1, with its error by block averaging."""
    levels = blocked(series)
    value = float(series.mean())
    if not levels:
        return Mean(value, math.inf, 0, 0.0)
    error, blocks = max(levels)
    naive = levels[0][0]
    # A constant series has no error at any level, and every one of its frames says the same.
    independent = len(series) * (naive / error) ** 2 if error > 0 else float(len(series))
    return Mean(value, error, blocks - 1, independent)


def student(freedom: int, tail: float) -> float:
    """Return t with a two-sided tail probability of `tail` at `freedom` (at least 4) degrees of freedom.

    Expansion in 1/freedom around the normal quantile z: M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions,
    26.7.5, the first three terms.
    """
    z = NormalDist().inv_cdf(1.0 - tail / 2.0)
    first = (z**3 + z) / 4.0
    second = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
    third = (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0
    return z + first / freedom + second / freedom**2 + third / freedom**3


def span(a: Mean, b: Mean, looks: int) -> float:
    """Return how far two judged means may lie apart by chance, in their unit, when `looks` terms are looked at together.

    Welch: error = sqrt(ea^2 + eb^2), degrees of freedom by Satterthwaite's formula.
    """
    variance = a.error**2 + b.error**2
    if variance == 0.0:
        return 0.0
    freedom = variance**2 / (a.error**4 / a.freedom + b.error**4 / b.freedom)
    tail = 2.0 * NormalDist().cdf(-SIGMA) / max(looks, 1)
    return student(max(int(freedom), 4), tail) * math.sqrt(variance)


def window(a_times: Array, b_times: Array) -> tuple[float, float]:
    """Return the common time span (ps) of two runs without its settling; (0, -1), which holds no time, where there is none."""
    if not len(a_times) or not len(b_times):
        return 0.0, -1.0
    start = float(max(a_times.min(), b_times.min()))
    end = float(min(a_times.max(), b_times.max()))
    return (start + SETTLING_SHARE * (end - start), end) if end > start else (0.0, -1.0)
