"""Devices, slots, capabilities, jobs and stories, as tests of what is pure need them."""

from __future__ import annotations

from typing import Any

import msgspec

from events.attempts import AttemptEnded, AttemptStarted, AttemptStopRequested, Handle, JobAssigned
from events.base import Event, Record
from events.devices import CapabilitiesProbed
from events.hardware import Absence, Capability, Device, Slot
from events.jobs import JobAccepted, JobSubmitted
from events.outcome import Candidate, Diagnosis, Examination, Figures, OutcomeName
from events.spec import InputFile, TprJob
from mdactors.core.base import Core
from mdactors.core.effects import Effect, Publish

START = 1_700_000_000.0
"""2023-11-14T22:13:20Z."""

CPU = "cpu:0"
KINDS = ("tpr", "gromacs-top")


def a_device(name: str = CPU, *, index: int | None = 0, node: str = "n0", **changes: Any) -> Device:
    """A device by its id, `cpu:0` or `cuda:1`."""
    return Device(**{"id": name, "node": node, "type": name.partition(":")[0], "index": index} | changes)


def a_slot(name: str = "cpu:0/0", *, threads: int = 1, node: str = "n0") -> Slot:
    """A slot by its id, `DEVICE/SHARE`."""
    return Slot(id=name, node=node, device=name.rpartition("/")[0], threads=threads)


def a_capability(device: str = CPU, **changes: Any) -> Capability:
    """A row of the matrix; GROMACS 2022.5 in mixed precision on a CPU where nothing else is said."""
    fields: dict[str, Any] = {
        "node": "n0",
        "engine": "gromacs",
        "version": "2022.5",
        "backend": "CPU",
        "precision": "mixed",
        "device": device,
        "kinds": KINDS,
    } | changes
    name = "{engine}@{version}/{backend}/{precision}@{node}/{device}".format(**fields)
    return Capability(**{"id": name} | fields)


def a_node(
    *capabilities: Capability,
    slots: int | dict[str, int] = 2,
    devices: tuple[Device, ...] = (),
    absences: tuple[Absence, ...] = (),
    node: str = "n0",
) -> CapabilitiesProbed:
    """A probed node: its rows, and for each device (one CPU where none is said) how many slots it has."""
    shares = {CPU: slots} if isinstance(slots, int) else slots
    return CapabilitiesProbed(
        node=node,
        devices=devices or tuple(a_device(name, node=node) for name in shares),
        slots=tuple(a_slot(f"{name}/{n}", node=node) for name, count in shares.items() for n in range(count)),
        capabilities=capabilities or tuple(a_capability(name, node=node) for name in shares),
        absences=absences,
    )


def a_spec(**changes: Any) -> TprJob:
    """A job of a tpr file."""
    return TprJob(**{"tpr": "water.tpr", "name": "water", "owner": "ada"} | changes)


def a_submission(job: int = 1, *, examinations: tuple[Examination, ...] = (), **spec: Any) -> JobSubmitted:
    """A job of a tpr file as it was submitted."""
    file = InputFile("tpr", "water.tpr", "/data/water.tpr", "ab" * 32, 1)
    return JobSubmitted(job=job, spec=a_spec(**spec), inputs=(file,), examinations=examinations)


def an_acceptance(job: int = 1, *devices: str) -> JobAccepted:
    """A job is accepted; candidates by their devices, best first."""
    rows = [a_capability(device) for device in devices or (CPU,)]
    return JobAccepted(job=job, candidates=tuple(Candidate(row.id, row.device) for row in rows))


def an_assignment(job: int = 1, attempt: int = 1, slot: str = "cpu:0/0") -> JobAssigned:
    """A slot is to run the job."""
    device = slot.rpartition("/")[0]
    return JobAssigned(job=job, attempt=attempt, slot=slot, device=device, capability=a_capability(device).id)


def a_start(job: int = 1, attempt: int = 1, slot: str = "cpu:0/0", *, from_step: int = 0) -> AttemptStarted:
    """The engine process exists."""
    return AttemptStarted(
        job=job,
        attempt=attempt,
        slot=slot,
        folder=f"/state/jobs/{job:06}",
        handle=Handle(pid=2, start_ticks=3, boot_id="b"),
        argv=("gmx", "mdrun"),
        from_step=from_step,
    )


def a_stop(job: int = 1, attempt: int = 1, reason: Any = "cancelled") -> AttemptStopRequested:
    """The attempt is to stop."""
    return AttemptStopRequested(job=job, attempt=attempt, reason=reason)


def an_end(
    outcome: OutcomeName = "completed",
    job: int = 1,
    attempt: int = 1,
    slot: str = "cpu:0/0",
    *,
    steps: int | None = None,
    diagnosis: Diagnosis | None = None,
) -> AttemptEnded:
    """Nothing of the attempt lives any more."""
    figures = Figures(steps_done=steps)
    return AttemptEnded(job=job, attempt=attempt, slot=slot, outcome=outcome, figures=figures, diagnosis=diagnosis)


def a_diagnosis(retry: Any = "no", kind: Any = "unknown", summary: str = "it broke") -> Diagnosis:
    """What went wrong, and what a retry could mend."""
    return Diagnosis(kind=kind, code="broke", summary=summary, retry=retry)


def records(*events: Event, pace: float = 1.0) -> list[Record]:
    """The events as records, `pace` seconds apart."""
    return [Record(seq, START + pace * seq, 0, event) for seq, event in enumerate(events, 1)]


class Story:
    """Facts told to cores one after the other, as the journal would tell them; one second passes with each."""

    def __init__(self, *cores: Core) -> None:
        self.cores = cores
        self.log: list[Record] = []
        self.now = START

    def tell(self, *events: Event, cause: int = 0, seen: int = 0) -> int:
        """Let every core fold the events; return the last one's sequence number."""
        for event in events:
            self.now += 1.0
            record = Record(len(self.log) + 1, self.now, cause, event, seen)
            self.log.append(record)
            for core in self.cores:
                core.apply(record)
        return len(self.log)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    def decide(self) -> list[Effect]:
        """Return what the cores want done; nothing of it is done."""
        return [effect for core in self.cores for effect in core.decide(self.now)]

    def follow(self) -> list[Event]:
        """Let the cores decide and fold what they publish, until nothing follows any more; return all of it."""
        published: list[Event] = []
        while events := self.publish(self.decide()):
            published += events
        return published

    def publish(self, effects: list[Effect]) -> list[Event]:
        """Let the cores fold what they wanted published; return it."""
        wanted = [effect for effect in effects if isinstance(effect, Publish)]
        seen = len(self.log)
        for effect in wanted:
            self.tell(effect.event, cause=effect.cause, seen=seen)
        return [effect.event for effect in wanted]


def without(thing: msgspec.Struct, *fields: str) -> dict[str, Any]:
    """A struct as plain data, some fields left out."""
    return {name: value for name, value in msgspec.to_builtins(thing).items() if name not in fields}
