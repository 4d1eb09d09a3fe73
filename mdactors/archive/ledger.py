"""`ledger.csv`: one row for every attempt that ended, appended and never changed.

CSV by RFC 4180 with a plain line feed, UTF-8 without a mark, header once, one line a row whatever the cells hold; pandas
reads it as it is (`dtype={"version": str}` keeps 2022.10 apart from 2022.1), spreadsheets by import. A row is one write of
a whole line. What a crash or a full disk left of an unfinished line is cut off before anything is appended.
"""

from __future__ import annotations

import csv
import errno
import functools
import io
import itertools
import os
import threading
from pathlib import Path

from events.results import Context
from mdactors.archive.columns import COLUMNS, Source, cell, unguard
from mdactors.core.lifecycle import Attempt, Job

Row = dict[str, str | int | float | None]
"""Column name -> what is written."""

NAMES = tuple(column.name for column in COLUMNS)

BLOCK_BYTES = 65536
"""How far back at a time the last line feed is looked for."""


def row(job: Job, attempt: Attempt, context: Context) -> Row:
    """Return the row of an ended attempt. Pure.

    Speeds are left out where the context that gives them their meaning is incomplete.
    """
    source = Source(job, attempt, context)
    return {column.name: cell(column.value(source)) for column in COLUMNS}


def line(cells: Row | tuple[str, ...]) -> bytes:
    """Return cells as one line of CSV with its line feed; a row's cells in the order of the columns."""
    text = io.StringIO()
    ordered = [cells.get(name) for name in NAMES] if isinstance(cells, dict) else cells
    csv.writer(text, lineterminator="\n").writerow(ordered)
    return text.getvalue().encode("utf-8", errors="backslashreplace")


HEADER = line(NAMES)


def append(path: Path, cells: Row, *, sync: bool = False) -> None:
    """Append one row, in one write; a new or emptied file gets its header in the same write.

    Args:
        path: The ledger; its folder exists.
        cells: The row.
        sync: Wait until the row is on the disk.

    Raises:
        OSError: it could not be written; the file is as it was.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        size = _cut_torn_line(descriptor)
        _write_whole(descriptor, size, line(cells) if size else HEADER + line(cells))
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_whole(descriptor: int, size: int, data: bytes) -> None:
    written = os.write(descriptor, data)
    if written != len(data):
        os.ftruncate(descriptor, size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _cut_torn_line(descriptor: int) -> int:
    """Cut what follows the last line feed; return the size (bytes) that is left."""
    size = os.fstat(descriptor).st_size
    if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
        return size
    kept = _after_last_line_feed(descriptor, size)
    os.ftruncate(descriptor, kept)
    return kept


def _after_last_line_feed(descriptor: int, end: int) -> int:
    while end:
        start = max(0, end - BLOCK_BYTES)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def repair(path: Path) -> int:
    """Cut an unfinished last line off the file; return how many bytes that were. A missing file is whole."""
    if not path.exists():
        return 0
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        return os.fstat(descriptor).st_size - _cut_torn_line(descriptor)
    finally:
        os.close(descriptor)


def set_aside_foreign(path: Path) -> Path | None:
    """Move away a file whose header is not ours (another version's columns, or a spreadsheet saved over it).

    Returns:
        Its new name, `ledger.csv.1` ...; None where there was nothing to move.
    """
    if not path.exists() or path.stat().st_size == 0:
        return None
    with path.open("rb") as file:
        if HEADER.startswith(file.readline()):  # ours, or the part of it that a crash let through
            return None
    number = next(n for n in itertools.count(1) if not path.with_name(f"{path.name}.{n}").exists())
    return path.rename(path.with_name(f"{path.name}.{number}"))


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows, oldest first, as column name -> text; unfinished lines are left out, a missing file has no rows."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        header = next(lines, [])
        return [dict(zip(header, map(unguard, cells), strict=True)) for cells in lines if len(cells) == len(header)]


def keys(path: Path) -> set[tuple[int, int]]:
    """Return (job, attempt) of every row: the first two columns, which are numbers and never quoted."""
    if not path.exists():
        return set()
    heads = (text.split(b",", 2)[:2] for text in path.read_bytes().split(b"\n")[1:])
    return {
        (int(head[0]), int(head[1])) for head in heads if len(head) == 2 and head[0].isdigit() and head[1].isdigit()
    }


class Ledger:
    """The ledger of one state folder: knows which attempts it holds, appends each of them once.

    Args:
        path: `ledger.csv`; its folder exists. An unfinished last line is cut, a foreign file set aside.
        sync: Wait until each row is on the disk.

    Raises:
        OSError: the file can't be read or repaired.
    """

    def __init__(self, path: Path, *, sync: bool = False) -> None:
        self.path = path
        self.set_aside = set_aside_foreign(path)
        """Where a foreign file went; None: there was none."""
        self.cut = repair(path)
        """Bytes of an unfinished line that were cut."""
        self._sync = sync
        self._lock = threading.Lock()

    @functools.cached_property
    def _known(self) -> set[tuple[int, int]]:
        """Read when it is first needed: a ledger of years is no part of a start."""
        return keys(self.path)

    def __len__(self) -> int:
        return len(self._known)

    def has(self, job: int, attempt: int) -> bool:
        """Return whether the attempt has its row; only the first question reads the file."""
        return (job, attempt) in self._known

    def append(self, job: Job, attempt: Attempt, context: Context) -> bool:
        """Write the attempt's row, unless it has one; return whether it was written now.

        Raises:
            OSError: it could not be written; the file is as it was, and a later try may succeed.
        """
        key = (job.job, attempt.number)
        with self._lock:
            if key in self._known:
                return False
            append(self.path, row(job, attempt, context), sync=self._sync)
            self._known.add(key)
            return True

    def sync(self) -> None:
        """Wait until all rows are on the disk."""
        if self.path.exists():
            for path in (self.path, self.path.parent):  # the folder has the file's name
                descriptor = os.open(path, os.O_RDONLY)
                os.fsync(descriptor)
                os.close(descriptor)
