"""Prober: what there is to run on, whatever one engine does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actors.prober import Prober
from events.devices import CapabilitiesProbed, ProbeRequested
from events.hardware import Absence
from events.platform import ActorRestarted, PlatformStarted
from mdactors.ports import Host, Probed, Run
from mdactors.runtime.clock import VirtualLoop
from tests.actors.kit import CPU, GPU, Stage, slots_of, stage
from tests.mdactors.runtime.kit import VIRTUAL

STARTED = PlatformStarted(version="1", node="node", pid=1, boot_id="b")


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, type[VirtualLoop]]]:
    return VIRTUAL


@pytest.fixture
async def it(tmp_path: Path) -> AsyncIterator[Stage]:
    async with stage(tmp_path) as made:
        yield made


class Slow:
    """An engine whose probe takes its time, or raises."""

    def __init__(self, it: Stage, name: str, *, seconds: float = 5.0, fault: Exception | None = None) -> None:
        self.name = name
        self.hosts: list[Host] = []
        self.finds = Probed(absences=(Absence(engine=name, what=name, why="not on PATH"),))
        self._it = it
        self._seconds = seconds
        self._fault = fault

    async def probe(self, run: Run, host: Host) -> Probed:
        self.hosts.append(host)
        await self._it.clock.sleep(self._seconds)
        if self._fault:
            raise self._fault
        return self.finds


def prober(it: Stage, *engines: object) -> Prober:
    return Prober(
        node="node",
        bus=it.bus,
        clock=it.clock,
        substrate=it.substrate,
        engines=engines,  # type: ignore[arg-type]  # the part of an engine that probes
        slots_of=lambda devices: slots_of(tuple(devices)),
        search_path=("/opt/bin", "/usr/bin"),
    )


async def test_it_looks_as_soon_as_it_lives(it: Stage) -> None:
    await it.act(prober(it, it.engine))
    probed = await it.fact(CapabilitiesProbed)
    assert probed.devices == it.machine.devices()
    assert [slot.id for slot in probed.slots] == ["cpu:0/0", "cpu:0/1", "cuda:0/0"]
    assert [row.id for row in probed.capabilities] == [CPU, GPU]


async def test_engines_are_asked_side_by_side_and_told_where_to_look(it: Stage) -> None:
    slow = [Slow(it, f"engine {number}") for number in range(4)]
    await it.act(prober(it, *slow))
    probed = await it.fact(CapabilitiesProbed)
    assert probed.seconds == 5.0
    assert [row.engine for row in probed.absences] == [engine.name for engine in slow]
    assert slow[0].hosts == [Host(node="node", devices=it.machine.devices(), search_path=("/opt/bin", "/usr/bin"))]


async def test_an_engine_that_raises_is_absent_and_harms_no_other(it: Stage) -> None:
    bad = Slow(it, "bad", fault=KeyError("version"))
    await it.act(prober(it, bad, it.engine))
    probed = await it.fact(CapabilitiesProbed)
    assert probed.absences == (Absence(engine="bad", what="probe", why="its probe failed: KeyError: 'version'"),)
    assert len(probed.capabilities) == 2
    assert it.all(ActorRestarted) == []


async def test_it_looks_again_when_somebody_asks_and_says_why(it: Stage) -> None:
    await it.act(prober(it, it.engine))
    await it.fact(CapabilitiesProbed)
    it.machine.lose("cuda:0", removed=True)
    asked = await it.publish(ProbeRequested(by="ada"))
    again = await it.record(CapabilitiesProbed, 2)
    assert again.cause == asked
    assert [row.id for row in it.matrix.capabilities.values()] == [CPU]


async def test_wishes_that_come_while_it_looks_are_met_by_one_look_after_it(it: Stage) -> None:
    slow = Slow(it, "slow")
    await it.act(prober(it, slow))
    await it.clock.sleep(1)
    for _ in range(5):
        asked = await it.publish(ProbeRequested())
    await it.clock.sleep(1000)
    assert len(slow.hosts) == 2
    assert [record.cause for record in it.all(CapabilitiesProbed)] == [0, asked]


async def test_a_matrix_that_is_young_enough_will_do_for_the_next_life(tmp_path: Path) -> None:
    async with stage(tmp_path) as first:
        await first.act(prober(first, first.engine))
        await first.fact(CapabilitiesProbed)
    async with stage(tmp_path, first) as second:
        await second.act(prober(second, second.engine))
        await second.publish(STARTED)
        await second.clock.sleep(1000)
        assert len(second.all(CapabilitiesProbed)) == 1
        await second.publish(second.submission())
        await second.record(CapabilitiesProbed, 2)


async def test_a_look_that_could_not_be_recorded_is_taken_again(it: Stage) -> None:
    it.journal.fill()
    await it.act(prober(it, it.engine))
    await it.clock.sleep(100)
    it.journal.empty()
    await it.fact(CapabilitiesProbed)
