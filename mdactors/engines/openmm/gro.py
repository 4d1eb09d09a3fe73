"""GROMACS coordinate files with their velocities, which OpenMM's reader drops. Worker side.

Fixed columns: 20 of names, then three positions whose width is the distance between two decimal points, then, where the
line is long enough, three velocities of the same width. Units: nm and nm/ps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mdactors.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Gro:
    """One frame."""

    title: str
    labels: list[str]
    """The first 20 columns of every atom: residue, atom, number."""
    positions: Array
    """nm, shape (n, 3)."""
    velocities: Array | None
    """nm/ps, shape (n, 3)."""
    box: Array
    """nm, rows are the box vectors, shape (3, 3)."""


def read_gro(text: str) -> Gro:
    """Read the first frame.

    Raises:
        InputError: it is not complete, or not a gro file.
    """
    lines = text.splitlines()
    try:
        count = int(lines[1])
        atoms = lines[2 : 2 + count]
        box = read_box(lines[2 + count])
        width = _width(atoms[0]) if atoms else 8
        positions = _columns(atoms, 20, width)
        moving = bool(atoms) and all(len(line.rstrip()) > 20 + 5 * width for line in atoms)
        velocities = _columns(atoms, 20 + 3 * width, width) if moving else None
    except (ValueError, IndexError) as error:
        raise InputError(f"this is not a complete gro file: {error}") from error
    return Gro(lines[0], [line[:20] for line in atoms], positions, velocities, box)


def _width(line: str) -> int:
    first = line.index(".", 20)
    return line.index(".", first + 1) - first


def _columns(lines: list[str], start: int, width: int) -> Array:
    rows = [[float(line[start + i * width : start + (i + 1) * width]) for i in range(3)] for line in lines]
    return np.array(rows, dtype=np.float64).reshape(len(lines), 3)


def read_box(line: str) -> Array:
    """Return box vectors from the last line: v1x v2y v3z [v1y v1z v2x v2z v3x v3y].

    Raises:
        ValueError: it has neither 3 nor 9 numbers.
    """
    numbers = [float(word) for word in line.split()]
    if len(numbers) not in {3, 9}:
        raise ValueError(f"{line!r} is no box")
    ax, by, cz, ay, az, bx, bz, cx, cy = (numbers + [0.0] * 6)[:9]
    return np.array([[ax, ay, az], [bx, by, bz], [cx, cy, cz]])


def write_gro(gro: Gro) -> str:
    """Return the file's text: positions to 0.001 nm, velocities to 0.0001 nm/ps."""
    moving = gro.velocities if gro.velocities is not None else np.zeros((len(gro.labels), 0))
    atoms = (
        label + "".join(f"{x:8.3f}" for x in position) + "".join(f"{v:8.4f}" for v in velocity)
        for label, position, velocity in zip(gro.labels, gro.positions, moving, strict=True)
    )
    return "\n".join((gro.title, f"{len(gro.labels):5d}", *atoms, _box_line(gro.box))) + "\n"


def _box_line(box: Array) -> str:
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = box
    skewed = (ay, az, bx, bz, cx, cy)
    numbers = (ax, by, cz, *skewed) if any(skewed) else (ax, by, cz)
    return "".join(f"{number:10.5f}" for number in numbers)
