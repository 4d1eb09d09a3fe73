"""Where the engine's own output of an attempt lies, by the layout of a job's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

Stream = Literal["auto", "stdout", "stderr", "engine"]

STREAMS: tuple[Stream, ...] = get_args(Stream)

ENGINE_LOG = "*.log"
"""What an engine writes about itself lies beside its other files, whatever it is called."""


def find(folder: Path, attempt: int, stream: Stream) -> Path | None:
    """Return the file of a stream; None where the attempt has not written it.

    `auto` is the first of stdout, stderr and the engine's log that holds anything. Of several engine logs the newest
    is meant: an engine that goes on after a stop may begin another one.
    """
    if stream == "auto":
        found = (find(folder, attempt, each) for each in STREAMS[1:])
        return next((path for path in found if path and path.stat().st_size), None)
    if stream == "engine":
        return max(folder.glob(ENGINE_LOG), key=lambda path: path.stat().st_mtime_ns, default=None)
    path = folder / "attempts" / str(attempt) / stream
    return path if path.is_file() else None
