"""State folders of platforms that are gone: job folders by a simulated machine, and what became of the log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from actors.assembly import assemble
from events.base import Record
from mdactors.config import Config, Settings
from mdactors.runtime.clock import LoopClock
from mdactors.runtime.journal.files import JOURNAL_NAME
from mdactors.runtime.platform import Platform
from tests.mdactors.runtime.journal.kit import written
from tests.mdactors.runtime.kit import VIRTUAL, TestedJournal
from tests.simulation.engine import SimulatedEngine
from tests.simulation.life import Life
from tests.simulation.machine import Machine
from tests.simulation.scenario import Wish, cpu
from tests.simulation.script import Fate, Script
from tests.simulation.substrate import SimulatedSubstrate


class Ruin:
    """What a platform left: job 1 completed, job 2 vanished once and completed then, job 3 failed."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.clock = LoopClock()
        self.machine = Machine(self.clock, (cpu(1),))
        self.log: list[Record] = []
        (state / "input.tpr").write_bytes(b"simulated")
        backend, options = VIRTUAL
        anyio.run(self._live, backend=backend, backend_options=options)

    async def _live(self) -> None:
        journal = TestedJournal()
        wishes = [
            Wish(),
            Wish(script=Script(fates=(Fate("vanish", 450),))),
            Wish(script=Script(fates=(Fate("numerics", 10),))),
        ]
        async with self._assembled(Config(state=self.state), journal=journal, api=False) as platform:
            answers = await platform.submit([wish.entry() for wish in wishes], base=self.state, owner="ada")
            await platform.finished([answer.job for answer in answers if answer.job])
        self.log = await journal.records()

    @property
    def path(self) -> Path:
        """Where the log is, or was."""
        return self.state / JOURNAL_NAME

    def restore(self) -> None:
        """Put the log where it was."""
        anyio.run(written, self.path, self.log)

    @asynccontextmanager
    async def assemble(self, config: Config, **named: Any) -> AsyncIterator[Platform]:
        """Assemble a platform for the command line, on the same machine."""
        async with self._assembled(config, **named) as platform:
            yield platform

    def _assembled(self, config: Config, **named: Any) -> Any:
        life = Life()
        return assemble(
            Config(state=config.state, settings=Settings(node="node")),
            clock=self.clock,
            substrate=SimulatedSubstrate(self.machine, life),
            engines=[SimulatedEngine("alpha", self.machine, life)],
            base_env={"PATH": "/usr/bin"},
            offload=life.offload,
            **named,
        )
