"""What is known of hardware and engines."""

from __future__ import annotations

import msgspec
import pytest

from events.codec import decode, encode
from events.devices import CapabilitiesProbed, DeviceRecovered, DeviceReported, ProbeRequested
from events.hardware import Absence
from tests.builders import a_node


def test_a_probe_carries_all_that_is_known_of_a_node() -> None:
    probed = a_node(slots={"cpu:0": 1, "cuda:0": 2}, absences=(Absence(engine="lammps", what="lmp", why="not found"),))
    assert decode("CapabilitiesProbed", 1, encode(probed)) == probed


def test_a_node_without_devices_slots_and_engines_can_be_said() -> None:
    empty = CapabilitiesProbed(node="n0", devices=(), slots=(), capabilities=())
    assert decode("CapabilitiesProbed", 1, encode(empty)) == empty


@pytest.mark.parametrize("condition", ["unhealthy", "recovered", "lost"])
def test_what_can_be_reported(condition: str) -> None:
    plain = {"type": "DeviceReported", "device": "cuda:0", "condition": condition}
    assert msgspec.convert(plain, DeviceReported).condition == condition


def test_reasons_may_be_left_out_where_none_is_needed() -> None:
    assert (DeviceRecovered(device="cpu:0").reason, ProbeRequested().by) == ("", "")
