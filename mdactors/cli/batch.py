"""Job files, read before anything is submitted."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mdactors.errors import InputError
from mdactors.intake import parse_jobs, read_job_file

STDIN = "-"
"""Instead of a file: JSON or JSON lines on standard input."""


class Batch:
    """The entries of one job file; relative paths in them refer to `base`."""

    def __init__(self, file: str, base: Path, entries: list[Any]) -> None:
        self.file = file
        self.base = base
        self.entries = entries


def read(files: Iterable[str]) -> list[Batch]:
    """Read all job files.

    Raises:
        InputError: one of them can't be used.
    """
    return [_standard_input() if name == STDIN else _file(Path(name)) for name in files]


def _file(path: Path) -> Batch:
    return Batch(str(path), path.absolute().parent, read_job_file(path))


def _standard_input() -> Batch:
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"standard input is not text (byte {error.start} is not UTF-8)") from error
    return Batch(STDIN, Path.cwd(), parse_jobs(text, Path("standard input")))
