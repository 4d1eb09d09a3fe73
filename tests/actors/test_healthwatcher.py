"""HealthWatcher: passes on what is heard of devices, and says how far the running attempts have come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from actors.healthwatcher import HealthWatcher
from events.attempts import AttemptProgressed
from events.base import Record
from events.devices import DeviceRecovered, DeviceReported, DeviceUnhealthy
from events.platform import ActorRestarted
from mdactors.runtime.clock import VirtualLoop
from tests.actors.kit import Stage, assignment, stage
from tests.mdactors.runtime.kit import VIRTUAL
from tests.simulation.script import Fate, Script


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, type[VirtualLoop]]]:
    return VIRTUAL


@pytest.fixture
async def it(tmp_path: Path) -> AsyncIterator[Stage]:
    async with stage(tmp_path) as made:
        await made.probed()
        await made.act(watcher(made))
        await made.execute()
        yield made


def watcher(it: Stage) -> HealthWatcher:
    return HealthWatcher(
        bus=it.bus,
        clock=it.clock,
        substrate=it.substrate,
        engines=it.engines,
        jobs=it.jobs,
        matrix=it.matrix,
        offload=it.life.offload,
    )


def steps(records: list[Record]) -> list[int]:
    return [record.event.step for record in records if isinstance(record.event, AttemptProgressed)]


# ---------------------------------------------------------------- devices


async def test_what_the_substrate_hears_becomes_a_fact_and_a_judgement(it: Stage) -> None:
    await it.clock.sleep(1)
    it.machine.lose("cuda:0")
    unhealthy = await it.record(DeviceUnhealthy)
    reported = await it.record(DeviceReported)
    assert unhealthy.cause == reported.seq
    assert it.matrix.unhealthy == {"cuda:0": "reported lost"}
    it.machine.recover("cuda:0")
    assert (await it.fact(DeviceRecovered)).device == "cuda:0"
    assert it.matrix.unhealthy == {}


async def test_what_somebody_injects_counts_as_much(it: Stage) -> None:
    number = await it.publish(DeviceReported(device="cpu:0", condition="unhealthy", reason="hot", source="ada"))
    assert await it.fact(DeviceUnhealthy) == DeviceUnhealthy(device="cpu:0", reason="hot")
    assert it.all(DeviceUnhealthy)[0].cause == number


async def test_attempts_that_vanish_one_after_the_other_cost_the_device_its_trust(it: Stage) -> None:
    for job in (1, 2, 3):
        await it.assigned(job, script=Script(fates=(Fate("vanish", 50),)))
        await it.clock.sleep(100)
    unhealthy = await it.fact(DeviceUnhealthy)
    assert unhealthy == DeviceUnhealthy(device="cpu:0", reason="3 attempts in a row failed by its fault")


async def test_a_report_on_a_full_disk_is_heard_again_by_the_next_life_of_the_actor(it: Stage) -> None:
    await it.clock.sleep(1)
    it.journal.fill()
    it.machine.lose("cuda:0")
    await it.clock.sleep(100)
    it.journal.empty()
    assert (await it.fact(DeviceUnhealthy)).device == "cuda:0"


# ---------------------------------------------------------------- progress


async def test_a_running_attempt_is_followed_with_its_pace(it: Stage) -> None:
    await it.assigned(script=Script(steps=1000, rate=10.0, startup=1.0))
    await it.clock.sleep(30)
    last = it.all(AttemptProgressed)[-1]
    assert last.seq == 0
    event = last.event
    assert isinstance(event, AttemptProgressed)
    assert (event.job, event.attempt, event.steps_asked) == (1, 1, 1000)
    assert 270 <= event.step <= 300
    assert event.ns_per_day == pytest.approx(10.0 * 0.002 * 86.4)
    assert event.seconds_left == pytest.approx((1000 - event.step) / 10.0)
    assert it.jobs[1].attempts[-1].progress == event


async def test_all_are_read_at_once_and_no_oftener_than_once_a_second(
    it: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[float, int]] = []
    progress = it.engine.progress

    def noted(folder: Path, attempt: int) -> Any:
        asked.append((it.clock.monotonic(), int(folder.name)))
        return progress(folder, attempt)

    monkeypatch.setattr(it.engine, "progress", noted)
    await it.execute("cpu:0/1")
    await it.assigned(1)
    await it.assigned(2, slot="cpu:0/1")
    await it.clock.sleep(10.5)
    moments = sorted({moment for moment, _ in asked})
    assert len(moments) == 10
    assert [job for moment, job in asked if moment == moments[-1]] == [1, 2]


async def test_what_has_ended_is_followed_no_more(it: Stage) -> None:
    await it.assigned(script=Script(steps=100))
    await it.clock.sleep(60)
    count = len(it.all(AttemptProgressed))
    assert count in range(8, 13)
    await it.clock.sleep(60)
    assert len(it.all(AttemptProgressed)) == count
    assert it.jobs[1].attempts[-1].progress is None


async def test_a_second_attempt_has_a_pace_of_its_own(it: Stage) -> None:
    """From the checkpoint back is no progress, and not a negative speed."""
    from events.jobs import JobRequeued

    await it.assigned(script=Script(fates=(Fate("killed", 550),)))
    await it.clock.sleep(60)
    await it.publish(JobRequeued(job=1, attempt=1, reason="again"), assignment(attempt=2))
    await it.clock.sleep(20)
    seen = [r.event for r in it.all(AttemptProgressed) if isinstance(r.event, AttemptProgressed)]
    second = [event for event in seen if event.attempt == 2]
    assert second[0].ns_per_day is None
    assert all(event.ns_per_day == pytest.approx(1.728) for event in second[2:])


async def test_one_that_can_t_be_read_stops_nobody_else_from_being_followed(
    it: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = it.engine.progress

    def half_blind(folder: Path, attempt: int) -> Any:
        if folder.name == "000001":
            raise ZeroDivisionError
        return progress(folder, attempt)

    monkeypatch.setattr(it.engine, "progress", half_blind)
    await it.execute("cpu:0/1")
    await it.assigned(1)
    await it.assigned(2, slot="cpu:0/1")
    await it.clock.sleep(10)
    followed = {r.event.job for r in it.all(AttemptProgressed) if isinstance(r.event, AttemptProgressed)}
    assert followed == {2}
    assert it.all(ActorRestarted) == []


async def test_an_engine_that_is_not_installed_any_more_follows_nothing(it: Stage) -> None:
    await it.assigned()
    await it.clock.sleep(5)
    it.engines.clear()
    count = len(it.all(AttemptProgressed))
    await it.clock.sleep(10)
    assert len(it.all(AttemptProgressed)) == count
    assert it.all(ActorRestarted) == []
