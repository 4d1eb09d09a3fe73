"""Reconciler: every wanted comparison is answered, by numbers or by why there are none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from actors.reconciler import Reconciler
from events.jobs import JobCompleted
from events.platform import ActorRestarted
from events.results import PairReconciled, ReconcileFailed, ReconcileRequested
from mdactors.ports import Energies
from mdactors.runtime.clock import VirtualLoop
from tests.actors.kit import Stage, stage
from tests.builders import an_end
from tests.mdactors.runtime.kit import VIRTUAL

WANTED = ReconcileRequested(a=1, b=2, by="ada")


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, type[VirtualLoop]]]:
    return VIRTUAL


@pytest.fixture
async def it(tmp_path: Path) -> AsyncIterator[Stage]:
    """Jobs 1 and 2 have completed, job 3 runs."""
    async with stage(tmp_path) as made:
        await made.probed()
        for job in (1, 2):
            await completed(made, job)
        await made.assigned(3)
        yield made


async def completed(it: Stage, job: int) -> None:
    await it.assigned(job)
    await it.publish(an_end(job=job), JobCompleted(job=job, attempt=1))
    it.machine.disk(str(it.folders.of(job))).finished = True


def reconciler(it: Stage) -> Reconciler:
    return Reconciler(
        bus=it.bus, jobs=it.jobs, matrix=it.matrix, engines=it.engines, folders=it.folders, offload=it.life.offload
    )


async def answer(it: Stage, *, a: int = 1, b: int = 2) -> str:
    """Ask, and return why there are no numbers."""
    await it.publish(ReconcileRequested(a=a, b=b))
    return (await it.fact(ReconcileFailed)).why


async def test_two_completed_jobs_are_compared(it: Stage) -> None:
    await it.act(reconciler(it))
    asked = await it.publish(WANTED)
    record = await it.record(PairReconciled)
    assert record.cause == asked
    made = record.event
    assert isinstance(made, PairReconciled)
    assert (made.a, made.b, made.pair, made.verdict) == (1, 2, "alpha-mixed:alpha-mixed", "pass")
    assert [term.term for term in made.terms if term.verdict == "pass"]


async def test_each_wish_is_answered_once(it: Stage) -> None:
    await it.act(reconciler(it))
    await it.publish(WANTED, ReconcileRequested(a=2, b=1))
    await it.record(PairReconciled, 2)
    await it.clock.sleep(10)
    assert [(e.a, e.b) for e in map(pair, it.all(PairReconciled))] == [(1, 2), (2, 1)]
    await it.publish(WANTED)
    await it.record(PairReconciled, 3)


def pair(record: Any) -> PairReconciled:
    assert isinstance(record.event, PairReconciled)
    return record.event


async def test_a_wish_outlives_us(it: Stage, tmp_path: Path) -> None:
    await it.publish(WANTED)
    async with stage(tmp_path, it) as second:
        await second.act(reconciler(second))
        await second.fact(PairReconciled)


async def test_a_job_that_has_not_completed_can_t_be_compared(it: Stage) -> None:
    await it.act(reconciler(it))
    assert await answer(it, b=3) == "job 3 is assigned; only completed jobs can be compared"


async def test_energies_that_are_not_there_are_told_of(it: Stage) -> None:
    it.machine.disk(str(it.folders.of(2))).finished = False
    await it.act(reconciler(it))
    assert await answer(it) == f"{it.folders.of(2)}: not finished"


async def test_an_engine_that_is_not_installed_any_more_is_named(it: Stage) -> None:
    await it.act(reconciler(it))
    it.engines.clear()
    assert await answer(it) == "job 1 ran on alpha, which is not installed any more"


@pytest.mark.parametrize(
    "error", [ValueError("damaged .edr"), KeyError("Potential"), PermissionError(13, "Permission denied")]
)
async def test_energies_that_can_t_be_read_are_an_answer_and_no_fault_of_the_actor(
    it: Stage, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Asked again after each restart they would raise again, and close the intake for good."""

    def damaged(folder: Path) -> Energies:
        raise error

    monkeypatch.setattr(it.engine, "energies", damaged)
    await it.act(reconciler(it))
    assert str(error) in await answer(it)
    assert it.all(ActorRestarted) == []


async def test_jobs_that_do_not_exist_are_an_answer_too(it: Stage) -> None:
    await it.act(reconciler(it))
    assert "99" in await answer(it, b=99)
