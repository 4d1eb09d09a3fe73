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
        self._ran_on: dict[tuple[int, int], str] = {}
        self._pending: dict[str, tuple[int, DeviceReported]] = {}
        """Device -> the newest report that its state does not show yet."""
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
                self._note(report, record.seq)
            case DeviceUnhealthy(device=device):
                self.unhealthy.add(device)
                self._pending.pop(device, None)
            case DeviceRecovered(device=device):
                self.unhealthy.discard(device)
                self.suspicion.pop(device, None)
                self._pending.pop(device, None)
            case _:
                pass

    def _note(self, report: DeviceReported, seq: int) -> None:
        if (report.condition == "recovered") == (report.device in self.unhealthy):
            self._pending[report.device] = (seq, report)
        else:
            self._pending.pop(report.device, None)  # it is as reported already

    def _weigh(self, ended: AttemptEnded, seq: int) -> None:
        device = self._ran_on.pop((ended.job, ended.attempt), None)
        if device is None:
            return
        if ended.outcome == "vanished" or (ended.diagnosis is not None and ended.diagnosis.kind in BLAMED):
            self.suspicion.setdefault(device, []).append(ended.job)
            self._last_seq[device] = seq
        elif ended.outcome in {"completed", "stopped"}:
            self.suspicion.pop(device, None)

    def decide(self, now: float) -> list[Effect]:
        """Return the changes of health that follow."""
        effects: list[Effect] = [Publish(_change(report), seq) for seq, report in self._pending.values()]
        for device, jobs in self.suspicion.items():
            if len(jobs) >= self.policy.suspicions and device not in self.unhealthy and device not in self._pending:
                reason = f"{len(jobs)} attempts in a row failed by its fault"
                effects.append(Publish(DeviceUnhealthy(device=device, reason=reason), self._last_seq[device]))
        return effects


def _change(report: DeviceReported) -> Event:
    if report.condition == "recovered":
        return DeviceRecovered(device=report.device, reason=report.reason)
    return DeviceUnhealthy(device=report.device, reason=report.reason or f"reported {report.condition}")
