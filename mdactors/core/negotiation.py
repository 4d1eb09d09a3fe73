"""Spec × capability matrix -> ranked candidates, or a refusal for every capability that was tried."""

from __future__ import annotations

import msgspec

from events.base import Record
from events.hardware import Capability
from events.jobs import JobAccepted, JobRejected, JobSubmitted
from events.outcome import Candidate, Examination, Refusal
from events.platform import PlatformStarted, Policy
from events.spec import AnyJobSpec, MDJobSpec, kind_of
from mdactors.core.capabilities import Matrix
from mdactors.core.effects import Effect, Publish

SATISFIES: dict[str, tuple[str, ...]] = {
    "mixed": ("mixed",),
    "single": ("single", "mixed"),
    "double": ("double",),
    "any": ("mixed", "single", "double"),
}
"""Precision asked for -> precisions of a capability that will do, the preferred one first."""


class Choice(msgspec.Struct, frozen=True):
    """Outcome of one negotiation: candidates best first, or why there are none."""

    candidates: tuple[Candidate, ...] = ()
    refusals: tuple[Refusal, ...] = ()


def negotiate(spec: AnyJobSpec, examinations: tuple[Examination, ...], matrix: Matrix) -> Choice:
    """Try every capability; return the feasible ones, best first, or every reason why not."""
    seen = {examination.engine: examination for examination in examinations}
    feasible: list[Capability] = []
    refusals: list[Refusal] = []
    for capability in matrix.capabilities.values():
        reasons = objections(spec, seen.get(capability.engine), capability, matrix)
        refusals += reasons
        if not reasons:
            feasible.append(capability)
    if feasible:
        return Choice(tuple(_candidate(row) for row in sorted(feasible, key=lambda row: _rank(spec, row))))
    return Choice((), tuple([*refusals, *_absent(spec, matrix)] or [_nothing()]))


def objections(spec: AnyJobSpec, examination: Examination | None, row: Capability, matrix: Matrix) -> list[Refusal]:
    """Return every reason why this capability can't run the job; empty: it can."""
    if spec.backend_pref not in (None, row.engine):
        return [_no(row, "engine", f"engine {spec.backend_pref!r}", f"this is {row.engine}")]
    if kind_of(spec) not in row.kinds:
        return [_wrong_kind(spec, examination, row)]
    reasons = [
        msgspec.structs.replace(refusal, subject=row.id) for refusal in (examination.refusals if examination else ())
    ]
    reasons += _precision(spec, row)
    reasons += _platform(spec, row)
    reasons += _device(spec, row, matrix)
    reasons += _limits(examination, row)
    reasons += _threads(spec, row, matrix)
    if trouble := matrix.trouble(row):
        remedy = (
            f"`inject device-recovered {row.device}` when it is well again" if row.device in matrix.unhealthy else ""
        )
        reasons.append(Refusal(subject=row.id, clause="health", found=trouble, remedy=remedy))
    return reasons


def _no(row: Capability, clause: str, wanted: str, found: str, remedy: str = "") -> Refusal:
    return Refusal(subject=row.id, clause=clause, wanted=wanted, found=found, remedy=remedy)


def _wrong_kind(spec: AnyJobSpec, examination: Examination | None, row: Capability) -> Refusal:
    for refusal in examination.refusals if examination else ():
        if refusal.clause == "kind":
            return msgspec.structs.replace(refusal, subject=row.id)
    return _no(row, "kind", f"kind {kind_of(spec)!r}", f"{row.engine} {row.version} runs {', '.join(row.kinds)}")


def _precision(spec: MDJobSpec, row: Capability) -> list[Refusal]:
    if row.precision in SATISFIES[spec.precision]:
        return []
    return [_no(row, "precision", f"{spec.precision} precision", f"this build computes in {row.precision} precision")]


def _platform(spec: MDJobSpec, row: Capability) -> list[Refusal]:
    if spec.platform_hint is None or spec.platform_hint.lower() == row.backend.lower():
        return []
    return [_no(row, "platform", f"platform {spec.platform_hint!r}", f"this is {row.backend}")]


def _device(spec: MDJobSpec, row: Capability, matrix: Matrix) -> list[Refusal]:
    device = matrix.devices.get(row.device)
    wanted = spec.device
    if wanted is None or wanted == "any" or device is None:
        return []
    names = {device.id, device.uuid, "" if device.index is None else str(device.index)} - {""}
    if str(wanted) in names:
        return []
    there = ", ".join(
        f"{other.id} is device {other.index}" if other.index is not None else f"{other.id} is asked for by its name"
        for other in matrix.devices.values()
        if other.node == row.node
    )
    return [_no(row, "device", f"device {wanted}", f"this runs on {row.device}; on node {row.node}, {there}")]


def _limits(examination: Examination | None, row: Capability) -> list[Refusal]:
    return [
        Refusal(
            subject=row.id,
            clause=need.name,
            wanted="",
            found=f"{need.text}; {row.engine} {row.version} goes up to {row.limits[need.name]}",
            remedy="use an engine at least as new as the one that wrote it",
        )
        for need in (examination.requires if examination else ())
        if need.name in row.limits and need.value > row.limits[need.name]
    ]


def _threads(spec: MDJobSpec, row: Capability, matrix: Matrix) -> list[Refusal]:
    most = min((slot.threads for slot in matrix.slots.values() if slot.device == row.device), default=0)
    if spec.ntomp is None or spec.ntomp <= most:
        return []
    remedy = "ask for fewer, or configure larger slots"
    return [_no(row, "threads", f"{spec.ntomp} threads", f"the smallest slot of {row.device} takes {most}", remedy)]


def _rank(spec: MDJobSpec, row: Capability) -> tuple[int, int, tuple[int, ...], str]:
    """Preferred precision first, then stated speed, then the newest version."""
    # Negated, so that the newest sorts first; the 0 that ends it is greater than any part, so that 2026.1 precedes 2026.
    version = (*(-int(part) for part in row.version.split(".") if part.isdigit()), 0)
    return SATISFIES[spec.precision].index(row.precision), -row.speed, version, row.id


def _candidate(row: Capability) -> Candidate:
    return Candidate(row.id, row.device, f"{row.engine} {row.version}, {row.backend}, {row.precision}")


def _absent(spec: MDJobSpec, matrix: Matrix) -> list[Refusal]:
    """What was looked for and is not here is a reason too, where the job might have used it."""
    return [
        Refusal(subject=row.engine, clause="absent", found=f"{row.what}: {row.why}", remedy=row.remedy)
        for row in matrix.absences
        if spec.backend_pref in (None, row.engine)
    ] + _unknown_engine(spec, matrix)


def _unknown_engine(spec: MDJobSpec, matrix: Matrix) -> list[Refusal]:
    known = {row.engine for row in matrix.capabilities.values()} | {row.engine for row in matrix.absences}
    if spec.backend_pref is None or spec.backend_pref in known:
        return []
    found = f"no engine of this name is known; known: {', '.join(sorted(known)) or 'none'}"
    return [Refusal(subject=f"engine {spec.backend_pref!r}", clause="engine", found=found)]


def _nothing() -> Refusal:
    return Refusal(
        subject="this platform", clause="absent", found="no engine is installed", remedy="pip install openmm"
    )


class NegotiatorCore:
    """Answers every submission with candidates or refusals, in the order in which they came."""

    def __init__(self) -> None:
        self.matrix = Matrix()
        self.policy = Policy()
        self.open: dict[int, Record] = {}
        """Submissions without an answer."""
        self._answers: dict[bytes, Choice] = {}

    def apply(self, record: Record) -> None:
        """Fold one record."""
        match record.event:
            case JobSubmitted(job=job):
                self.open[job] = record
            case JobAccepted(job=job) | JobRejected(job=job):
                self.open.pop(job, None)
            case PlatformStarted(policy=policy):
                self.policy = policy
            case _:
                if self.matrix.apply(record):
                    self._answers.clear()

    def decide(self, now: float) -> list[Effect]:
        """Answer what can be answered; a refusal by a matrix past its time waits for the renewed one."""
        if not self.matrix.known:
            return []
        return [effect for record in self.open.values() if (effect := self._answer(record))]

    def _answer(self, record: Record) -> Publish | None:
        event = record.event
        assert isinstance(event, JobSubmitted)
        choice = self._choose(event)
        if choice.candidates:
            return Publish(JobAccepted(job=event.job, candidates=choice.candidates), record.seq)
        if self._stale(record.time):
            return None
        return Publish(JobRejected(job=event.job, refusals=choice.refusals), record.seq)

    def _choose(self, event: JobSubmitted) -> Choice:
        """Negotiate once for all jobs that ask for the same: a batch of a thousand costs one negotiation."""
        spec = event.spec
        asked = (
            kind_of(spec),
            spec.backend_pref,
            spec.precision,
            spec.platform_hint,
            spec.device,
            spec.ntomp,
            event.examinations,
        )
        key = msgspec.json.encode(asked)
        if key not in self._answers:
            self._answers[key] = negotiate(spec, event.examinations, self.matrix)
        return self._answers[key]

    def _stale(self, submitted: float) -> bool:
        """By the same rule as the Prober's, which looks again for the same submission: never wait for what nobody makes."""
        return submitted - min(self.matrix.probed_at.values()) > self.policy.probe_ttl_seconds
