"""A scenario from a seed: the same seed makes the same one for ever, so a failing seed is a finding that replays."""

from __future__ import annotations

import random
from typing import Literal, get_args

from events.hardware import Device
from events.spec import PriorityClass
from mdactors.config import PolicySettings, SlotSettings
from mdactors.ports import Mode
from tests.simulation.scenario import (
    Cancel,
    Compare,
    Deed,
    Refresh,
    Report,
    Restart,
    Scenario,
    Submit,
    Trouble,
    TroubleKind,
    Wish,
    cpu,
    gpu,
)
from tests.simulation.script import End, Fate, Script
from tests.simulation.substrate import Delays

BUSY = 300.0
"""Seconds within which people do things; what breaks, breaks within twice that."""

CONDITIONS: tuple[Literal["unhealthy", "recovered"], ...] = ("unhealthy", "recovered")
TROUBLES: tuple[TroubleKind, ...] = ("lose", "remove", "kill", "vanish", "power", "crash")
"""What breaks by itself; what is lost or removed comes back some time later."""


def scenario_of(seed: int) -> Scenario:
    """Return the scenario of a seed."""
    return _Maker(seed).scenario()


class _Maker:
    """One scenario in the making."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = random.Random(seed)
        self._cores = self._random.randint(1, 3)
        self._devices: tuple[Device, ...] = (cpu(self._cores), *map(gpu, range(self._random.randint(0, 2))))

    def scenario(self) -> Scenario:
        dice = self._random
        jobs = dice.randint(2, 12)
        return Scenario(
            seed=self._seed,
            devices=self._devices,
            cores=self._cores,
            slots=tuple(self._layout() for _ in range(dice.choice([0, 0, 3]))),
            deeds=(*self._submissions(jobs), *(self._deed(jobs) for _ in range(dice.randint(0, 4)))),
            troubles=tuple(trouble for _ in range(dice.randint(0, 5)) for trouble in self._trouble()),
            deaths=tuple(self._moment() for _ in range(dice.randint(0, 4))),
            away=tuple(self._seconds(120.0) for _ in range(dice.randint(0, 4))),
            between=tuple(dice.choice(get_args(Mode)) for _ in range(dice.choice([0, 0, 4]))),
            full=tuple(self._window() for _ in range(dice.choice([0, 0, 0, 1, 2]))),
            files_full=tuple(self._window() for _ in range(dice.choice([0, 0, 0, 0, 1]))),
            delays=self._delays(),
            policies=tuple(self._policy() for _ in range(dice.choice([1, 1, 3]))),
        )

    # ------------------------------------------------------------ what people do

    def _submissions(self, jobs: int) -> list[Deed]:
        made: list[Deed] = []
        while jobs:
            size = self._random.randint(1, jobs)
            made.append(Submit(at=self._seconds(BUSY), wishes=tuple(self._wish() for _ in range(size))))
            jobs -= size
        return made

    def _wish(self) -> Wish:
        dice = self._random
        return Wish(
            script=self._script(),
            priority=float(dice.randint(-2, 2)),
            priority_class=dice.choice(get_args(PriorityClass)),
            engine=dice.choice([None] * 6 + ["alpha"] * 3 + ["gamma"]),
            precision=dice.choice(("mixed", "mixed", "mixed", "mixed", "double")),
            device=dice.choice([None] * 6 + [dice.choice(self._devices).id] * 3 + ["9"]),
        )

    def _script(self) -> Script:
        dice = self._random
        steps = dice.randint(1, 3000)
        return Script(
            steps=steps,
            rate=dice.choice([5.0, 10.0, 50.0]),
            every=dice.choice([10, 100, 1000]),
            startup=self._seconds(5.0),
            stopping=self._seconds(5.0),
            grace=dice.choice([1.0, 3.0, 10.0, 60.0]),
            deaf=dice.random() < 0.1,
            fates=tuple(
                Fate(end=dice.choice(get_args(End)), step=dice.randrange(steps))
                for _ in range(dice.choice([0, 0, 0, 1, 2, 3]))
            ),
            on_loss=dice.choice(["carry on", "fail", "hang"]),
            prepares=dice.random() < 0.3,
            refusals=dice.choice([0] * 8 + [1, 2]),
        )

    def _deed(self, jobs: int) -> Deed:
        at, dice = self._seconds(1.5 * BUSY), self._random
        match dice.choice(["cancel", "cancel", "report", "refresh", "compare", "restart"]):
            case "cancel":
                return Cancel(at=at, job=dice.randrange(jobs))
            case "report":
                condition = dice.choice(CONDITIONS)
                return Report(at=at, device=dice.choice(self._devices).id, condition=condition)
            case "refresh":
                return Refresh(at=at)
            case "compare":
                return Compare(at=4 * at, a=dice.randrange(jobs), b=dice.randrange(jobs))
            case _:
                return Restart(at=at)

    # ------------------------------------------------------------ what breaks

    def _trouble(self) -> list[Trouble]:
        at, dice = self._seconds(2 * BUSY), self._random
        kind = dice.choice(TROUBLES)
        if kind in {"lose", "remove"}:
            device = dice.choice(self._devices).id
            back = Trouble(at=at + self._seconds(BUSY), kind="recover", device=device)
            return [Trouble(at=at, kind=kind, device=device), back]
        return [Trouble(at=at, kind=kind, pick=dice.random())]

    def _policy(self) -> PolicySettings:
        dice = self._random
        return PolicySettings(
            aging_per_hour=dice.choice([0.0, 1.0, 60.0]),
            retries=dice.randint(0, 3),
            suspicions=dice.randint(1, 3),
            probe_ttl_seconds=dice.choice([30.0, 300.0]),
        )

    def _layout(self) -> SlotSettings:
        threads = self._random.randint(1, self._cores)
        return SlotSettings(threads=threads, count=self._random.randint(1, self._cores // threads))

    def _moment(self) -> int | None:
        return None if self._random.random() < 0.2 else 1 + int(self._random.expovariate(1 / 80))

    def _window(self) -> tuple[float, float]:
        begin = self._seconds(BUSY)
        return begin, begin + self._seconds(100.0)

    def _delays(self) -> Delays:
        if self._random.random() < 0.4:
            return Delays()
        return Delays(
            find=self._seconds(0.5),
            launch=self._seconds(2.0),
            files=self._seconds(1.0),
            commit=self._seconds(0.2),
            probe=self._seconds(5.0),
        )

    def _seconds(self, most: float) -> float:
        """Return a time that is often round, so that things meet in the same instant."""
        seconds = self._random.uniform(0.0, most)
        return float(round(seconds)) if self._random.random() < 0.5 else round(seconds, 3)
