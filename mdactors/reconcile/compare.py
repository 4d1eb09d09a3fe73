"""Two jobs' energies against each other, term by term: the first frame where both start alike, and the means.

What gates. Where both sides start from the same configuration, their first frame is one evaluation of the same function
and has to agree within the table of `tolerances`. Later frames of two honest runs part within a picosecond, so only their
means are compared, and only where the runs are long enough for a mean to say anything; `info` marks what can't be judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from events.results import TermComparison
from mdactors.reconcile import averages, hints, tolerances
from mdactors.reconcile.terms import MOTION, Array, Series, comparable, one_sided, values
from mdactors.reconcile.tolerances import Identity, Scale

Shared = Literal["nothing", "positions", "state"]
"""What both sides have in common at their first frame; `state` is positions and velocities."""

Verdict = Literal["pass", "warn", "fail", "info"]

Mask = NDArray[np.bool_]

MEAN = "mean "
"""How the name of a compared mean begins: `mean potential`."""

TIME_MATCH_PS = 1e-6

ENERGY_MAX = 1e100
"""kJ/mol; a run that reports more, or what is not a number, has blown up."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """One job's energies and what made them."""

    engine: str
    precision: str
    energies: Series
    atoms: int = 0
    """0: not known."""

    @property
    def identity(self) -> Identity:
        """What the tolerance depends on."""
        return self.engine, self.precision


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The outcome, ready for `PairReconciled`."""

    pair: str
    verdict: Literal["pass", "warn", "fail"]
    terms: tuple[TermComparison, ...]
    """First frame under the term's name, mean under `mean NAME`."""
    notes: tuple[str, ...]


def shared_start(a: tuple[str, tuple[str, ...]], b: tuple[str, tuple[str, ...]]) -> Shared:
    """Return what two jobs, each (kind of job, sha256 of its inputs), have in common at the start.

    Only a run input file fixes the velocities as well; other kinds may draw them when they start.
    """
    if a[0] != b[0] or not a[1] or sorted(a[1]) != sorted(b[1]):
        return "nothing"
    return "state" if a[0] == "tpr" else "positions"


def compare(a: Side, b: Side, *, shared: Shared) -> Comparison:
    """Compare two finished jobs' energies (kJ/mol; times in ps) and return verdict, numbers and what they hint at."""
    pair = tolerances.pair_of(a.identity, b.identity)
    if a.atoms and b.atoms and a.atoms != b.atoms:
        return Comparison(pair=pair, verdict="fail", terms=(), notes=(hints.OTHER_SYSTEM.format(a=a.atoms, b=b.atoms),))
    names = comparable(a.energies, b.energies, same_engine=a.engine == b.engine)
    broken = tuple(name for name in names if not (_finite(a, name) and _finite(b, name)))
    sound = tuple(name for name in names if name not in broken)
    first = _first_frame(a, b, sound, shared)
    means = _means(a, b, sound)
    verdict = "fail" if broken else _overall((*first, *means))
    broken_note = (hints.BROKEN.format(names=", ".join(broken)),) if broken else ()
    notes = (*broken_note, *_scope(first, means), *_hints(a, b, first, means))
    return Comparison(pair=pair, verdict=verdict, terms=(*first, *means), notes=notes)


# ---------------------------------------------------------------- the first frame


def starts_together(a: Side, b: Side) -> bool:
    """Both series begin at the same time, to a millionth of a picosecond."""
    ours, theirs = a.energies.times_ps, b.energies.times_ps
    return bool(ours) and bool(theirs) and abs(ours[0] - theirs[0]) <= TIME_MATCH_PS


def _first_frame(a: Side, b: Side, names: tuple[str, ...], shared: Shared) -> tuple[TermComparison, ...]:
    if shared == "nothing" or not starts_together(a, b):
        return ()
    return tuple(_at_start(a, b, name, shared) for name in names)


def _at_start(a: Side, b: Side, name: str, shared: Shared) -> TermComparison:
    ours, theirs = _reduced(a, name, _first), _reduced(b, name, _first)
    scale = _scale(a, b, name, _first)
    tolerance = tolerances.allowed(name, scale, a.identity, b.identity, max(a.atoms, b.atoms))
    verdict: Verdict = tolerances.judge(ours - theirs, tolerance, _hard_stop(a, b, name, scale))
    if name in MOTION and not (shared == "state" and a.engine == b.engine):
        verdict = "info"
    return _row(name, ours, theirs, tolerance, verdict)


def _hard_stop(a: Side, b: Side, name: str, scale: Scale) -> float:
    kind = tolerances.pair_kind(a.precision, b.precision)
    floor = tolerances.WARN_FACTOR * tolerances.tolerance_of(a.identity, b.identity).floor
    return max(tolerances.HARD_STOP * tolerances.reference(name, scale, kind), floor)


# ---------------------------------------------------------------- means


def _means(a: Side, b: Side, names: tuple[str, ...]) -> tuple[TermComparison, ...]:
    times = [np.asarray(side.energies.times_ps, dtype=np.float64) for side in (a, b)]
    start, end = averages.window(times[0], times[1])
    inside = [(each >= start) & (each <= end) for each in times]
    if not (inside[0].any() and inside[1].any()):
        return ()
    looked_at = [name for name in names if name != "conserved"]
    return tuple(_mean_row(a, b, name, (inside[0], inside[1]), len(looked_at)) for name in looked_at)


def _mean_row(a: Side, b: Side, name: str, inside: tuple[Mask, Mask], looks: int) -> TermComparison:
    ours, theirs = (averages.mean_of(_values(side, name)[mask]) for side, mask in zip((a, b), inside, strict=True))
    if not (ours.judged and theirs.judged):
        return _row(MEAN + name, ours.value, theirs.value, 0.0, "info")
    tolerance = max(averages.span(ours, theirs, looks), _least(a, b, name))
    return _row(
        MEAN + name, ours.value, theirs.value, tolerance, tolerances.judge(ours.value - theirs.value, tolerance)
    )


def _least(a: Side, b: Side, name: str) -> float:
    """Return the difference (kJ/mol) below which means are not told apart: that of one evaluation, or of conventions."""
    scale = _scale(a, b, name, _average)
    least = tolerances.allowed(name, scale, a.identity, b.identity, max(a.atoms, b.atoms))
    if a.engine == b.engine or name not in {"kinetic", "total"} or "kinetic" not in a.energies.terms:
        return least
    return max(least, tolerances.KINETIC_MEAN_ACROSS * _scale(a, b, "kinetic", _average).term)


# ---------------------------------------------------------------- helpers


def _values(side: Side, name: str) -> Array:
    found = values(side.energies, name)
    assert found is not None, f"{name} was said to be comparable"
    return found


def _first(series: Array) -> float:
    return float(series[0])


def _average(series: Array) -> float:
    return float(series.mean())


def _reduced(side: Side, name: str, reduce: Callable[[Array], float]) -> float:
    return reduce(_values(side, name))


def _finite(side: Side, name: str) -> bool:
    return _sane(_values(side, name))


def _sane(series: Array) -> bool:
    # A comparison with NaN is false, so that it counts as insane.
    return bool((np.abs(series) < ENERGY_MAX).all())


def _scale(a: Side, b: Side, name: str, reduce: Callable[[Array], float]) -> Scale:
    def size(term: str) -> float:
        found = (values(side.energies, term) for side in (a, b))
        return max((abs(reduce(each)) for each in found if each is not None and _sane(each)), default=0.0)

    return Scale(size(name), next((size(term) for term in ("coulomb_sr", "nonbonded", "potential") if size(term)), 0.0))


def _row(term: str, a: float, b: float, tolerance: float, verdict: Verdict) -> TermComparison:
    scale = max(abs(a), abs(b))
    return TermComparison(
        term=term,
        a=a,
        b=b,
        difference=a - b,
        relative=(a - b) / scale if scale else 0.0,
        tolerance=tolerance,
        verdict=verdict,
    )


def _overall(rows: tuple[TermComparison, ...]) -> Literal["pass", "warn", "fail"]:
    """Return the worst verdict of any row; a comparison in which nothing could be judged is no pass."""
    verdicts = {row.verdict for row in rows}
    if "fail" in verdicts:
        return "fail"
    return "pass" if "pass" in verdicts and "warn" not in verdicts else "warn"


def _hints(a: Side, b: Side, first: tuple[TermComparison, ...], means: tuple[TermComparison, ...]) -> tuple[str, ...]:
    start = {row.term: row for row in first}
    average = {row.term.removeprefix(MEAN): row for row in means}
    sides = one_sided(a.energies, b.energies, same_engine=a.engine == b.engine)
    floor = tolerances.tolerance_of(a.identity, b.identity).floor
    return (
        *hints.pattern(hints.off(start) or hints.off(average)),
        *hints.urey_bradley(start),
        *hints.electric_constant(start),
        *hints.dispersion(a.energies, b.energies, start or average),
        *hints.constant_offset(start, average),
        *hints.missing(a.energies, b.energies, sides, floor),
        *hints.short(average),
    )


def _scope(first: tuple[TermComparison, ...], means: tuple[TermComparison, ...]) -> list[str]:
    """Say what the verdict rests on."""
    if all(row.verdict == "info" for row in (*first, *means)):
        return [hints.NOTHING_JUDGED]
    if not first:
        return [hints.NO_FIRST_FRAME]
    return [hints.NO_VELOCITIES] if any(row.verdict == "info" for row in first) else []
