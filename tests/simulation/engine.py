"""The simulated engine: its plans are scripts, its files are the machine's disks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from events.hardware import Capability, Device
from events.outcome import Diagnosis, Examination, Figures
from events.spec import AnyJobSpec
from mdactors.errors import EnergiesMissingError
from mdactors.ports import (
    Energies,
    Evidence,
    Host,
    LaunchPlan,
    PlanRequest,
    Preparation,
    Probed,
    Reading,
    Run,
    Situation,
    Verdict,
)
from tests.simulation.life import Life
from tests.simulation.machine import KILLED, Machine
from tests.simulation.script import CODES, LABEL, Order, Script

DIAGNOSES: dict[int, Diagnosis] = {
    CODES["numerics"]: Diagnosis(kind="numerics", code="blow-up", summary="the system exploded", retry="no"),
    CODES["visibility"]: Diagnosis(kind="visibility", code="no-device", summary="no device is seen", retry="other"),
    CODES["files"]: Diagnosis(kind="files", code="disk-full", summary="no space left", retry="same"),
    KILLED: Diagnosis(kind="resource", code="killed", summary="killed from outside", retry="same"),
}
"""Exit code -> what it means; a code that is not listed stays unexplained."""


def script_of(spec: AnyJobSpec) -> Script:
    """Return what a job's label says that it does."""
    return msgspec.json.decode(spec.labels[LABEL], type=Script)


class SimulatedEngine:
    """Runs `tpr` jobs on every device of the machine.

    Args:
        name: its name in the matrix.
        machine: whose files it reads.
        life: the platform's life that it is a part of.
        precision: in which it computes.
        speed: preferred among feasible ones; accelerators come before CPUs.
    """

    kinds: tuple[str, ...] = ("tpr",)

    def __init__(self, name: str, machine: Machine, life: Life, *, precision: str = "mixed", speed: int = 1) -> None:
        self.name = name
        self._machine = machine
        self._life = life
        self._precision = precision
        self._speed = speed

    async def probe(self, run: Run, host: Host) -> Probed:
        """Return one capability for each device."""
        await self._life.moment(f"probe {self.name}")
        return Probed(capabilities=tuple(self._capability(host.node, device) for device in host.devices))

    def _capability(self, node: str, device: Device) -> Capability:
        return Capability(
            id=f"{self.name}@1.0/{self._precision}@{node}/{device.id}",
            node=node,
            engine=self.name,
            version="1.0",
            backend="CPU" if device.type == "cpu" else "CUDA",
            precision=self._precision,  # type: ignore[arg-type]  # one of its words
            device=device.id,
            kinds=self.kinds,
            speed=self._speed + (0 if device.type == "cpu" else 10),
        )

    def examine(self, spec: AnyJobSpec, files: Mapping[str, Path]) -> Examination:
        """Find nothing to complain of."""
        return Examination(engine=self.name, atoms=1000, system="simulated")

    def survey(self, folder: Path, spec: AnyJobSpec) -> Situation:
        """Read the disk."""
        disk = self._machine.disk(str(folder))
        return Situation(finished=disk.finished, step=disk.step, checkpoint="checkpoint" if disk.step else "")

    def plan(self, request: PlanRequest) -> LaunchPlan:
        """Put the script on the command line."""
        script = script_of(request.spec)
        slot = request.slot
        order = Order(script=script, slot=slot.id, device=slot.device, from_step=request.situation.step)
        product = f"{request.cache}/{script.steps}"
        needs = Preparation(argv=order.argv(), makes="made", product=product, what="simulated preparation")
        return LaunchPlan(
            argv=order.argv(),
            prepare=(needs,) if script.prepares else (),
            links={"product": product} if script.prepares else {},
            grace_seconds=script.grace,
        )

    def progress(self, folder: Path, attempt: int) -> Reading | None:
        """Return the step that a running attempt has reached."""
        process = self._machine.processes.get((str(folder), attempt))
        if process is None:
            return None
        return Reading(step=process.step, steps_asked=process.script.steps, timestep_ps=0.002)

    def judge(self, folder: Path, evidence: Evidence) -> Verdict:
        """Read how the attempt ended by the disk and by the exit code."""
        disk = self._machine.disk(str(folder))
        process = self._machine.processes.get((str(folder), evidence.attempt))
        figures = Figures(steps_asked=script_of(evidence.spec).steps, steps_done=disk.step)
        if process is not None:
            seconds = process.ended_at - process.born
            figures = msgspec.structs.replace(figures, wall_seconds=round(seconds, 3), ns_per_day=1.0, steps_timed=2000)
        if disk.finished:
            return Verdict(outcome="completed", figures=figures)
        if evidence.exit is None:
            return Verdict(outcome="vanished", figures=figures)
        if evidence.exit.code == 0 or (evidence.exit.code == KILLED and evidence.stop_asked):
            return Verdict(outcome="stopped", figures=figures)
        return Verdict(outcome="failed", figures=figures, diagnosis=DIAGNOSES.get(evidence.exit.code))

    def energies(self, folder: Path) -> Energies:
        """Return the same energies for every completed job."""
        if not self._machine.disk(str(folder)).finished:
            raise EnergiesMissingError(f"{folder}: not finished")
        return Energies(times_ps=(0.0, 1.0), terms={"potential": (-1.0, -1.1)}, source="simulated")
