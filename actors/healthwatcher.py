"""HealthWatcher: hears what devices report, follows how far running attempts have come, and judges devices."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import structlog
from anyio.abc import TaskGroup

from actors.shell import PureShell
from events.attempts import AttemptProgressed
from mdactors.core.capabilities import Matrix
from mdactors.core.health import HealthCore
from mdactors.core.lifecycle import Jobs, JobState
from mdactors.core.progress import Pace
from mdactors.ports import Clock, Engine, Reading, Substrate
from mdactors.runtime.bus import Bus
from mdactors.runtime.workshop import Offload

log = structlog.get_logger("mdactors.healthwatcher")

PERIOD = 1.0
"""Seconds between two looks at all running attempts: the only poll there is, once for all of them."""

Key = tuple[int, int]


class HealthWatcher(PureShell):
    """The shell of `HealthCore`."""

    name = "healthwatcher"

    def __init__(
        self,
        *,
        bus: Bus,
        clock: Clock,
        substrate: Substrate,
        engines: Mapping[str, Engine],
        jobs: Jobs,
        matrix: Matrix,
        offload: Offload[Any],
    ) -> None:
        self._bus = bus
        self._clock = clock
        self._substrate = substrate
        self._engines = engines
        self._jobs = jobs
        self._matrix = matrix
        self._offload = offload

    def core(self) -> HealthCore:
        """Return a fresh core."""
        return HealthCore()

    def attend(self, tasks: TaskGroup) -> None:
        """Listen to the substrate, and look at the running attempts."""
        tasks.start_soon(self._listen)
        tasks.start_soon(self._follow)

    async def _listen(self) -> None:
        async for report in self._substrate.reports():
            await self._bus.publish(report)

    async def _follow(self) -> None:
        paces: dict[Key, Pace] = {}
        while True:
            await self._clock.sleep(PERIOD)
            running = self._running()
            if not running:
                paces.clear()
                continue
            readings = await self._offload(lambda running=running: self._read(running))  # type: ignore[misc]
            self._tell(readings, paces)

    def _running(self) -> dict[Key, tuple[Engine, Path]]:
        """Return what runs now: (job, attempt) -> its engine and its folder."""
        running: dict[Key, tuple[Engine, Path]] = {}
        for row in self._jobs.active.values():
            attempt = row.attempts[-1]
            if row.state in {JobState.RUNNING, JobState.STOPPING} and attempt.folder:
                engine = self._engines.get(self._matrix.ever[attempt.capability].engine)
                if engine is not None:
                    running[row.job, attempt.number] = engine, Path(attempt.folder)
        return running

    def _read(self, running: Mapping[Key, tuple[Engine, Path]]) -> dict[Key, Reading]:
        readings: dict[Key, Reading] = {}
        for (job, attempt), (engine, folder) in running.items():
            try:
                reading = engine.progress(folder, attempt)
            except Exception:  # a reader's fault must not stop the others from being followed
                log.exception("progress could not be read", job=job, attempt=attempt)
                continue
            if reading is not None:
                readings[job, attempt] = reading
        return readings

    def _tell(self, readings: Mapping[Key, Reading], paces: dict[Key, Pace]) -> None:
        now = self._clock.monotonic()
        for key in [key for key in paces if key not in readings]:
            del paces[key]
        for (job, attempt), reading in readings.items():
            pace = paces.setdefault((job, attempt), Pace())
            pace.note(now, reading.step)
            self._bus.announce(
                AttemptProgressed(
                    job=job,
                    attempt=attempt,
                    step=reading.step,
                    steps_asked=reading.steps_asked,
                    ns_per_day=pace.ns_per_day(reading.timestep_ps),
                    seconds_left=pace.seconds_left(reading.steps_asked),
                )
            )
