"""Where the substrate hears about its devices.

A source is any asynchronous iterator of `DeviceReported`: a vendor library's events, the kernel's log. `LocalSubstrate` is
given one; where a machine has none, it is `Silence`, and whoever listens waits for ever.
"""

from __future__ import annotations

import anyio

from events.devices import DeviceReported


class Silence:
    """The source of a machine whose devices never say anything."""

    def __aiter__(self) -> Silence:
        return self

    async def __anext__(self) -> DeviceReported:
        await anyio.sleep_forever()
        raise StopAsyncIteration
