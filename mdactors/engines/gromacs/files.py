"""Reading ends of files: an engine's log grows to gigabytes, and only its two ends are of interest.

Everything is read as bytes: logs carry host and path names in any encoding. A file that is not there reads as empty.
"""

from __future__ import annotations

import os
from pathlib import Path

EDGE = 64 * 1024
"""Bytes read at either end of a file."""

HEAD_MAX = 1024 * 1024
"""Bytes after which the search for a marker ends: heads of runs with many pull or energy groups are long."""


def size_of(path: Path) -> int:
    """Return a file's size in bytes, -1 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return -1


def read_head(path: Path, size: int = EDGE) -> bytes:
    """Return the first `size` bytes, empty where the file can't be read."""
    try:
        with path.open("rb", buffering=0) as file:
            return file.read(size) or b""
    except OSError:
        return b""


def read_tail(path: Path, size: int = EDGE) -> bytes:
    """Return the last `size` bytes, empty where the file can't be read. The cost does not grow with the file."""
    try:
        with path.open("rb", buffering=0) as file:
            length = os.fstat(file.fileno()).st_size
            return os.pread(file.fileno(), size, max(0, length - size))
    except OSError:
        return b""


def read_until(path: Path, marker: bytes, limit: int = HEAD_MAX) -> bytes:
    """Return the start of a file up to the block that holds `marker`, and at most `limit` bytes."""
    data = b""
    try:
        with path.open("rb", buffering=0) as file:
            while marker not in data and len(data) < limit and (block := file.read(EDGE)):
                data += block
    except OSError:
        return data
    return data


def text_of(data: bytes) -> str:
    """Decode whatever an engine wrote, with one kind of line end."""
    return data.decode("utf-8", errors="replace").replace("\r\n", "\n")
