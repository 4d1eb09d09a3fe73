"""Which devices may be trusted: reports from outside, and failures that point at a device."""

from __future__ import annotations

from events.attempts import AttemptEnded, AttemptFound, JobAssigned
from events.base import Event, Record
from events.devices import DeviceRecovered, DeviceReported, DeviceUnhealthy
from events.platform import PlatformStarted, Policy
from mdactors.core.effects import Effect, Publish

BLAMED = frozenset({"visibility", "substrate"})
"""Diagnosis classes that raise a device's suspicion counter; the others are the job's or the file system's affair."""


class HealthCore:
    """Turns reports and suspicions into `DeviceUnhealthy` and `DeviceRecovered`, each once."""

    def __init__(self) -> None:
        self.policy = Policy()
        self.unhealthy: set[str] = set()
        self.suspicion: dict[str, list[int]] = {}
        """Device -> the jobs whose failures in a row point at it."""
        self.lifted: dict[str, int] = {}
        """Device -> the job that ran well there after others had made it suspicious."""
        self._ran_on: dict[tuple[int, int], str] = {}
        self._reports: dict[str, tuple[int, DeviceReported]] = {}
        """Device -> its newest report, until a change of its health follows from that one or from something newer."""
        self._last_seq: dict[str, int] = {}

    def apply(self, record: Record) -> None:
        """Fold one record."""
        match record.event:
            case PlatformStarted(policy=policy):
                self.policy = policy
            case JobAssigned(job=job, attempt=attempt, device=device):
                self._ran_on[job, attempt] = device
            case AttemptFound(job=job, attempt=attempt, state="vanished"):
                self._ran_on.pop((job, attempt), None)  # while the platform was away: a reboot blames no device
            case AttemptEnded() as ended:
                self._weigh(ended, record.seq)
            case DeviceReported() as report:
                self._reports[report.device] = (record.seq, report)
            case DeviceUnhealthy(device=device):
                self.unhealthy.add(device)
                self._answer(device, record.cause)
            case DeviceRecovered(device=device):
                self.unhealthy.discard(device)
                self.suspicion.pop(device, None)
                self._answer(device, record.cause)
            case _:
                pass

    def _answer(self, device: str, cause: int) -> None:
        """A report that was recorded between a decision and its record is newer than its cause, and still stands."""
        if device in self._reports and self._reports[device][0] <= cause:
            del self._reports[device]

    def _weigh(self, ended: AttemptEnded, seq: int) -> None:
        device = self._ran_on.pop((ended.job, ended.attempt), None)
        if device is None:
            return
        if ended.outcome == "vanished" or (ended.diagnosis is not None and ended.diagnosis.kind in BLAMED):
            self.suspicion.setdefault(device, []).append(ended.job)
            self._last_seq[device] = seq
        elif ended.outcome in {"completed", "stopped"} and self.suspicion.pop(device, []):
            self.lifted[device] = ended.job

    def decide(self, now: float) -> list[Effect]:
        """Return the changes of health that follow."""
        changes = {
            device: Publish(_change(report), seq)
            for device, (seq, report) in self._reports.items()
            if (report.condition == "recovered") == (device in self.unhealthy)
        }
        for device, jobs in self.suspicion.items():
            if len(jobs) >= self.policy.suspicions and device not in self.unhealthy and device not in changes:
                reason = f"{len(jobs)} attempts in a row failed by its fault"
                changes[device] = Publish(DeviceUnhealthy(device=device, reason=reason), self._last_seq[device])
        return list(changes.values())


def _change(report: DeviceReported) -> Event:
    if report.condition == "recovered":
        return DeviceRecovered(device=report.device, reason=report.reason)
    return DeviceUnhealthy(device=report.device, reason=report.reason or f"reported {report.condition}")
