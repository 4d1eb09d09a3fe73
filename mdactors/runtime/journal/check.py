"""Is a log whole? And if not: up to where, and a new one from what can be read, the old one kept."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from mdactors.core.capabilities import Matrix
from mdactors.core.digest import digest
from mdactors.core.lifecycle import Jobs
from mdactors.errors import IllegalTransitionError, JournalError
from mdactors.ports import Snapshot
from mdactors.runtime.journal.files import files, finish, successor, sync_folder
from mdactors.runtime.journal.snapshots import ClosedRows, newest
from mdactors.runtime.journal.sql import FAULTS, INSERT, Row, connect, picked, record_of, rows, schema

UNREADABLE = (*FAULTS, IllegalTransitionError)
"""What the first record that can't follow raises."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at a log found."""

    path: str
    readable_to: int
    """The last record before the first fault; all before it are in order."""
    fault: str = ""
    """What is wrong with what follows; empty: nothing."""
    digest: str = ""
    """Of the state that the readable records lead to."""

    @property
    def whole(self) -> bool:
        """Nothing is wrong."""
        return not self.fault


def check(path: Path) -> Report:
    """Read a log from its first record to its first fault: order, causes, shapes, and that each fact fits its job's state.

    A snapshot has to be what the records up to it lead to.

    Raises:
        JournalError: there is no file, or a newer mdactors wrote it.
    """
    if not path.is_file():
        raise JournalError(f"there is no event log {path}")
    fault = _damage(path)
    with _newest(path) as kept:
        inspection = _Inspection(kept[0].seq if kept else 0)
        try:
            for row in rows(path):
                inspection.take(row)
        except UNREADABLE as error:
            fault = str(error)
        if kept and not fault:
            fault = _difference(path, *kept, inspection.then)
    return Report(
        path=str(path),
        readable_to=inspection.good,
        fault=fault,
        digest=digest(inspection.jobs, inspection.matrix),
    )


@contextlib.contextmanager
def _newest(path: Path) -> Iterator[tuple[Snapshot, ClosedRows] | None]:
    kept = newest(path)
    with contextlib.closing(kept[1]) if kept else contextlib.nullcontext():
        yield kept


def _difference(path: Path, snapshot: Snapshot, closed: ClosedRows, then: str) -> str:
    """Return in which way a snapshot is not what the records lead to; empty: in none."""
    jobs, matrix = Jobs(closed), Matrix()
    try:
        for record in map(record_of, picked(path, snapshot.needed)):
            jobs.apply(record)
            matrix.apply(record)
        same = digest(jobs, matrix) == then
    except UNREADABLE as error:
        return f"the snapshot of record {snapshot.seq} can't be used: {error}"
    return "" if same else f"the snapshot of record {snapshot.seq} is not what the records up to there lead to"


class _Inspection:
    """Folds row by row and raises at the first that can't follow.

    Args:
        snapshot: the record of which there is a snapshot.
    """

    def __init__(self, snapshot: int) -> None:
        self._snapshot = snapshot
        self.then = ""
        """Digest of the state there."""
        self.good = 0
        self.jobs = Jobs()
        self.matrix = Matrix()

    def take(self, row: Row) -> None:
        seq, _, cause, *_, seen = row
        if seq != self.good + 1:
            raise ValueError(f"record {self.good + 1} is missing; the next one is {seq}")
        if not 0 <= cause < seq or not 0 <= seen < seq:
            raise ValueError(f"record {seq} was caused by {cause} and decided after {seen}: neither can come after it")
        record = record_of(row)
        self.jobs.apply(record)
        self.matrix.apply(record)
        self.good = seq
        if seq == self._snapshot:
            self.then = digest(self.jobs, self.matrix)


def salvage(path: Path, stamp: str) -> tuple[Report, Path]:
    """Put a log of the readable records in the place of a damaged one, which is kept; return the findings and its new name.

    At every moment the file under `path` is either the old log or the whole new one. Nobody may have it open.

    Args:
        path: the log.
        stamp: for the kept one's name.

    Raises:
        JournalError: there is no file, or a newer mdactors wrote it.
        OSError: the new one could not be written; the old one is in its place.
    """
    finish(path)
    report = check(path)
    kept = path.with_name(f"{path.name}.damaged-{stamp}")
    part = path.with_name(f"{path.name}.part")
    try:
        _keep(path, kept)
        _write(part, itertools.takewhile(lambda row: row[0] <= report.readable_to, rows(path)))
        sync_folder(path.parent)
        part.rename(successor(path))
    except OSError:
        for made in (part, *files(kept)):
            made.unlink(missing_ok=True)
        raise
    finish(path)
    return report, kept


def _keep(path: Path, kept: Path) -> None:
    for old, copy in zip(files(path), files(kept), strict=True):
        if old.exists():
            shutil.copy2(old, copy)
            _sync(copy)


def _write(part: Path, kept: Iterable[Row]) -> None:
    part.unlink(missing_ok=True)
    try:
        with contextlib.closing(sqlite3.connect(part)) as connection:
            connection.execute("PRAGMA synchronous=OFF")  # nobody reads it before the fsync below
            connection.executescript(schema())
            connection.executemany(INSERT, _before_fault(kept))
            connection.commit()
    except sqlite3.Error as error:
        raise OSError(f"{part} could not be written: {error}") from error
    _sync(part)


def _before_fault(kept: Iterable[Row]) -> Iterator[Row]:
    """Yield rows until the file can't be read any more: what is to be kept lies before that."""
    with contextlib.suppress(*FAULTS):
        yield from kept


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _damage(path: Path) -> str:
    """Return what SQLite itself finds wrong with the file; empty: nothing."""
    try:
        with contextlib.closing(connect(path)) as connection:
            found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(1)")]
    except FAULTS as error:
        return str(error)
    return "" if found == ["ok"] else " ".join("; ".join(found).split())
