"""`perf-archive.json`: every recorded performance with its whole context, made anew from the journal whenever it is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from events.base import Record
from events.codec import timestamp
from events.results import PerformanceRecorded

SCHEMA = 1
"""Raised when a field's meaning changes; fields may be added without."""


def document(records: Iterable[Record]) -> dict[str, Any]:
    """Return the archive as plain data, one entry for each `PerformanceRecorded` among the records, in their order. Pure."""
    entries = [_entry(record, record.event) for record in records if isinstance(record.event, PerformanceRecorded)]
    return {"schema": SCHEMA, "entries": entries}


def _entry(record: Record, event: PerformanceRecorded) -> dict[str, Any]:
    """Every field is written, empty ones as well: a reader of one entry sees what is known of all."""
    return {
        "seq": record.seq,
        "time": timestamp(record.time),
        "job": event.job,
        "attempt": event.attempt,
        "outcome": event.outcome,
        "context": msgspec.structs.asdict(event.context),
        "figures": msgspec.structs.asdict(event.figures),
    }


def encode(document: dict[str, Any]) -> bytes:
    """Return the document as indented JSON that ends in a line feed."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file so that at every instant, a power cut included, it is the old or the new one as a whole.

    Raises:
        OSError: it could not be written; the old file is untouched.
    """
    temporary = path.with_name(f".{path.name}.part")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def export(path: Path, records: Iterable[Record]) -> int:
    """Write the archive of these records to `path`, atomically; return the number of entries.

    Raises:
        OSError: it could not be written; the old file is untouched.
    """
    made = document(records)
    write_atomically(path, encode(made))
    return len(made["entries"])
