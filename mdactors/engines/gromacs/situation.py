"""Where a job stands, by the files in its folder alone.

Finished if and only if the checkpoint's step is the planned one. The exit code, `confout.gro` (it survives from an
earlier end) and `Finished mdrun` (it also follows a signal) prove nothing. Runs without a checkpoint, those of 0 steps
and minimisations, are judged by their log.
"""

from __future__ import annotations

from pathlib import Path

from events.spec import AnyJobSpec
from mdactors.engines.gromacs.checkpoint import Checkpoint, CheckpointError, obstacle_to_appending, read_checkpoint
from mdactors.engines.gromacs.files import size_of
from mdactors.engines.gromacs.folder import (
    CHECKPOINT,
    CHECKPOINT_BEFORE,
    ENERGIES,
    present_outputs,
    read_log,
    steps_asked,
)
from mdactors.engines.gromacs.log import Log
from mdactors.ports import Situation


def survey(folder: Path, spec: AnyJobSpec) -> Situation:
    """Read what the next attempt has to do: nothing, go on from a checkpoint, or start from step 0."""
    return situation_by(read_log(folder), folder, spec)


def situation_by(log: Log, folder: Path, spec: AnyJobSpec) -> Situation:
    """Do the same for one who has read the log already."""
    asked = steps_asked(spec, log)
    whole, remarks = _whole_checkpoints(folder)
    for name, checkpoint in whole.items():
        step = checkpoint.step - log.head.first_step
        if asked is not None and step >= asked:
            return Situation(finished=True, step=asked, checkpoint=name, remarks=tuple(remarks))
        obstacle = obstacle_to_appending(checkpoint, folder)
        if not obstacle:
            return _resume(folder, name, step, remarks)
        remarks.append(f"{name}, step {step}, can't be continued: {obstacle}")
    if not whole and finished_by_log(log, asked) and size_of(folder / ENERGIES) > 0:
        return Situation(finished=True, step=log.tail.last_step or 0)
    return _anew(folder, lost=bool(whole), remarks=remarks)


def _whole_checkpoints(folder: Path) -> tuple[dict[str, Checkpoint], list[str]]:
    """Return the checkpoints that can be trusted, newest first, and a remark on each that can't."""
    whole: dict[str, Checkpoint] = {}
    remarks: list[str] = []
    for name in (CHECKPOINT, CHECKPOINT_BEFORE):
        if size_of(folder / name) < 0:
            continue
        try:
            whole[name] = read_checkpoint(folder / name)
        except CheckpointError as error:
            remarks.append(f"{name} can't be used: {error}")
    return whole, remarks


def _resume(folder: Path, name: str, step: int, remarks: list[str]) -> Situation:
    """Go on; what is in the way of the newer name is moved aside, or mdrun would copy it over the good one."""
    leftovers = sorted(path.name for path in folder.glob("state_step*.cpt"))
    if name != CHECKPOINT and size_of(folder / CHECKPOINT) >= 0:
        leftovers.append(CHECKPOINT)
    return Situation(step=step, checkpoint=name, stale=tuple(leftovers), remarks=tuple(remarks))


def _anew(folder: Path, *, lost: bool, remarks: list[str]) -> Situation:
    stale = present_outputs(folder)
    if lost:
        remarks.append("it starts again from step 0; what was there is kept aside")
    return Situation(stale=stale, remarks=tuple(remarks))


def finished_by_log(log: Log, asked: int | None) -> bool:
    """Return whether a run that writes no checkpoint has done all that it was asked for."""
    tail = log.tail
    if not tail.finished or tail.signal or tail.time_exceeded or tail.fatal:
        return False
    if not log.head.in_time:
        return True
    return asked is not None and tail.last_step is not None and tail.last_step - log.head.first_step >= asked
