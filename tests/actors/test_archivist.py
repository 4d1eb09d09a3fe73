"""Archivist: each ended attempt has one row, whatever happens in between."""

from __future__ import annotations

import errno
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actors.archivist import Archivist, export_archive, restore_rows, system_class
from events.attempts import AttemptEnded
from events.hardware import Device
from events.outcome import Figures
from events.platform import ActorRestarted, IntakeClosed
from events.results import Context, PerformanceRecorded
from mdactors.archive.ledger import Ledger, read
from mdactors.core.lifecycle import Attempt
from mdactors.runtime.clock import VirtualLoop
from tests.actors.kit import CPU, SLOT, Stage, stage
from tests.mdactors.runtime.kit import VIRTUAL
from tests.simulation.script import Fate, Script


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, type[VirtualLoop]]]:
    return VIRTUAL


@pytest.fixture
async def it(tmp_path: Path) -> AsyncIterator[Stage]:
    async with stage(tmp_path) as made:
        await made.probed()
        await made.execute()
        yield made


def archivist(it: Stage) -> Archivist:
    return Archivist(
        bus=it.bus,
        jobs=it.jobs,
        matrix=it.matrix,
        ledger=Ledger(it.state / "ledger.csv"),
        offload=it.life.offload,
    )


def rows(it: Stage) -> list[tuple[str, str, str]]:
    return [(row["job"], row["attempt"], row["outcome"]) for row in read(it.state / "ledger.csv")]


async def test_an_ended_attempt_is_in_the_ledger_when_it_is_said_to_be(it: Stage) -> None:
    await it.act(archivist(it))
    await it.assigned()
    recorded = await it.record(PerformanceRecorded)
    assert rows(it) == [("1", "1", "completed")]
    assert recorded.cause == (await it.record(AttemptEnded)).seq
    assert it.jobs[1].attempts[0].archived


async def test_a_figure_carries_its_whole_context(it: Stage) -> None:
    await it.act(archivist(it))
    await it.assigned()
    recorded = await it.fact(PerformanceRecorded)
    assert recorded.context == Context(
        engine="alpha",
        version="1.0",
        build="",
        backend="CPU",
        precision="mixed",
        device="cpu:0",
        device_name="CPU",
        driver="",
        node="node",
        slot=SLOT,
        threads=1,
        cpus=(0,),
        system="simulated",
        inputs_sha256=(it.jobs[1].submitted.inputs[0].sha256,),
        neighbours=0,
    )
    assert recorded.figures == it.jobs[1].attempts[0].figures


async def test_neighbours_are_counted(it: Stage) -> None:
    await it.act(archivist(it))
    await it.execute("cpu:0/1")
    await it.assigned(1)
    await it.assigned(2, Script(steps=100_000), slot="cpu:0/1")
    assert (await it.fact(PerformanceRecorded)).context.neighbours == 1


async def test_what_ran_on_hardware_that_is_gone_keeps_its_context(it: Stage) -> None:
    await it.act(archivist(it))
    await it.assigned()
    await it.clock.sleep(50)
    it.machine._devices = (Device(id="cpu:9", node="node", type="cpu"),)
    await it.probed()
    assert CPU not in it.matrix.capabilities
    context = (await it.fact(PerformanceRecorded)).context
    assert (context.engine, context.device, context.device_name, context.cpus) == ("alpha", "cpu:0", "", (0,))


async def test_failures_have_their_row_as_well(it: Stage) -> None:
    await it.act(archivist(it))
    await it.assigned(script=Script(fates=(Fate("numerics", 50),)))
    await it.fact(PerformanceRecorded)
    assert rows(it) == [("1", "1", "failed")]


async def test_what_ended_while_nobody_wrote_is_written_by_the_next_life(tmp_path: Path) -> None:
    async with stage(tmp_path) as first:
        await first.probed()
        await first.execute()
        await first.assigned()
        await first.fact(AttemptEnded)
    async with stage(tmp_path, first) as second:
        await second.act(archivist(second))
        await second.fact(PerformanceRecorded)
        assert rows(second) == [("1", "1", "completed")]


async def test_a_row_that_could_not_be_told_of_is_not_written_twice(it: Stage) -> None:
    await it.act(archivist(it))
    await it.assigned()
    await it.fact(AttemptEnded)
    it.journal.fill()
    await it.clock.sleep(100)
    assert rows(it) == [("1", "1", "completed")]
    it.journal.empty()
    await it.fact(PerformanceRecorded)
    assert rows(it) == [("1", "1", "completed")]
    assert it.all(ActorRestarted) == []


async def test_a_row_that_was_lost_is_written_again_as_it_was(it: Stage) -> None:
    await it.act(archivist(it))
    await it.assigned()
    recorded = await it.record(PerformanceRecorded)
    path = it.state / "ledger.csv"
    before = path.read_bytes()
    path.unlink()
    for _ in range(2):
        restore_rows([recorded], it.jobs, Ledger(path))
        assert path.read_bytes() == before


async def test_a_ledger_without_room_is_written_when_there_is_some(it: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> bool:
        raise OSError(errno.ENOSPC, "No space left on device")

    shell = archivist(it)
    with monkeypatch.context() as patched:
        patched.setattr(shell._ledger, "append", full)
        await it.act(shell)
        await it.assigned()
        await it.clock.sleep(3600)
    await it.fact(PerformanceRecorded)
    assert rows(it) == [("1", "1", "completed")]
    assert it.all(ActorRestarted) == it.all(IntakeClosed) == []


async def test_the_archive_is_made_from_the_journal(it: Stage) -> None:
    await it.act(archivist(it))
    await it.assigned()
    await it.fact(PerformanceRecorded)
    assert await export_archive(it.journal, it.state / "perf-archive.json") == 1
    [entry] = json.loads((it.state / "perf-archive.json").read_text())["entries"]
    assert (entry["job"], entry["context"]["engine"]) == (1, "alpha")


async def test_a_system_that_no_engine_could_read_is_classed_by_its_atoms(it: Stage) -> None:
    await it.assigned()
    row = it.jobs[1]
    attempt = Attempt(number=1, slot=SLOT, device="cpu:0", capability=CPU, assigned=0.0, figures=Figures(atoms=648))
    assert system_class(row, attempt, "alpha") == "simulated"
    assert system_class(row, attempt, "another") == "648 atoms"
    attempt.figures = Figures()
    assert system_class(row, attempt, "another") == ""
