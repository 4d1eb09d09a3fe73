"""What a platform remembers, read from its files by somebody who changes nothing in them."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from events.base import Record
from events.codec import decode
from events.platform import PlatformStarted
from mdactors.core.capabilities import Matrix
from mdactors.core.lifecycle import Job, Jobs, JobState
from mdactors.errors import InputError, JournalError, NewerJournalError, NoPlatformError, UnknownJobError
from mdactors.runtime.journal.sqlite import FORMAT
from mdactors.views.jobs import job_detail, job_page
from mdactors.views.platform import matrix_view, status_view

JOURNAL_NAME = "journal.sqlite"

Row = tuple[int, float, int, str, int, str]
"""seq, time, cause, type, version, body."""

SELECT = "SELECT seq, time, cause, type, version, body FROM events WHERE seq > ? ORDER BY seq"


class Stopped:
    """The read models, folded from the journal of a state folder.

    Raises:
        NoPlatformError: there is no journal.
        JournalError: it can't be read.
    """

    def __init__(self, state: str) -> None:
        self.state = state
        self.models = Jobs()
        self.matrix = Matrix()
        self.last_seq = 0
        self.version = self.node = ""
        for record in records(state):
            self._fold(record)

    def _fold(self, record: Record) -> None:
        self.models.apply(record)
        self.matrix.apply(record)
        self.last_seq = record.seq
        if isinstance(record.event, PlatformStarted):
            self.version, self.node = record.event.version, record.event.node

    def row(self, number: int) -> Job:
        """Return a job.

        Raises:
            UnknownJobError: there is none.
        """
        if number not in self.models:
            raise UnknownJobError(f"there is no job {number}")
        return self.models[number]

    def status(self) -> Any:  # noqa: ANN401 - a JSON document
        """Return what `/v1/status` would."""
        return msgspec.to_builtins(
            status_view(
                self.models,
                self.matrix,
                version=self.version,
                node=self.node,
                state_folder=self.state,
                last_seq=self.last_seq,
                running=False,
            )
        )

    def job(self, number: int) -> Any:  # noqa: ANN401 - a JSON document
        """Return what `/v1/jobs/{number}` would. Raises as `row` does."""
        return msgspec.to_builtins(job_detail(self.row(number), self.matrix))

    def jobs(self, states: str, *, offset: int, limit: int) -> Any:  # noqa: ANN401 - a JSON document
        """Return what `/v1/jobs` would.

        Raises:
            InputError: a state is not known.
        """
        try:
            wanted = frozenset(JobState(name.strip()) for name in states.split(",") if name.strip())
        except ValueError as error:
            raise InputError(f"state: {states!r} is not known; one or more of: {', '.join(JobState)}") from error
        page = job_page(self.models, self.matrix, states=wanted, newest=False, offset=offset, limit=limit)
        return msgspec.to_builtins(page)

    def capabilities(self) -> Any:  # noqa: ANN401 - a JSON document
        """Return what `/v1/capabilities` would."""
        return msgspec.to_builtins(matrix_view(self.matrix))


def records(state: str, since: int = 0) -> Iterator[Record]:
    """Yield the records after `since`.

    Raises:
        NoPlatformError: there is no journal.
        JournalError: it can't be read; the message says up to where it can.
    """
    good = since
    try:
        for seq, time, cause, kind, version, body in rows(state, since):
            yield Record(seq, time, cause, decode(kind, version, body))
            good = seq
    except (ValueError, LookupError, msgspec.MsgspecError) as error:
        raise JournalError(f"{state}: the event log is readable up to record {good}: {error}") from error


def rows(state: str, since: int = 0) -> Iterator[Row]:
    """Yield the stored rows after `since`, as they are. Raises as `records` does."""
    path = Path(state) / JOURNAL_NAME
    try:
        with contextlib.closing(_open(path)) as connection:
            yield from connection.execute(SELECT, (since,))
    except (sqlite3.Error, OSError) as error:
        raise JournalError(f"{path} can't be read: {error}") from error


def _open(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise NoPlatformError(f"no platform is running on {path.parent}, and there is no event log of an earlier one")
    try:
        return _checked(path, "mode=ro")
    except sqlite3.OperationalError:
        # The log of a folder that we may not write to: nobody else writes there either.
        return _checked(path, "mode=ro&immutable=1")


def _checked(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(os.fsencode(path))}?{how}", uri=True)
    try:
        found = int(connection.execute("PRAGMA user_version").fetchone()[0])
        connection.execute("SELECT 1 FROM events LIMIT 1").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    if found > FORMAT:
        connection.close()
        raise NewerJournalError(f"{path} has format {found}; this version of mdactors reads up to {FORMAT}")
    return connection
