"""What a platform remembers, read from its files by somebody who changes nothing in them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from events.base import Record
from events.platform import PlatformStarted
from mdactors.core.capabilities import Matrix
from mdactors.core.lifecycle import Job, Jobs, JobState
from mdactors.errors import InputError, JournalError, NoPlatformError, UnknownJobError
from mdactors.ports import Snapshot
from mdactors.runtime.journal.files import JOURNAL_NAME
from mdactors.runtime.journal.snapshots import newest
from mdactors.runtime.journal.sql import FAULTS, Row, picked, record_of
from mdactors.runtime.journal.sql import rows as stored
from mdactors.views.jobs import job_detail, job_page
from mdactors.views.platform import matrix_view, status_view


class Stopped:
    """The read models, folded from the journal of a state folder.

    Raises:
        NoPlatformError: there is no journal.
        JournalError: it can't be read.
    """

    def __init__(self, state: str) -> None:
        self.state = state
        kept = newest(Path(state) / JOURNAL_NAME)
        self.models = Jobs(kept[1] if kept else None)
        self.matrix = Matrix()
        self.last_seq = 0
        self.version = self.node = ""
        for record in resumed(state, kept[0] if kept else None):
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


def resumed(state: str, snapshot: Snapshot | None) -> Iterator[Record]:
    """Yield what leads to the present state: the residue of a snapshot and all after it, else the whole log.

    Raises as `records` does.
    """
    if snapshot is not None:
        with _reading(state) as path:
            yield from map(record_of, picked(path, snapshot.needed))
    yield from records(state, snapshot.seq if snapshot else 0)


def records(state: str, since: int = 0) -> Iterator[Record]:
    """Yield the records after `since`.

    Raises:
        NoPlatformError: there is no journal.
        JournalError: it can't be read.
    """
    good = since
    try:
        for row in rows(state, since):
            record = record_of(row)
            good = record.seq
            yield record
    except FAULTS as error:
        raise JournalError(f"{state}: the event log is readable up to record {good}: {error}") from error


def rows(state: str, since: int = 0) -> Iterator[Row]:
    """Yield the stored rows after `since`, as they are. Raises as `records` does."""
    with _reading(state) as path:
        yield from stored(path, since)


@contextlib.contextmanager
def _reading(state: str) -> Iterator[Path]:
    path = Path(state) / JOURNAL_NAME
    try:
        if not path.is_file():
            raise NoPlatformError(f"no platform is running on {state}, and there is no event log of an earlier one")
        yield path
    except (*FAULTS, OSError) as error:
        raise JournalError(f"{path} can't be read: {error}") from error
