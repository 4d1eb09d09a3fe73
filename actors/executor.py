"""Executor: sees the attempts of one slot through, from wherever they stand: starts, adopts, stops, judges."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import msgspec
import structlog
from anyio.abc import TaskGroup

from actors.shell import PureShell
from events.attempts import AttemptEnded, AttemptFound, Handle, JobAssigned
from events.hardware import Capability, Device, Slot
from events.outcome import Diagnosis, ExitRecord
from mdactors.core.capabilities import Matrix
from mdactors.core.effects import Effect, RunAttempt, StopAttempt
from mdactors.core.execution import ExecutorCore
from mdactors.core.lifecycle import Job, Jobs
from mdactors.environment import build_env
from mdactors.errors import FolderBusyError, InputError, LaunchError, MdactorsError
from mdactors.ports import (
    Clock,
    Engine,
    Evidence,
    Found,
    LaunchOrder,
    LaunchPlan,
    PlanRequest,
    Situation,
    Substrate,
    Verdict,
)
from mdactors.runtime.bus import Bus
from mdactors.runtime.folders import Folders, Launched
from mdactors.runtime.judging import judged
from mdactors.runtime.supervisor import blameless
from mdactors.runtime.workshop import Offload, PreparationError, Workshop

log = structlog.get_logger("mdactors.executor")

MASK_CHECK_SECONDS = 1.0
"""After the start: engines place their threads within a second."""

Key = tuple[int, int]


class SlotGoneError(LaunchError):
    """The slots were laid out anew between an assignment and its start; the job waits for one that exists."""


class Tools(msgspec.Struct, frozen=True, kw_only=True):
    """What all executors share."""

    bus: Bus
    clock: Clock
    substrate: Substrate
    engines: Mapping[str, Engine]
    jobs: Jobs
    matrix: Matrix
    folders: Folders
    workshop: Workshop
    base_env: Mapping[str, str]
    offload: Offload[Any]


class Executor(PureShell):
    """The shell of `ExecutorCore`, one for each slot."""

    def __init__(self, slot: str, tools: Tools) -> None:
        self.name = f"executor {slot}"
        self._slot = slot
        self._tools = tools
        self._stops: dict[Key, anyio.Event] = {}
        """How those that are being seen through are told to stop."""

    def core(self) -> ExecutorCore:
        """Return a fresh core."""
        return ExecutorCore(self._slot)

    async def perform(self, effect: Effect, tasks: TaskGroup) -> None:
        """Begin to see an attempt through, or pass on that it should stop."""
        match effect:
            case RunAttempt(assigned=assigned, cause=cause):
                self._stops[assigned.job, assigned.attempt] = anyio.Event()
                tasks.start_soon(self._see_through, assigned, cause)
            case StopAttempt(job=job, attempt=attempt):
                if stop := self._stops.get((job, attempt)):  # else it has ended by now
                    stop.set()
            case _:
                raise AssertionError(f"{self.name} can't perform {effect}")

    async def _see_through(self, assigned: JobAssigned, cause: int) -> None:
        key = assigned.job, assigned.attempt
        try:
            await Passage(self._tools, assigned, cause, self._stops[key]).run()
        finally:
            del self._stops[key]


class Passage:
    """One attempt on its way through: find, start if it never ran, watch, judge, tell."""

    def __init__(self, tools: Tools, assigned: JobAssigned, cause: int, stop: anyio.Event) -> None:
        self._tools = tools
        self._assigned = assigned
        self._cause = cause
        self._stop = stop
        self._row: Job = tools.jobs[assigned.job]
        self._capability: Capability = tools.matrix.ever[assigned.capability]
        self._folder: Path = tools.folders.of(assigned.job)
        self._warnings: list[str] = []

    @property
    def _engine(self) -> Engine:
        engine = self._tools.engines.get(self._capability.engine)
        if engine is None:
            raise LaunchError(f"engine {self._capability.engine} is not installed any more")
        return engine

    async def run(self) -> None:
        """See it through to `AttemptEnded`, whatever happens."""
        tools, assigned = self._tools, self._assigned
        found = await tools.substrate.find(str(self._folder), assigned.attempt)
        known = self._row.attempts[-1].started is not None
        if known or found.state != "absent":
            await self._tell_found(found)
        if found.state == "absent" and not known:
            await self._from_the_start()
        elif found.state == "running" and found.handle is not None:
            await self._adopt(found.handle, known)
        else:
            await self._end(found.exit)

    async def _tell_found(self, found: Found) -> None:
        assigned = self._assigned
        fact = AttemptFound(job=assigned.job, attempt=assigned.attempt, state=found.state, handle=found.handle)
        await self._tools.bus.publish(fact, cause=self._cause)

    # ------------------------------------------------------------ starting

    async def _from_the_start(self) -> None:
        if self._stop.is_set():
            await self._tell_end(Verdict(outcome="stopped"), None)
            return
        try:
            situation = await self._tools.offload(self._survey)
            if situation.finished:
                await self._end(None)
                return
            plan = await self._plan(situation)
            handle, launched = await self._launch(plan, situation)
        except PreparationError as error:
            await self._tell_end(Verdict(outcome="failed", diagnosis=error.diagnosis), None)
        except (LaunchError, InputError, OSError) as error:
            if blameless(error):
                raise  # the supervisor has it tried again until there is room: no job pays for that
            await self._tell_end(Verdict(outcome="failed", diagnosis=_not_started(error)), None)
        else:
            await self._tell_start(handle, launched)
            await self._watch(handle, launched)

    def _survey(self) -> Situation:
        folder = self._tools.folders.prepare(self._row)
        with _blaming_the_job():
            return self._engine.survey(folder, self._row.submitted.spec)

    async def _plan(self, situation: Situation) -> LaunchPlan:
        assigned, submitted = self._assigned, self._row.submitted
        request = PlanRequest(
            job=assigned.job,
            attempt=assigned.attempt,
            spec=submitted.spec,
            inputs=submitted.inputs,
            capability=self._capability,
            slot=self._slot(),
            situation=situation,
            cache=str(self._tools.folders.cache),
            folder=str(self._folder),
        )
        with _blaming_the_job():
            plan = self._engine.plan(request)
        for preparation in plan.prepare:
            self._warnings += await self._tools.workshop.make(preparation)
        return plan

    def _slot(self) -> Slot:
        """Return the slot with the CPUs that it was given away with: others that it may have by now can still be held."""
        slot = self._tools.matrix.slots.get(self._assigned.slot)
        if slot is None:
            raise SlotGoneError(f"slot {self._assigned.slot} does not exist any more")
        return msgspec.structs.replace(slot, cpus=self._assigned.cpus or slot.cpus)

    async def _launch(self, plan: LaunchPlan, situation: Situation) -> tuple[Handle, Launched]:
        tools, assigned, slot = self._tools, self._assigned, self._slot()
        built = build_env(tools.base_env, plan.variables, tools.matrix.devices.get(assigned.device))
        launched = msgspec.structs.replace(
            self._given(slot),
            argv=plan.argv,
            added=plan.added,
            from_step=situation.step,
            stop_signal=plan.stop_signal,
            grace_seconds=plan.grace_seconds,
        )
        await tools.offload(lambda: tools.folders.lay_out(self._folder, assigned.attempt, plan, launched))
        order = LaunchOrder(
            folder=str(self._folder),
            attempt=assigned.attempt,
            argv=plan.argv,
            environment=built.environment,
            cpus=slot.cpus,
        )
        return await tools.substrate.launch(order), launched

    def _given(self, slot: Slot) -> Launched:
        """Return what the attempt was given, before its plan is made."""
        device = self._tools.matrix.devices.get(self._assigned.device)
        return Launched(
            capability=self._capability,
            device=device or Device(id=self._assigned.device, node=slot.node, type="cpu"),
            slot=slot,
            assigned_at=self._row.attempts[-1].assigned,
        )

    async def _tell_start(self, handle: Handle, launched: Launched) -> None:
        assigned = self._assigned
        started = launched.started(assigned.job, assigned.attempt, self._folder, handle)
        await self._tools.bus.publish(started, cause=self._cause)

    # ------------------------------------------------------------ watching

    async def _adopt(self, handle: Handle, known: bool) -> None:
        """It runs already: we died between its start and the record of it, or after."""
        launched = self._tools.folders.launched(self._folder, self._assigned.attempt) or self._given(
            Slot(id=self._assigned.slot, node=self._capability.node, device=self._assigned.device)
        )
        if not known:
            await self._tell_start(handle, launched)
        await self._watch(handle, launched)

    async def _watch(self, handle: Handle, launched: Launched) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._stop_when_asked, handle, launched)
            tasks.start_soon(self._check_masks, handle, launched)
            exit_record = await self._tools.substrate.wait(str(self._folder), self._assigned.attempt, handle)
            tasks.cancel_scope.cancel()
        await self._end(exit_record)

    async def _stop_when_asked(self, handle: Handle, launched: Launched) -> None:
        await self._stop.wait()
        await self._tools.substrate.stop(
            str(self._folder),
            self._assigned.attempt,
            handle,
            signal=launched.stop_signal,
            grace_seconds=launched.grace_seconds,
        )

    async def _check_masks(self, handle: Handle, launched: Launched) -> None:
        """Believe the kernel, not the request: a thread outside its slot's cores slows a neighbour down."""
        await self._tools.clock.sleep(MASK_CHECK_SECONDS)
        if not launched.slot.cpus:
            return
        stray = [mask for mask in self._tools.substrate.masks(handle) if not set(mask) <= set(launched.slot.cpus)]
        if stray:
            warning = f"threads run outside the slot's CPUs {launched.slot.cpus}: {stray}"
            log.warning("stray threads", job=self._assigned.job, attempt=self._assigned.attempt, masks=stray)
            self._warnings.append(warning)

    # ------------------------------------------------------------ ending

    async def _end(self, exit_record: ExitRecord | None) -> None:
        spec = self._row.submitted.spec
        stop_asked = self._stop.is_set() or bool(self._row.attempts[-1].stop_reason)
        evidence = Evidence(spec=spec, attempt=self._assigned.attempt, exit=exit_record, stop_asked=stop_asked)
        verdict = await self._tools.offload(lambda: judged(self._engine, self._folder, evidence))
        await self._tell_end(verdict, exit_record)

    async def _tell_end(self, verdict: Verdict, exit_record: ExitRecord | None) -> None:
        assigned = self._assigned
        await self._tools.bus.publish(
            AttemptEnded(
                job=assigned.job,
                attempt=assigned.attempt,
                slot=assigned.slot,
                outcome=verdict.outcome,
                exit=exit_record,
                figures=verdict.figures,
                diagnosis=verdict.diagnosis,
                warnings=(*verdict.warnings, *self._warnings),
            ),
            cause=self._row.last_seq,
        )


@contextlib.contextmanager
def _blaming_the_job() -> Iterator[None]:
    """What an engine's adapter raises by its own fault ends this attempt, and harms neither slot nor platform."""
    try:
        yield
    except (MdactorsError, OSError):
        raise
    except Exception as error:
        log.exception("an engine raised")
        raise InputError(f"{type(error).__name__}: {error}") from error


def _not_started(error: Exception) -> Diagnosis:
    summary = f"the engine could not be started: {error}"
    if isinstance(error, InputError):  # the plan's fault or the user's: the device is not to blame
        return Diagnosis(kind="build", code="plan-refused", summary=summary, retry="no")
    if isinstance(error, SlotGoneError):  # nor is it for a layout that has changed
        return Diagnosis(kind="resource", code="slot-gone", summary=summary, retry="same")
    if isinstance(error, FolderBusyError):
        return Diagnosis(kind="files", code="folder-busy", summary=summary, retry="same")
    if isinstance(error, OSError):
        return Diagnosis(kind="files", code="folder-unusable", summary=summary, retry="same")
    return Diagnosis(kind="substrate", code="launch-failed", summary=summary, retry="other")
