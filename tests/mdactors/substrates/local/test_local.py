"""The substrate as a whole."""

from __future__ import annotations

from mdactors.ports import Run, Substrate
from mdactors.substrates.local.local import LocalSubstrate
from tests.mdactors.substrates.local.kit import Bench


def test_it_is_a_substrate() -> None:
    substrate: Substrate = LocalSubstrate({}, "node")
    run: Run = substrate.run
    assert substrate.name == "local"
    assert callable(run)


async def test_devices_carry_the_nodes_name(bench: Bench) -> None:
    devices = await bench.substrate.devices()
    assert {device.node for device in devices} == {"node"}
    assert devices[-1].id == "cpu:0"


async def test_another_instance_goes_on_where_this_one_was(bench: Bench) -> None:
    handle = await bench.sh("while [ ! -e gate ]; do sleep 0.01; done; exit 5")
    other = LocalSubstrate({}, "node")
    assert (await other.find(bench.folder, 1)).handle == handle
    (bench.path / "gate").touch()
    record = await other.wait(bench.folder, 1, handle)
    assert record is not None
    assert record.code == 5
