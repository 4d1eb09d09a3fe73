"""Outputs in parts, one for each attempt, so that no row and no frame is lost or written twice.

An attempt that was killed has written beyond its last checkpoint. Before the next one starts, what lies beyond the step
that it resumes from is cut off the earlier parts: those steps are computed and written again.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from mdactors.engines.openmm.job import ENERGY_PARTS, TRAJECTORY_PARTS

XTC_MAGIC, XTC_MAGIC_BIG = 1995, 2023
"""First word of a frame; the second one is for more than 298 million atoms and has a longer count of bytes."""


def energy_parts(folder: Path) -> list[Path]:
    """Return the energy logs in order."""
    return sorted(folder.glob(ENERGY_PARTS))


def trajectory_parts(folder: Path) -> list[Path]:
    """Return the trajectories in order."""
    return sorted(folder.glob(TRAJECTORY_PARTS))


def cut_beyond(folder: Path, step: int, *, frame_offset: int) -> None:
    """Cut everything after `step` off the earlier parts; frames carry their step plus `frame_offset`.

    Raises:
        OSError: a part can't be read or cut.
    """
    for part in energy_parts(folder):
        _cut(part, rows_end(part.read_bytes(), step))
    for part in trajectory_parts(folder):
        with part.open("rb") as file:
            end = frames_end(file, step + frame_offset)
        _cut(part, end)


def _cut(part: Path, size: int) -> None:
    if size == 0:
        part.unlink()
    elif size < part.stat().st_size:
        with part.open("rb+") as file:
            file.truncate(size)


def rows_end(data: bytes, step: int) -> int:
    """Return how many bytes of an energy log hold its head and the complete rows up to `step`."""
    end = 0
    for line in data.splitlines(keepends=True):
        if not line.endswith(b"\n") or not _is_wanted(line, step):
            break
        end += len(line)
    return end


def _is_wanted(line: bytes, step: int) -> bool:
    word = line.partition(b",")[0]
    return word == b"step" or (word.isdigit() and int(word) <= step)


def frames_end(file: BinaryIO, step: int) -> int:
    """Return how many bytes of an XTC file hold complete frames up to `step`."""
    size = file.seek(0, 2)
    end = 0
    while True:
        frame = _frame(file, end)
        if frame is None or frame[0] > step or end + frame[1] > size:
            return end
        end += frame[1]


def frame_steps(path: Path) -> list[int]:
    """Return the steps of an XTC file's complete frames."""
    steps, end, size = [], 0, path.stat().st_size
    with path.open("rb") as file:
        while (frame := _frame(file, end)) is not None and end + frame[1] <= size:
            steps.append(frame[0])
            end += frame[1]
    return steps


def _frame(file: BinaryIO, start: int) -> tuple[int, int] | None:
    """Return step and length in bytes of the frame at `start`; None where none begins.

    Big-endian XDR: magic, atoms, step, time, 9 box floats, atoms; then up to 9 atoms as 3 floats each, more as precision,
    6 bounds, small index, a count of bytes, and that many bytes padded to 4.
    """
    file.seek(start)
    head = file.read(56)
    if len(head) < 56:
        return None
    magic, atoms, step = struct.unpack(">iii", head[:12])
    if magic not in {XTC_MAGIC, XTC_MAGIC_BIG}:
        return None
    if atoms <= 9:
        return step, 56 + 12 * atoms
    wide = magic == XTC_MAGIC_BIG
    packed = file.read(40 if wide else 36)
    if len(packed) < (40 if wide else 36):
        return None
    (count,) = struct.unpack(">q" if wide else ">i", packed[32:])
    return step, 56 + len(packed) + (count + 3) // 4 * 4
