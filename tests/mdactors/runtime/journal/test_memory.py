"""The journal in memory: what it has beyond the contract."""

from __future__ import annotations

from events.base import Record
from events.devices import ProbeRequested
from mdactors.runtime.journal.memory import MemoryJournal


async def test_records_are_kept_encoded_as_the_real_one_keeps_them() -> None:
    journal = MemoryJournal()
    await journal.append([Record(1, 2.5, 0, ProbeRequested(by="ada"))])
    assert journal.rows == [(1, 2.5, 0, "ProbeRequested", 1, b'{"type":"ProbeRequested","by":"ada"}', 0)]


async def test_what_is_appended_while_somebody_reads_is_for_the_next_reader() -> None:
    journal = MemoryJournal()
    await journal.append([Record(1, 0.0, 0, ProbeRequested())])
    async for record in journal.read():
        await journal.append([Record(record.seq + 1, 0.0, 0, ProbeRequested())])
    assert await journal.last() == 2
