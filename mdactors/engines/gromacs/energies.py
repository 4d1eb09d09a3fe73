"""Energies from ener.edr under the common names.

GROMACS writes one column for each functional form; engines are compared by what a term means, so columns of one
meaning are added up. Units are kJ/mol throughout; pressure (bar) and temperature (K) are no energies and left out.
"""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator
from pathlib import Path

from mdactors.engines.gromacs.files import read_head
from mdactors.engines.gromacs.folder import ENERGIES
from mdactors.errors import EnergiesMissingError
from mdactors.ports import Energies

TERMS: dict[str, str] = {
    "Bond": "bond",
    "G96Bond": "bond",
    "Morse": "bond",
    "Cubic Bonds": "bond",
    "Quartic Bonds": "bond",
    "FENE Bonds": "bond",
    "Tab. Bonds": "bond",
    "Angle": "angle",
    "G96Angle": "angle",
    "Restr. Angles": "angle",
    "Restricted Angles": "angle",
    "Lin. Angle": "angle",
    "U-B": "angle",
    "Quartic Angles": "angle",
    "Tab. Angles": "angle",
    "Proper Dih.": "proper",
    "Ryckaert-Bell.": "proper",
    "Fourier Dih.": "proper",
    "Restr. Dih.": "proper",
    "CBT Dih.": "proper",
    "Tab. Dih.": "proper",
    "Improper Dih.": "improper",
    "Per. Imp. Dih.": "improper",
    "Periodic Improper Dih.": "improper",
    "CMAP Dih.": "cmap",
    "LJ-14": "lj14",
    "Coulomb-14": "coulomb14",
    "LJ (SR)": "lj_sr",
    "Buck.ham (SR)": "lj_sr",
    "Disper. corr.": "dispersion_correction",
    "Coulomb (SR)": "coulomb_sr",
    "Coul. recip.": "coulomb_recip",
    "LJ recip.": "lj_recip",
    "Position Rest.": "position_restraint",
    "Potential": "potential",
    "Kinetic En.": "kinetic",
    "Total Energy": "total",
    "Conserved En.": "conserved",
}
"""Column of an energy file (`interaction_function` in GROMACS's topology/ifunc.cpp) -> common name."""

MARK = -55555
COLUMNS_MAX = 10_000

FAULTS = (ValueError, RuntimeError, EOFError, IndexError, KeyError, OverflowError, struct.error)
"""What the reader raises on files that are cut off or are no energy files."""


def read_energies(folder: Path) -> Energies:
    """Read the job's energies, frames of 0 length left out; a frame cut off at the end is left out as well.

    Raises:
        EnergiesMissingError: there is no `ener.edr`, or nothing in it can be read.
    """
    path = folder / ENERGIES
    if not path.is_file():
        raise EnergiesMissingError(f"{folder}: no {ENERGIES}; the run wrote no energies, or was moved aside")
    if not is_energy_file(read_head(path, 12)):
        raise EnergiesMissingError(f"{path}: no energy file: it does not start as GROMACS's energy files do")
    try:
        names, rows = _columns(path)
    except (*FAULTS, OSError) as error:
        raise EnergiesMissingError(f"{path}: no energy file that can be read: {error}") from error
    if not rows:
        raise EnergiesMissingError(f"{path}: it holds no energies yet")
    return Energies(
        times_ps=tuple(time for time, _ in rows),
        terms=common_terms(names, [values for _, values in rows]),
        source=str(path),
    )


def is_energy_file(head: bytes) -> bool:
    """Return whether a file starts with a sensible number of columns, after a mark since GROMACS 4.

    The reader would take any text for the number of columns of a file before 4, and make room for billions.
    """
    if len(head) < 12:
        return False
    first, _, third = struct.unpack(">3i", head[:12])
    columns = third if first == MARK else first
    return bool(0 < columns <= COLUMNS_MAX)


def _columns(path: Path) -> tuple[list[str], list[tuple[float, list[float]]]]:
    """Return the names of the columns and, for each frame, its time and its values."""
    from pyedr.pyedr import EDRFile  # noqa: PLC0415 - takes a tenth of a second; most runs of the platform never need it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it remarks on files of older versions, which it reads all the same
        file = EDRFile(str(path))
        names = [str(column.name) for column in file.nms]
        return names, list(_frames(iter(file)))


def _frames(frames: Iterator[object]) -> Iterator[tuple[float, list[float]]]:
    """Yield whole frames; what follows a damaged one can't be found again."""
    while True:
        try:
            frame = next(frames)
        except (StopIteration, *FAULTS):
            return
        energies = getattr(frame, "ener", None)
        if energies:
            yield float(getattr(frame, "t", 0.0)), [float(energy.e) for energy in energies]


def common_terms(names: list[str], rows: list[list[float]]) -> dict[str, tuple[float, ...]]:
    """Add up the columns of one meaning, kJ/mol; columns without a common name are left out."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        if name in TERMS:
            places.setdefault(TERMS[name], []).append(place)
    return {term: tuple(sum(row[place] for place in columns) for row in rows) for term, columns in places.items()}
