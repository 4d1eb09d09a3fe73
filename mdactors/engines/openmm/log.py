"""What a running worker writes about itself, read from the end of the file."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from mdactors.engines.openmm.job import Progress, Result, progress_file, result_file
from mdactors.ports import Reading

TAIL = 2048
"""Bytes; a line of progress has under 200."""


def read_progress(folder: Path, attempt: int) -> Progress | None:
    """Return the newest complete line of progress; None where there is none yet."""
    try:
        with (folder / progress_file(attempt)).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
            return newest(file.read())
    except OSError:
        return None


def newest(tail: bytes) -> Progress | None:
    """Return the last line that was written whole; the one that is being written, or was cut, is passed over."""
    for line in reversed(tail.split(b"\n")[:-1]):
        try:
            return msgspec.json.decode(line, type=Progress)
        except msgspec.DecodeError:
            continue
    return None


def read_result(folder: Path, attempt: int) -> Result | None:
    """Return what the worker measured; None where it left nothing that can be read."""
    try:
        return msgspec.json.decode((folder / result_file(attempt)).read_bytes(), type=Result)
    except (OSError, msgspec.DecodeError):
        return None


def reading(progress: Progress | None) -> Reading | None:
    """Return progress in the platform's words."""
    if progress is None:
        return None
    return Reading(step=progress.step, steps_asked=progress.steps_asked, timestep_ps=progress.timestep_ps)
