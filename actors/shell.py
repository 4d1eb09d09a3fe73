"""What the seven shells have in common."""

from __future__ import annotations

from anyio.abc import TaskGroup

from mdactors.core.effects import Effect


class PureShell:
    """An actor whose core only publishes: there is nothing to perform and nothing else to listen to."""

    async def perform(self, effect: Effect, tasks: TaskGroup) -> None:
        """No effect but publishing is known to this actor."""
        raise AssertionError(f"{type(self).__name__} can't perform {effect}")

    def attend(self, tasks: TaskGroup) -> None:
        """Listen to the inbox alone."""
