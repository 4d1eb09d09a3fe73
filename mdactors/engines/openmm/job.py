"""The words between the platform and its OpenMM worker: order, result, progress, exit codes, file names.

Both sides import this module, so that they can't drift; it imports neither OpenMM nor numpy.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from events.spec import Settings

# ---------------------------------------------------------------- exit codes of the worker

COMPLETED = 0
"""The last step was reached and everything is written."""
UNEXPECTED = 1
"""An error without a name; the traceback is on stderr."""
STOPPED = 20
"""Stopped in good order by a signal: checkpoint and portable state are written."""
NUMERICS = 21
"""Positions or energies are not finite any more."""
INPUT = 22
"""The inputs can't be built into a System."""
ENGINE = 23
"""OpenMM refused: no such platform, device or property, or a kernel failed."""
DISK = 24
"""No space left to write to."""

# ---------------------------------------------------------------- files in the job's folder

CHECKPOINT = "checkpoint.chk"
STATE = "state.xml"
PREVIOUS = {CHECKPOINT: "checkpoint_prev.chk", STATE: "state_prev.xml"}
FINAL_STATE = "final_state.xml"
FINAL_STRUCTURES = ("confout.gro", "final.pdb")
ENERGY_PARTS = "energies.part*.csv"
TRAJECTORY_PARTS = "traj.part*.xtc"
DAMAGED = "*.damaged"
OUTPUTS = (
    CHECKPOINT,
    STATE,
    *PREVIOUS.values(),
    DAMAGED,
    FINAL_STATE,
    *FINAL_STRUCTURES,
    ENERGY_PARTS,
    TRAJECTORY_PARTS,
)
"""Everything (names and patterns) that the worker leaves in the job's folder."""


def energy_part(attempt: int) -> str:
    """Return the name of the energy log of one attempt."""
    return f"energies.part{attempt:04d}.csv"


def trajectory_part(attempt: int) -> str:
    """Return the name of the trajectory of one attempt."""
    return f"traj.part{attempt:04d}.xtc"


def order_file(attempt: int) -> str:
    """Return where an attempt's order lies in the job's folder."""
    return f"attempts/{attempt}/worker.json"


def progress_file(attempt: int) -> str:
    """Return where an attempt's progress lies in the job's folder."""
    return f"attempts/{attempt}/progress.jsonl"


def result_file(attempt: int) -> str:
    """Return where an attempt's result lies in the job's folder."""
    return f"attempts/{attempt}/result.json"


# ---------------------------------------------------------------- messages


class Order(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one attempt has to do; written by `plan`, read by the worker. Names refer to the job's folder."""

    job: int
    attempt: int
    kind: Literal["gromacs-top", "openmm", "amber"]
    inputs: dict[str, str]
    """Role -> file name."""
    nsteps: int | None = None
    """Total number of steps; None: as the input says."""
    settings: Settings = Settings()
    """For kinds `openmm` and `amber`; a `gromacs-top` job has an mdp."""
    seed: int
    """Used wherever the input leaves a seed open."""
    platform: str
    properties: dict[str, str] = {}
    precision: str
    threads: int
    identity: str
    """Digest of inputs and settings: a checkpoint belongs to this job or to no job."""
    checkpoint_seconds: float = 900.0
    """Wall time between checkpoints."""
    progress_seconds: float = 1.0
    """Wall time between lines of progress."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `progress.jsonl`."""

    step: int
    """Counted from the job's start."""
    steps_asked: int
    time_ps: float
    timestep_ps: float
    ns_per_day: float | None
    """Since the last line; None before the first block has been timed."""
    elapsed: float
    """Seconds since the first step of this attempt, by a clock that never jumps."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What an attempt did, as the worker measured it; `result.json`."""

    outcome: Literal["completed", "stopped", "failed"]
    steps_asked: int
    first_step: int
    steps_done: int
    """Step reached, counted from the job's start."""
    steps_timed: int
    """Steps after warm-up, over which `timed_seconds` were measured."""
    timed_seconds: float
    wall_seconds: float
    """Of the whole loop, reports and checkpoints included."""
    core_seconds: float
    """CPU time of all threads during the loop."""
    timestep_ps: float
    ns_per_day: float | None
    atoms: int
    constraints: int
    degrees_of_freedom: int
    threads: int
    platform: str
    properties: dict[str, str]
    openmm_version: str
    hardware: str
    integrator: str
    seeds: dict[str, int]
    pme: dict[str, float] = {}
    """What the platform really uses: `alpha_per_nm`, `nx`, `ny`, `nz`."""
    energies: dict[str, float]
    """Last row of the energy log, kJ/mol (and K)."""
    trajectory: tuple[str, ...] = ()
    """Parts in order; every frame is in exactly one of them."""
    remarks: tuple[str, ...] = ()
