"""What was run, on what, and how fast: the ledger of the state folder."""

from __future__ import annotations

import csv
import os

from mdactors.cli.text import rate
from mdactors.errors import InputError

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole verb
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

    from mdactors.cli.context import Context
    from mdactors.cli.output import Output

LEDGER_NAME = "ledger.csv"

SHOWN = (
    "job",
    "attempt",
    "name",
    "outcome",
    "engine",
    "version",
    "backend",
    "precision",
    "slot",
    "ns_per_day",
    "system",
)
"""Columns that a person sees first; the file has more."""

Line = dict[str, str]


def configure(parser: ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument("--csv", action="store_true", help="the file as it is, every column")


def run(context: Context) -> int:
    """Print it."""
    path = os.path.join(context.state, LEDGER_NAME)
    if context.options.csv:
        context.out.raw(_content(path))
        return 0
    lines = read(context.state)
    if context.json:
        context.out.document(lines)
    else:
        show(context.out, lines)
    return 0


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}; it is made when the first attempt ends") from error


def read(state: str) -> list[Line]:
    """Return the lines of a state folder's ledger.

    Raises:
        InputError: there is none yet, or it can't be read.
    """
    text = _content(os.path.join(state, LEDGER_NAME)).decode("utf-8", errors="replace")
    return list(csv.DictReader(text.splitlines()))


def show(out: Output, lines: Sequence[Line]) -> None:
    """Write lines of a ledger as a table."""
    present = [name for name in SHOWN if any(name in line for line in lines)]
    rows = [tuple(_cell(name, line.get(name) or "") for name in present) for line in lines]
    out.table(present, rows, right="job attempt ns_per_day")


def _cell(name: str, text: str) -> str:
    """Return a value as a person reads it; the file has all digits."""
    return rate(float(text)) if name == "ns_per_day" and text else text
