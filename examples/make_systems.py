# ruff: noqa: T201, TID251 - a script for people, outside the platform: it prints, and starts gmx by itself
"""Make the sample systems of this folder from published numbers alone, and check them.

    python examples/make_systems.py make  [water] [argon] [peptide]
    python examples/make_systems.py check [water] [argon]

`make` needs OpenMM and ParmEd (for the Amber files) in Python and GROMACS 2022 as `gmx` (for `water/topol.tpr`); a
later GROMACS makes a tpr that an earlier one can't read. Every seed is fixed and the engine runs on one thread with
deterministic forces, so the same versions on the same kind of processor write the same bytes. `check` runs
`grompp` on every portable system, 5,000 steps of `mdrun`, and compares single-point energies of GROMACS and OpenMM.
README.md says where the parameters come from.
"""

from __future__ import annotations

import argparse
import io
import math
import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import openmm
from openmm import app, unit

HERE = Path(__file__).resolve().parent
SEED = 20261201
AVOGADRO = 602.214076
"""Particles per mole x 1e-21, so that g/mol / (g/cm3) / AVOGADRO is a volume in nm3."""

Points = npt.NDArray[np.float64]

WATERS_PER_EDGE = 7
WATER_DENSITY = 0.9965
"""g/cm3: the real liquid at 300 K and 1 bar."""
OH, HH = 0.1, 0.16330
"""nm: SPC/E has the tetrahedral angle."""

ARGON_CELLS_PER_EDGE = 5
ARGON_DENSITY = 1.374
ARGON_TEMPERATURE = 94.4

PEPTIDE_BOX = 1.9
PEPTIDE_CUTOFF = 0.8

WATER_TOP = """\
; SPC/E water (Berendsen, Grigera and Straatsma, J. Phys. Chem. 91 (1987) 6269)

[ defaults ]
; nbfunc  comb-rule  gen-pairs  fudgeLJ  fudgeQQ
  1       2          no         1.0      1.0

[ atomtypes ]
; name  at.num  mass      charge   ptype  sigma     epsilon
  OW    8       15.99940  0.0      A      0.316557  0.650194
  HW    1        1.00800  0.0      A      0.0       0.0

[ moleculetype ]
; name  nrexcl
  SOL   2

[ atoms ]
; nr  type  resnr  residue  atom  cgnr  charge    mass
  1   OW    1      SOL      OW    1     -0.8476   15.99940
  2   HW    1      SOL      HW1   1      0.4238    1.00800
  3   HW    1      SOL      HW2   1      0.4238    1.00800

[ settles ]
; OW  funct  doh   dhh
  1   1      0.1   0.16330

[ exclusions ]
  1  2  3
  2  1  3
  3  1  2

[ system ]
{count} SPC/E waters

[ molecules ]
SOL  {count}
"""

ARGON_TOP = """\
; Lennard-Jones argon (Rahman, Phys. Rev. 136 (1964) A405): sigma 0.34 nm, epsilon/k 120 K

[ defaults ]
; nbfunc  comb-rule  gen-pairs  fudgeLJ  fudgeQQ
  1       2          no         1.0      1.0

[ atomtypes ]
; name  at.num  mass     charge  ptype  sigma  epsilon
  AR    18      39.948   0.0     A      0.34   0.997736

[ moleculetype ]
; name  nrexcl
  AR    1

[ atoms ]
; nr  type  resnr  residue  atom  cgnr  charge  mass
  1   AR    1      AR       AR    1     0.0     39.948

[ system ]
{count} argon atoms

[ molecules ]
AR  {count}
"""

NVT_MDP = """\
; {temperature:g} K, constant volume
integrator              = md
dt                      = {timestep:g}
nsteps                  = 5000
nstlog                  = 500
nstenergy               = 100
nstxout-compressed      = 500
cutoff-scheme           = Verlet
rlist                   = 0.9
coulombtype             = {coulomb}
rcoulomb                = 0.9
rvdw                    = 0.9
vdw-modifier            = none
DispCorr                = no
constraints             = h-bonds
tcoupl                  = v-rescale
tc-grps                 = System
tau-t                   = 0.5
ref-t                   = {temperature:g}
gen-vel                 = yes
gen-temp                = {temperature:g}
gen-seed                = {seed}
"""

POINT_MDP = """\
integrator              = md
dt                      = 0.001
nsteps                  = 0
nstenergy               = 1
nstcalcenergy           = 1
cutoff-scheme           = Verlet
verlet-buffer-tolerance = -1
rlist                   = 0.95
coulombtype             = {coulomb}
coulomb-modifier        = none
rcoulomb                = 0.9
rvdw                    = 0.9
vdw-modifier            = none
DispCorr                = no
fourierspacing          = 0.04
ewald-rtol              = 1e-6
constraints             = h-bonds
continuation            = yes
gen-vel                 = no
"""

# Alanine dipeptide, extended (phi, psi = -150, 150 degrees), heavy atoms only: a new atom, three known ones, its distance
# to the first (nm), its angle with the first two and its dihedral with all three (degrees). Bond lengths and angles as
# in Engh and Huber, Acta Cryst. A47 (1991) 392, rounded; the minimiser has the last word.
PEPTIDE_ATOMS: tuple[tuple[str, str, str], ...] = (
    ("ACE", "CH3", "C"),
    ("ACE", "C", "C"),
    ("ACE", "O", "O"),
    ("ALA", "N", "N"),
    ("ALA", "CA", "C"),
    ("ALA", "CB", "C"),
    ("ALA", "C", "C"),
    ("ALA", "O", "O"),
    ("NME", "N", "N"),
    ("NME", "C", "C"),
)
PEPTIDE_BONDS: tuple[tuple[int, int], ...] = ((0, 1), (1, 2), (1, 3), (3, 4), (4, 5), (4, 6), (6, 7), (6, 8), (8, 9))
PEPTIDE_INTERNAL: tuple[tuple[tuple[int, int, int], float, float, float], ...] = (
    ((1, 0, 2), 0.1329, 116.2, 180.0),  # ALA N
    ((3, 1, 0), 0.1458, 121.7, 180.0),  # ALA CA
    ((4, 3, 1), 0.1521, 110.4, 90.0),  # ALA CB
    ((4, 3, 1), 0.1525, 111.2, -150.0),  # ALA C: phi
    ((6, 4, 3), 0.1231, 120.8, -30.0),  # ALA O: psi + 180
    ((6, 4, 3), 0.1329, 116.2, 150.0),  # NME N: psi
    ((8, 6, 4), 0.1458, 121.7, 180.0),  # NME methyl
)


@dataclass(frozen=True)
class Portable:
    """A system in GROMACS's formats that both engines can run."""

    name: str
    title: str
    top: str
    coulomb: str
    temperature: float
    timestep: float
    """ps"""
    atoms: tuple[tuple[str, str], ...]
    """Residue and atom names of one molecule."""
    count: int
    """Molecules."""

    @property
    def folder(self) -> Path:
        """Return where its files lie."""
        return HERE / self.name

    @property
    def mdp(self) -> str:
        """Return the settings of a production run."""
        return NVT_MDP.format(temperature=self.temperature, timestep=self.timestep, coulomb=self.coulomb, seed=SEED)


WATER = Portable(
    name="water",
    title="SPC/E water, 300 K",
    top=WATER_TOP,
    coulomb="PME",
    temperature=300.0,
    timestep=0.002,
    atoms=(("SOL", "OW"), ("SOL", "HW1"), ("SOL", "HW2")),
    count=WATERS_PER_EDGE**3,
)
ARGON = Portable(
    name="argon",
    title="Liquid argon, 94.4 K",
    top=ARGON_TOP,
    coulomb="Cut-off",
    temperature=ARGON_TEMPERATURE,
    timestep=0.005,
    atoms=(("AR", "AR"),),
    count=4 * ARGON_CELLS_PER_EDGE**3,
)
PORTABLE = {system.name: system for system in (WATER, ARGON)}


# --- coordinates -----------------------------------------------------------------------------------------------------


def grid(per_edge: int, spacing: float) -> Points:
    """Return the corners of a cubic grid."""
    axis = np.arange(per_edge) * spacing
    return np.array([(x, y, z) for x in axis for y in axis for z in axis])


def random_rotation(rng: np.random.Generator) -> Points:
    """Return a rotation matrix, uniform over all rotations."""
    w, x, y, z = (q := rng.normal(size=4)) / np.linalg.norm(q)
    return np.array(
        [
            (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
            (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
            (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
        ]
    )


def water_start() -> tuple[Points, float]:
    """Return waters on a grid, each turned at random, and the edge of their box."""
    rng = np.random.default_rng(SEED)
    edge = (WATER.count * 18.0154 / WATER_DENSITY / AVOGADRO) ** (1 / 3)
    half = HH / 2
    height = math.sqrt(OH**2 - half**2)
    molecule = np.array([(0.0, 0.0, 0.0), (half, height, 0.0), (-half, height, 0.0)])
    oxygens = grid(WATERS_PER_EDGE, edge / WATERS_PER_EDGE)
    return np.concatenate([centre + molecule @ random_rotation(rng).T for centre in oxygens]), edge


def argon_start() -> tuple[Points, float]:
    """Return argon on its face-centred cubic lattice, stretched to the liquid's density, and the edge of the box."""
    edge = (ARGON.count * 39.948 / ARGON_DENSITY / AVOGADRO) ** (1 / 3)
    cell = edge / ARGON_CELLS_PER_EDGE
    basis = np.array([(0.0, 0.0, 0.0), (0.0, 0.5, 0.5), (0.5, 0.0, 0.5), (0.5, 0.5, 0.0)]) * cell
    return np.concatenate([corner + basis for corner in grid(ARGON_CELLS_PER_EDGE, cell)]), edge


def place(a: Points, b: Points, c: Points, *, distance: float, angle: float, dihedral: float) -> Points:
    """Return the point at `distance` from `a`, at `angle` with a-b and at `dihedral` with a-b-c."""
    theta, phi = math.radians(angle), math.radians(dihedral)
    along = (a - b) / np.linalg.norm(a - b)
    normal = np.cross(b - c, along)
    normal /= np.linalg.norm(normal)
    side = np.cross(normal, along)
    return a + distance * (
        -math.cos(theta) * along + math.sin(theta) * math.cos(phi) * side + math.sin(theta) * math.sin(phi) * normal
    )


def peptide_start() -> app.Modeller:
    """Return ACE-ALA-NME without hydrogens, built from bond lengths, angles and dihedrals."""
    turn = math.radians(120.4)
    sites = [
        np.zeros(3),
        np.array((0.1504, 0.0, 0.0)),
        np.array((0.1504 - 0.1231 * math.cos(turn), 0.1231 * math.sin(turn), 0.0)),
    ]
    for (a, b, c), distance, angle, dihedral in PEPTIDE_INTERNAL:
        sites.append(place(sites[a], sites[b], sites[c], distance=distance, angle=angle, dihedral=dihedral))
    topology = app.Topology()
    chain = topology.addChain("A")
    residues = {name: topology.addResidue(name, chain) for name in ("ACE", "ALA", "NME")}
    atoms = [
        topology.addAtom(atom, app.Element.getBySymbol(element), residues[residue])
        for residue, atom, element in PEPTIDE_ATOMS
    ]
    for first, second in PEPTIDE_BONDS:
        topology.addBond(atoms[first], atoms[second])
    return app.Modeller(topology, np.array(sites) * unit.nanometer)


# --- equilibration ---------------------------------------------------------------------------------------------------


def deterministic_context(system: openmm.System, integrator: openmm.Integrator) -> openmm.Context:
    """Return a context whose results depend on nothing but its input."""
    platform = openmm.Platform.getPlatformByName("CPU")
    return openmm.Context(system, integrator, platform, {"Threads": "1", "DeterministicForces": "true"})


def langevin(temperature: float, friction: float, timestep: float) -> openmm.LangevinMiddleIntegrator:
    """Return the integrator, seeded; 1/ps and ps."""
    integrator = openmm.LangevinMiddleIntegrator(temperature, friction, timestep)
    integrator.setConstraintTolerance(1e-6)
    integrator.setRandomNumberSeed(SEED)
    return integrator


def equilibrate(
    system: openmm.System, start: Points, *, temperature: float, timestep: float, steps: int
) -> openmm.State:
    """Minimise, then run at constant volume; return positions, each molecule whole, and velocities."""
    context = deterministic_context(system, langevin(temperature, 1.0, timestep))
    context.setPositions(start)
    context.applyConstraints(1e-6)
    openmm.LocalEnergyMinimizer.minimize(context, 10.0, 500)
    context.setVelocitiesToTemperature(temperature, SEED)
    context.getIntegrator().step(steps)
    context.setTime(0.0)
    context.setStepCount(0)
    return context.getState(positions=True, velocities=True, enforcePeriodicBox=True)


def compress(system: openmm.System, start: Points, *, temperature: float, steps: int) -> tuple[Points, float]:
    """Run at 1 bar; return positions and box, scaled to the mean density of the second half of the run."""
    system = openmm.XmlSerializer.deserialize(openmm.XmlSerializer.serialize(system))
    barostat = openmm.MonteCarloBarostat(1.0 * unit.bar, temperature * unit.kelvin, 25)
    barostat.setRandomNumberSeed(SEED)
    system.addForce(barostat)
    context = deterministic_context(system, langevin(temperature, 1.0, 0.002))
    context.setPositions(start)
    openmm.LocalEnergyMinimizer.minimize(context, 10.0, 500)
    context.setVelocitiesToTemperature(temperature, SEED)
    rows = 100
    edges = []
    for _ in range(rows):
        context.getIntegrator().step(steps // rows)
        edges.append(box_edge(context.getState()))
    target = float(np.mean(edges[rows // 2 :]))
    print(f"    box at 1 bar: {target:.4f} nm (last: {edges[-1]:.4f})")
    state = context.getState(positions=True)
    return positions_of(state) * (target / edges[-1]), target


def box_edge(state: openmm.State) -> float:
    """Return the edge of a cubic box, nm."""
    return float(state.getPeriodicBoxVectors(asNumpy=True).value_in_unit(unit.nanometer)[0, 0])


def positions_of(state: openmm.State) -> Points:
    """Return positions, nm."""
    return np.asarray(state.getPositions(asNumpy=True).value_in_unit(unit.nanometer))


def portable_system(portable: Portable, *, tolerance: float) -> openmm.System:
    """Return OpenMM's reading of the topology with the settings of the mdp."""
    gro = app.GromacsGroFile(str(portable.folder / "conf.gro"))
    top = app.GromacsTopFile(str(portable.folder / "topol.top"), periodicBoxVectors=gro.getPeriodicBoxVectors())
    return top.createSystem(
        nonbondedMethod=app.PME if portable.coulomb == "PME" else app.CutoffPeriodic,
        nonbondedCutoff=0.9 * unit.nanometer,
        constraints=app.HBonds,
        ewaldErrorTolerance=tolerance,
        useDispersionCorrection=False,
    )


# --- files -----------------------------------------------------------------------------------------------------------


def write_gro(portable: Portable, positions: Points, velocities: Points, edge: float) -> None:
    """Write `conf.gro`; velocities in nm/ps."""
    lines = [portable.title, str(len(positions))]
    size = len(portable.atoms)
    for number, (place_, speed) in enumerate(zip(positions, velocities, strict=True)):
        residue, atom = portable.atoms[number % size]
        head = f"{(number // size + 1) % 100_000:5d}{residue:<5s}{atom:>5s}{(number + 1) % 100_000:5d}"
        lines.append(head + "".join(f"{x:8.3f}" for x in place_) + "".join(f"{v:8.4f}" for v in speed))
    lines.append("".join(f"{edge:10.5f}" for _ in range(3)))
    (portable.folder / "conf.gro").write_text("\n".join(lines) + "\n", encoding="ascii")


def make_portable(portable: Portable, start: Points, edge: float, steps: int) -> None:
    """Write topology and settings, equilibrate, and write the coordinates."""
    portable.folder.mkdir(exist_ok=True)
    (portable.folder / "topol.top").write_text(portable.top.format(count=portable.count), encoding="ascii")
    (portable.folder / "nvt.mdp").write_text(portable.mdp, encoding="ascii")
    write_gro(portable, start, np.zeros_like(start), edge)
    state = equilibrate(
        portable_system(portable, tolerance=5e-4),
        start,
        temperature=portable.temperature,
        timestep=portable.timestep,
        steps=steps,
    )
    speeds = state.getVelocities(asNumpy=True).value_in_unit(unit.nanometer / unit.picosecond)
    write_gro(portable, positions_of(state), np.asarray(speeds), edge)


def gmx(*arguments: str, cwd: Path, typed: str = "", program: str = "gmx") -> str:
    """Run GROMACS and return what it says on both streams."""
    done = subprocess.run(
        [program, "-nobackup", *arguments], cwd=cwd, input=typed, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{program} {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def grompp(portable: Portable, mdp: str, folder: Path) -> str:
    """Write `topol.tpr` into `folder`; the seed of the thermostat is fixed, which grompp otherwise draws."""
    for name in ("conf.gro", "topol.top"):
        shutil.copy(portable.folder / name, folder / name)
    (folder / "run.mdp").write_text(f"{mdp}ld-seed = {SEED}\n", encoding="ascii")
    return gmx("grompp", "-f", "run.mdp", "-c", "conf.gro", "-p", "topol.top", "-o", "topol.tpr", cwd=folder)


def make_water() -> None:
    """Write water/: 343 SPC/E waters, portable and as a tpr."""
    make_portable(WATER, *water_start(), steps=25_000)
    with tempfile.TemporaryDirectory() as scratch:
        grompp(WATER, WATER.mdp, Path(scratch))
        shutil.copy(Path(scratch) / "topol.tpr", WATER.folder / "topol.tpr")


def make_argon() -> None:
    """Write argon/: 500 atoms, portable and in Amber's formats."""
    make_portable(ARGON, *argon_start(), steps=20_000)
    make_amber(ARGON)


def make_amber(portable: Portable) -> None:
    """Write `NAME.prmtop` and `NAME.inpcrd` beside the GROMACS files."""
    import parmed  # noqa: PLC0415 - the only part that needs it

    structure = parmed.gromacs.GromacsTopologyFile(
        str(portable.folder / "topol.top"), xyz=str(portable.folder / "conf.gro")
    )
    amber = parmed.amber.AmberParm.from_structure(structure)
    prmtop = portable.folder / f"{portable.name}.prmtop"
    amber.save(str(prmtop), overwrite=True)
    amber.save(str(prmtop.with_suffix(".inpcrd")), format="rst7", overwrite=True)
    text = re.sub(r"DATE = .*", "DATE = 12/01/26  00:00:00", prmtop.read_text(encoding="ascii"), count=1)
    prmtop.write_text(text, encoding="ascii")


def make_peptide() -> None:
    """Write peptide/: alanine dipeptide in TIP3P water as OpenMM's own files."""
    folder = HERE / "peptide"
    folder.mkdir(exist_ok=True)
    random.seed(SEED)  # Modeller draws the directions of new hydrogens from it
    field = app.ForceField("amber14/protein.ff14SB.xml", "amber14/tip3p.xml")
    modeller = peptide_start()
    modeller.addHydrogens(field)
    modeller.addSolvent(field, model="tip3p", boxSize=openmm.Vec3(*[PEPTIDE_BOX] * 3), neutralize=False)

    def system_of(topology: app.Topology) -> openmm.System:
        return field.createSystem(
            topology,
            nonbondedMethod=app.PME,
            nonbondedCutoff=PEPTIDE_CUTOFF * unit.nanometer,
            constraints=app.HBonds,
            ewaldErrorTolerance=5e-4,
        )

    start = np.asarray(modeller.positions.value_in_unit(unit.nanometer))
    start, edge = compress(system_of(modeller.topology), start, temperature=300.0, steps=50_000)
    modeller.topology.setPeriodicBoxVectors(np.eye(3) * edge * unit.nanometer)
    system = system_of(modeller.topology)
    state = equilibrate(system, start, temperature=300.0, timestep=0.002, steps=10_000)
    for name, thing in (("system", system), ("state", state), ("integrator", langevin(300.0, 1.0, 0.002))):
        (folder / f"{name}.xml").write_text(openmm.XmlSerializer.serialize(thing), encoding="utf-8")
    pdb = io.StringIO()
    app.PDBFile.writeFile(modeller.topology, state.getPositions(), pdb)
    lines = [line for line in pdb.getvalue().splitlines(keepends=True) if not line.startswith("REMARK")]
    (folder / "model.pdb").write_text("".join(lines), encoding="ascii")


# --- checks ----------------------------------------------------------------------------------------------------------


def energy_terms(folder: Path, terms: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return average and first value of each term of `folder/ener.edr`."""
    gmx("energy", "-f", "ener.edr", "-o", "energy.xvg", cwd=folder, typed="\n".join(terms) + "\n\n")
    text = (folder / "energy.xvg").read_text(encoding="utf-8")
    names = re.findall(r'^@ s\d+ legend "(.*)"', text, re.MULTILINE)
    rows = np.array([line.split() for line in text.splitlines() if line[:1] not in {"#", "@"}], dtype=float)
    return {name: (float(rows[:, i].mean()), float(rows[0, i])) for i, name in enumerate(names, start=1)}


def gromacs_point(portable: Portable, program: str) -> float:
    """Return GROMACS's potential energy of `conf.gro` with tight settings, kJ/mol."""
    with tempfile.TemporaryDirectory() as scratch:
        grompp(portable, POINT_MDP.format(coulomb=portable.coulomb), folder := Path(scratch))
        gmx("mdrun", "-s", "topol.tpr", "-e", "ener.edr", "-ntmpi", "1", "-ntomp", "1", cwd=folder, program=program)
        return energy_terms(folder, ["Potential"])["Potential"][1]


def openmm_point(portable: Portable, platform: str) -> float:
    """Return OpenMM's potential energy of the same coordinates, kJ/mol."""
    context = openmm.Context(
        portable_system(portable, tolerance=1e-5),
        openmm.VerletIntegrator(0.001),
        openmm.Platform.getPlatformByName(platform),
    )
    context.setPositions(app.GromacsGroFile(str(portable.folder / "conf.gro")).getPositions())
    return float(context.getState(energy=True).getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole))


def check(portable: Portable) -> None:
    """Print what grompp has to say, the temperature of 5,000 steps, and the energies of both engines."""
    print(portable.name)
    with tempfile.TemporaryDirectory() as scratch:
        said = grompp(portable, portable.mdp, folder := Path(scratch))
        remarks = re.findall(r"^(?:NOTE|WARNING) \d.*(?:\n.+)*", said, re.MULTILINE)
        print("    grompp:", *(remarks or ["no warning, no note"]))
        gmx("mdrun", "-s", "topol.tpr", "-e", "ener.edr", "-ntmpi", "1", "-ntomp", "1", cwd=folder)
        for name, (mean, _first) in energy_terms(folder, ["Temperature", "Pressure", "Potential"]).items():
            print(f"    mean {name} of 5,000 steps: {mean:.2f}")
    for program in filter(shutil.which, ("gmx", "gmx_d")):
        print(f"    single point, {program}: {gromacs_point(portable, program):.2f} kJ/mol")
    for platform in ("Reference", "CPU"):
        print(f"    single point, OpenMM {platform}: {openmm_point(portable, platform):.2f} kJ/mol")


MAKERS: dict[str, Callable[[], None]] = {"water": make_water, "argon": make_argon, "peptide": make_peptide}


def main() -> None:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(description="Make or check the sample systems.")
    parser.add_argument("task", choices=["make", "check"])
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help=f"of {', '.join(MAKERS)}; all where left out")
    arguments = parser.parse_args()
    if unknown := set(arguments.systems) - set(MAKERS):
        parser.error(f"no such system: {', '.join(sorted(unknown))}")
    for name in arguments.systems or MAKERS:
        if arguments.task == "make":
            print(name)
            MAKERS[name]()
        elif name in PORTABLE:
            check(PORTABLE[name])


if __name__ == "__main__":
    main()
