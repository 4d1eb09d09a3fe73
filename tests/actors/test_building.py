"""The whole platform on a simulated machine: how its parts are joined, how it stops, and what a next life finds."""

from __future__ import annotations

import asyncio
import errno
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from actors import building
from actors.assembly import assemble
from actors.building import Building
from events.attempts import AttemptEnded, AttemptFound, JobAssigned
from events.base import Event, Record
from events.devices import CapabilitiesProbed, DeviceReported, ProbeRequested
from events.jobs import JobCancelRequested, JobCompleted
from events.platform import IntakeClosed, Mode, PlatformStarted, PlatformStopped, Policy
from mdactors.archive.ledger import Ledger, read
from mdactors.config import Config, PolicySettings, Settings, SlotSettings
from mdactors.core.lifecycle import JobState
from mdactors.core.negotiation import NegotiatorCore
from mdactors.errors import ConfigError, IllegalTransitionError, IntakeClosedError, JournalError, StateBusyError
from mdactors.runtime.clock import LoopClock, VirtualLoop
from mdactors.runtime.platform import Platform
from tests.actors.kit import logs
from tests.mdactors.runtime.kit import VIRTUAL, TestedJournal
from tests.simulation.engine import SimulatedEngine
from tests.simulation.life import Life
from tests.simulation.machine import Machine
from tests.simulation.scenario import Wish, cpu, gpu
from tests.simulation.script import Script
from tests.simulation.substrate import SimulatedSubstrate

Living = Callable[..., AbstractAsyncContextManager[Platform]]


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, type[VirtualLoop]]]:
    return VIRTUAL


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep the log off the terminal, and a machine of two cores."""
    monkeypatch.setattr(building, "configure_logging", lambda: None)
    monkeypatch.setattr(building, "usable_cores", lambda: ((0,), (1,)))
    with logs():
        yield


class Site:
    """What outlives a platform: the machine, the journal, the state folder."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.clock = LoopClock()
        self.machine = Machine(self.clock, (cpu(2), gpu(0)))
        self.journal = TestedJournal()
        (state / "input.tpr").write_bytes(b"simulated")

    @asynccontextmanager
    async def living(self, mode: Mode = "work", **settings: Any) -> AsyncIterator[Platform]:
        """Run a platform for the length of the block."""
        life = Life()
        async with assemble(
            Config(state=self.state, settings=Settings(node="node", **settings)),
            clock=self.clock,
            journal=self.journal,
            substrate=SimulatedSubstrate(self.machine, life),
            engines=[SimulatedEngine("alpha", self.machine, life)],
            base_env={"PATH": "/usr/bin"},
            offload=life.offload,
            mode=mode,
            api=False,
        ) as platform:
            yield platform

    async def submit(self, platform: Platform, *wishes: Wish) -> list[int]:
        """Hand over a batch; return the numbers of its jobs."""
        entries = [wish.entry() for wish in wishes or (Wish(),)]
        answers = await platform.submit(entries, base=self.state, owner="ada")
        return [answer.job for answer in answers if answer.job]

    async def facts(self, *kinds: type[Event]) -> list[Any]:
        """Return the durable facts of these kinds, or of all."""
        return [record.event for record in await self.journal.records() if isinstance(record.event, kinds or Event)]


@pytest.fixture
async def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


# ---------------------------------------------------------------- one life


async def test_a_batch_goes_through_all_seven_actors_into_the_ledger(site: Site) -> None:
    async with site.living() as platform:
        jobs = await site.submit(platform, *[Wish(priority=number) for number in range(5)])
        await platform.finished(jobs)
        assert {platform.jobs[job].state for job in jobs} == {JobState.COMPLETED}
        assert platform.metrics()[0].count(b'state="completed"')
    assert {(row["job"], row["outcome"]) for row in read(site.state / "ledger.csv")} == {
        (str(job), "completed") for job in jobs
    }
    assert (site.state / "perf-archive.json").read_text().count('"seq"') == 5
    assert site.machine.violations == []
    assert (await site.facts())[-1] == PlatformStopped(reason="asked to stop")


async def test_other_slots_in_the_settings_are_laid_out_before_anything_is_given_one(site: Site) -> None:
    for count in (1, 2, 1):
        async with site.living(slots=SlotSettings(count=count)) as platform:
            await platform.probed()
            there = [slot for slot in platform.matrix.slots.values() if slot.device == "cpu:0"]
            assert len(there) == count
            jobs = await site.submit(platform, *[Wish(device="cpu:0") for _ in range(3)])
            await platform.finished(jobs)
            assert {platform.jobs[job].attempts[0].slot for job in jobs} == {slot.id for slot in there}


async def test_a_ledger_that_can_t_be_synced_costs_a_snapshot_and_nothing_else(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(ledger: Ledger) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("actors.building.SNAPSHOT_EVERY", 1)
    monkeypatch.setattr(Ledger, "sync", full)
    async with site.living() as platform:
        for _ in range(2):
            await platform.finished(await site.submit(platform))
    assert await site.journal.snapshot() is None
    assert (await site.facts())[-1] == PlatformStopped(reason="asked to stop")


async def test_nothing_of_it_is_left_when_it_has_stopped(site: Site) -> None:
    before = asyncio.all_tasks()
    async with site.living() as platform:
        await site.submit(platform, Wish(script=Script(steps=100_000)))
        await site.clock.sleep(50)
        assert asyncio.all_tasks() > before
    assert asyncio.all_tasks() == before
    async with site.living():
        pass


async def test_engines_go_on_when_it_stops(site: Site) -> None:
    async with site.living() as platform:
        await site.submit(platform)
        await site.clock.sleep(50)
    assert len(site.machine.running) == 1
    assert site.machine.stops == []


async def test_it_says_who_it_is_and_by_which_policy_it_decides(site: Site) -> None:
    async with site.living(policy=PolicySettings(retries=7)) as platform:
        await platform.probed()
        assert (platform.node, platform.state) == ("node", site.state)
    [started] = await site.facts(PlatformStarted)
    assert isinstance(started, PlatformStarted)
    assert (started.node, started.pid, started.policy) == ("node", os.getpid(), Policy(retries=7))


async def test_a_second_one_on_the_same_folder_is_told_who_is_there(site: Site) -> None:
    async with site.living() as platform:
        with pytest.raises(StateBusyError, match=f"held by pid {os.getpid()} since 20"):
            async with site.living():
                pass
        await platform.finished(await site.submit(platform))
    assert len(await site.facts(PlatformStarted)) == 1


async def test_what_fails_in_the_block_stops_it_in_good_order(site: Site) -> None:
    with pytest.raises(ExceptionGroup) as raised:
        async with site.living():
            raise ZeroDivisionError
    assert raised.group_contains(ZeroDivisionError)
    assert (await site.facts())[-1] == PlatformStopped(reason="asked to stop")


async def test_slots_that_this_machine_has_no_cores_for_are_refused_before_anything_lives(site: Site) -> None:
    with pytest.raises(ConfigError, match=r"slots\.count = 99 on cpu:0: it has 2 cores.* from 1 to 2"):
        async with site.living(slots=SlotSettings(count=99)):
            pass
    assert await site.facts() == []


async def test_it_stops_though_its_end_can_t_be_recorded(site: Site) -> None:
    with anyio.fail_after(60):
        async with site.living() as platform:
            await platform.probed()
            site.journal.fill()
    assert await site.facts(PlatformStopped) == []


async def test_a_read_model_that_raises_ends_it_and_does_not_leave_it_hanging(site: Site) -> None:
    """Only by a fault of ours; but then it has to be seen."""

    async def life() -> None:
        async with site.living() as platform:
            job = (await site.submit(platform))[0]
            await platform._bus.publish(JobCompleted(job=job, attempt=1))

    with anyio.fail_after(60), pytest.raises(ExceptionGroup) as raised:
        await life()
    assert raised.group_contains(IllegalTransitionError)


async def test_a_journal_that_can_t_be_read_lets_go_of_the_folder(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def torn() -> int:
        raise JournalError("readable up to record 2")

    with monkeypatch.context() as patched:
        patched.setattr(site.journal, "last", torn)
        with pytest.raises(JournalError):
            async with site.living():
                pass
    async with site.living():
        pass


async def test_an_actor_that_keeps_raising_closes_the_intake_and_running_jobs_go_on(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with site.living() as platform:
        [runs] = await site.submit(platform)
        await platform.probed()
        await site.clock.sleep(5)
        with monkeypatch.context() as patched:
            patched.setattr(NegotiatorCore, "decide", lambda self, now: 1 // 0)
            [fatal] = await site.submit(platform)
            await site.clock.sleep(60)
        [closed] = await site.facts(IntakeClosed)
        assert isinstance(closed, IntakeClosed)
        assert (closed.actor, closed.error) == ("negotiator", "ZeroDivisionError: integer division or modulo by zero")
        with pytest.raises(IntakeClosedError, match="negotiator failed at record"):
            await site.submit(platform)
        await platform.finished([runs])
        assert platform.jobs[fatal].state is JobState.SUBMITTED
    async with site.living() as platform:
        await platform.finished([fatal])
        assert len(await site.submit(platform)) == 1


# ---------------------------------------------------------------- several lives


async def test_the_next_life_knows_what_the_last_one_knew_and_adopts_what_runs(site: Site) -> None:
    async with site.living() as first:
        await site.submit(first, *[Wish(script=Script(steps=3000))] * 5)
        await site.clock.sleep(50)
    async with site.living() as second:
        assert second.jobs.rows.keys() == first.jobs.rows.keys()
        assert [row.submitted for row in second.jobs.rows.values()] == [
            row.submitted for row in first.jobs.rows.values()
        ]
        await second.finished(list(second.jobs.rows))
    assert len(site.machine.processes) == 5
    assert [found.state for found in await site.facts(AttemptFound) if isinstance(found, AttemptFound)] == [
        "running"
    ] * 3
    assert site.machine.violations == []
    assert len(read(site.state / "ledger.csv")) == 5


async def test_numbers_go_on_over_lives(site: Site) -> None:
    for life in range(3):
        async with site.living() as platform:
            assert await site.submit(platform) == [life + 1]


async def test_an_attempt_in_a_slot_that_is_gone_is_seen_through(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async with site.living() as first:
        await site.submit(first, *[Wish(device="cpu:0")] * 2)
        await site.clock.sleep(50)
    monkeypatch.setattr(building, "usable_cores", lambda: ((0,),))
    async with site.living(slots=SlotSettings(count=1, threads=1)) as second:
        await second.refresh(by="ada")
        assert [slot for slot in second.matrix.slots if slot.startswith("cpu")] == ["cpu:0/0"]
        await second.finished([1, 2])
    ended = await site.facts(AttemptEnded)
    assert {(each.slot, each.outcome) for each in ended} == {("cpu:0/0", "completed"), ("cpu:0/1", "completed")}


async def test_a_slot_that_appears_has_its_executor_at_once(site: Site) -> None:
    site.machine.removed.add("cuda:0")
    async with site.living() as platform:
        await platform.probed()
        await site.submit(platform, *[Wish(script=Script(steps=10_000))] * 3)
        await site.clock.sleep(10)
        site.machine.removed.clear()
        await platform.refresh(by="ada")
        late = await site.submit(platform, Wish(device="cuda:0"))
        await platform.finished(late)
        assert platform.jobs[late[0]].state is JobState.COMPLETED
    assert site.machine.violations == []


# ---------------------------------------------------------------- modes


async def test_one_that_settles_sees_through_what_was_begun_and_starts_nothing(site: Site) -> None:
    async with site.living() as first:
        await site.submit(first, *[Wish(device="cuda:0")] * 2)
        await site.clock.sleep(50)
    async with site.living("settle") as second:
        await second.finished([1])
        await site.clock.sleep(1000)
        assert state_of(second, 2) is JobState.QUEUED
        await second.cancel([2], by="ada")
        await second.finished([2])
        assert state_of(second, 2) is JobState.CANCELLED
    assert len(await site.facts(JobAssigned)) == 1


def state_of(platform: Platform, job: int) -> JobState:
    return platform.jobs[job].state


async def test_one_that_looks_decides_nothing(site: Site) -> None:
    async with site.living() as first:
        await site.submit(first)
        await first.probed()
        await site.clock.sleep(50)
        await site.submit(first, Wish(device="cuda:0"))
        await site.clock.sleep(1)
    left = len(await site.facts())
    open_wishes = (JobCancelRequested(job=1), DeviceReported(device="cpu:0", condition="lost"))
    await site.journal.append(
        [Record(left + nth, site.clock.time(), 0, wish) for nth, wish in enumerate(open_wishes, 1)]
    )
    async with site.living("look") as second:
        await second.refresh(by="ada")
        await site.clock.sleep(1000)
        [preview] = await second.preview([Wish().entry()], base=site.state, owner="ada")
        assert preview.state == "feasible"
    said = (await site.facts())[left + 2 :]
    assert {type(fact) for fact in said} == {PlatformStarted, ProbeRequested, CapabilitiesProbed, PlatformStopped}


# ---------------------------------------------------------------- parts


def a_building(state: Path, settings: Settings | None = None, **base_env: str) -> Building:
    async def offload(work: Callable[[], Any]) -> Any:
        return work()

    return Building(
        config=Config(state=state, settings=settings or Settings()), base_env=base_env, clock=None, offload=offload
    )


def test_accelerators_are_whole_slots_and_the_cpu_is_shared_as_configured(tmp_path: Path) -> None:
    devices = (cpu(2), gpu(0))
    assert [slot.id for slot in a_building(tmp_path).slots_of(devices)] == ["cpu:0/0", "cpu:0/1", "cuda:0/0"]
    configured = a_building(tmp_path, Settings(slots=SlotSettings(count=1, threads=2)))
    [share, accelerator] = configured.slots_of(devices)
    assert (share.id, share.cpus, share.threads) == ("cpu:0/0", (0, 1), 2)
    assert accelerator.id == "cuda:0/0"


def test_engines_are_looked_for_where_it_is_configured_then_on_path_then_beside_us(tmp_path: Path) -> None:
    own = str(Path(sys.executable).parent)
    configured = a_building(tmp_path, Settings(search_path=("/opt/gromacs/bin", "/usr/bin")), PATH="/usr/bin::/bin")
    assert configured.search_path() == tuple(dict.fromkeys(["/opt/gromacs/bin", "/usr/bin", "/bin", own]))
    assert own in a_building(tmp_path).search_path()
