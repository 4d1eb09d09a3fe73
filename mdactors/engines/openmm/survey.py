"""Where a job stands, by the files in its folder."""

from __future__ import annotations

from pathlib import Path

from events.spec import AnyJobSpec
from mdactors.engines.openmm.checkpoint import DamagedError, Header, candidates, read_header
from mdactors.engines.openmm.job import FINAL_STATE, OUTPUTS
from mdactors.ports import Situation


def survey(folder: Path, spec: AnyJobSpec) -> Situation:
    """Return what the next attempt has to do. Every byte of every checkpoint is checked; OpenMM would load half a file."""
    final = final_header(folder)
    if final is not None and final.step >= (spec.nsteps if spec.nsteps is not None else final.steps_asked):
        return Situation(finished=True, step=final.step, checkpoint=FINAL_STATE)
    found, remarks = candidates(folder)
    if not found:
        return Situation(stale=outputs(folder), remarks=tuple(remarks))
    return Situation(step=found[0].header.step, checkpoint=found[0].name, remarks=tuple(remarks))


def final_header(folder: Path) -> Header | None:
    """Return what the final State says of itself; None where there is none that was written whole."""
    try:
        return read_header(folder / FINAL_STATE)
    except (OSError, DamagedError):
        return None


def outputs(folder: Path) -> tuple[str, ...]:
    """Return everything that a worker left in the folder."""
    return tuple(sorted(path.name for pattern in OUTPUTS for path in folder.glob(pattern)))
