"""What is known of hardware and engines."""

from __future__ import annotations

from typing import Literal

from events.base import Event
from events.hardware import Absence, Capability, Device, Slot

Condition = Literal["unhealthy", "recovered", "lost"]
"""What can be said of a device."""


class ProbeRequested(Event, frozen=True, tag="ProbeRequested"):
    """Somebody wants the capability matrix of a node renewed."""

    by: str = ""


class CapabilitiesProbed(Event, frozen=True, tag="CapabilitiesProbed"):
    """A node was probed; this replaces all that was known of it."""

    node: str
    devices: tuple[Device, ...]
    slots: tuple[Slot, ...]
    capabilities: tuple[Capability, ...]
    absences: tuple[Absence, ...] = ()
    seconds: float = 0.0
    """How long the probe took."""


class DeviceReported(Event, frozen=True, tag="DeviceReported"):
    """A source (the substrate's stream, a vendor library, an injected test) says something about a device."""

    device: str
    condition: Condition
    reason: str = ""
    source: str = ""


class DeviceUnhealthy(Event, frozen=True, tag="DeviceUnhealthy"):
    """The device takes no new work; what runs on it is stopped and goes on elsewhere."""

    device: str
    reason: str


class DeviceRecovered(Event, frozen=True, tag="DeviceRecovered"):
    """The device takes work again."""

    device: str
    reason: str = ""
