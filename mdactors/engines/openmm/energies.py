"""The energy logs of all attempts, joined: `energies.partNNNN.csv` -> terms over time in kJ/mol."""

from __future__ import annotations

from pathlib import Path

from mdactors.engines.openmm.parts import energy_parts
from mdactors.errors import EnergiesMissingError
from mdactors.ports import Energies

NOT_ENERGIES = ("step", "time_ps", "temperature")
"""Columns that are not kJ/mol."""

Table = tuple[list[str], list[list[float]]]
"""Names of the columns, and rows."""


def read_energies(folder: Path) -> Energies:
    """Return the job's energies, every step once.

    Raises:
        EnergiesMissingError: there are no rows.
    """
    parts = energy_parts(folder)
    tables = [table for part in parts if (table := read_table(part.read_text(errors="replace")))[1]]
    if not tables:
        raise EnergiesMissingError(f"{folder} holds no energies.part*.csv with rows")
    names, rows = joined(tables)
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    terms = {name: values for name, values in columns.items() if name not in NOT_ENERGIES}
    return Energies(times_ps=columns["time_ps"], terms=terms, source=", ".join(part.name for part in parts))


def read_table(text: str) -> Table:
    """Return head and rows of one part; a row that was not written whole is left out."""
    lines = text.splitlines(keepends=True)
    names = lines[0].strip().split(",") if lines else []
    rows = [_row(line, len(names)) for line in lines[1:] if line.endswith("\n")]
    return names, [row for row in rows if row]


def _row(line: str, width: int) -> list[float]:
    try:
        row = [float(word) for word in line.split(",")]
    except ValueError:
        return []
    return row if len(row) == width else []


def joined(tables: list[Table]) -> Table:
    """Join parts by the columns that all have; where two overlap, the later one counts."""
    common = [name for name in tables[0][0] if all(name in names for names, _ in tables)]
    kept: list[list[float]] = []
    for names, rows in tables:
        places = [names.index(name) for name in common]
        step = names.index("step")
        first = rows[0][step]
        kept = [row for row in kept if row[common.index("step")] < first]
        kept += [[row[place] for place in places] for row in rows]
    return common, kept
