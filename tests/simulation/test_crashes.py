"""Law: `kill -9` at any instant loses nothing. One story, killed at each of its moments, and again while it recovers."""

from __future__ import annotations

import random

import msgspec
import pytest

from events.attempts import AttemptEnded, AttemptStopRequested
from events.jobs import JobCancelled, JobCompleted, JobFailed, JobRequeued
from tests.simulation.scenario import Cancel, Restart, Scenario, Submit, Trouble, Wish, cpu, gpu
from tests.simulation.script import Fate, Script
from tests.simulation.world import Seen, simulate

STORY = Scenario(
    devices=(cpu(2), gpu(0)),
    deeds=(
        Submit(
            at=1.0,
            wishes=(
                Wish(priority=3.0),
                Wish(priority=2.0, script=Script(fates=(Fate(end="files", step=550),))),
                Wish(priority=1.0, script=Script(steps=5000)),
                Wish(script=Script(fates=(Fate(end="numerics", step=300),))),
                Wish(engine="nobody's"),
            ),
        ),
        Cancel(at=40.0, job=2),
        Restart(at=70.0),
    ),
    troubles=(
        Trouble(at=30.0, kind="lose", device="cuda:0"),
        Trouble(at=60.0, kind="recover", device="cuda:0"),
    ),
)
"""Two jobs that go well, one that fails for good; on the way a device is lost, an attempt fails, a job is cancelled."""

SECOND_DEATHS = 50


def ends(seen: Seen) -> dict[int, str]:
    """Return how each job that somebody was told of ended."""
    assert seen.witness is not None
    facts = seen.witness.of(JobCompleted, JobFailed, JobCancelled)
    return {fact.job: type(fact).__name__ for fact in facts if fact.job in seen.witness.acknowledged}


@pytest.fixture(scope="module")
def undisturbed() -> Seen:
    return simulate(STORY)


def test_the_story_has_all_that_it_should_have(undisturbed: Seen) -> None:
    assert undisturbed.problems == []
    assert list(ends(undisturbed).values()) == ["JobCancelled", "JobFailed", "JobCompleted", "JobCompleted"]
    assert undisturbed.witness is not None
    reasons = {stop.reason for stop in undisturbed.witness.of(AttemptStopRequested)}
    assert reasons == {"device", "cancelled"}
    assert len(list(undisturbed.witness.of(JobRequeued))) == 2
    assert {ended.outcome for ended in undisturbed.witness.of(AttemptEnded)} == {"completed", "failed", "stopped"}


def moments_of(seen: Seen) -> list[tuple[int | None, ...]]:
    """Return every moment of every life, as the deaths that make it the last one."""
    before: list[tuple[int | None, ...]] = [(None,) * place for place in range(len(seen.lives))]
    return [(*lived, n) for lived, life in zip(before, seen.lives, strict=True) for n in range(1, life.moments + 1)]


def lose_nothing(deaths: tuple[int | None, ...], undisturbed: Seen) -> None:
    seen = simulate(msgspec.structs.replace(STORY, deaths=deaths))
    died_of = [life.death for life in seen.lives if life.dead]
    assert died_of, deaths
    assert seen.problems == [], f"killed at {deaths}: {died_of}"
    assert sorted(ends(seen).values()) == sorted(ends(undisturbed).values()), f"killed at {deaths}: {died_of}"


def test_a_death_at_any_moment_loses_nothing(undisturbed: Seen) -> None:
    for deaths in moments_of(undisturbed):
        lose_nothing(deaths, undisturbed)


def test_a_second_death_while_it_recovers_loses_nothing(undisturbed: Seen) -> None:
    dice = random.Random(2)
    for first in dice.sample(moments_of(undisturbed), SECOND_DEATHS):
        lose_nothing((*first, dice.randint(1, 15)), undisturbed)
