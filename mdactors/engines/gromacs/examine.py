"""Saying no at submission: what GROMACS's own files tell before a run.

Never raises for what users give: a file that is missing, empty, damaged or of another kind becomes a refusal with its
reason and what helps.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath

from events.outcome import Examination, Refusal, Requirement
from events.spec import AnyJobSpec, GromacsTopJob, TprJob, kind_of
from mdactors.engines.gromacs.files import EDGE, read_head, size_of, text_of
from mdactors.engines.gromacs.inputs import missing_includes, parse_gro_atoms, parse_mdp, steps_of, system_class
from mdactors.engines.gromacs.tpr import TprError, TprHead, read_tpr
from mdactors.errors import InputError

ENGINE = "gromacs"
KINDS = ("tpr", "gromacs-top")

FIRST_VERLET_FORMAT = 83
"""tpr format of 4.6, the first with the Verlet scheme; what is older can be read but not run by mdrun since 2020."""

MDP_BYTES = 1024 * 1024
"""More than any settings file: a larger one is something else."""

TOP_BYTES = 64 * 1024 * 1024
"""What lies beyond is left to grompp."""

AGAIN = "make it again with gmx grompp"


def examine(spec: AnyJobSpec, files: Mapping[str, Path]) -> Examination:
    """Read the inputs (role -> kept copy) as far as needed."""
    match spec:
        case TprJob():
            found = _examine_tpr(files)
        case GromacsTopJob():
            found = _examine_top(spec, files)
        case _:
            return _refused(_wrong_kind(kind_of(spec)))
    return found


def _refused(*refusals: Refusal) -> Examination:
    return Examination(engine=ENGINE, refusals=refusals)


def _wrong_kind(kind: str) -> Refusal:
    return Refusal(
        subject=ENGINE,
        clause="kind",
        wanted=f"kind {kind}",
        found="GROMACS can't run it",
        remedy="for GROMACS, submit a tpr, or gro + top + mdp as kind gromacs-top",
    )


def _bad_input(role: str, path: Path | None, why: str, remedy: str = "") -> Refusal:
    subject = f"{role} {path.name}" if path else role
    return Refusal(subject=subject, clause="input", found=why, remedy=remedy)


# ---------------------------------------------------------------- tpr


def _examine_tpr(files: Mapping[str, Path]) -> Examination:
    path = files.get("tpr")
    if path is None:
        return _refused(_bad_input("tpr", None, "the job names no tpr"))
    try:
        head = read_tpr(path)
    except TprError as error:
        return _refused(_bad_input("tpr", path, str(error), AGAIN))
    if head.file_version < FIRST_VERLET_FORMAT:
        return _refused(_too_old(path, head))
    return Examination(
        engine=ENGINE, requires=_requirements(head), atoms=head.atoms, system=f"{head.atoms} atoms", notes=_notes(head)
    )


def _too_old(path: Path, head: TprHead) -> Refusal:
    return Refusal(
        subject=f"tpr {path.name}",
        clause="input",
        found=f"it was made by GROMACS {head.version} (format {head.file_version}) for the group cut-off scheme, "
        "which mdrun can read but has not run since 2020",
        remedy=f"{AGAIN} of a newer version and cutoff-scheme = Verlet",
    )


def _requirements(head: TprHead) -> tuple[Requirement, ...]:
    made = f"made by GROMACS {head.version}"
    return (
        Requirement("tpx_version", head.file_version, f"the tpr has format {head.file_version} ({made})"),
        Requirement("tpx_generation", head.generation, f"the tpr has format generation {head.generation} ({made})"),
    )


def _notes(head: TprHead) -> tuple[str, ...]:
    if head.real_bytes == 8:
        return ("the tpr holds double-precision coordinates; the precision of the run is the build's",)
    return ()


# ---------------------------------------------------------------- gro + top + mdp


def _examine_top(spec: GromacsTopJob, files: Mapping[str, Path]) -> Examination:
    refusals = [found for role in ("gro", "top", "mdp") if (found := _unusable(role, files.get(role))) is not None]
    if refusals:
        return _refused(*refusals)
    try:
        atoms = _atoms(files["gro"])
    except InputError as error:
        refusals.append(_bad_input("gro", files["gro"], str(error)))
    try:
        settings = parse_mdp(text_of(read_head(files["mdp"], MDP_BYTES)))
        _check_length(spec, steps_of(settings))
    except InputError as error:
        refusals.append(_bad_input("mdp", files["mdp"], str(error)))
    else:
        refusals += _missing(spec, files) if "include" not in settings else []  # it names folders of the user's own
    if refusals:
        return _refused(*refusals)
    return Examination(engine=ENGINE, atoms=atoms, system=system_class(atoms, settings))


def _missing(spec: GromacsTopJob, files: Mapping[str, Path]) -> list[Refusal]:
    """Return what grompp would stumble over: the job's folder holds what lies beside the topology, and nothing else."""
    beside = {PurePath(getattr(spec, role)).name: files[role] for role in ("gro", "top", "mdp")}
    beside |= {key.removeprefix("include:"): path for key, path in files.items() if key.startswith("include:")}

    def read(name: str) -> str | None:
        return text_of(read_head(beside[name], TOP_BYTES)) if name in beside else None

    remedy = "put it, or a link to it, into the topology's folder, and include it by its name there"
    return [
        _bad_input("top", files["top"], f"the topology includes {name}, which is not in its folder", remedy)
        for name in missing_includes(text_of(read_head(files["top"], TOP_BYTES)), read)
    ]


def _unusable(role: str, path: Path | None) -> Refusal | None:
    """Return why a file can't be used at all, None where it can be looked into."""
    if path is None:
        return _bad_input(role, None, f"the job names no {role}")
    size = size_of(path)
    if size < 0 or not path.is_file():
        return _bad_input(role, path, "there is no such file")
    if size == 0:
        return _bad_input(role, path, "the file is empty")
    if b"\0" in read_head(path):
        return _bad_input(role, path, "it is binary, not text")
    return None


def _atoms(path: Path) -> int:
    """Return a `.gro` file's number of atoms; large files are counted line by line without being parsed.

    Raises:
        InputError: it is damaged.
    """
    try:
        with path.open("rb") as file:
            lines = sum(1 for _ in file)
    except OSError as error:
        raise InputError(f"it can't be read: {error.strerror}") from error
    return parse_gro_atoms(text_of(read_head(path, EDGE)), lines)


def _check_length(spec: GromacsTopJob, steps: int) -> None:
    """Refuse a run that would never end.

    Raises:
        InputError: neither the settings nor the job give a number of steps.
    """
    if spec.nsteps is None and steps < 0:
        raise InputError(f"nsteps = {steps} never ends; give the job a total in its field nsteps")
