"""Job files, read before anything is submitted."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mdactors.intake import read_job_file


class Batch:
    """The entries of one job file."""

    def __init__(self, path: Path, entries: list[Any]) -> None:
        self.file = str(path)
        self.base = path.absolute().parent
        self.entries = entries


def read(files: Iterable[str]) -> list[Batch]:
    """Read all job files.

    Raises:
        InputError: one of them can't be used.
    """
    return [Batch(Path(name), read_job_file(Path(name))) for name in files]
