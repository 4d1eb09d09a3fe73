"""What a run writes on its way: rows of energies, frames, lines of progress. Worker side."""

from __future__ import annotations

import math
import os
from pathlib import Path

import msgspec
import numpy as np
from openmm import app, unit

from mdactors.engines.openmm.boxes import Foreign, to_vectors
from mdactors.engines.openmm.gro import Array
from mdactors.engines.openmm.job import Progress
from mdactors.errors import MdactorsError


class NumericsError(MdactorsError):
    """Positions or energies are not finite any more: the simulation blew up."""


class EnergyLog:
    """One part of the energy log, in kJ/mol and K."""

    HEAD = ("step", "time_ps", "potential", "kinetic", "total", "temperature")

    def __init__(self, path: Path, extra: tuple[str, ...]) -> None:
        self.names = (*self.HEAD, *extra)
        self.last: dict[str, float] = {}
        self._file = path.open("w")
        self._file.write(",".join(self.names) + "\n")
        self._file.flush()

    def write(self, row: dict[str, float]) -> None:
        """Append a row.

        Raises:
            NumericsError: a value is not finite.
        """
        if not all(math.isfinite(value) for value in row.values()):
            raise NumericsError(f"Energy is NaN at step {row['step']:.0f}")
        self.last = row
        words = (f"{row['step']:.0f}", f"{row['time_ps']:.6f}", *(f"{row[name]:.6f}" for name in self.names[2:]))
        self._file.write(",".join(words) + "\n")
        self._file.flush()

    def sync(self) -> None:
        """Make the rows durable."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Release the file."""
        self._file.close()


class Frames:
    """One part of the trajectory; times and steps go on from the parts before."""

    def __init__(self, path: Path, topology: Foreign, *, timestep_ps: float, first_step: int, interval: int) -> None:
        self._path = path
        self._file = app.XTCFile(str(path), topology, timestep_ps, first_step, interval)

    def write(self, positions: Array, box: Array | None) -> None:
        """Append a frame."""
        self._file.writeModel(positions * unit.nanometer, periodicBoxVectors=to_vectors(box))

    def sync(self) -> None:
        """Make the frames durable."""
        if self._path.exists():
            with self._path.open("rb") as file:
                os.fsync(file.fileno())


class ProgressLog:
    """`progress.jsonl`: a line each second or so; read while it is written."""

    def __init__(self, path: Path, *, interval: float, timestep_ps: float, steps_asked: int, start_ps: float) -> None:
        self._file = path.open("ab", buffering=0)
        self._interval = interval
        self._timestep = timestep_ps
        self._asked = steps_asked
        self._start = start_ps
        self._last: tuple[float, int] | None = None

    def offer(self, step: int, elapsed: float, *, force: bool = False) -> None:
        """Write a line if it is time for one; each line is written at once and whole."""
        if self._last is not None and elapsed - self._last[0] < self._interval and not force:
            return
        line = Progress(
            step=step,
            steps_asked=self._asked,
            time_ps=self._start + step * self._timestep,
            timestep_ps=self._timestep,
            ns_per_day=self._speed(step, elapsed),
            elapsed=elapsed,
        )
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._last = (elapsed, step)

    def _speed(self, step: int, elapsed: float) -> float | None:
        if self._last is None or elapsed <= self._last[0] or step <= self._last[1]:
            return None
        return ns_per_day(step - self._last[1], elapsed - self._last[0], self._timestep)

    def close(self) -> None:
        """Release the file."""
        self._file.close()


def ns_per_day(steps: int, seconds: float, timestep_ps: float) -> float:
    """Return simulated nanoseconds in a day.

    >>> ns_per_day(1000, 86.4, 0.002)
    2.0
    """
    return round(steps * timestep_ps * 86.4 / seconds, 6)


def check_finite(positions: Array, step: int) -> None:
    """OpenMM's Reference platform goes on without a word when a run has blown up.

    Raises:
        NumericsError: a coordinate is not finite.
    """
    if not bool(np.isfinite(positions).all()):
        atom = int(np.flatnonzero(~np.isfinite(positions).all(axis=1))[0])
        raise NumericsError(f"Particle coordinate is NaN: particle {atom} at step {step}")
