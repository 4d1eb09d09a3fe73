"""A job's folder as GROMACS fills it: names, both ends of its log, and what an attempt said on its terminal."""

from __future__ import annotations

import fnmatch
import os
import re
from pathlib import Path

import msgspec

from events.spec import AnyJobSpec
from mdactors.engines.gromacs.files import EDGE, read_head, read_tail, read_until, text_of
from mdactors.engines.gromacs.log import Log, parse_log

LOG = "md.log"
ENERGIES = "ener.edr"
CHECKPOINT = "state.cpt"
CHECKPOINT_BEFORE = "state_prev.cpt"
RUN_INPUT = "topol.tpr"

HEAD_END = b"\nStarted "

OUTPUTS = (
    "md.log", "ener.edr", "traj.trr", "traj_comp.xtc", "traj.tng", "confout.gro", "state.cpt", "state_prev.cpt",
    "state_step*.cpt", "dhdl.xvg", "pullx.xvg", "pullf.xvg", "step*.pdb", "*.part[0-9][0-9][0-9][0-9].*", "#*#",
)  # fmt: skip
"""Patterns of everything that mdrun writes under default names, its dumps and its backups included."""

IS_OUTPUT = re.compile("|".join(map(fnmatch.translate, OUTPUTS)))


class Terminal(msgspec.Struct, frozen=True, kw_only=True):
    """What one attempt wrote to stdout and stderr: both ends."""

    head: str = ""
    tail: str = ""

    @property
    def from_step(self) -> int | None:
        """Absolute step from which the attempt went on, None where it did not come so far as to say it."""
        announced = ANNOUNCED.search(self.head)
        return int(announced.group(2) or 0) if announced else None

    @property
    def began(self) -> bool:
        """The attempt came so far as to make steps."""
        return self.from_step is not None or MINIMISES.search(self.head) is not None


ANNOUNCED = re.compile(r"^(-?\d+|infinite) steps,.+?ps(?: \(continuing from step (\d+))?", re.MULTILINE)
"""`5000 steps, 10.0 ps (continuing from step 1330, 2.7 ps).`"""

MINIMISES = re.compile(
    r"^(?:Steepest Descents|Polak-Ribiere Conjugate Gradients|Low-Memory BFGS Minimizer):", re.MULTILINE
)
"""What stands there instead for integrators that don't move in time."""


def attempt_folder(folder: Path, attempt: int) -> Path:
    """Return where the attempt's stdout and stderr lie."""
    return folder / "attempts" / str(attempt)


def read_log(folder: Path) -> Log:
    """Read both ends of the folder's log; an empty `Log` where there is none."""
    head = read_until(folder / LOG, HEAD_END)
    return parse_log(text_of(head), text_of(read_tail(folder / LOG)))


def read_terminal(folder: Path, attempt: int) -> Terminal:
    """Read both ends of what an attempt wrote to its terminal."""
    files = [attempt_folder(folder, attempt) / name for name in ("stderr", "stdout")]
    head, tail = (b"\n".join(read(file, EDGE) for file in files) for read in (read_head, read_tail))
    return Terminal(head=text_of(head).replace("\r", "\n"), tail=text_of(tail).replace("\r", "\n"))


def present_outputs(folder: Path) -> tuple[str, ...]:
    """Return the names of all outputs that lie in the folder."""
    try:
        with os.scandir(folder) as entries:
            return tuple(sorted(entry.name for entry in entries if IS_OUTPUT.match(entry.name) and entry.is_file()))
    except FileNotFoundError:
        return ()


def steps_asked(spec: AnyJobSpec, log: Log) -> int | None:
    """Return the job's total number of steps; None where it has no end, or nothing says it yet."""
    if spec.nsteps is not None:
        return spec.nsteps
    planned = log.head.steps_planned
    return planned if planned is not None and planned >= 0 else None
