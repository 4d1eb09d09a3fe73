"""What every journal does: appends groups whole, reads them back in order, keeps a snapshot."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import anyio
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.base import Event, Record
from events.devices import DeviceUnhealthy, ProbeRequested
from events.jobs import JobCancelRequested, JobSubmitted
from events.outcome import Diagnosis
from events.spec import TprJob
from mdactors.core.lifecycle import JobState
from mdactors.errors import JournalError
from mdactors.ports import Journal
from mdactors.runtime.journal.memory import MemoryJournal
from mdactors.runtime.journal.sqlite import SqliteJournal
from tests.mdactors.runtime.journal.kit import a_snapshot, story

Open = Callable[[Path], Awaitable[Journal]]

LONG = "µ" * 5000
UNSTORABLE = ProbeRequested(by="\ud800")
"""Half a character: no encoding has a form for it."""


async def in_memory(path: Path) -> Journal:
    return MemoryJournal()


async def in_sqlite(path: Path) -> Journal:
    return await SqliteJournal.open(path / "journal.sqlite")


JOURNALS: dict[str, Open] = {"memory": in_memory, "sqlite": in_sqlite}


@pytest.fixture(params=JOURNALS)
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journal]:
    opened = await JOURNALS[request.param](tmp_path)
    yield opened
    await opened.close()


def numbered(events: Sequence[Event], first: int = 1) -> list[Record]:
    """Return records of these events, from `first` on."""
    return [Record(seq, 1_700_000_000.125 + seq, seq // 2, event) for seq, event in enumerate(events, first)]


def some(count: int, first: int = 1) -> list[Record]:
    return numbered([JobCancelRequested(job=number) for number in range(count)], first)


async def all_of(journal: Journal, since: int = 0) -> list[Record]:
    return [record async for record in journal.read(since)]


async def test_an_empty_log_has_no_last_record(journal: Journal) -> None:
    assert await journal.last() == 0
    assert await all_of(journal) == []


async def test_records_come_back_as_they_were(journal: Journal) -> None:
    spec = TprJob(tpr="a.tpr", name="eau d'été", labels={"": LONG}, priority=-0.1, nsteps=2**53 + 1)
    records = numbered([JobSubmitted(job=1, spec=spec, inputs=(), examinations=()), ProbeRequested()])
    await journal.append(records)
    assert await all_of(journal) == records
    assert await journal.last() == 2


async def test_reading_begins_after_what_was_seen(journal: Journal) -> None:
    records = some(10)
    await journal.append(records[:4])
    await journal.append(records[4:])
    for since in range(12):
        assert await all_of(journal, since) == records[since:]


async def test_an_empty_group_is_no_group(journal: Journal) -> None:
    await journal.append([])
    assert await journal.last() == 0


async def test_a_long_log_is_read_in_order(journal: Journal) -> None:
    records = some(3333)
    await journal.append(records)
    assert await all_of(journal) == records


async def test_of_a_group_that_can_t_be_stored_nothing_is_kept(journal: Journal) -> None:
    kept = some(2)
    await journal.append(kept)
    with pytest.raises(UnicodeEncodeError):
        await journal.append(numbered([ProbeRequested(), UNSTORABLE], 3))
    assert await all_of(journal) == kept
    again = some(1, first=3)
    await journal.append(again)
    assert await all_of(journal) == [*kept, *again]


async def test_no_number_is_given_twice(journal: Journal) -> None:
    kept = some(3)
    await journal.append(kept)
    [taken, free] = numbered([ProbeRequested(by="another writer")] * 2, first=3)
    for group in ([taken, free], [free, taken]):
        with pytest.raises(JournalError):
            await journal.append(group)
    assert await all_of(journal) == kept


async def test_a_reader_holds_up_no_writer_and_goes_on_undisturbed(journal: Journal) -> None:
    await journal.append(some(2500))
    seqs: list[int] = []
    async for record in journal.read():
        if record.seq in (1, 1500):
            await journal.append(some(1, first=await journal.last() + 1))
        seqs.append(record.seq)
    assert seqs[:2500] == list(range(1, 2501))
    assert await journal.last() == 2502


async def test_a_reader_goes_on_over_a_group_that_failed(journal: Journal) -> None:
    await journal.append(some(2500))
    seqs: list[int] = []
    async for record in journal.read():
        if record.seq == 1500:
            with pytest.raises(JournalError):
                await journal.append(some(1, first=7))
        seqs.append(record.seq)
    assert seqs == list(range(1, 2501))


# ---------------------------------------------------------------- parts of it


async def test_facts_of_one_kind_are_read_alone(journal: Journal) -> None:
    records = numbered([ProbeRequested(by="a"), JobCancelRequested(job=1), ProbeRequested(by="b")])
    await journal.append(records)
    assert [record async for record in journal.read(kind=ProbeRequested)] == [records[0], records[2]]
    assert [record async for record in journal.read(1, kind=ProbeRequested)] == [records[2]]
    assert [record async for record in journal.read(kind=DeviceUnhealthy)] == []


async def test_records_are_picked_in_order(journal: Journal) -> None:
    records = some(2000)
    await journal.append(records)
    assert [record async for record in journal.pick((7, 3, 3, 9999, 1500))] == [records[2], records[6], records[1499]]
    assert [record async for record in journal.pick(range(1, 2001))] == records
    assert [record async for record in journal.pick(())] == []


async def test_who_decided_on_what_comes_back(journal: Journal) -> None:
    decided = Record(2, 3.0, 1, JobCancelRequested(job=1), seen=1)
    await journal.append([Record(1, 2.0, 0, ProbeRequested()), decided])
    assert (await all_of(journal))[1] == decided
    assert [record async for record in journal.pick((2,))] == [decided]


# ---------------------------------------------------------------- snapshots


async def test_a_log_has_no_snapshot_until_one_is_kept(journal: Journal) -> None:
    await journal.append(story())
    assert await journal.snapshot() is None


async def test_the_newest_snapshot_comes_back_with_all_jobs_that_were_closed(journal: Journal) -> None:
    log = story(3)
    await journal.append(log)
    first, closed = a_snapshot(log[:8])  # the first job's life
    await journal.keep(first, closed)
    assert [row.job for row in closed] == [1]
    second, all_closed = a_snapshot(log, counters=b'["\xc2\xb5"]')
    await journal.keep(second, [row for row in all_closed if row.job != 1])
    found = await journal.snapshot()
    assert found
    snapshot, kept = found
    assert snapshot == second
    assert list(kept.numbers()) == [1, 2, 3]
    assert kept.counts == {JobState.COMPLETED: 3}
    assert [kept.row(job) for job in (3, 1, 2)] == [all_closed[2], all_closed[0], all_closed[1]]
    assert [job in kept for job in (0, 1, 4)] == [False, True, False]


async def test_a_job_that_is_closed_again_has_its_newest_row(journal: Journal) -> None:
    log = story(1)
    await journal.append(log)
    snapshot, [row] = a_snapshot(log)
    await journal.keep(snapshot, [row])
    row.cancel_requested = True
    await journal.keep(snapshot, [row])
    found = await journal.snapshot()
    assert found
    assert found[1].row(1) == row
    assert found[1].counts == {JobState.COMPLETED: 1}


async def test_a_snapshot_changes_nothing_in_the_log(journal: Journal) -> None:
    log = story(2)
    await journal.append(log)
    await journal.keep(*a_snapshot(log))
    assert await all_of(journal) == log
    await journal.append(some(1, first=len(log) + 1))
    assert await journal.last() == len(log) + 1


async def test_what_a_snapshot_can_t_hold_leaves_the_one_before(journal: Journal) -> None:
    log = story(3)
    await journal.append(log)
    before = a_snapshot(log[:8])
    await journal.keep(*before)
    snapshot, closed = a_snapshot(log)
    spoiled = msgspec.structs.replace(closed[2], diagnosis=Diagnosis(kind="unknown", code="x", summary="\ud800"))
    with pytest.raises((JournalError, UnicodeEncodeError)):
        await journal.keep(snapshot, [closed[1], spoiled])
    await journal.append(some(1, first=len(log) + 1))
    found = await journal.snapshot()
    assert found
    assert (found[0], list(found[1].numbers())) == (before[0], [1])


EVENTS = st.one_of(
    st.builds(ProbeRequested, by=st.text(st.characters(exclude_categories=["Cs"]))),
    st.builds(JobCancelRequested, job=st.integers(-(2**63), 2**63 - 1)),
    st.builds(DeviceUnhealthy, device=st.just("cpu:0"), reason=st.text(st.characters(exclude_categories=["Cs"]))),
)


@pytest.mark.parametrize("name", JOURNALS)
@settings(max_examples=25, deadline=None)
@given(groups=st.lists(st.lists(EVENTS, max_size=5), max_size=5))
def test_it_does_not_matter_in_which_groups_records_came(name: str, groups: list[list[Event]]) -> None:
    async def story() -> None:
        with tempfile.TemporaryDirectory() as folder:
            journal = await JOURNALS[name](Path(folder))
            records = numbered([event for group in groups for event in group])
            at = 0
            for group in groups:
                await journal.append(records[at : at + len(group)])
                at += len(group)
            assert await all_of(journal) == records
            assert await journal.last() == len(records)
            await journal.close()

    anyio.run(story)
