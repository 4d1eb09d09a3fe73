"""The loop over blocks of steps: up to the next thing that is due, never longer than a stop may have to wait. Worker side."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mdactors.engines.openmm.job import energy_part, progress_file, trajectory_part
from mdactors.engines.openmm.reports import EnergyLog, Frames, ProgressLog
from mdactors.engines.openmm.simulation import Simulation

BLOCK_SECONDS = 0.5
"""A wish to stop, and a line of progress, wait about this long."""
WARM_UP_STEPS = 100
"""Not timed: kernels are compiled, caches fill. A tenth of a run that is shorter than ten times this."""


class Wish(Protocol):
    """Whether somebody wants the run to stop."""

    asked: str


@dataclass
class Timing:
    """Seconds by a clock that never jumps."""

    first_step: int
    steps_timed: int = 0
    timed_seconds: float = 0.0
    wall_seconds: float = 0.0
    core_seconds: float = 0.0


def next_due(step: int, total: int, intervals: Iterable[int], *, cap: int) -> int:
    """Return where the next block ends: the first multiple of an interval after `step`, at most `cap` steps on.

    >>> next_due(95, 1000, (10, 500, 0), cap=50)
    100
    """
    due = [step + interval - step % interval for interval in intervals if interval > 0]
    return min([total, step + max(1, cap), *due])


class Loop:
    """Runs a simulation from where it stands to its last step, or until it is asked to stop."""

    def __init__(self, simulation: Simulation, folder: Path) -> None:
        order, dynamics = simulation.order, simulation.dynamics
        self.simulation, self.folder = simulation, folder
        self._total = dynamics.steps
        self._energies = EnergyLog(folder / energy_part(order.attempt), simulation.columns)
        self._frames = self._trajectory()
        self._progress = ProgressLog(
            folder / progress_file(order.attempt),
            interval=order.progress_seconds,
            timestep_ps=dynamics.timestep_ps,
            steps_asked=dynamics.steps,
            start_ps=simulation.model.start_ps,
        )
        self.timing = Timing(first_step=simulation.step)
        self._warm_at = simulation.step + min(WARM_UP_STEPS, max(0, self._total - simulation.step) // 10)
        self._cap = 1

    @property
    def last_row(self) -> dict[str, float]:
        """The newest row of energies."""
        return self._energies.last

    def _trajectory(self) -> Frames | None:
        simulation, interval = self.simulation, self.simulation.dynamics.trajectory_steps
        if not interval:
            return None
        timestep = simulation.dynamics.timestep_ps
        first = 0 if simulation.step == 0 else next_due(simulation.step, 2**62, (interval,), cap=interval)
        shift = round(simulation.model.start_ps / timestep)
        path = self.folder / trajectory_part(simulation.order.attempt)
        return Frames(
            path, simulation.model.topology, timestep_ps=timestep, first_step=first + shift, interval=interval
        )

    def run(self, wish: Wish) -> None:
        """Run. What is due at the first step of a resumed run was written before.

        Raises:
            NumericsError: the simulation blew up.
        """
        simulation, timing = self.simulation, self.timing
        if simulation.step == 0:
            self._report()
        start, cpu = time.monotonic(), time.process_time()
        saved, warm = start, start
        self._progress.offer(simulation.step, 0.0)
        while simulation.step < self._total and not wish.asked:
            self._block()
            now = time.monotonic()
            if simulation.step <= self._warm_at:
                warm = now
            self._progress.offer(simulation.step, now - start)
            if now - saved >= simulation.order.checkpoint_seconds:
                self._save()
                saved = time.monotonic()
        now = time.monotonic()
        timing.steps_timed = max(0, simulation.step - max(self._warm_at, timing.first_step))
        timing.timed_seconds = now - warm if timing.steps_timed else 0.0
        timing.wall_seconds, timing.core_seconds = now - start, time.process_time() - cpu
        self._progress.offer(simulation.step, now - start, force=True)
        self._sync()

    def _block(self) -> None:
        simulation, dynamics = self.simulation, self.simulation.dynamics
        intervals = [dynamics.coupling_steps, dynamics.energy_steps, dynamics.trajectory_steps]
        if simulation.step < self._warm_at:
            intervals.append(self._warm_at)
        target = next_due(simulation.step, self._total, intervals, cap=self._cap)
        start = time.monotonic()
        steps = target - simulation.step
        simulation.advance(target)
        self._adapt(steps, time.monotonic() - start)
        self._report()

    def _adapt(self, steps: int, seconds: float) -> None:
        """Let blocks grow by doubling towards half a second; one slow block makes them small at once."""
        fitting = int(BLOCK_SECONDS * steps / max(seconds, 1e-6))
        self._cap = max(1, min(fitting, 2 * self._cap))

    def _report(self) -> None:
        simulation, dynamics = self.simulation, self.simulation.dynamics
        step = simulation.step
        due = step in {0, self._total} or (dynamics.energy_steps > 0 and step % dynamics.energy_steps == 0)
        if due:
            if self._frames is None:
                simulation.frame()  # a blow-up is found even where no frame is written
            self._energies.write(simulation.energies())
        if self._frames is not None and step % dynamics.trajectory_steps == 0:
            self._frames.write(*simulation.frame())

    def _save(self) -> None:
        self._sync()
        self.simulation.save(self.folder)

    def _sync(self) -> None:
        """What a checkpoint counts as written is on disk before the checkpoint is."""
        self._energies.sync()
        if self._frames is not None:
            self._frames.sync()

    def close(self) -> None:
        """Release the files."""
        self._energies.close()
        self._progress.close()
