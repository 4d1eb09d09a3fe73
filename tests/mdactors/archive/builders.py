"""Jobs, attempts, contexts and records as the archive and the metrics meet them."""

from __future__ import annotations

from typing import Any

from events.attempts import AttemptEnded, AttemptStarted, Handle, JobAssigned
from events.base import Event, Record
from events.devices import CapabilitiesProbed
from events.hardware import Capability, Device, Slot
from events.jobs import JobAccepted, JobCompleted, JobSubmitted
from events.outcome import Diagnosis, ExitRecord, Figures
from events.results import Context, PerformanceRecorded
from events.spec import InputFile, TprJob
from mdactors.core.lifecycle import Attempt, Job

START = 1_700_000_000.0
"""2023-11-14T22:13:20Z."""

CAPABILITY = "gromacs@2022.5/CPU/mixed@n0/cpu:0"

FIGURES = Figures(
    steps_asked=50_000,
    steps_done=50_000,
    steps_timed=45_000,
    simulated_ns=0.1,
    timestep_ps=0.002,
    atoms=648,
    wall_seconds=86.4,
    ns_per_day=100.0,
    hours_per_ns=0.24,
    ms_per_step=1.728,
    matom_steps_per_second=0.375,
    cpu_use_percent=99.5,
    conserved_drift=-6e-5,
    threads=1,
    steady=True,
)


def a_context(**changes: Any) -> Context:
    """A complete context."""
    fields: dict[str, Any] = {
        "engine": "gromacs",
        "version": "2022.5",
        "build": "2022.5-Debian_2022.5_2",
        "backend": "CPU",
        "precision": "mixed",
        "device": "cpu:0",
        "device_name": "Some CPU",
        "driver": "",
        "node": "n0",
        "slot": "cpu:0/0",
        "threads": 1,
        "cpus": (0, 2),
        "system": "648 atoms, PME, h-bonds",
        "inputs_sha256": ("ab12",),
        "added": ("-ntmpi", "1"),
    }
    return Context(**(fields | changes))


def a_submission(job: int = 1, **changes: Any) -> JobSubmitted:
    """A tpr job as it was submitted."""
    spec = TprJob(**({"tpr": "water.tpr", "name": "water", "owner": "ada"} | changes))
    file = InputFile(role="tpr", name="water.tpr", path="/data/water.tpr", sha256="ab12", size=1)
    return JobSubmitted(job=job, spec=spec, inputs=(file,), examinations=())


def an_attempt(number: int = 1, **changes: Any) -> Attempt:
    """An attempt that completed."""
    fields: dict[str, Any] = {
        "number": number,
        "slot": "cpu:0/0",
        "device": "cpu:0",
        "capability": CAPABILITY,
        "assigned": START + 10.0,
        "started": START + 10.5,
        "ended": START + 100.0,
        "outcome": "completed",
        "exit": ExitRecord(code=0, time=START + 99.0),
        "figures": FIGURES,
    }
    return Attempt(**(fields | changes))


def a_job(*attempts: Attempt, job: int = 1, **spec: Any) -> Job:
    """A row of the read model with these attempts."""
    return Job(job=job, submitted=a_submission(job, **spec), submitted_at=START, attempts=list(attempts))


def a_failure() -> Attempt:
    """An attempt that blew up."""
    diagnosis = Diagnosis(kind="numerics", code="lincs-blowup", summary="constraints could not be satisfied")
    return an_attempt(
        outcome="failed", exit=ExitRecord(code=-11, time=START + 99.0), figures=Figures(), diagnosis=diagnosis
    )


def a_performance(job: int = 1, value: float = 100.0, **changes: Any) -> PerformanceRecorded:
    """A recorded speed (ns/day); changes of `steady`, `outcome` and of context fields by name."""
    figures = Figures(
        ns_per_day=value, atoms=648, steps_timed=changes.pop("steps", 45_000), steady=changes.pop("steady", True)
    )
    outcome = changes.pop("outcome", "completed")
    return PerformanceRecorded(job=job, attempt=1, outcome=outcome, context=a_context(**changes), figures=figures)


def a_node(*, slots: int = 2) -> CapabilitiesProbed:
    """A node with one CPU device, some slots and one engine."""
    return CapabilitiesProbed(
        node="n0",
        devices=(Device(id="cpu:0", node="n0", type="cpu", index=0),),
        slots=tuple(Slot(id=f"cpu:0/{n}", node="n0", device="cpu:0", cpus=(n,)) for n in range(slots)),
        capabilities=(
            Capability(
                id=CAPABILITY,
                node="n0",
                engine="gromacs",
                version="2022.5",
                backend="CPU",
                precision="mixed",
                device="cpu:0",
            ),
        ),
    )


def a_start(job: int, *, attempt: int = 1, slot: str = "cpu:0/0") -> tuple[Event, Event]:
    """A job is given a slot and its process starts."""
    assigned = JobAssigned(job=job, attempt=attempt, slot=slot, device="cpu:0", capability=CAPABILITY)
    handle = Handle(pid=2, start_ticks=3, boot_id="b")
    started = AttemptStarted(job=job, attempt=attempt, slot=slot, folder="/j", handle=handle, argv=("gmx",))
    return assigned, started


def a_life(job: int, *, slot: str = "cpu:0/0") -> tuple[Event, ...]:
    """A whole job from submission to completion."""
    ended = AttemptEnded(job=job, attempt=1, slot=slot, outcome="completed", figures=FIGURES)
    return (
        a_submission(job),
        JobAccepted(job=job, candidates=()),
        *a_start(job, slot=slot),
        ended,
        JobCompleted(job=job, attempt=1),
    )


def records(*events: Event, pace: float = 1.0) -> list[Record]:
    """The events as records, `pace` seconds apart."""
    return [Record(seq, START + pace * seq, 0, event) for seq, event in enumerate(events, 1)]
