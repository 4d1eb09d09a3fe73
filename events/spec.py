"""`MDJobSpec`: what a user asks for, one class for each kind of input."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Precision = Literal["mixed", "double", "single", "any"]
PriorityClass = Literal["interactive", "normal", "bulk"]
Constraints = Literal["none", "h-bonds", "all-bonds", "h-angles"]

Steps = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Positive = Annotated[float, Meta(gt=0, le=1e9)]
"""Far beyond any use, and finite: JSON, in which events are stored, knows no infinity."""
FileName = Annotated[str, Meta(min_length=1)]


class MDJobSpec(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="kind"
):
    """What all kinds of job have in common; unknown fields are refused."""

    name: str = ""
    """Free text, shown in tables; the input's file name where it is left out."""
    owner: str = ""
    """Who asks; the submitting user's login name where it is left out."""
    project: str = ""
    labels: dict[str, str] = {}
    nsteps: Steps | None = None
    """Total number of steps, however many attempts it takes; None: as many as the input says."""
    precision: Precision = "mixed"
    """`mixed` (the default of production runs), `double`, `single` (accepts mixed as well) or `any`."""
    backend_pref: str | None = None
    """Name of the engine to use (`gromacs`, `openmm`); None: negotiate."""
    platform_hint: str | None = None
    """Backend or OpenMM platform to use (`CPU`, `Reference`, `CUDA`); None: the fastest that fits."""
    device: Annotated[int, Meta(ge=0)] | str | None = None
    """Index on the node, or a device's id (`cpu:0`); None: any. The CPU is device 0 where there is no accelerator."""
    priority: Annotated[float, Meta(ge=-1e9, le=1e9)] = 0.0
    """Higher runs earlier; waiting jobs gain priority with time."""
    priority_class: PriorityClass = "normal"
    deterministic: bool = False
    """The same input on the same hardware gives the same result bit by bit, interrupted or not; costs some speed."""
    ntomp: Annotated[int, Meta(ge=1)] | None = None
    """OpenMP threads; None: as many as the slot has cores. More than the slot has is refused."""


class TprJob(MDJobSpec, frozen=True, kw_only=True, tag="tpr"):
    """A GROMACS run input file, complete in itself."""

    tpr: FileName


class GromacsTopJob(MDJobSpec, frozen=True, kw_only=True, tag="gromacs-top"):
    """Portable: coordinates, topology and settings in GROMACS's formats, run by GROMACS or by OpenMM."""

    gro: FileName
    top: FileName
    mdp: FileName
    maxwarn: Annotated[int, Meta(ge=0, le=99)] = 0
    """Warnings of `gmx grompp` that the user has read and found harmless; more of them, and the job fails with their text."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How to integrate, for inputs that don't say so themselves. Defaults are the field's usual ones."""

    timestep_fs: Positive = 2.0
    temperature_kelvin: Annotated[float, Meta(ge=0, le=1e9)] = 300.0
    friction_per_ps: Annotated[float, Meta(ge=0, le=1e9)] = 1.0
    """Langevin friction; 0 means plain Verlet dynamics at constant energy."""
    cutoff_nm: Positive = 0.9
    """Non-bonded cut-off; only where the platform makes the System itself (`amber`)."""
    constraints: Constraints = "h-bonds"
    """Only where the platform makes the System itself (`amber`)."""
    seed: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)] = 0
    """Seed of velocities and noise; 0 lets the platform derive one from the job's number and record it."""
    report_steps: Annotated[int, Meta(ge=1)] = 500
    """Steps between rows of the energy log."""
    trajectory_steps: Annotated[int, Meta(ge=0)] = 5000
    """Steps between trajectory frames; 0: none."""


class OpenMMJob(MDJobSpec, frozen=True, kw_only=True, tag="openmm"):
    """A serialised OpenMM System with a State or a PDB for positions, and optionally a serialised Integrator."""

    system: FileName
    state: FileName | None = None
    pdb: FileName | None = None
    integrator: FileName | None = None
    settings: Settings = Settings()


class AmberJob(MDJobSpec, frozen=True, kw_only=True, tag="amber"):
    """Amber topology and coordinates."""

    prmtop: FileName
    inpcrd: FileName
    settings: Settings = Settings()


AnyJobSpec = TprJob | GromacsTopJob | OpenMMJob | AmberJob
"""The union that is decoded from job files and from the journal."""

INPUT_FIELDS: dict[str, tuple[str, ...]] = {
    "tpr": ("tpr",),
    "gromacs-top": ("gro", "top", "mdp"),
    "openmm": ("system", "state", "pdb", "integrator"),
    "amber": ("prmtop", "inpcrd"),
}
"""For each kind, the fields that name files."""


def kind_of(spec: MDJobSpec) -> str:
    """Return the `kind` under which a spec is written."""
    return str(spec.__struct_config__.tag)


class InputFile(msgspec.Struct, frozen=True):
    """One input as it was when the job was accepted; the platform keeps its own copy under the digest."""

    role: str
    """The field of the spec that names it, or `include` for a file that another one includes."""
    name: str
    """Path inside the job's `inputs/` folder."""
    path: str
    """Where it was found."""
    sha256: str
    size: int
    """Bytes."""
