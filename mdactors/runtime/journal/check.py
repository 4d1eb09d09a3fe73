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
from mdactors.runtime.journal.sql import FAULTS, INSERT, Row, connect, record_of, rows, schema

SIDES = ("-wal", "-shm")
"""What SQLite keeps beside the file."""


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

    Raises:
        JournalError: there is no file, or a newer mdactors wrote it.
    """
    if not path.is_file():
        raise JournalError(f"there is no event log {path}")
    inspection = _Inspection()
    fault = _damage(path)
    try:
        for row in rows(path):
            inspection.take(row)
    except (*FAULTS, IllegalTransitionError) as error:
        fault = str(error)
    return Report(
        path=str(path),
        readable_to=inspection.good,
        fault=fault,
        digest=digest(inspection.jobs, inspection.matrix),
    )


class _Inspection:
    """Folds row by row and raises at the first that can't follow."""

    def __init__(self) -> None:
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
    report = check(path)
    kept = _keep(path, stamp)
    new = path.with_name(f"{path.name}.new")
    _write(new, itertools.takewhile(lambda row: row[0] <= report.readable_to, rows(path)))
    for side in SIDES:
        path.with_name(path.name + side).unlink(missing_ok=True)
    new.replace(path)
    _sync_folder(path.parent)
    return report, kept


def _keep(path: Path, stamp: str) -> Path:
    kept = path.with_name(f"{path.name}.damaged-{stamp}")
    for side in ("", *SIDES):
        part = path.with_name(path.name + side)
        if part.exists():
            shutil.copy2(part, kept.with_name(kept.name + side))
    return kept


def _write(new: Path, kept: Iterable[Row]) -> None:
    new.unlink(missing_ok=True)
    try:
        with contextlib.closing(sqlite3.connect(new)) as connection:
            connection.executescript(schema())
            connection.executemany(INSERT, _before_fault(kept))
            connection.commit()
    except sqlite3.Error as error:
        raise OSError(f"{new} could not be written: {error}") from error
    with new.open("rb") as file:
        os.fsync(file.fileno())


def _before_fault(kept: Iterable[Row]) -> Iterator[Row]:
    """Yield rows until the file can't be read any more: what is to be kept lies before that."""
    with contextlib.suppress(sqlite3.Error):
        yield from kept


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _damage(path: Path) -> str:
    """Return what SQLite itself finds wrong with the file; empty: nothing."""
    try:
        with contextlib.closing(connect(path)) as connection:
            found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(1)")]
    except sqlite3.Error as error:
        return str(error)
    return "" if found == ["ok"] else "; ".join(found)
