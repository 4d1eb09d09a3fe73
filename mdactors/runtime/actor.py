"""An actor: an inbox, a pure core, and a shell that performs effects."""

from __future__ import annotations

from typing import Protocol

import anyio
from anyio.abc import TaskGroup

from mdactors.core.base import Core
from mdactors.core.effects import Effect, Publish, WakeAt
from mdactors.ports import Clock
from mdactors.runtime.bus import Batch, Bus, Inbox


class Shell(Protocol):
    """The I/O around one core. It keeps no state that a replay could not give back."""

    name: str

    def core(self) -> Core:
        """Return a fresh core, to be folded from the journal."""

    async def perform(self, effect: Effect, tasks: TaskGroup) -> None:
        """Do one effect. What takes long is started in `tasks`; its outcome, failure included, is published."""

    def attend(self, tasks: TaskGroup) -> None:
        """Start what the actor listens to besides its inbox; called at the beginning of each of its lives."""


class Actor:
    """Runs a shell's core over its inbox: fold a group, decide, publish, perform."""

    def __init__(self, shell: Shell, bus: Bus, clock: Clock) -> None:
        self.name = shell.name
        self.seen = bus.last
        """The newest record that the core has folded."""
        self._shell = shell
        self._bus = bus
        self._clock = clock

    def core(self) -> Core:
        """Return a fresh core."""
        return self._shell.core()

    async def run(self, core: Core, inbox: Inbox) -> None:
        """Live, until cancelled or until the core or the shell raises."""
        async with anyio.create_task_group() as tasks:
            self._shell.attend(tasks)
            while True:
                effects = core.decide(self._clock.time())
                await self._perform(effects, tasks)
                batch = await self._next(inbox, effects)
                for record in batch:
                    self.seen = record.seq
                    core.apply(record)

    async def _perform(self, effects: list[Effect], tasks: TaskGroup) -> None:
        """Publish first: an intent is in the journal before anything is done about it."""
        facts = [effect for effect in effects if isinstance(effect, Publish)]
        if facts:
            await self._bus.decided(facts, self.seen)
        for effect in effects:
            if not isinstance(effect, Publish | WakeAt):
                await self._shell.perform(effect, tasks)

    async def _next(self, inbox: Inbox, effects: list[Effect]) -> Batch:
        """Wait for records, or until the time at which the core wants to decide again."""
        wakes = [effect.time for effect in effects if isinstance(effect, WakeAt)]
        if not wakes:
            return await inbox.receive()
        with anyio.move_on_after(max(0.0, min(wakes) - self._clock.time())):
            return await inbox.receive()
        return []
