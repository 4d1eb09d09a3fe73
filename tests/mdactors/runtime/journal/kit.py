"""Logs of a little life, their snapshots, and what befalls files."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from events.base import Record
from mdactors.core.lifecycle import Job, Jobs
from mdactors.core.residue import Residue
from mdactors.ports import Snapshot
from mdactors.runtime.journal.files import files
from mdactors.runtime.journal.sqlite import SqliteJournal
from tests.mdactors.archive.builders import a_life, a_node, a_performance, a_submission, records

PAGE = 4096
"""Bytes in which SQLite reads and writes."""


def story(jobs: int = 3) -> list[Record]:
    """So many jobs that completed and are in the archive, and one more that has just been submitted."""
    lives = [event for job in range(1, jobs + 1) for event in (*a_life(job), a_performance(job))]
    return records(a_node(), *lives, a_submission(jobs + 1))


def a_snapshot(log: Iterable[Record], counters: bytes = b"{}") -> tuple[Snapshot, list[Job]]:
    """Return the snapshot that a platform would make there, and the jobs that it would close."""
    jobs = Jobs()
    residue = Residue(jobs)
    seq = 0
    for record in log:
        jobs.apply(record)
        residue.apply(record)
        seq = record.seq
    closed = residue.closable()
    return Snapshot(seq=seq, needed=tuple(residue.needed(without=closed)), counters=counters), closed


async def written(path: Path, log: Sequence[Record], *, snapshot_at: int = 0) -> Path:
    """Make a log of these records; with a snapshot of one of them, where one is named."""
    journal = await SqliteJournal.open(path)
    await journal.append(log)
    if snapshot_at:
        await journal.keep(*a_snapshot(log[:snapshot_at]))
    await journal.close()
    return path


def crashed(path: Path, folder: Path) -> Path:
    """Copy an open log's files as a crash would leave them; return the copy."""
    folder.mkdir(exist_ok=True)
    for part in files(path)[:2]:
        if part.exists():
            shutil.copyfile(part, folder / part.name)
    return folder / path.name


def edited(path: Path, statement: str) -> None:
    """Change something behind everybody's back."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def zeroed(path: Path, first: int, count: int = 1) -> None:
    """Fill pages with zeros, as a disk does that forgot them."""
    with path.open("r+b") as file:
        file.seek(first * PAGE)
        file.write(bytes(count * PAGE))
