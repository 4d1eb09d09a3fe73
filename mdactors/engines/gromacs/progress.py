"""How far a running attempt has come.

mdrun with `-v` writes `step N, remaining wall clock time: ...` to its terminal at every `-stepout` steps, unbuffered,
while md.log lags behind its buffer. Asked often for many jobs, so it reads two kilobytes and remembers what can't
change during an attempt.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from pathlib import Path

import msgspec

from mdactors.engines.gromacs.files import read_tail, read_until, text_of
from mdactors.engines.gromacs.folder import HEAD_END, LOG, attempt_folder
from mdactors.engines.gromacs.log import last_step, parse_head
from mdactors.ports import Reading

TAIL_BYTES = 2048
LOG_TAIL_BYTES = 8192
"""Several energy blocks."""

KNOWN_MAX = 1024
"""Attempts whose constants are remembered; more than run at once on one node."""

STEP = re.compile(rb"step (\d+)(?=, (?:remaining|will finish)|\s*[\r\n])|Step[ =] *(\d+),")
"""The second form is a minimiser's."""


class Constants(msgspec.Struct, frozen=True):
    """What the log's head says, and no step changes."""

    first_step: int
    steps_asked: int | None
    timestep_ps: float | None


class Progress:
    """Reads progress, remembering the constants of the attempts that it was asked about last."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, int], Constants] = OrderedDict()

    def read(self, folder: Path, attempt: int) -> Reading | None:
        """Return how far the attempt has come; None before its first step."""
        step = terminal_step(read_tail(attempt_folder(folder, attempt) / "stderr", TAIL_BYTES))
        constants = self._constants(folder, attempt)
        if constants is None:
            return None
        if step is None:
            step = last_step(text_of(read_tail(folder / LOG, LOG_TAIL_BYTES)))
        if step is None:
            return None
        return Reading(
            step=max(0, step - constants.first_step),
            steps_asked=constants.steps_asked,
            timestep_ps=constants.timestep_ps,
        )

    def _constants(self, folder: Path, attempt: int) -> Constants | None:
        key = (str(folder), attempt)
        known = self._known.get(key)
        if known is None and (known := read_constants(folder)) is not None:
            self._known[key] = known
            if len(self._known) > KNOWN_MAX:
                self._known.popitem(last=False)
        return known


def terminal_step(tail: bytes) -> int | None:
    """Return the last step that mdrun announced on its terminal, absolute."""
    found = STEP.findall(tail)
    return int(b"".join(found[-1])) if found else None


def read_constants(folder: Path) -> Constants | None:
    """Read them from the log's head, which is complete once the first step is about to be made."""
    head = parse_head(text_of(read_until(folder / LOG, HEAD_END)))
    if not head.started:
        return None
    planned = head.steps_planned
    return Constants(head.first_step, planned if planned is not None and planned >= 0 else None, head.timestep_ps)
