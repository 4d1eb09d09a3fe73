"""One life of the simulated platform, and the moments at which it may die.

What a platform does to the world it does through its ports, and every port tells its life before and after: each such
moment has a number, and the life dies at the one that it was given. A dead life's calls never return and change nothing;
what it still does in memory, on its way out, nobody sees.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from typing import Any

import anyio

READS_ONLY = "HealthWatcher._follow"
"""Offloaded work that changes nothing: dying before or after it is dying at any other time."""
WRITES = ("Passage._survey", "Passage._launch", "Archivist.perform")
"""Offloaded work that fails where the disk is full."""


class Life:
    """From the start of the platform to its death.

    Args:
        dies_at: number of the moment at which it dies; None: at none.
        tell: takes a line of the trace.
        full: asked before files are written: is the disk full?
        seconds: that blocking code takes, half of them before it does anything.
    """

    def __init__(
        self,
        dies_at: int | None = None,
        tell: Callable[[str], None] = lambda line: None,
        full: Callable[[], bool] = lambda: False,
        seconds: float = 0.0,
    ) -> None:
        self.dies_at = dies_at
        self.moments = 0
        self.dead = False
        self.death = ""
        """What it died of."""
        self.scope = anyio.CancelScope()
        self._tell = tell
        self._full = full
        self._seconds = seconds

    async def moment(self, what: str) -> None:
        """Pass a moment; one that kills, and every one after death, never ends."""
        if not self.dead and self._strikes(what):
            self.die(what)
        if self.dead:
            await anyio.sleep_forever()

    def moment_after_this_turn(self, what: str) -> None:
        """Pass a moment that lies between what happens now and everything that follows from it."""
        if not self.dead and self._strikes(what):
            asyncio.get_running_loop().call_soon(self.die, what)

    async def offload(self, work: Callable[[], Any]) -> Any:
        """Run blocking code, on the spot or while other things happen."""
        name = getattr(work, "__qualname__", "")
        await self._take_time()
        if name.startswith(READS_ONLY):
            return work()
        await self.moment(f"before files: {name}")
        if name.startswith(WRITES) and self._full():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        made = work()
        await self.moment(f"after files: {name}")
        await self._take_time()
        return made

    async def _take_time(self) -> None:
        if self._seconds:
            await anyio.sleep(self._seconds / 2)

    def die(self, what: str) -> None:
        """End this life at once, as `kill -9` would."""
        if not self.dead:
            self._tell(f"=== the platform dies: {what} (moment {self.moments})")
            self.dead, self.death = True, what
            self.scope.cancel()

    def _strikes(self, what: str) -> bool:
        self.moments += 1
        self._tell(f"moment {self.moments}: {what}")
        return self.moments == self.dies_at
