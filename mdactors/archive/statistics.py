"""How a speed compares with its like: numbers over performances that share their context."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from events.results import Context, PerformanceRecorded
from mdactors.archive.columns import lacking


class Like(NamedTuple):
    """What two speeds must have in common to be compared."""

    engine: str
    version: str
    backend: str
    precision: str
    device_name: str
    threads: int
    system: str


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A set of speeds, in their unit."""

    count: int
    mean: float
    median: float
    spread: float
    """Sample standard deviation; 0 for a single value."""
    least: float
    greatest: float


def like(context: Context) -> Like:
    """Return the key inside which this context's speeds may be compared."""
    return Like(*(getattr(context, name) for name in Like._fields))


def speed(event: PerformanceRecorded) -> float | None:
    """Return the ns/day that may be compared with others; None: it was not steady, failed, or lacks its context."""
    value = event.figures.ns_per_day
    if value is None or not math.isfinite(value) or value <= 0 or not event.figures.steady:
        return None
    sound = event.outcome in {"completed", "stopped"} and not lacking(event.context, event.figures)
    return value if sound else None


def group(events: Iterable[PerformanceRecorded]) -> dict[Like, list[float]]:
    """Return the comparable speeds (ns/day) under their keys, in the order of the events."""
    groups: dict[Like, list[float]] = {}
    for event in events:
        if (value := speed(event)) is not None:
            groups.setdefault(like(event.context), []).append(value)
    return groups


def summary(values: Sequence[float]) -> Summary | None:
    """Return mean, median and spread of finite values; None for no values."""
    if not values:
        return None
    return Summary(
        count=len(values),
        mean=statistics.fmean(values),
        median=statistics.median(values),
        spread=statistics.stdev(values) if len(values) > 1 else 0.0,
        least=min(values),
        greatest=max(values),
    )


def deviation_percent(value: float, history: Sequence[float]) -> float | None:
    """Return 100 (value - mean) / mean of the history, in %; None without a history or with a mean of zero."""
    known = summary(history)
    return 100.0 * (value - known.mean) / known.mean if known and known.mean else None
