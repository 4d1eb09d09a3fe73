"""What the substrate hears."""

from __future__ import annotations

import anyio

from events.devices import DeviceReported
from mdactors.substrates.local.local import LocalSubstrate
from mdactors.substrates.local.reports import Silence


async def test_silence_says_nothing_and_can_be_left() -> None:
    heard = []

    async def listen() -> None:
        heard.extend([report async for report in Silence()])

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert heard == []


async def test_source_is_passed_through() -> None:
    report = DeviceReported(device="cuda:0", condition="lost")

    class Source(Silence):
        async def __anext__(self) -> DeviceReported:
            return report

    substrate = LocalSubstrate({}, "node", source=Source)
    assert await anext(aiter(substrate.reports())) == report
