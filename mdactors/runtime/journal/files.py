"""The files of a log, and how a new one takes an old one's place."""

from __future__ import annotations

import os
from pathlib import Path

JOURNAL_NAME = "journal.sqlite"
"""In the state folder."""
SIDES = ("-wal", "-shm")
"""What SQLite keeps beside the file."""


def files(path: Path) -> tuple[Path, ...]:
    """Return the file of a log and those that SQLite may keep beside it."""
    return tuple(path.with_name(path.name + side) for side in ("", *SIDES))


def successor(path: Path) -> Path:
    """Return the name of a whole new log that is to take this one's place; where it is there, it will."""
    return path.with_name(f"{path.name}.new")


def finish(path: Path) -> None:
    """Put the successor in its place, if there is one. Nobody may have the log open.

    The old log is the file and what lies beside it, which no single rename replaces: so the new one's name decides, and
    whoever opens the log to write to it does the rest of what a crash has left undone.
    """
    new = successor(path)
    if not new.exists():
        return
    sync_folder(path.parent)
    for side in files(path)[1:]:
        side.unlink(missing_ok=True)
    sync_folder(path.parent)
    new.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the folder's names are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
