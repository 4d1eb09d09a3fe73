"""Reconciler: compares the energies of two completed jobs, between engines, precisions and versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import structlog
from anyio.abc import TaskGroup

from actors.shell import PureShell
from events.base import Event
from events.results import PairReconciled, ReconcileFailed
from events.spec import kind_of
from mdactors.core.capabilities import Matrix
from mdactors.core.effects import Compare, Effect
from mdactors.core.lifecycle import Job, Jobs, JobState
from mdactors.core.reconciling import ReconcilerCore
from mdactors.errors import EnergiesMissingError
from mdactors.ports import Engine
from mdactors.runtime.bus import Bus
from mdactors.runtime.folders import Folders, digests
from mdactors.runtime.workshop import Offload

if TYPE_CHECKING:
    from mdactors.reconcile.compare import Side


log = structlog.get_logger("mdactors.reconciler")


class Reconciler(PureShell):
    """The shell of `ReconcilerCore`."""

    name = "reconciler"

    def __init__(
        self,
        *,
        bus: Bus,
        jobs: Jobs,
        matrix: Matrix,
        engines: Mapping[str, Engine],
        folders: Folders,
        offload: Offload[Any],
    ) -> None:
        self._bus = bus
        self._jobs = jobs
        self._matrix = matrix
        self._engines = engines
        self._folders = folders
        self._offload = offload

    def core(self) -> ReconcilerCore:
        """Return a fresh core."""
        return ReconcilerCore()

    async def perform(self, effect: Effect, tasks: TaskGroup) -> None:
        """Compare, beside the inbox: reading energies may take a while."""
        assert isinstance(effect, Compare)
        tasks.start_soon(self._compare, effect)

    async def _compare(self, effect: Compare) -> None:
        outcome: Event = await self._offload(lambda: self._outcome(effect))
        await self._bus.publish(outcome, cause=effect.cause)

    def _outcome(self, effect: Compare) -> Event:
        from mdactors.reconcile.compare import compare, shared_start  # noqa: PLC0415 - numpy costs 0.15 s, seldom wanted

        try:
            a, b = self._jobs[effect.a], self._jobs[effect.b]
            made = compare(self._side(a), self._side(b), shared=shared_start(_start(a), _start(b)))
        except (EnergiesMissingError, OSError) as error:
            return ReconcileFailed(a=effect.a, b=effect.b, why=str(error))
        except Exception as error:  # asked again after a restart, it would only raise again
            log.exception("a comparison raised", a=effect.a, b=effect.b)
            return ReconcileFailed(a=effect.a, b=effect.b, why=f"{type(error).__name__}: {error}")
        return PairReconciled(
            a=effect.a, b=effect.b, pair=made.pair, verdict=made.verdict, terms=made.terms, notes=made.notes
        )

    def _side(self, job: Job) -> Side:
        from mdactors.reconcile.compare import Side  # noqa: PLC0415 - as above

        if job.state is not JobState.COMPLETED:
            raise EnergiesMissingError(f"job {job.job} is {job.state}; only completed jobs can be compared")
        attempt = job.attempts[-1]
        capability = self._matrix.ever[attempt.capability]
        engine = self._engines.get(capability.engine)
        if engine is None:
            raise EnergiesMissingError(f"job {job.job} ran on {capability.engine}, which is not installed any more")
        return Side(
            engine=capability.engine,
            precision=capability.precision,
            energies=engine.energies(self._folders.of(job.job)),
            atoms=attempt.figures.atoms or 0,
        )


def _start(job: Job) -> tuple[str, tuple[str, ...]]:
    return kind_of(job.submitted.spec), digests(job.submitted.inputs)
