"""The head of a run input file (`.tpr`), for GROMACS 3.3 to 2026 and both precisions.

Source: `do_tpxheader` in GROMACS's `fileio/tpxio.cpp`. The head is XDR and has kept its order for twenty years; every
text in it is written as length + 1, length, bytes padded to 4.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from mdactors.engines.gromacs.files import read_head, size_of
from mdactors.engines.gromacs.xdr import Cursor, XdrError
from mdactors.errors import InputError

HEAD_BYTES = 4096
"""More than any head: two short texts and some twenty numbers."""

# First file versions in which something is written, from `tpxio.cpp`.
HAS_GENERATION = 26
HAS_TAG = 81
HAS_EARLY_TAG = range(77, 80)
"""Development versions that wrote the tag before the generation."""
HAS_GROUPS = 28
NO_STEP_AND_TIME = 62
HAS_FEP_STATE = 79
HAS_BODY_SIZE = 119
BODY_SIZE_GENERATION = 27


class TprError(InputError):
    """The file is no run input that can be used; the message says what it is instead."""


class TprHead(msgspec.Struct, frozen=True, kw_only=True):
    """What a run input file says of itself before its body."""

    version: str
    """GROMACS version that wrote it, without the word VERSION (`2022.5-Debian_2022.5_2`)."""
    real_bytes: int
    """4 or 8: precision of the numbers in it, not of the run."""
    file_version: int
    """Format number; a program reads up to its own."""
    generation: int
    """Raised where older programs can't read even parts of it."""
    tag: str
    atoms: int
    body_bytes: int | None = None
    """Size of what follows, from 2020 on."""
    head_bytes: int
    """Where the body starts."""


def parse_head(data: bytes) -> TprHead:
    """Read the head from the first bytes of a file.

    Raises:
        TprError: it is empty, ends inside the head, or is no tpr.
    """
    if not data:
        raise TprError("the file is empty")
    try:
        return _head(Cursor(data))
    except XdrError as error:
        raise TprError(_broken(data, str(error))) from error


def _broken(data: bytes, why: str) -> str:
    if data[8:16] == b"VERSION ":
        return f"it is cut off inside its head: {why}"
    return "it is not a tpr: it does not start with the word VERSION"


def _text(cursor: Cursor) -> str:
    cursor.integer()
    return cursor.string()


def _head(cursor: Cursor) -> TprHead:
    version = _text(cursor)
    if not version.startswith("VERSION "):
        raise TprError("it is not a tpr: it does not start with the word VERSION")
    real_bytes = cursor.integer()
    if real_bytes not in (4, 8):
        raise TprError(f"it is damaged: numbers of {real_bytes} bytes")
    file_version = cursor.integer()
    if not 1 <= file_version < 10_000:
        raise TprError(f"it is damaged: format number {file_version}")
    tag = _text(cursor) if file_version in HAS_EARLY_TAG else ""
    generation = cursor.integer() if file_version >= HAS_GENERATION else 0
    if file_version >= HAS_TAG:
        tag = _text(cursor)
    atoms = cursor.integer()
    if atoms < 0:
        raise TprError(f"it is damaged: {atoms} atoms")
    _skip_to_body_size(cursor, file_version, real_bytes)
    sized = file_version >= HAS_BODY_SIZE and generation >= BODY_SIZE_GENERATION
    return TprHead(
        version=version.removeprefix("VERSION ").strip(),
        real_bytes=real_bytes,
        file_version=file_version,
        generation=generation,
        tag=tag,
        atoms=atoms,
        body_bytes=cursor.integer64() if sized else None,
        head_bytes=cursor.at,
    )


def _skip_to_body_size(cursor: Cursor, file_version: int, real_bytes: int) -> None:
    if file_version >= HAS_GROUPS:
        cursor.integer()
    if file_version < NO_STEP_AND_TIME:
        cursor.integer()
        cursor.real(real_bytes)
    if file_version >= HAS_FEP_STATE:
        cursor.integer()
    cursor.real(real_bytes)  # lambda
    for _ in range(6):  # is there: input record, topology, positions, velocities, forces, box
        cursor.integer()


def check_size(head: TprHead, size_bytes: int) -> None:
    """Compare a file's size with what its head announces.

    Raises:
        TprError: bytes are missing at its end.
    """
    if head.body_bytes is None:
        return
    wanted = head.head_bytes + head.body_bytes
    if head.body_bytes < 0 or size_bytes < wanted:
        raise TprError(f"it is cut off: {size_bytes} bytes are there, its head announces {wanted}")


def read_tpr(path: Path) -> TprHead:
    """Read a file's head and check its size.

    Raises:
        TprError: it is missing, empty, no tpr, or cut off.
    """
    size_bytes = size_of(path)
    if size_bytes < 0:
        raise TprError("there is no such file")
    head = parse_head(read_head(path, HEAD_BYTES))
    check_size(head, size_bytes)
    return head
