"""A GROMACS topology -> an OpenMM System that means what GROMACS means by it. Worker side.

Where OpenMM's reader differs, the difference is undone here:

- It predefines FLEXIBLE; a wrapper undefines it before the topology is read.
- It tells hydrogens by `at.num`, GROMACS by name ("H..."): the elements are set by name before constraints are made.
- It makes all water rigid if asked; GROMACS constrains what the topology and `constraints` say. It is not asked.
- It makes scaled 1-4 interactions from bonds; GROMACS only those of [ pairs ]: the others are taken out.
- The long-range correction also sits on the CustomNonbondedForce of combination rules 1 and 3: both follow DispCorr.
- Combination rules 1 and 3 cost a CustomNonbondedForce, several times slower; where all Lennard-Jones sites have one sigma (a
  box of water), arithmetic and geometric mean are the same and the parameters move into the NonbondedForce.
- Ewald's splitting parameter and grid follow ewald-rtol and fourierspacing, not OpenMM's error tolerance.
"""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import openmm
from openmm import app, unit

from mdactors.engines.openmm.boxes import Foreign, to_vectors
from mdactors.engines.openmm.gro import Array
from mdactors.engines.openmm.mdp import RunSettings, ewald_alpha, fourier_size
from mdactors.engines.openmm.topology import Scanned, scan
from mdactors.errors import InputError

METHODS: dict[str, Foreign] = {"PME": app.PME, "cut-off": app.CutoffPeriodic}
CONSTRAINTS: dict[str, Foreign] = {"none": None, "h-bonds": app.HBonds, "all-bonds": app.AllBonds}


def build_gromacs(top: Path, box: Array, run: RunSettings) -> tuple[Foreign, Foreign]:
    """Return System and Topology.

    Raises:
        InputError: the topology holds what OpenMM would read wrongly.
        Exception: whatever OpenMM's reader raises.
    """
    scanned = scan(top.read_text(errors="replace"), _finder(top.parent))
    if scanned.problems or scanned.missing:
        raise InputError("; ".join([*scanned.problems, *(f"{name} is not there" for name in scanned.missing)]))
    if run.electrostatics == "cut-off" and scanned.charged():
        raise InputError(f"coulombtype = cut-off with charges ({scanned.charged()})")
    reader = _read(top, box)
    _name_hydrogens(reader.topology, scanned.names())
    system = reader.createSystem(
        nonbondedMethod=METHODS[run.electrostatics],
        nonbondedCutoff=run.cutoff_nm * unit.nanometer,
        constraints=CONSTRAINTS[run.constraints],
        rigidWater=False,
        removeCMMotion=False,
        switchDistance=None if run.switch_nm is None else run.switch_nm * unit.nanometer,
        useDispersionCorrection=run.dispersion_correction,
    )
    _finish(system, scanned, box, run)
    return system, reader.topology


def _finder(folder: Path) -> Foreign:
    def find(name: str) -> str | None:
        path = folder / name
        return path.read_text(errors="replace") if path.is_file() else None

    return find


def _read(top: Path, box: Array) -> Foreign:
    """Included files are looked for beside the topology only: no force field of this machine may slip in."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # OpenMM's reader leaves files to the garbage collector
        wrapper = Path(folder) / "wrapper.top"
        wrapper.write_text(f'#undef FLEXIBLE\n#include "{top.resolve()}"\n')
        vectors = app.internal.unitcell.reducePeriodicBoxVectors(to_vectors(box))
        return app.GromacsTopFile(str(wrapper), periodicBoxVectors=vectors, includeDir=str(top.resolve().parent))


def _name_hydrogens(topology: Foreign, names: list[str]) -> None:
    hydrogen = app.Element.getBySymbol("H")
    for atom, name in zip(topology.atoms(), names, strict=True):
        if name.startswith("H"):
            atom.element = hydrogen
        elif atom.element is hydrogen:
            atom.element = None


def _finish(system: Foreign, scanned: Scanned, box: Array, run: RunSettings) -> None:
    nonbonded = next(force for force in system.getForces() if isinstance(force, openmm.NonbondedForce))
    if run.electrostatics == "PME":
        _set_mesh(nonbonded, box, run)
    _keep_listed_pairs(nonbonded, set(_listed_pairs(scanned)))
    _fold_one_sigma(system, nonbonded)
    for force in system.getForces():
        if isinstance(force, openmm.CustomNonbondedForce):
            force.setUseLongRangeCorrection(run.dispersion_correction)
    if run.com_interval:
        system.addForce(openmm.CMMotionRemover(run.com_interval))


def _set_mesh(nonbonded: Foreign, box: Array, run: RunSettings) -> None:
    edges = np.linalg.norm(box, axis=1)
    grid = [
        n or fourier_size(float(edge), run.fourier_spacing_nm) for n, edge in zip(run.fourier_grid, edges, strict=True)
    ]
    nonbonded.setPMEParameters(ewald_alpha(run.cutoff_nm, run.ewald_rtol), *grid)


def _fold_one_sigma(system: Foreign, nonbonded: Foreign) -> None:
    """Its parameters are C = sqrt(4 epsilon sigma^6) and A = sqrt(4 epsilon sigma^12), so that A / C = sigma^3."""
    for index, force in enumerate(system.getForces()):
        if not isinstance(force, openmm.CustomNonbondedForce):
            continue
        pairs = [force.getParticleParameters(atom) for atom in range(force.getNumParticles())]
        cubes = {round(a / c, 12) if c else math.inf for c, a in pairs if c or a}
        if len(cubes) > 1 or math.inf in cubes:
            return
        sigma = cubes.pop() ** (1 / 3) if cubes else 1.0
        for atom, (c, _) in enumerate(pairs):
            charge = nonbonded.getParticleParameters(atom)[0]
            nonbonded.setParticleParameters(atom, charge, sigma if c else 1.0, c * c / (4 * sigma**6))
        system.removeForce(index)
        return


def _listed_pairs(scanned: Scanned) -> Iterator[tuple[int, int]]:
    """Yield every pair of [ pairs ] by number in the system, the smaller first."""
    start = 0
    for name, count in scanned.counts:
        molecule = scanned.molecules[name]
        for copy in range(count):
            base = start + copy * len(molecule.atoms)
            yield from ((base + a, base + b) for a, b in molecule.pairs)
        start += count * len(molecule.atoms)


def _keep_listed_pairs(nonbonded: Foreign, listed: set[tuple[int, int]]) -> None:
    for index in range(nonbonded.getNumExceptions()):
        a, b, charge, sigma, epsilon = nonbonded.getExceptionParameters(index)
        if (min(a, b), max(a, b)) not in listed and (charge._value or epsilon._value):  # noqa: SLF001 - 40 x faster than by unit
            nonbonded.setExceptionParameters(index, a, b, 0.0, sigma, 0.0)
