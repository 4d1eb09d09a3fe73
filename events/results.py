"""What was measured and compared."""

from __future__ import annotations

from typing import Literal

import msgspec

from events.base import Event
from events.outcome import Figures, OutcomeName


class Context(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Without which no figure is stored: what ran, in what build, on what, with what input."""

    engine: str
    version: str
    build: str
    backend: str
    precision: str
    device: str
    device_name: str
    driver: str
    node: str
    slot: str
    threads: int
    cpus: tuple[int, ...]
    system: str
    """System class inside which speeds may be compared."""
    inputs_sha256: tuple[str, ...]
    added: tuple[str, ...] = ()
    neighbours: int = 0
    """Other attempts running on the node when this one ended."""


class PerformanceRecorded(Event, frozen=True, tag="PerformanceRecorded"):
    """An attempt's figures are in the ledger and in the archive, with their context."""

    job: int
    attempt: int
    outcome: OutcomeName
    context: Context
    figures: Figures


class ReconcileRequested(Event, frozen=True, tag="ReconcileRequested"):
    """Somebody wants the energies of two finished jobs compared."""

    a: int
    b: int
    by: str = ""


class TermComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One energy term of both sides, kJ/mol."""

    term: str
    a: float
    b: float
    difference: float
    relative: float
    tolerance: float
    """Allowed absolute difference, kJ/mol."""
    verdict: Literal["pass", "warn", "fail", "info"]


class PairReconciled(Event, frozen=True, tag="PairReconciled"):
    """Two jobs' energies were compared."""

    a: int
    b: int
    pair: str
    """`gromacs-mixed:openmm-mixed`: engines and precisions, in a fixed order."""
    verdict: Literal["pass", "warn", "fail"]
    terms: tuple[TermComparison, ...]
    notes: tuple[str, ...] = ()


class ReconcileFailed(Event, frozen=True, tag="ReconcileFailed"):
    """The comparison could not be made."""

    a: int
    b: int
    why: str
