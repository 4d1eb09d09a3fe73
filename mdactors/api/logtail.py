"""The engine's own output as a stream of bytes, while it is being written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.to_thread

from mdactors.core.lifecycle import TERMINAL, Attempt, Job
from mdactors.views.logs import Stream, find

CHUNK_BYTES = 64 * 1024

PACE_SECONDS = 0.5
"""Between two looks at a file that is followed: a plain file can't be subscribed to everywhere."""


async def output(row: Job, stream: Stream, *, follow: bool, closing: anyio.Event) -> AsyncIterator[bytes]:
    """Yield the output of a job's newest attempt; follow: as it grows, and that of later attempts, until the job ends."""
    index = max(0, len(row.attempts) - 1)
    while True:
        while index < len(row.attempts):
            async for chunk in _attempt(row.attempts[index], stream, follow=follow, closing=closing):
                yield chunk
            index += 1
        if not follow or row.state in TERMINAL or not await _pause(closing):
            return


async def _attempt(attempt: Attempt, stream: Stream, *, follow: bool, closing: anyio.Event) -> AsyncIterator[bytes]:
    path: Path | None = None
    position = 0
    while True:
        complete = not follow or attempt.ended is not None  # asked before reading: what comes later is no output of it
        path = path or await anyio.to_thread.run_sync(_locate, attempt, stream)
        while path and (chunk := await anyio.to_thread.run_sync(_read, path, position)):
            position += len(chunk)
            yield chunk
        if complete or not await _pause(closing):
            return


def _locate(attempt: Attempt, stream: Stream) -> Path | None:
    return find(Path(attempt.folder), attempt.number, stream) if attempt.folder else None


def _read(path: Path, position: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(position)
            return file.read(CHUNK_BYTES)
    except FileNotFoundError:
        return b""  # set aside by a later attempt


async def _pause(closing: anyio.Event) -> bool:
    """Wait a moment; return False when streams have to end."""
    with anyio.move_on_after(PACE_SECONDS):
        await closing.wait()
    return not closing.is_set()
