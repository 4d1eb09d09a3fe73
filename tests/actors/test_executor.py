"""Executor: sees each attempt of its slot through, from wherever it stands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.executor import Executor
from events.attempts import AttemptEnded, AttemptFound, AttemptStarted, AttemptStopRequested, Handle
from events.jobs import JobRequeued
from events.outcome import Diagnosis
from events.platform import ActorRestarted
from mdactors.core.effects import Look, StopAttempt
from mdactors.core.lifecycle import JobState
from mdactors.errors import AlreadyClaimedError, FolderBusyError, InputError, LaunchError
from mdactors.ports import LaunchOrder, LaunchPlan, Preparation
from mdactors.runtime.clock import VirtualLoop
from mdactors.runtime.folders import Launched
from tests.actors.kit import SLOT, Stage, assignment, logs, slots_of, stage
from tests.mdactors.runtime.kit import VIRTUAL
from tests.simulation.machine import KILLED
from tests.simulation.scenario import cpu
from tests.simulation.script import Fate, Order, Script, order_of
from tests.simulation.substrate import Delays

CANCEL = AttemptStopRequested(job=1, attempt=1, reason="cancelled")


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, type[VirtualLoop]]]:
    return VIRTUAL


@pytest.fixture
async def it(tmp_path: Path) -> AsyncIterator[Stage]:
    """A slot's Executor, and nothing to do yet."""
    async with stage(tmp_path) as made:
        await made.probed()
        await made.execute()
        yield made
        assert made.machine.violations == []


def raising(error: Exception) -> Any:
    def fail(*args: Any) -> Any:
        raise error

    return fail


async def failing(order: LaunchOrder) -> Handle:
    raise AssertionError("nothing was to be launched")


# ---------------------------------------------------------------- from the start


async def test_an_attempt_is_started_watched_and_judged(it: Stage) -> None:
    number = await it.assigned()
    started = await it.record(AttemptStarted)
    [process] = it.machine.running
    assert started.cause == number
    assert started.event == AttemptStarted(
        job=1,
        attempt=1,
        slot=SLOT,
        folder=str(it.folders.of(1)),
        handle=process.handle,
        argv=Order(script=Script(), slot=SLOT, device="cpu:0").argv(),
        cpus=(0,),
    )
    ended = await it.record(AttemptEnded)
    assert ended.cause == started.seq
    assert ended.time - started.time == pytest.approx(101)
    assert isinstance(ended.event, AttemptEnded)
    assert (ended.event.outcome, ended.event.slot, ended.event.warnings) == ("completed", SLOT, ())
    assert ended.event.exit == process.exit
    assert ended.event.figures.steps_done == 1000
    assert it.facts(number) == ["AttemptStarted", "AttemptEnded"]


async def test_everything_lies_ready_before_the_process_exists(it: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    there: dict[str, bytes] = {}
    orders: list[LaunchOrder] = []
    launch = it.substrate.launch

    async def watched(order: LaunchOrder) -> Handle:
        there.update((path.name, path.read_bytes()) for path in Path(order.folder).rglob("*") if path.is_file())
        orders.append(order)
        return await launch(order)

    plan = it.engine.plan

    def planned(request: Any) -> LaunchPlan:
        return LaunchPlan(
            argv=plan(request).argv,
            files={"start.txt": "ready"},
            variables={"GMX_SUPPRESS_DUMP": "1"},
            stop_signal=2,
            grace_seconds=7.0,
            added=("-nt 1",),
        )

    monkeypatch.setattr(it.engine, "plan", planned)
    monkeypatch.setattr(it.substrate, "launch", watched)
    await it.assigned()
    assert (await it.fact(AttemptStarted)).added == ("-nt 1",)
    [order] = orders
    assert set(there) == {"water.tpr", "job.json", "start.txt", "1.launch.json"}
    assert (there["water.tpr"], there["start.txt"]) == (b"water", b"ready")
    launched = it.folders.launched(Path(order.folder), 1)
    assert launched
    assert (launched.argv, launched.stop_signal, launched.grace_seconds) == (order.argv, 2, 7.0)
    assert order.cpus == (0,)
    assert order.environment["GMX_SUPPRESS_DUMP"] == "1"
    assert order.environment["PATH"] == "/usr/bin"
    assert "OMP_NUM_THREADS" not in order.environment


async def test_other_slots_attempts_are_theirs(it: Stage) -> None:
    await it.assigned(1, slot="cpu:0/1")
    await it.assigned(2)
    assert (await it.fact(AttemptStarted)).job == 2
    assert len(it.machine.processes) == 1


async def test_the_next_attempt_goes_on_from_the_checkpoint(it: Stage) -> None:
    await it.assigned(script=Script(fates=(Fate("killed", 550),)))
    ended = await it.fact(AttemptEnded)
    assert (ended.outcome, ended.figures.steps_done) == ("failed", 500)
    await it.publish(JobRequeued(job=1, attempt=1, reason="again"), assignment(attempt=2))
    assert (await it.fact(AttemptStarted, 2)).from_step == 500
    assert (await it.fact(AttemptEnded, 2)).outcome == "completed"


async def test_where_nothing_is_left_to_run_nothing_is_run(it: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last step was reached, and we died before we could say so; the attempt after it has only to look."""
    monkeypatch.setattr(it.substrate, "launch", failing)
    it.machine.disk(str(it.folders.of(1))).finished = True
    await it.assigned()
    assert (await it.fact(AttemptEnded)).outcome == "completed"
    assert it.all(AttemptStarted) == []


async def test_threads_outside_the_slot_are_told_of(it: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(it.substrate, "masks", lambda handle: ((0,), (0, 1)))
    await it.assigned()
    [warning] = (await it.fact(AttemptEnded)).warnings
    assert warning == "threads run outside the slot's CPUs (0,): [(0, 1)]"


async def test_an_attempt_that_is_over_at_once_is_not_asked_for_its_threads(
    it: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(it.substrate, "masks", raising(AssertionError()))
    await it.assigned(script=Script(steps=1, startup=0.0))
    assert (await it.fact(AttemptEnded)).warnings == ()


# ---------------------------------------------------------------- what can't be started


@pytest.mark.parametrize(
    ("error", "code", "retry"),
    [
        (LaunchError("the driver refuses"), "launch-failed", "other"),
        (AlreadyClaimedError("it ran"), "launch-failed", "other"),
        (FolderBusyError("something lives there"), "folder-busy", "same"),
        (OSError(30, "Read-only file system"), "folder-unusable", "same"),
    ],
)
async def test_a_launch_that_fails_ends_the_attempt_with_its_reason(
    it: Stage, monkeypatch: pytest.MonkeyPatch, error: Exception, code: str, retry: str
) -> None:
    async def launch(order: LaunchOrder) -> Handle:
        raise error

    monkeypatch.setattr(it.substrate, "launch", launch)
    number = await it.assigned()
    ended = await it.fact(AttemptEnded)
    assert ended.outcome == "failed"
    assert ended.diagnosis
    assert (ended.diagnosis.code, ended.diagnosis.retry) == (code, retry)
    assert str(error) in ended.diagnosis.summary
    assert it.facts(number) == ["AttemptEnded"]


@pytest.mark.parametrize(
    ("where", "error"),
    [("plan", InputError("no such option")), ("plan", KeyError("ntomp")), ("survey", ZeroDivisionError("of nothing"))],
)
async def test_an_engine_that_raises_ends_its_attempt_and_harms_nobody_else(
    it: Stage, monkeypatch: pytest.MonkeyPatch, where: str, error: Exception
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(it.engine, where, raising(error))
        await it.assigned()
        ended = await it.fact(AttemptEnded)
    assert ended.diagnosis
    assert (ended.diagnosis.code, ended.diagnosis.retry) == ("plan-refused", "no")
    assert str(error) in ended.diagnosis.summary
    await it.assigned(2)
    assert (await it.fact(AttemptEnded, 2)).outcome == "completed"
    assert it.all(ActorRestarted) == []


async def test_an_end_that_can_t_be_judged_is_an_end_all_the_same(it: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(it.engine, "judge", raising(ZeroDivisionError("of nothing")))
    await it.assigned()
    ended = await it.fact(AttemptEnded)
    assert ended.diagnosis == Diagnosis(
        kind="unknown", code="unjudged", summary="its files could not be judged: ZeroDivisionError: of nothing"
    )
    assert ended.exit is not None
    assert it.all(ActorRestarted) == []


async def test_an_engine_that_is_not_installed_any_more_is_named(it: Stage) -> None:
    it.engines.clear()
    await it.assigned()
    ended = await it.fact(AttemptEnded)
    assert ended.diagnosis
    assert ended.diagnosis.summary == "the engine could not be started: engine alpha is not installed any more"
    assert it.all(ActorRestarted) == []


async def test_it_runs_on_the_cpus_that_its_slot_had_when_it_was_given_away(it: Stage) -> None:
    await it.queued()
    await it.publish(msgspec.structs.replace(assignment(), cpus=(1,)))
    assert (await it.fact(AttemptStarted)).cpus == (1,)
    assert it.machine.running[0].cpus == (1,)


async def test_a_slot_that_is_gone_is_named_and_no_device_is_to_blame(it: Stage) -> None:
    await it.queued()
    await it.probed(*slots_of((cpu(2),))[1:])
    await it.publish(assignment())
    ended = await it.fact(AttemptEnded)
    assert ended.diagnosis
    assert ended.diagnosis.summary == f"the engine could not be started: slot {SLOT} does not exist any more"
    assert (ended.diagnosis.kind, ended.diagnosis.retry) == ("resource", "same")
    assert (ended.diagnosis.kind, ended.diagnosis.retry) == ("resource", "same")  # the device is not to blame


async def test_an_input_that_the_preparation_refuses_is_told_in_its_words(
    it: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = Order(script=Script(fates=(Fate("files"),)))
    product = str(it.state / "prepared" / "a.tpr")
    preparation = Preparation(argv=order.argv(), makes="a.tpr", product=product, what="gmx grompp")
    monkeypatch.setattr(it.engine, "plan", lambda request: LaunchPlan(argv=order.argv(), prepare=(preparation,)))
    await it.assigned()
    ended = await it.fact(AttemptEnded)
    assert ended.diagnosis
    assert (ended.diagnosis.code, ended.diagnosis.summary) == (
        "preparation-failed",
        "gmx grompp refused the input (exit code 4)",
    )


# ---------------------------------------------------------------- stopping


async def test_what_is_stopped_before_it_began_never_begins(it: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(it.substrate, "launch", failing)
    await it.queued()
    await it.publish(assignment(), CANCEL)
    assert (await it.fact(AttemptEnded)).outcome == "stopped"


async def test_what_is_stopped_while_it_is_launched_stops_as_soon_as_it_runs(tmp_path: Path) -> None:
    async with stage(tmp_path, delays=Delays(launch=20.0)) as it:
        await it.probed()
        await it.execute()
        await it.assigned()
        await it.clock.sleep(5)
        asked = await it.publish(CANCEL)
        ended = await it.fact(AttemptEnded)
        assert it.facts(asked) == ["AttemptStarted", "AttemptEnded"]
        assert ended.outcome == "stopped"
        assert len(it.machine.processes) == 1
        assert it.machine.running == []


async def test_a_running_attempt_stops_in_good_order(it: Stage) -> None:
    await it.assigned()
    await it.fact(AttemptStarted)
    await it.clock.sleep(50)
    await it.publish(CANCEL)
    ended = await it.fact(AttemptEnded)
    assert (ended.outcome, ended.figures.steps_done) == ("stopped", 490)
    assert len(it.machine.stops) == 1
    assert it.jobs[1].state is JobState.ENDING


async def test_who_does_not_listen_is_ended_by_force_after_its_grace(it: Stage) -> None:
    await it.assigned(script=Script(deaf=True, grace=30.0))
    await it.fact(AttemptStarted)
    asked = it.clock.monotonic()
    await it.publish(CANCEL)
    ended = await it.fact(AttemptEnded)
    assert it.clock.monotonic() - asked == pytest.approx(30)
    assert ended.exit
    assert (ended.outcome, ended.exit.code) == ("stopped", KILLED)


async def test_being_asked_twice_is_being_asked_once(it: Stage) -> None:
    await it.assigned()
    await it.fact(AttemptStarted)
    await it.publish(CANCEL)
    await it.clock.sleep(1)
    await it.publish(AttemptStopRequested(job=1, attempt=1, reason="device"))
    await it.fact(AttemptEnded)
    await it.clock.sleep(60)
    assert len(it.machine.stops) == 1


async def test_what_has_ended_is_remembered_by_nobody(it: Stage) -> None:
    executor = Executor("cpu:0/1", it.tools)
    await it.act(executor)
    await it.assigned(slot="cpu:0/1")
    await it.fact(AttemptStarted)
    await it.publish(CANCEL)
    await it.fact(AttemptEnded)
    await it.clock.sleep(1)
    await executor.perform(StopAttempt(1, 1, "cancelled"), it.tasks)
    assert executor._stops == {}


# ---------------------------------------------------------------- lives


async def test_what_runs_is_adopted_by_the_next_life(tmp_path: Path) -> None:
    async with stage(tmp_path) as first:
        await first.probed()
        await first.execute()
        await first.assigned()
        await first.fact(AttemptStarted)
        await first.clock.sleep(30)
    async with stage(tmp_path, first) as second:
        await second.execute()
        found = await second.fact(AttemptFound)
        [process] = second.machine.running
        assert (found.state, found.handle) == ("running", process.handle)
        assert (await second.fact(AttemptEnded)).outcome == "completed"
        assert second.facts()[-4:] == ["JobAssigned", "AttemptStarted", "AttemptFound", "AttemptEnded"]
        assert second.machine.violations == []
        assert len(second.machine.processes) == 1


@pytest.mark.parametrize("written", [True, False])
async def test_what_was_started_and_not_told_is_told_and_adopted(tmp_path: Path, written: bool) -> None:
    """We died between the launch and the record of it."""
    order = Order(script=Script(), slot=SLOT, device="cpu:0")
    async with stage(tmp_path) as first:
        await first.probed()
        await first.assigned()
        folder = first.folders.prepare(first.jobs[1])
        if written:
            row = first.jobs[1].attempts[-1]
            launched = Launched(
                capability=first.matrix.capabilities[row.capability],
                device=first.matrix.devices[row.device],
                slot=first.matrix.slots[row.slot],
                assigned_at=row.assigned,
                argv=order.argv(),
                added=("-nt 1",),
            )
            first.folders.lay_out(folder, 1, LaunchPlan(argv=order.argv()), launched)
        await first.substrate.launch(
            LaunchOrder(folder=str(folder), attempt=1, argv=order.argv(), environment={}, cpus=(0,))
        )
    async with stage(tmp_path, first) as second:
        await second.execute()
        started = await second.fact(AttemptStarted)
        assert (started.argv, started.added) == ((order.argv(), ("-nt 1",)) if written else ((), ()))
        assert (await second.fact(AttemptEnded)).outcome == "completed"
        assert second.facts()[-3:] == ["AttemptFound", "AttemptStarted", "AttemptEnded"]
        assert len(second.machine.processes) == 1


@pytest.mark.parametrize(
    ("vanishes", "state", "outcome"), [(False, "ended", "completed"), (True, "vanished", "vanished")]
)
async def test_what_ended_while_we_were_away_is_judged_by_what_it_left(
    tmp_path: Path, vanishes: bool, state: str, outcome: str
) -> None:
    async with stage(tmp_path) as first:
        await first.probed()
        await first.execute()
        await first.assigned()
        await first.fact(AttemptStarted)
    if vanishes:
        first.machine.lose_power()
    await first.clock.sleep(200)
    async with stage(tmp_path, first) as second:
        await second.execute()
        assert (await second.fact(AttemptFound)).state == state
        ended = await second.fact(AttemptEnded)
        assert (ended.outcome, ended.exit is None) == (outcome, vanishes)


async def test_what_ran_and_of_which_nothing_is_left_is_not_run_again(tmp_path: Path) -> None:
    async with stage(tmp_path) as first:
        await first.probed()
        await first.execute()
        await first.assigned()
        await first.fact(AttemptStarted)
    first.machine.processes.clear()
    async with stage(tmp_path, first) as second:
        await second.execute()
        assert (await second.fact(AttemptFound)).state == "absent"
        assert (await second.fact(AttemptEnded)).outcome == "vanished"
        assert second.machine.processes == {}


async def test_what_never_ran_is_started_now(tmp_path: Path) -> None:
    async with stage(tmp_path) as first:
        await first.probed()
        await first.assigned()
    async with stage(tmp_path, first) as second:
        await second.execute()
        assert (await second.fact(AttemptEnded)).outcome == "completed"
        assert second.all(AttemptFound) == []


async def test_a_wish_to_stop_outlives_us(tmp_path: Path) -> None:
    async with stage(tmp_path) as first:
        await first.probed()
        await first.execute()
        await first.assigned(script=Script(steps=100_000))
        await first.fact(AttemptStarted)
    async with stage(tmp_path, first) as second:
        await second.publish(CANCEL)
        await second.execute()
        assert (await second.fact(AttemptEnded)).outcome == "stopped"
        assert len(second.machine.stops) == 1


async def test_the_grace_is_that_of_the_plan_though_another_life_stops_it(tmp_path: Path) -> None:
    async with stage(tmp_path) as first:
        await first.probed()
        await first.execute()
        await first.assigned(script=Script(deaf=True, grace=45.0, steps=100_000))
        await first.fact(AttemptStarted)
    async with stage(tmp_path, first) as second:
        await second.execute()
        await second.fact(AttemptFound)
        asked = second.clock.monotonic()
        await second.publish(CANCEL)
        await second.fact(AttemptEnded)
        assert second.clock.monotonic() - asked == pytest.approx(45)


async def test_an_end_that_can_t_be_recorded_now_is_recorded_later(it: Stage) -> None:
    number = await it.assigned()
    await it.fact(AttemptStarted)
    it.journal.fill()
    await it.clock.sleep(1000)
    assert it.machine.running == []
    it.journal.empty()
    ended = await it.fact(AttemptEnded)
    assert ended.outcome == "completed"
    await it.clock.sleep(100)
    assert it.facts(number) == ["AttemptStarted", "AttemptFound", "AttemptEnded"]
    assert it.all(ActorRestarted) == []


async def test_a_start_that_can_t_be_recorded_is_found_later_and_not_repeated(it: Stage) -> None:
    await it.queued()
    await it.publish(assignment())
    it.journal.fill()
    await it.clock.sleep(50)
    assert len(it.machine.running) == 1
    it.journal.empty()
    assert (await it.fact(AttemptFound)).state == "running"
    assert (await it.fact(AttemptEnded)).outcome == "completed"
    assert len(it.machine.processes) == 1
    assert order_of((await it.fact(AttemptStarted)).argv).slot == SLOT


async def test_no_other_effect_is_known_to_it(it: Stage) -> None:
    with pytest.raises(AssertionError, match="can't perform"), logs():
        await Executor(SLOT, it.tools).perform(Look(1), it.tasks)
