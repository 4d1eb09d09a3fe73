"""Finding builds of GROMACS and what each can do on the devices of a node.

`gmx --version` lists no devices and its answer is the whole truth about the build: version, precision, GPU backend,
MPI. A program that hangs, fails or says something else becomes an absence with its reason, nothing more.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import anyio
import msgspec

from events.hardware import Absence, Capability, Device, DeviceType
from mdactors.engines.gromacs.diagnose import last_line
from mdactors.engines.gromacs.examine import ENGINE, KINDS
from mdactors.engines.gromacs.files import text_of
from mdactors.engines.gromacs.signatures import matches
from mdactors.engines.gromacs.versions import Build, parse_version, tpx_limits
from mdactors.ports import Host, Probed, Run

PROBE_SECONDS = 5.0
"""A library-MPI build takes half a second to start; one that takes ten times as long is broken."""

PROGRAM = re.compile(r"gmx(?:_mpi)?(?:_d)?(?:[-_.][\w.+-]+)?")
NO_ENGINE = re.compile(r"gmx_MMPBSA.*|gmx[-_]completion.*|.*\.(?:sh|bash|py|pl|bat|1|gz|md|txt)")
"""Other people's tools whose names begin alike."""

DEVICES_OF: dict[str, frozenset[DeviceType]] = {
    "CPU": frozenset({"cpu"}),
    "CUDA": frozenset({"cuda"}),
    "HIP": frozenset({"rocm", "dcu"}),
    "SYCL": frozenset({"oneapi"}),
    "OpenCL": frozenset({"cuda", "rocm", "oneapi"}),
    "MUSA": frozenset({"musa"}),
}
"""Backend -> device types that a build with it drives. No build drives an Ascend NPU."""

SYCL_ON_AMD = re.compile(r"hipSYCL|AdaptiveCpp")
"""Compilers whose SYCL builds are made for AMD's devices; all others are for Intel's."""

SPEEDS = {"CUDA": 100, "HIP": 95, "MUSA": 90, "SYCL": 90, "OpenCL": 80, "CPU": 20}
"""Stated preference, by what maintainers recommend; measured figures overrule it."""
LIBRARY_MPI_COST = 5
"""Takes off for half a second of start-up and nothing gained with one rank."""
DOUBLE_COST = 10
"""Takes off so that double precision is never chosen by accident."""

FEATURE_LENGTH_MAX = 160
"""Characters; compiler flags are longer and decide nothing."""


class Program(msgspec.Struct, frozen=True):
    """A file that may be an engine."""

    path: str
    """As it was found; what a symbolic link stands for may be moved under it."""
    fingerprint: str


def find_programs(folders: Iterable[str]) -> list[Program]:
    """Return each file once, under the first name that leads to it."""
    found: dict[str, Program] = {}
    for folder in folders:
        for path in _executables(Path(folder)):
            real = os.path.realpath(path)
            if real not in found:
                found[real] = Program(str(path.absolute()), fingerprint(real))
    return list(found.values())


def _executables(folder: Path) -> list[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    return [path for path in entries if is_program_name(path.name) and path.is_file() and os.access(path, os.X_OK)]


def is_program_name(name: str) -> bool:
    """Return whether a file of this name may be an engine: gmx, gmx_mpi_d, gmx-2024, gmx_mpi_cuda ..."""
    return PROGRAM.fullmatch(name) is not None and NO_ENGINE.fullmatch(name) is None


def fingerprint(path: str) -> str:
    """Return what changes whenever the file changes; empty where it is gone."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{path}:{status.st_mtime_ns}:{status.st_size}:{status.st_ino}"


async def probe(run: Run, host: Host) -> Probed:
    """Ask every program at once; the slowest decides how long it takes."""
    programs = await anyio.to_thread.run_sync(find_programs, host.search_path)
    answers: dict[str, Build | Absence] = {}
    async with anyio.create_task_group() as group:
        for program in programs:
            group.start_soon(_ask, run, program, answers)
    builds = [(program, answer) for program in programs if isinstance(answer := answers[program.path], Build)]
    absences = [answer for program in programs if isinstance(answer := answers[program.path], Absence)]
    if not builds:
        absences.append(_nothing(host, found=bool(programs)))
    return Probed(capabilities=capabilities(builds, host), absences=tuple(absences))


async def _ask(run: Run, program: Program, answers: dict[str, Build | Absence]) -> None:
    answer = partial(Absence, engine=ENGINE, what=program.path, remedy=f"try `{program.path} --version` by hand")
    try:
        done = await run((program.path, "-quiet", "--version"), timeout=PROBE_SECONDS)
    except OSError as error:
        answers[program.path] = answer(why=f"it can't be started: {error}")
        return
    build = parse_version(text_of(done.stdout))
    if done.timed_out:
        answers[program.path] = answer(why=f"`--version` gave no answer within {PROBE_SECONDS:g} s")
    elif build is None or done.code != 0:
        said = what_it_said(text_of(done.stderr)) or what_it_said(text_of(done.stdout)) or "nothing"
        answers[program.path] = answer(why=f"`--version` ended with {done.code} and no version; it said: {said[:200]}")
    else:
        answers[program.path] = build


def what_it_said(text: str) -> str:
    """Return the line that explains a failure where one is known, else the last."""
    causes = matches(text)
    return f"{causes[0].summary}: {causes[0].evidence}" if causes else last_line(text)


def _nothing(host: Host, *, found: bool) -> Absence:
    folders = ", ".join(host.search_path) or "an empty search path"
    why = "none of the programs found answers" if found else f"no gmx, gmx_d or gmx_mpi in {folders}"
    remedy = "apt install gromacs, or load its module, or add its folder to the search path"
    return Absence(engine=ENGINE, what="gmx", why=why, remedy=remedy)


# ---------------------------------------------------------------- rows of the matrix


def capabilities(builds: Iterable[tuple[Program, Build]], host: Host) -> tuple[Capability, ...]:
    """Return one row for each build and device that go together; a GPU build runs on the CPU as well."""
    rows: dict[str, Capability] = {}
    for program, build in builds:
        for device in host.devices:
            for backend in dict.fromkeys((build.backend, "CPU")):
                if device.type in device_types(build, backend):
                    row = _row(program, build, device, backend)
                    name = row.id if row.id not in rows else _distinct(row, rows)
                    rows[name] = msgspec.structs.replace(row, id=name)
    return tuple(rows.values())


def device_types(build: Build, backend: str) -> frozenset[DeviceType]:
    """Return the device types that a build drives by one of its backends."""
    if backend == "SYCL" and SYCL_ON_AMD.search(build.labels.get("GPU support", "")):
        return frozenset({"rocm"})
    return DEVICES_OF[backend]


def _distinct(row: Capability, rows: dict[str, Capability]) -> str:
    """Name a second build of one version and precision by its program, a third by a number as well."""
    head, _, tail = row.id.partition("@")
    names = [f"{head}@{Path(row.binary).name}-{tail}"]
    names += [f"{names[0]}#{number}" for number in range(2, len(rows) + 2)]
    return next(name for name in names if name not in rows)


def _row(program: Program, build: Build, device: Device, backend: str) -> Capability:
    why = build.missing_driver if backend != "CPU" else ""
    mpi = "-mpi" if build.mpi == "library" else ""
    return Capability(
        id=f"{ENGINE}@{build.version}{mpi}/{backend}/{build.precision}@{device.node}/{device.id}",
        node=device.node,
        engine=ENGINE,
        version=build.version,
        build=build.raw,
        backend=backend,
        precision=build.precision,
        device=device.id,
        binary=program.path,
        fingerprint=program.fingerprint,
        kinds=KINDS,
        limits=limits(build),
        features=features(build, backend),
        speed=_speed(build, backend),
        health="unhealthy" if why else "ready",
        why=f"built for {backend}, but no driver is here ({why})" if why else "",
    )


def limits(build: Build) -> dict[str, int]:
    """Return the greatest values that the build can take."""
    tpx_version, tpx_generation = tpx_limits(build.numbers)
    return {"tpx_version": tpx_version, "tpx_generation": tpx_generation, "threads": build.openmp_threads_max}


def features(build: Build, backend: str) -> dict[str, str]:
    """Return what else the build says of itself, its labels that are not known here included."""
    kept = {label: value for label, value in build.labels.items() if value and len(value) <= FEATURE_LENGTH_MAX}
    kept["MPI library"] = build.mpi if build.mpi != "library" else build.labels["MPI library"]
    if pending := validation_pending(build, backend):
        kept["Validation"] = pending
    return kept


def validation_pending(build: Build, backend: str) -> str:
    """Return the maintainers' own reservation about a backend (their page on validation); empty: there is none."""
    if backend == "HIP" and build.numbers < (2026,):
        return "non-bonded kernels only"
    if backend == "HIP" and build.numbers < (2027,):
        return "pending"
    return ""


def _speed(build: Build, backend: str) -> int:
    costs = LIBRARY_MPI_COST * (build.mpi == "library") + DOUBLE_COST * (build.precision == "double")
    return SPEEDS[backend] - costs
