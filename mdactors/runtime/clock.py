"""Real time, and an event loop whose time is virtual: it jumps to the next deadline when nothing is left to do."""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Mapping
from typing import Any

import anyio


class SystemClock:
    """The machine's clock."""

    def time(self) -> float:
        """Return seconds since the epoch; may jump."""
        return time.time()  # noqa: TID251 - the one place where the clock is read

    def monotonic(self) -> float:
        """Return seconds from an arbitrary origin; never jumps."""
        return time.monotonic()  # noqa: TID251 - and here

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await anyio.sleep(seconds)


class LoopClock:
    """The clock of the running event loop; under a `VirtualLoop`, simulated time.

    Args:
        epoch: what `time()` returns when the loop's own time is 0, in seconds since the epoch.
    """

    def __init__(self, epoch: float = 1_700_000_000.0) -> None:
        self.epoch = epoch

    def time(self) -> float:
        """Return simulated seconds since the epoch."""
        return self.epoch + asyncio.get_running_loop().time()

    def monotonic(self) -> float:
        """Return simulated seconds since the loop began."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Wait in simulated time."""
        await anyio.sleep(seconds)


class _JumpingSelector(selectors.BaseSelector):
    """Never waits: where a real selector would sleep, it moves the loop's time forward."""

    def __init__(self) -> None:
        self.now = 0.0
        self._real = selectors.DefaultSelector()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:  # noqa: ANN401 - stdlib signature
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:  # noqa: ANN401 - stdlib signature
        return self._real.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise DeadlockError("every task waits and no deadline is left")
        self.now += timeout
        return ready


class DeadlockError(RuntimeError):
    """In simulated time nothing can ever happen again: every task waits for another one."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio loop in simulated time: `sleep(86400)` returns at once, and in the right order.

    For code without threads and sockets; use as `anyio.run(main, backend_options={"loop_factory": VirtualLoop})`.
    """

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)
        # After half a year, asyncio's nanosecond is less than a float of seconds can hold.
        self._clock_resolution = 1e-6

    def time(self) -> float:
        """Return simulated seconds since the loop began."""
        return self._jumping.now
