"""The one place that writes: results on stdout, messages on stderr, colours only where a person looks."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence

from mdactors.cli.text import printable

COLOURS = {
    "green": "32",
    "red": "31",
    "yellow": "33",
    "cyan": "36",
    "dim": "2",
    "bold": "1",
}

STATE_COLOURS = {
    "running": "cyan",
    "assigned": "cyan",
    "stopping": "yellow",
    "completed": "green",
    "feasible": "green",
    "failed": "red",
    "rejected": "red",
    "refused": "red",
    "cancelled": "yellow",
    "unhealthy": "red",
    "frozen": "yellow",
    "ready": "green",
    "pass": "green",
    "warn": "yellow",
    "fail": "red",
}
"""Words that stand in a table's cells and what they look like."""

PAINT = re.compile(rf"(\x1b\[(?:0|{'|'.join(COLOURS.values())})m)")
"""What `paint` writes."""


class Output:
    """What a verb writes with."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.animated = sys.stdout.isatty() and environ.get("TERM") != "dumb"
        """What stands there can be overwritten."""
        self.coloured = self.animated and not environ.get("NO_COLOR")

    def line(self, text: str = "") -> None:
        """Write a line of the result; line ends before it are empty lines."""
        sys.stdout.write(f"{self._clean(text)}\n")

    def raw(self, piece: bytes) -> None:
        """Write bytes of the result at once."""
        sys.stdout.flush()
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()

    @property
    def descriptor(self) -> int | None:
        """Where the result goes; None: to no file of the system's."""
        try:
            return sys.stdout.fileno()
        except (OSError, ValueError):
            return None

    def document(self, value: object) -> None:
        """Write the result as JSON."""
        sys.stdout.write(f"{json.dumps(value, indent=2, ensure_ascii=False)}\n")

    def record(self, value: object) -> None:
        """Write a JSON document on one line, at once."""
        self.line(json.dumps(value, ensure_ascii=False))
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """Write a message."""
        sys.stdout.flush()
        sys.stderr.write(f"{self._clean(text)}\n")
        sys.stderr.flush()

    def paint(self, text: str, colour: str) -> str:
        """Return text in a colour, where a person looks."""
        return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if self.coloured and colour else text

    def _clean(self, text: str) -> str:
        """Names and reasons come from users and engines, and a terminal obeys whatever it is sent."""
        line = text.lstrip("\n")
        pieces = PAINT.split(line) if self.coloured else [line]
        told = "".join(piece if place % 2 else printable(piece) for place, piece in enumerate(pieces))
        return "\n" * (len(text) - len(line)) + told

    def table(self, heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: str = "") -> None:
        """Write a table; `right` names the columns that are aligned to the right, separated by blanks.

        A column without any content is left out.
        """
        kept = [[printable(cell) for cell in row] for row in rows]
        columns = [place for place in range(len(heads)) if any(row[place] for row in kept)]
        widths = {place: max(len(heads[place]), *(len(row[place]) for row in kept)) for place in columns}
        numbers = {place for place in columns if heads[place] in right.split()}
        last = columns[-1] if columns else 0

        def cells(row: Sequence[str], colour: str) -> str:
            return "  ".join(self._cell(row[at], widths[at], at in numbers, at == last, colour) for at in columns)

        if columns:
            self.line(cells(heads, "bold").rstrip())
        for row in kept:
            self.line(cells(row, "").rstrip())

    def _cell(self, text: str, width: int, right: bool, last: bool, colour: str) -> str:
        blank = " " * (width - len(text))
        painted = self.paint(text, colour or STATE_COLOURS.get(text, ""))
        if right:
            return blank + painted
        return painted if last else painted + blank


def hang_up() -> None:
    """Nobody reads stdout any more: let what is still buffered go nowhere, so that the interpreter ends quietly."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
