"""The command line of one attempt. Pure: values in, values out.

Rules that hold for every plan:

- Working directory is the job's folder and all names are GROMACS's defaults, so that the folder can be moved and
  appended to; never `-deffnm`, which breaks restarts with pulling.
- The total number of steps is in the run input, by `gmx convert-tpr`; never `mdrun -nsteps`, which after a restart
  means that many *more*.
- A first start has no `-cpi`; every continuation has `-cpi FILE -append`, so that a lost checkpoint is an error and
  not a silent new run.
- One rank with as many threads as the slot has; placement belongs to the substrate, hence `-pin off`.
- Nothing that decides the physics is touched, and every word that the platform chose is listed in `added`.
"""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath

from events.spec import GromacsTopJob, TprJob
from mdactors.engines.gromacs.folder import CHECKPOINT, RUN_INPUT
from mdactors.ports import LaunchPlan, PlanRequest, Preparation

STOP_SIGNAL = 15
"""mdrun answers SIGTERM with a checkpoint at the next pair-list step, and status 1."""
GRACE_SECONDS = 60.0
PREPARATION_SECONDS = 300.0
"""grompp of a million atoms on a busy machine."""

OUTPUTS = ("-o", "out.tpr", "-po", "mdout.mdp")
TOLERATED = ("You are using Ewald electrostatics in a system with net charge.",)
"""A net charge is neutralised by a uniform background, in OpenMM as in GROMACS: the user's system, and the user's choice."""

STEPOUT_MIN, STEPOUT_DEFAULT, STEPOUT_MAX = 100, 1000, 10_000
PROGRESS_LINES = 200
"""Lines of progress over a whole run, within the limits above."""

BACKUPS_MAX = 1000
"""mdrun refuses to run when it would have to keep more old files; -1 would switch keeping off."""


def plan(request: PlanRequest) -> LaunchPlan:
    """Return what to run for one attempt of a job of kind `tpr` or `gromacs-top`.

    Raises:
        TypeError: the job is of a kind that GROMACS can't run; the negotiation never lets it come so far.
    """
    prepare, source = _run_input(request)
    options = (("-s", RUN_INPUT), *_options(request), *_resume(request))
    variables = _variables(request)
    return LaunchPlan(
        argv=(request.capability.binary, "-quiet", "mdrun", *(word for option in options for word in option)),
        prepare=prepare,
        links={RUN_INPUT: source},
        set_aside=request.situation.stale,
        variables=variables,
        stop_signal=STOP_SIGNAL,
        grace_seconds=GRACE_SECONDS,
        added=(
            "-quiet",
            *(" ".join(option) for option in options),
            *(f"{name}={value}" for name, value in variables.items()),
            *(_described(step) for step in prepare),
        ),
    )


def _described(step: Preparation) -> str:
    """Name a preparation by what it does, without the folders of this machine."""
    return " ".join(PurePosixPath(word).name if word.startswith("/") else word for word in step.argv)


# ---------------------------------------------------------------- the run input


def _run_input(request: PlanRequest) -> tuple[tuple[Preparation, ...], str]:
    """Return what has to be made first, and the absolute path of the tpr to run."""
    match request.spec:
        case TprJob():
            steps: tuple[Preparation, ...] = ()
            source = input_path(request, "tpr")
        case GromacsTopJob():
            steps = (_grompp(request),)
            source = steps[0].product
        case _:
            raise TypeError(f"GROMACS can't run a {type(request.spec).__name__}")
    if request.spec.nsteps is None:
        return steps, source
    steps = (*steps, _convert(request, source, request.spec.nsteps))
    return steps, steps[-1].product


def input_path(request: PlanRequest, role: str) -> str:
    """Return the absolute path of the input with this role in the job's folder."""
    name = next(file.name for file in request.inputs if file.role == role)
    return f"{request.folder}/inputs/{name}"


def _product(request: PlanRequest, what: str) -> str:
    """Name a derived input by everything that it depends on: the inputs, the length, and the build that makes it."""
    inputs = sorted((file.role, file.name, file.sha256) for file in request.inputs)
    capability = request.capability
    digest = hashlib.sha256(repr((inputs, capability.fingerprint)).encode()).hexdigest()[:32]
    return f"{request.cache}/{digest}-{what}-gromacs{capability.version}-{capability.precision}.tpr"


def _grompp(request: PlanRequest) -> Preparation:
    """Make a run input from coordinates, topology and settings. Warnings stay errors unless the user takes them on.

    One that the system itself brings with it, and that no engine else even mentions, is told and does not stand in the way.
    """
    allowed = request.spec.maxwarn if isinstance(request.spec, GromacsTopJob) else 0
    files = (("-f", "mdp"), ("-c", "gro"), ("-p", "top"))
    named = (word for option, role in files for word in (option, input_path(request, role)))
    return Preparation(
        argv=(
            request.capability.binary,
            "-quiet",
            "grompp",
            *named,
            "-maxwarn",
            str(allowed + len(TOLERATED)),
            *OUTPUTS,
        ),
        makes="out.tpr",
        product=_product(request, f"grompp-maxwarn{allowed}"),
        what="gmx grompp",
        remedy="mend the input; where the warnings are harmless for this system, say how many with `maxwarn`",
        tolerates=TOLERATED,
        warnings_max=allowed,
        timeout=PREPARATION_SECONDS,
    )


def _convert(request: PlanRequest, source: str, steps: int) -> Preparation:
    """Write the total length into a run input."""
    words = ("-quiet", "convert-tpr", "-s", source, "-nsteps", str(steps), "-o", "out.tpr")
    return Preparation(
        argv=(request.capability.binary, *words),
        makes="out.tpr",
        product=_product(request, f"nsteps{steps}"),
        what="gmx convert-tpr",
        timeout=PREPARATION_SECONDS,
    )


# ---------------------------------------------------------------- the command line


def threads(request: PlanRequest) -> int:
    """Return the OpenMP threads to start: what the user asked for, else all of the slot."""
    return request.spec.ntomp or request.slot.threads


def _options(request: PlanRequest) -> tuple[tuple[str, ...], ...]:
    """Return mdrun's options, one tuple each. Builds without thread-MPI take no `-ntmpi`."""
    ranks = (("-ntmpi", "1"),) if request.capability.features.get("MPI library") == "thread_mpi" else ()
    offload = (("-nb", "cpu"),) if _gpu_build_on_cpu(request) else ()
    stepout = str(steps_between_lines(request.spec.nsteps))
    reprod = (("-reprod",),) if request.spec.deterministic else ()
    return (
        *ranks,
        ("-ntomp", str(threads(request))),
        ("-pin", "off"),
        *offload,
        *reprod,
        ("-v",),
        ("-stepout", stepout),
    )


def _gpu_build_on_cpu(request: PlanRequest) -> bool:
    built_for = request.capability.features.get("GPU support", "disabled")
    return request.capability.backend == "CPU" and built_for != "disabled"


def steps_between_lines(total: int | None) -> int:
    """Return how often mdrun should say where it is."""
    if total is None:
        return STEPOUT_DEFAULT
    return min(max(total // PROGRESS_LINES, STEPOUT_MIN), STEPOUT_MAX)


def _resume(request: PlanRequest) -> tuple[tuple[str, ...], ...]:
    """Return the options of a continuation. From the older checkpoint, the next is written under the usual name."""
    checkpoint = request.situation.checkpoint
    if not checkpoint:
        return ()
    usual = () if checkpoint == CHECKPOINT else (("-cpo", CHECKPOINT),)
    return (("-cpi", checkpoint), *usual, ("-append",))


def _variables(request: PlanRequest) -> dict[str, str]:
    return {
        "OMP_NUM_THREADS": str(threads(request)),  # contradicting -ntomp is an error in mdrun
        "GMX_DETAILED_PERF_STATS": "1",  # makes it print all six metrics
        "GMX_MAXBACKUP": str(BACKUPS_MAX),
    }
