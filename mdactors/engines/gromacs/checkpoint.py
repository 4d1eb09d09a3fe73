"""Checkpoint files (`.cpt`): what they say of themselves, and whether they are whole.

Source: `do_cpt_header`, `do_cpt_files` and `do_cpt_footer` in GROMACS's `fileio/checkpoint.cpp`; format 22 (2022) is
tested on files of the real program. A checkpoint has no checksum, but it ends with a magic number: every file that was
cut off by a full disk or a power failure is told by its last four bytes.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from mdactors.engines.gromacs.files import read_head, read_tail, size_of
from mdactors.engines.gromacs.xdr import Cursor, XdrError
from mdactors.errors import MdactorsError

MAGIC_START = 171817
MAGIC_END = 171819
HEAD_BYTES = 16 * 1024
"""Seven texts of at most 1,024 bytes each, and some numbers."""

# First formats in which a field is written.
HAS_PART = 3
HAS_LONG_STEP = 5
HAS_NOSE_HOOVER_CHAINS = 10
HAS_BAROSTAT_CHAINS = 11
HAS_HOST = 12
HAS_LAMBDAS = 14

OUTPUT_NAME = re.compile(rb"[\x21-\x7e]+\.(?:log|edr|xtc|trr|tng|xvg)")


class CheckpointError(MdactorsError):
    """The checkpoint can't be trusted; the message says why."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """What a whole checkpoint says of itself."""

    version: str
    """GROMACS version that wrote it."""
    program: str
    format: int
    double: bool
    """Written by a double-precision program."""
    atoms: int
    part: int
    """1 for a run never continued."""
    step: int
    """Absolute: an input that starts at step s starts to count there."""
    time_ps: float
    outputs: dict[str, int] = {}
    """Output file -> bytes that it had; mdrun appends only where each is there and is at least as long."""


def parse_checkpoint(head: bytes, tail: bytes) -> Checkpoint:
    """Read a checkpoint from its first and last bytes (which may overlap).

    Raises:
        CheckpointError: it is empty, no checkpoint, or cut off.
    """
    if not head:
        raise CheckpointError("it is empty")
    try:
        found = _head(Cursor(head))
    except XdrError as error:
        raise CheckpointError(f"it is cut off: {error}") from error
    if tail[-4:] != MAGIC_END.to_bytes(4, "big"):
        raise CheckpointError("it is cut off: the end mark is missing")
    return msgspec.structs.replace(found, outputs=_outputs(tail))


def _head(cursor: Cursor) -> Checkpoint:
    magic = cursor.integer()
    if magic != MAGIC_START:
        raise CheckpointError(f"it is not a checkpoint: it starts with {magic} instead of {MAGIC_START}")
    version, _, _, _, program, _ = (cursor.string() for _ in range(6))
    form = cursor.integer()
    double = cursor.integer() != 0
    if form >= HAS_HOST:
        cursor.string()
    atoms = cursor.integer()
    chains = sum(form >= first for first in (HAS_NOSE_HOOVER_CHAINS, HAS_BAROSTAT_CHAINS, HAS_LAMBDAS))
    for _ in range(2 + chains):  # temperature groups, the fields counted above, the integrator
        cursor.integer()
    part = cursor.integer() if form >= HAS_PART else 1
    step = cursor.integer64() if form >= HAS_LONG_STEP else cursor.integer()
    if atoms < 0 or step < 0 or not 1 <= form < 1000:
        raise CheckpointError(f"it is damaged: format {form}, {atoms} atoms, step {step}")
    return Checkpoint(
        version=version,
        program=program,
        format=form,
        double=double,
        atoms=atoms,
        part=part,
        step=step,
        time_ps=cursor.real(8),
    )


def _outputs(tail: bytes) -> dict[str, int]:
    """Find the records (length, name padded to 4, offset high, offset low) near the end."""
    found: dict[str, int] = {}
    for match in OUTPUT_NAME.finditer(tail):
        name = match.group()
        padded = match.start() + len(name) + (-len(name) % 4)
        if tail[match.start() - 4 : match.start()] == len(name).to_bytes(4, "big"):
            found[name.decode("ascii")] = int.from_bytes(tail[padded : padded + 8], "big")
    return found


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a file's ends; the cost does not grow with its size.

    Raises:
        CheckpointError: it is missing, empty, no checkpoint, or cut off.
    """
    if size_of(path) < 0:
        raise CheckpointError("there is none")
    return parse_checkpoint(read_head(path, HEAD_BYTES), read_tail(path))


def obstacle_to_appending(checkpoint: Checkpoint, folder: Path) -> str:
    """Return why mdrun would refuse to append in this folder; empty: it would not.

    mdrun also compares a checksum over the last 1 MiB of each file; that is left to it, since a person who edited an
    output should hear of it instead of losing it.
    """
    for name, size_bytes in checkpoint.outputs.items():
        present = size_of(folder / name)
        if present < 0:
            return f"{name} is missing"
        if present < size_bytes:
            return f"{name} has {present} bytes, it had {size_bytes}"
    return "" if checkpoint.outputs else "it names no output files"
