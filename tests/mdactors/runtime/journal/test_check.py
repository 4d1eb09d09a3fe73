"""Whatever befalls a log: what is wrong is told, all before it stays, and the damaged file is kept."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.base import Record
from events.jobs import JobCompleted
from mdactors.core.history import History
from mdactors.errors import JournalError, NewerJournalError
from mdactors.runtime.journal.check import Report, check, salvage
from mdactors.runtime.journal.files import files, finish, successor
from mdactors.runtime.journal.sql import FORMAT, record_of, rows
from mdactors.runtime.journal.sqlite import SqliteJournal
from tests.mdactors.runtime.journal.kit import PAGE, a_snapshot, crashed, edited, story, written, zeroed

LOG = story(40)
"""Long enough for some thirty pages."""
STAMP = "20261201T120000Z"


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    return await written(tmp_path / "journal.sqlite", LOG)


def read(path: Path) -> list[Record]:
    return [record_of(row) for row in rows(path)]


def content(path: Path) -> list[bytes]:
    """Return what the files of a log hold that hold anything."""
    return [part.read_bytes() for part in files(path)[:2] if part.exists() and part.stat().st_size]


def salvaged(path: Path) -> Report:
    """Salvage a log, see that what was readable is there and whole, and the damaged one kept; return the findings."""
    before = content(path)
    report, kept = salvage(path, STAMP)
    assert kept.name == f"journal.sqlite.damaged-{STAMP}"
    assert content(kept) == before
    assert check(path) == Report(
        path=str(path), readable_to=report.readable_to, digest=History(LOG[: report.readable_to]).digest()
    )
    assert read(path) == LOG[: report.readable_to]
    return report


# ---------------------------------------------------------------- a whole one


async def test_a_whole_log_is_told_to_be_whole_with_the_word_for_its_state(path: Path) -> None:
    report = check(path)
    assert report == Report(path=str(path), readable_to=len(LOG), digest=History(LOG).digest())
    assert report.whole


async def test_a_log_that_is_being_written_can_be_checked(tmp_path: Path) -> None:
    journal = await SqliteJournal.open(tmp_path / "journal.sqlite")
    await journal.append(LOG[:7])
    assert (check(journal.path).readable_to, check(journal.path).whole) == (7, True)
    await journal.close()


async def test_no_file_and_a_newer_one_are_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="there is no event log"):
        check(tmp_path / "elsewhere")
    edited(path, f"PRAGMA user_version={FORMAT + 1}")
    for look in (check, lambda path: salvage(path, STAMP)):
        with pytest.raises(NewerJournalError):
            look(path)
    assert sorted(each.name for each in tmp_path.iterdir() if "damaged" in each.name) == []


# ---------------------------------------------------------------- rows that don't follow


BODY_OF_ANOTHER = '{"type":"JobCancelRequested","job":"three"}'


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        ("UPDATE events SET body = 'garbage' WHERE seq = 30", "malformed"),
        ("UPDATE events SET body = '{}' WHERE seq = 30", "missing"),
        (f"UPDATE events SET type = 'JobCancelRequested', body = '{BODY_OF_ANOTHER}' WHERE seq = 30", "int"),
        ("UPDATE events SET type = 'FromTheFuture' WHERE seq = 30", "FromTheFuture"),
        ("UPDATE events SET version = 99 WHERE seq = 30", "99"),
        ("DELETE FROM events WHERE seq = 30", "record 30 is missing; the next one is 31"),
        ("UPDATE events SET seq = -1 WHERE seq = 30", "record 30 is missing; the next one is 31"),
        ("UPDATE events SET cause = 31 WHERE seq = 30", "record 30 was caused by 31"),
        ("UPDATE events SET cause = 30 WHERE seq = 30", "record 30 was caused by 30"),
        ("UPDATE events SET seen = 30 WHERE seq = 30", "decided after 30"),
        ("UPDATE events SET cause = -1 WHERE seq = 30", "record 30 was caused by -1"),
    ],
)
async def test_the_first_record_that_can_t_follow_is_told_and_all_before_it_stays(
    path: Path, damage: str, fault: str
) -> None:
    edited(path, damage)
    report = check(path)
    assert (report.readable_to, report.whole) == (29, False)
    assert fault in report.fault
    assert salvaged(path).readable_to == 29


async def test_a_fact_that_does_not_fit_its_job_is_a_fault(path: Path) -> None:
    fields = msgspec.json.encode(JobCompleted(job=41, attempt=1)).decode()
    edited(path, f"UPDATE events SET type = 'JobCompleted', body = '{fields}' WHERE seq = {len(LOG)}")
    edited(path, "UPDATE events SET body = replace(body, '\"job\":41', '\"job\":40')")
    report = check(path)
    assert report.readable_to == len(LOG) - 1
    assert "job 40 is completed and can't take JobCompleted" in report.fault
    assert salvaged(path).readable_to == len(LOG) - 1


# ---------------------------------------------------------------- blocks


@pytest.fixture
def copy(path: Path, tmp_path: Path) -> Callable[[], Path]:
    """Makes fresh copies of the log."""

    def made() -> Path:
        folder = tmp_path / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        return crashed(path, folder)

    return made


async def test_a_zeroed_block_anywhere_is_found_and_what_lies_before_it_is_saved(copy: Callable[[], Path]) -> None:
    found = set()
    for page in range(copy().stat().st_size // PAGE):
        path = copy()
        zeroed(path, page)
        report = check(path)
        assert not report.whole, f"page {page}"
        assert "\n" not in report.fault
        assert salvaged(path) == report
        found.add(report.readable_to)
    assert 0 in found  # the first page: no database at all
    assert len(found) > 10  # the leaves, one after the other


async def test_zeroed_blocks_at_the_start_the_middle_and_the_end(copy: Callable[[], Path]) -> None:
    pages = copy().stat().st_size // PAGE
    readable = []
    for first in (0, pages // 2, pages - 3):
        path = copy()
        zeroed(path, first, 3)
        readable.append(salvaged(path).readable_to)
    assert readable[0] == 0 < readable[1] < readable[2] < len(LOG)


async def test_a_file_cut_at_any_block_is_found_and_what_is_left_is_saved(copy: Callable[[], Path]) -> None:
    for pages in range(copy().stat().st_size // PAGE):
        path = copy()
        os.truncate(path, pages * PAGE)
        assert not check(path).whole, f"{pages} pages"
        salvaged(path)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
async def test_whatever_is_written_over_a_log_what_is_saved_of_it_is_a_part_of_what_was_there(
    copy: Callable[[], Path], data: st.DataObject
) -> None:
    path = copy()
    size = path.stat().st_size
    junk = data.draw(st.binary(min_size=1, max_size=200))
    with path.open("r+b") as file:
        file.seek(data.draw(st.integers(100, size - len(junk))))  # behind the header, which has the format's number
        file.write(junk)
    report, kept = salvage(path, STAMP)
    assert kept.exists()
    assert check(path).whole
    assert [record.seq for record in read(path)] == list(range(1, report.readable_to + 1))


async def test_without_its_wal_file_the_log_is_whole_up_to_what_had_moved_into_the_database(tmp_path: Path) -> None:
    journal = await SqliteJournal.open(tmp_path / "journal.sqlite")
    await journal.append(LOG[:50])
    await journal._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    await journal.append(LOG[50:])
    path = crashed(journal.path, tmp_path / "crashed")
    await journal.close()
    assert check(path).readable_to == len(LOG)
    path = crashed(path, tmp_path / "torn")
    files(path)[1].unlink()
    assert (check(path).readable_to, check(path).whole) == (50, True)


async def test_what_lies_only_in_the_wal_file_is_saved_too(tmp_path: Path) -> None:
    journal = await SqliteJournal.open(tmp_path / "journal.sqlite")
    await journal.append(LOG)
    path = crashed(journal.path, tmp_path / "crashed")
    await journal.close()
    assert files(path)[1].stat().st_size > path.stat().st_size
    side = await SqliteJournal.open(path)
    await side._connection.execute("UPDATE events SET body = '{' WHERE seq = 100")
    await side._connection.commit()
    path = crashed(path, tmp_path / "again")
    await side.close()
    assert salvaged(path).readable_to == 99
    assert not files(path)[1].exists()


# ---------------------------------------------------------------- snapshots


async def test_a_snapshot_that_is_what_the_records_lead_to_is_fine(tmp_path: Path) -> None:
    for at in (1, 100, len(LOG)):
        path = await written(tmp_path / f"{at}.sqlite", LOG, snapshot_at=at)
        assert check(path).whole, at


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        ("UPDATE closed SET row = replace(row, 'ada', 'bob') WHERE job = 3", "is not what the records"),
        ("DELETE FROM closed WHERE job = 3", "is not what the records"),
        ("UPDATE snapshots SET needed = '[]'", "is not what the records"),
        ("UPDATE closed SET row = 'garbage' WHERE job = 3", "can't be used: JSON is malformed"),
        ("UPDATE closed SET state = 'asleep' WHERE job = 3", ""),
        ("UPDATE snapshots SET needed = 'garbage'", ""),
        ("UPDATE snapshots SET made_by = '0.0.0'", ""),
    ],
)
async def test_a_snapshot_that_differs_from_the_records_is_told_and_is_not_in_the_salvaged_log(
    tmp_path: Path, damage: str, fault: str
) -> None:
    """One that nobody would use is no fault."""
    path = await written(tmp_path / "journal.sqlite", LOG, snapshot_at=100)
    edited(path, damage)
    report = check(path)
    assert report.readable_to == len(LOG)
    assert fault in report.fault
    assert report.whole is (not fault)
    assert salvaged(path).readable_to == len(LOG)
    later = await SqliteJournal.open(path)
    assert await later.snapshot() is None
    await later.close()


async def test_a_fault_of_the_records_is_told_before_one_of_the_snapshot(tmp_path: Path) -> None:
    path = await written(tmp_path / "journal.sqlite", LOG, snapshot_at=100)
    edited(path, "DELETE FROM closed")
    edited(path, "DELETE FROM events WHERE seq = 200")
    assert check(path).fault == "record 200 is missing; the next one is 201"


async def test_a_snapshot_of_what_the_log_has_lost_is_not_used(tmp_path: Path) -> None:
    path = await written(tmp_path / "journal.sqlite", LOG, snapshot_at=len(LOG))
    edited(path, f"DELETE FROM events WHERE seq = {len(LOG)}")
    assert check(path).whole
    later = await SqliteJournal.open(path)
    assert await later.snapshot() is None
    snapshot = a_snapshot(LOG[:-1])
    await later.keep(*snapshot)
    found = await later.snapshot()
    assert found
    assert found[0] == snapshot[0]
    await later.close()


# ---------------------------------------------------------------- what befalls a salvage


class Crash(BaseException):
    """The process is gone."""


class Fatal:
    """Lets steps on files happen, and raises instead of one of them.

    Args:
        monkeypatch: puts it in their place.
        step: the one, from 1.
        error: what it raises.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, step: int, error: BaseException) -> None:
        self.left = step
        self._error = error
        for owner, names in (
            (os, ("fsync", "open")),
            (shutil, ("copyfile", "copystat")),
            (Path, ("rename", "replace", "unlink", "open")),
            (sqlite3, ("connect",)),
        ):
            for name in names:
                monkeypatch.setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, call: Callable[..., object]) -> Callable[..., object]:
        def step(*args: object, **named: object) -> object:
            self.left -= 1
            if self.left == 0:
                raise self._error
            return call(*args, **named)

        return step


@pytest.fixture
async def damaged(tmp_path: Path) -> Path:
    """A log that is whole up to record 199 and of which 150 records lie beside the database."""
    journal = await SqliteJournal.open(tmp_path / "journal.sqlite")
    await journal.append(LOG[:50])
    await journal._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    await journal.append(LOG[50:])
    await journal._connection.execute("UPDATE events SET body = '{' WHERE seq = 200")
    await journal._connection.commit()
    made = crashed(journal.path, tmp_path / "damaged")
    await journal.close()
    return made


@pytest.mark.parametrize("error", [Crash(), OSError(errno.ENOSPC, "No space left on device")], ids=["crash", "error"])
async def test_whatever_step_of_a_salvage_fails_the_old_log_or_the_whole_new_one_is_in_place(
    damaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    old = content(damaged)
    outcomes = set()
    for step in itertools.count(1):
        path = crashed(damaged, tmp_path / f"{step}")
        with monkeypatch.context() as patched:
            fatal = Fatal(patched, step, error)
            with contextlib.suppress(type(error)):
                salvage(path, STAMP)
        untouched = content(path) == old and not successor(path).exists()
        kept = path.with_name(f"journal.sqlite.damaged-{STAMP}")
        assert untouched or content(kept) == old, f"step {step}"
        if isinstance(error, OSError) and untouched:
            assert [each for each in path.parent.iterdir() if each not in files(path)] == []
        finish(path)  # as the next platform does
        found = check(path)
        assert (found.readable_to, found.whole) == (199, not untouched), f"step {step}"
        outcomes.add(untouched)
        if fatal.left > 0:
            break
        assert salvage(path, "again")[0].readable_to == 199
        assert check(path).whole
    assert outcomes == {True, False}
    assert step > 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for little more than a log."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("may not mount")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


async def test_on_a_full_disk_a_salvage_leaves_everything_as_it_was(damaged: Path, small_disk: Path) -> None:
    old = content(damaged)
    for room in (0, PAGE, 8 * PAGE):
        path = crashed(damaged, small_disk)
        fill = small_disk / "fill"
        free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
        fill.write_bytes(bytes(free - room))
        with pytest.raises(OSError, match=r"No space left|disk is full|disk I/O error"):
            salvage(path, STAMP)
        assert content(path) == old
        assert {each.name for each in small_disk.iterdir()} <= {"fill", *(part.name for part in files(path))}
        fill.unlink()
