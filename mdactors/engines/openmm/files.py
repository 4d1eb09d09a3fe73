"""Files that are there whole or not at all: temporary name, fsync, rename, fsync of the folder."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a crash at any instant leaves either the old content or the new.

    Raises:
        OSError: it could not be written; the old content is untouched.
    """
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    sync_folder(path.parent)


def keep_previous(path: Path, previous: Path) -> None:
    """Make `previous` another name of the file that `path` names now; nothing happens where there is none."""
    if not path.exists():
        return
    link = previous.with_name(previous.name + ".partial")
    link.unlink(missing_ok=True)
    os.link(path, link)
    link.replace(previous)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
