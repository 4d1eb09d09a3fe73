"""The capability matrix: what each node's devices and engines can do, and how they are."""

from __future__ import annotations

from events.base import Record
from events.devices import CapabilitiesProbed, DeviceRecovered, DeviceUnhealthy
from events.hardware import Absence, Capability, Device, Slot


class Matrix:
    """All capabilities, devices and slots by id, folded from the journal by `apply`."""

    def __init__(self) -> None:
        self.nodes: dict[str, CapabilitiesProbed] = {}
        self.probed_at: dict[str, float] = {}
        self.unhealthy: dict[str, str] = {}
        """Device id -> reason."""
        self.capabilities: dict[str, Capability] = {}
        self.ever: dict[str, Capability] = {}
        """Capabilities of the past as well: what ran on one that is gone has to keep its context."""
        self.devices: dict[str, Device] = {}
        self.slots: dict[str, Slot] = {}
        self.absences: tuple[Absence, ...] = ()

    @property
    def known(self) -> bool:
        """Some node has been probed."""
        return bool(self.nodes)

    def apply(self, record: Record) -> bool:
        """Fold one record; return whether it was about hardware."""
        match record.event:
            case CapabilitiesProbed() as probed:
                self.nodes[probed.node] = probed
                self.probed_at[probed.node] = record.time
                self._index()
            case DeviceUnhealthy(device=device, reason=reason):
                self.unhealthy[device] = reason
            case DeviceRecovered(device=device):
                self.unhealthy.pop(device, None)
            case _:
                return False
        return True

    def trouble(self, capability: Capability) -> str:
        """Return why a capability takes no work now; empty: it does."""
        if capability.health != "ready":
            return capability.why or f"it is {capability.health}"
        if capability.device in self.unhealthy:
            return f"device {capability.device} is unhealthy: {self.unhealthy[capability.device]}"
        return ""

    def _index(self) -> None:
        nodes = self.nodes.values()
        self.capabilities = {row.id: row for node in nodes for row in node.capabilities}
        self.ever.update(self.capabilities)
        self.devices = {row.id: row for node in nodes for row in node.devices}
        self.slots = {row.id: row for node in nodes for row in node.slots}
        self.absences = tuple(row for node in nodes for row in node.absences)
