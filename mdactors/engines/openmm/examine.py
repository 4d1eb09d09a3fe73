"""A job's inputs, read as far as needed to say no before a run. Imports neither OpenMM nor numpy; costs milliseconds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from events.outcome import Examination, Refusal
from events.spec import AmberJob, AnyJobSpec, GromacsTopJob, OpenMMJob, TprJob, kind_of
from mdactors.engines.openmm.mdp import REMEDY, Parsed, parse_mdp
from mdactors.engines.openmm.topology import Scanned, element_notes, scan

ENGINE = "openmm"


def examine(spec: AnyJobSpec, files: Mapping[str, Path]) -> Examination:
    """Read the inputs (role -> kept copy, `include:NAME` -> included file). Bad input is refused, everything at once."""
    try:
        match spec:
            case GromacsTopJob():
                return _gromacs_top(spec, files)
            case OpenMMJob():
                return _openmm(spec, files)
            case AmberJob():
                return _amber(spec, files)
            case TprJob():
                return _refused(
                    "kind", "OpenMM can't read a tpr", "submit gro + top + mdp as kind gromacs-top", spec.tpr
                )
    except (OSError, KeyError) as error:
        return _refused("input", f"{error} can't be read", "submit it again", kind_of(spec))


def _refused(clause: str, found: str, remedy: str, subject: str) -> Examination:
    refusal = Refusal(subject=subject, clause=clause, found=found, remedy=remedy)
    return Examination(engine=ENGINE, refusals=(refusal,))


class _Findings:
    """Collects refusals about files."""

    def __init__(self) -> None:
        self.refusals: list[Refusal] = []

    def refuse(self, subject: str, found: str, remedy: str = "correct the file") -> None:
        """Add one about an input."""
        self.refusals.append(Refusal(subject=subject, clause="input", found=found, remedy=remedy))


# ---------------------------------------------------------------- gromacs-top


def _gromacs_top(spec: GromacsTopJob, files: Mapping[str, Path]) -> Examination:
    findings = _Findings()
    run = parse_mdp(_text(files["mdp"]), Path(spec.mdp).name)
    top = scan(_text(files["top"]), _finder(files))
    atoms = top.atoms()
    _check_topology(findings, spec, top)
    _check_charges(findings, spec, run, top)
    counted = _check_coordinates(findings, spec, _text(files["gro"]), atoms, 2 * run.settings.cutoff_nm)
    _check_length(findings, spec, run)
    known = counted if atoms is None else atoms
    return Examination(
        engine=ENGINE,
        refusals=(*run.refusals, *findings.refusals),
        atoms=known,
        system=f"{known} atoms, {run.settings.electrostatics}, {run.settings.constraints}",
        notes=(*run.notes, *element_notes(top)),
    )


def _finder(files: Mapping[str, Path]) -> Callable[[str], str | None]:
    beside = files["top"].parent

    def find(name: str) -> str | None:
        path = files.get(f"include:{name}") or beside / name
        return _text(path) if path.is_file() else None

    return find


def _check_topology(findings: _Findings, spec: GromacsTopJob, top: Scanned) -> None:
    name = Path(spec.top).name
    for problem in top.problems:
        findings.refuse(name, problem, REMEDY)
    for missing in top.missing:
        found = f"it includes {missing}, which is not among the job's files"
        findings.refuse(name, found, "put it beside the topology, or write the topology out in full (grompp -pp)")
    if not top.atoms():
        findings.refuse(name, "it holds no atoms")


def _check_charges(findings: _Findings, spec: GromacsTopJob, run: Parsed, top: Scanned) -> None:
    """GROMACS's plain cut-off is no reaction field, whatever epsilon-rf says; OpenMM's is one (dielectric 78.3)."""
    charged = top.charged()
    if run.settings.electrostatics == "PME" or not charged:
        return
    found = f"{Path(spec.top).name} has charges ({charged}), and OpenMM cuts them off with a reaction field, GROMACS without"
    findings.refusals.append(
        Refusal(
            subject=Path(spec.mdp).name,
            clause="mdp",
            wanted="coulombtype = cut-off",
            found=found,
            remedy=f"use coulombtype = PME, or {REMEDY}",
        )
    )


def _check_coordinates(findings: _Findings, spec: GromacsTopJob, text: str, atoms: int | None, least_nm: float) -> int:
    """Return the number of atoms of the gro, 0 where it can't be read; `atoms` of the topology, None: not known."""
    name, lines = Path(spec.gro).name, text.splitlines()
    count = _integer(lines[1]) if len(lines) > 1 else None
    if count is None or len(lines) < count + 3:
        findings.refuse(name, "this is not a complete gro file")
        return 0
    if atoms is not None and count != atoms:
        findings.refuse(name, f"it has {count} atoms, and {Path(spec.top).name} has {atoms}")
    box = [_float(word) for word in lines[count + 2].split()]
    if len(box) not in {3, 9} or None in box:
        findings.refuse(name, "its last line is no box")
    elif min(edge or 0.0 for edge in box[:3]) < least_nm:
        found = f"its box is {' x '.join(f'{edge:g}' for edge in box[:3])} nm, less than twice the cut-off"
        findings.refuse(name, found, f"use a cut-off below half of the box, or {REMEDY}")
    return count


def _check_length(findings: _Findings, spec: GromacsTopJob, run: Parsed) -> None:
    if spec.nsteps is None and run.settings.nsteps < 0:
        findings.refuse(Path(spec.mdp).name, "nsteps is endless", "give the job nsteps")


# ---------------------------------------------------------------- openmm


def _openmm(spec: OpenMMJob, files: Mapping[str, Path]) -> Examination:
    findings = _Findings()
    system = files["system"].read_bytes()
    name = Path(spec.system).name
    if b"<System" not in system[:2000] or not system.rstrip().endswith(b"</System>"):
        findings.refuse(name, "this is not a complete serialised OpenMM System")
    atoms = system[: max(0, system.find(b"</Particles>"))].count(b"<Particle ")
    _check_positions(findings, spec, files, atoms)
    _check_integrator(findings, spec, files)
    _check_given_length(findings, name, spec.nsteps)
    return Examination(
        engine=ENGINE, refusals=tuple(findings.refusals), atoms=atoms, system=_system_class(system, atoms)
    )


METHODS = {b"0": "no cut-off", b"1": "cut-off", b"2": "cut-off", b"3": "Ewald", b"4": "PME", b"5": "LJPME"}
"""NonbondedForce's methods, as a serialised System numbers them."""


def _system_class(system: bytes, atoms: int) -> str:
    head = re.search(rb'<Force [^>]*type="NonbondedForce"[^>]*>', system)
    method = re.search(rb'method="(\d)"', head[0]) if head else None
    words = METHODS.get(method[1], "other") if method else "no electrostatics"
    return f"{atoms} atoms, {words}, {'constraints' if b'<Constraint ' in system else 'no constraints'}"


def _check_positions(findings: _Findings, spec: OpenMMJob, files: Mapping[str, Path], atoms: int) -> None:
    if (spec.state is None) == (spec.pdb is None):
        findings.refuse("positions", "exactly one of `state` and `pdb` has to be given", "give one of them")
        return
    name = Path(spec.state or spec.pdb or "").name
    count = _state_atoms(files["state"].read_bytes()) if spec.state else _pdb_atoms(_text(files["pdb"]))
    if count is None:
        findings.refuse(name, "this is not a complete serialised OpenMM State with positions")
    elif count != atoms:
        findings.refuse(name, f"it has {count} positions, and {Path(spec.system).name} has {atoms} particles")


def _state_atoms(data: bytes) -> int | None:
    if b"<State" not in data[:2000] or b"</State>" not in data[-2000:] or b"</Positions>" not in data:
        return None
    return data[: data.find(b"</Positions>")].count(b"<Position ")


def _pdb_atoms(text: str) -> int:
    first = re.split(r"^ENDMDL", text, maxsplit=1, flags=re.MULTILINE)[0]
    return len(re.findall(r"^(?:ATOM  |HETATM)", first, re.MULTILINE))


def _check_integrator(findings: _Findings, spec: OpenMMJob, files: Mapping[str, Path]) -> None:
    if spec.integrator is not None and b"<Integrator" not in files["integrator"].read_bytes()[:2000]:
        findings.refuse(Path(spec.integrator).name, "this is not a serialised OpenMM Integrator")


def _check_given_length(findings: _Findings, name: str, nsteps: int | None) -> None:
    if nsteps is None:
        findings.refuse(name, "these files don't say how many steps to run", "give the job nsteps")


# ---------------------------------------------------------------- amber


def _amber(spec: AmberJob, files: Mapping[str, Path]) -> Examination:
    findings = _Findings()
    prmtop, inpcrd = Path(spec.prmtop).name, Path(spec.inpcrd).name
    pointers = _pointers(_text(files["prmtop"]))
    atoms = pointers[0] if pointers else 0
    if len(pointers) < 28:
        findings.refuse(prmtop, "this is not a complete Amber topology (%VERSION, %FLAG POINTERS)")
    elif pointers[27] not in {0, 1, 2, 3}:
        findings.refuse(prmtop, f"its box type is {pointers[27]}")
    _check_inpcrd(findings, inpcrd, files["inpcrd"].read_bytes(), atoms)
    _check_given_length(findings, prmtop, spec.nsteps)
    boxed = len(pointers) > 27 and pointers[27] > 0
    system = f"{atoms} atoms, {'PME' if boxed else 'no cut-off'}, {spec.settings.constraints}"
    return Examination(engine=ENGINE, refusals=tuple(findings.refusals), atoms=atoms, system=system)


def _pointers(text: str) -> list[int]:
    """Return the numbers of %FLAG POINTERS: NATOM first, IFBOX (0: no periodic box) the 28th; empty: there are none."""
    match = re.search(r"%FLAG POINTERS\s*\n%FORMAT\S*\s*\n(.*?)(?=%FLAG|\Z)", text, re.DOTALL)
    words = match[1].split() if match and text.startswith("%VERSION") else []
    return [int(word) for word in words] if all(word.isdigit() for word in words) else []


def _check_inpcrd(findings: _Findings, name: str, data: bytes, atoms: int) -> None:
    if data[:3] == b"CDF" or data[:4] == b"\x89HDF":
        findings.refuse(name, "this is a NetCDF restart file", "convert it to an ASCII restart file")
        return
    lines = data.decode(errors="replace").splitlines()
    count = _integer(lines[1].split()[0]) if len(lines) > 2 and lines[1].split() else None
    if count is None or len(lines) < 2 + (count + 1) // 2:
        findings.refuse(name, "this is not a complete Amber coordinate file")
    elif count != atoms:
        findings.refuse(name, f"it has {count} atoms, and the prmtop has {atoms}")


# ---------------------------------------------------------------- words


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _integer(word: str) -> int | None:
    try:
        return int(word)
    except ValueError:
        return None


def _float(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
