"""OpenMM end to end: the plan's own command line as a process, real systems, and GROMACS as the authority."""

from __future__ import annotations

import math
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import anyio
import openmm
import pytest
from openmm import app

from events.hardware import Device, Slot
from events.outcome import ExitRecord
from events.spec import AmberJob, AnyJobSpec, GromacsTopJob, InputFile, OpenMMJob, Settings
from mdactors.engines.gromacs.engine import GromacsEngine
from mdactors.engines.openmm.energies import read_energies
from mdactors.engines.openmm.engine import OpenMMEngine
from mdactors.engines.openmm.job import NUMERICS, STOPPED
from mdactors.engines.openmm.log import read_result
from mdactors.engines.openmm.parts import frame_steps
from mdactors.ports import Completed, Evidence, Host, LaunchPlan, PlanRequest, Verdict
from tests.mdactors.engines.openmm.samples import a_capability, chain_gro, chain_top, mdp

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
SYSTEMS = ROOT.parent / "shared" / "systems"
ARGON = ROOT / "examples" / "argon"
SAMPLES = ROOT / "tests" / "data" / "openmm"
DEADLINE_SECONDS = 60.0
SINGLE_POINT = {"water216": -9261.20, "ala2": -24555.8}
"""Potential of conf.gro by gmx_d 2022.5, kJ/mol."""


def real(name: str) -> Path:
    path = SYSTEMS / name
    if not path.exists():
        pytest.skip("no ../shared/systems beside the repository")
    return path


class Job:
    """One job's folder and the attempts in it, run as the platform runs them."""

    def __init__(self, folder: Path, spec: AnyJobSpec, files: Mapping[str, Path | str], backend: str = "CPU") -> None:
        self.engine, self.folder, self.spec, self.backend = OpenMMEngine(), folder, spec, backend
        self.attempt = 0
        (folder / "inputs").mkdir(parents=True)
        self.paths = {role: folder / "inputs" / getattr(spec, role) for role in files}
        for role, source in files.items():
            self.paths[role].write_bytes(source.read_bytes() if isinstance(source, Path) else source.encode())

    def plan(self) -> LaunchPlan:
        inputs = tuple(InputFile(role, path.name, str(path), path.name, 1) for role, path in self.paths.items())
        request = PlanRequest(
            job=7,
            attempt=self.attempt,
            spec=self.spec,
            inputs=inputs,
            capability=a_capability(backend=self.backend, binary=sys.executable),
            slot=Slot(id="cpu:0/0", node="here", device="cpu:0", threads=1),
            situation=self.engine.survey(self.folder, self.spec),
            folder=str(self.folder),
            cache=str(self.folder),
        )
        return self.engine.plan(request)

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        self.attempt += 1
        plan = self.plan()
        for name, text in plan.files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)
        attempt = self.folder / "attempts" / str(self.attempt)
        environment = {"PATH": "/usr/bin:/bin", **plan.variables}
        with (attempt / "stdout").open("wb") as out, (attempt / "stderr").open("wb") as err:
            process = subprocess.Popen(plan.argv, cwd=self.folder, env=environment, stdout=out, stderr=err)
            try:
                yield process
            finally:
                process.kill()
                process.wait()

    def run(self) -> Verdict:
        with self.started() as process:
            return self.judge(process.wait(DEADLINE_SECONDS))

    def judge(self, code: int, *, asked: bool = False) -> Verdict:
        record = ExitRecord(code=code, time=0.0)
        return self.engine.judge(
            self.folder, Evidence(spec=self.spec, attempt=self.attempt, exit=record, stop_asked=asked)
        )

    def reached(self, step: int) -> bool:
        reading = self.engine.progress(self.folder, self.attempt)
        return reading is not None and reading.step >= step

    def stderr(self) -> str:
        return (self.folder / "attempts" / str(self.attempt) / "stderr").read_text()


def wait_for(fact: Callable[[], bool]) -> None:
    """Wait for a fact that another process writes into a file."""
    end = time.monotonic() + DEADLINE_SECONDS
    while not fact():
        assert time.monotonic() < end, "the fact did not come about in time"
        time.sleep(0.02)


def gromacs_job(folder: Path, system: str, settings: str, *, nsteps: int | None = None, backend: str = "CPU") -> Job:
    source = real(system)
    spec = GromacsTopJob(gro="conf.gro", top="topol.top", mdp="run.mdp", nsteps=nsteps)
    files: dict[str, Path | str] = {"gro": source / "conf.gro", "top": source / "topol.top", "mdp": settings}
    job = Job(folder, spec, files, backend)
    examination = job.engine.examine(spec, job.paths)
    assert examination.refusals == ()
    return job


def edited(name: str, **changes: str) -> str:
    """Return a real mdp with some options changed."""
    return edit(real(name).read_text(), **changes)


def edit(text: str, **changes: str) -> str:
    for option, value in changes.items():
        text, count = re.subn(rf"(?m)^{option.replace('_', '-')}\s*=.*$", f"{option} = {value}", text)
        assert count == 1, option
    return text


# ---------------------------------------------------------------- the same physics as GROMACS


def best_gromacs() -> str:
    gmx = shutil.which("gmx_d") or shutil.which("gmx")
    if gmx is None:
        pytest.skip("no GROMACS here")
    return gmx


def gromacs_terms(tpr: Path, folder: Path) -> dict[str, float]:
    """Return the energies of a run input's start, by the best GROMACS that there is."""
    folder.mkdir(exist_ok=True)
    command = [best_gromacs(), "-quiet", "mdrun", "-nt", "1", "-nsteps", "0", "-s", str(tpr)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    block = (folder / "md.log").read_text().rpartition("Energies (kJ/mol)\n")[2].partition("\n\n")[0].splitlines()
    terms: dict[str, float] = {}
    for names, values in zip(block[::2], block[1::2], strict=False):
        heads = [names[i : i + 15].strip() for i in range(0, len(names), 15)]
        terms |= dict(zip(heads, map(float, values.split()), strict=True))
    return terms


@pytest.mark.parametrize("backend", ["CPU", "Reference"])
@pytest.mark.parametrize("system", ["water216", "ala2"])
def test_the_energy_of_one_configuration_is_gromacs_s(tmp_path: Path, system: str, backend: str) -> None:
    job = gromacs_job(tmp_path / "job", system, real("point.mdp").read_text(), backend=backend)
    verdict = job.run()
    assert (verdict.outcome, job.stderr()) == ("completed", "")
    ours = {name: values[0] for name, values in job.engine.energies(job.folder).terms.items()}
    assert ours["potential"] == pytest.approx(SINGLE_POINT[system], rel=2e-5)
    if backend == "Reference":
        theirs = gromacs_terms(real(f"{system}/point.tpr"), tmp_path / "gmx")
        assert ours["potential"] == pytest.approx(theirs["Potential"], rel=2e-5)
        for name, parts in (("bond", ["Bond"]), ("angle", ["Angle"]), ("dihedral", ["Proper Dih.", "Per. Imp. Dih."])):
            if name in ours:
                assert ours[name] == pytest.approx(sum(theirs[part] for part in parts), rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("backend", ["CPU", "Reference"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"vdw_modifier": "potential-switch\nrvdw-switch = 0.7"},
        {"vdw_modifier": "none\nvdwtype = switch\nrvdw-switch = 0.7"},
    ],
)
def test_the_energy_of_a_cut_off_without_charges_is_gromacs_s(
    tmp_path: Path, changes: dict[str, str], backend: str
) -> None:
    settings = edit((ARGON / "nvt.mdp").read_text(), **changes)
    spec = GromacsTopJob(gro="conf.gro", top="topol.top", mdp="run.mdp", nsteps=0)
    job = Job(tmp_path / "job", spec, {"gro": ARGON / "conf.gro", "top": ARGON / "topol.top", "mdp": settings}, backend)
    ours, theirs = job.engine.examine(spec, job.paths), GromacsEngine().examine(spec, job.paths)
    assert (ours.refusals, ours.notes, ours.system) == ((), (), "500 atoms, cut-off, h-bonds")
    assert theirs.system == ours.system  # their speeds may be compared
    assert job.run().outcome == "completed"

    inputs = [
        word for flag, role in (("-f", "mdp"), ("-c", "gro"), ("-p", "top")) for word in (flag, str(job.paths[role]))
    ]
    command = [best_gromacs(), "-quiet", "grompp", *inputs, "-o", "start.tpr"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    potential = gromacs_terms(tmp_path / "start.tpr", tmp_path)["Potential"]
    # md.log has six digits, which are good to 2e-6; a sum in single precision to 1e-6
    assert read_energies(job.folder).terms["potential"][0] == pytest.approx(potential, rel=4e-6)


def test_the_bath_holds_its_temperature(tmp_path: Path) -> None:
    steps, tau = 3000, 0.1
    job = gromacs_job(tmp_path, "water216", edited("nvt.mdp", tau_t=str(tau), nstenergy="20"), nsteps=steps)
    assert job.run().outcome == "completed"
    result = read_result(job.folder, 1)
    assert result is not None
    kinetic = read_energies(job.folder).terms["kinetic"][20:]
    mean = 2 * sum(kinetic) / len(kinetic) / (result.degrees_of_freedom * 8.31446261815324e-3)
    # one independent sample in 2 tau; the spread of the canonical ensemble is T sqrt(2 / n)
    error = 300 * math.sqrt(2 / result.degrees_of_freedom) / math.sqrt(steps * 0.002 / (2 * tau))
    assert abs(mean - 300) < 4 * error
    conserved = read_energies(job.folder).terms["conserved"]
    assert abs(conserved[-1] - conserved[0]) / (steps * 0.002) / 648 < 5e-3  # kJ/mol/ps per atom, GROMACS's own bound


# ---------------------------------------------------------------- stop, resume, damage


def test_stopped_by_a_signal_damaged_killed_and_resumed_to_the_exact_end(tmp_path: Path) -> None:
    job = gromacs_job(tmp_path, "water216", edited("nvt.mdp", nstenergy="50", nstxout_compressed="200"), nsteps=1200)
    with job.started() as process:
        wait_for(lambda: job.reached(100))
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_SECONDS) == STOPPED
    verdict = job.judge(STOPPED, asked=True)
    stopped = verdict.figures.steps_done
    assert verdict.outcome == "stopped"
    assert stopped is not None
    assert 100 <= stopped < 1200
    assert job.engine.survey(job.folder, job.spec).checkpoint == "checkpoint.chk"

    damaged = bytearray((job.folder / "checkpoint.chk").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (job.folder / "checkpoint.chk").write_bytes(damaged)
    situation = job.engine.survey(job.folder, job.spec)
    assert (situation.step, situation.checkpoint) == (stopped, "state.xml")

    with job.started() as process:  # killed: what it wrote beyond the checkpoint is written again by the next one
        wait_for(lambda: job.reached(stopped + 150))
        process.kill()
        assert job.judge(process.wait()).outcome == "failed"
    assert job.engine.survey(job.folder, job.spec).step == stopped

    verdict = job.run()
    assert (verdict.outcome, verdict.figures.steps_done) == ("completed", 1200)
    assert any("not bitwise" in warning for warning in verdict.warnings)
    assert [round(time / 0.002) for time in read_energies(job.folder).times_ps] == list(range(0, 1201, 50))
    frames = [step for part in sorted(job.folder.glob("*.xtc")) for step in frame_steps(part)]
    assert frames == list(range(0, 1201, 200))
    assert job.engine.survey(job.folder, job.spec).finished


def test_a_run_that_blows_up_is_diagnosed(tmp_path: Path) -> None:
    job = gromacs_job(tmp_path, "water216", edited("nvt.mdp", dt="0.05"), nsteps=2000)
    with job.started() as process:
        code = process.wait(DEADLINE_SECONDS)
    verdict = job.judge(code)
    assert (code, verdict.outcome) == (NUMERICS, "failed")
    assert verdict.diagnosis is not None
    assert (verdict.diagnosis.kind, verdict.diagnosis.code, verdict.diagnosis.retry) == ("numerics", "nan", "no")
    assert "NaN" in verdict.diagnosis.evidence


# ---------------------------------------------------------------- the other kinds


def serialised_water(folder: Path) -> dict[str, Path | str]:
    """Return System, State and PDB of the water box, made with OpenMM alone."""
    source = real("water216")
    gro = app.GromacsGroFile(str(source / "conf.gro"))
    system, topology = openmm.System(), app.Topology()
    nonbonded, chain = openmm.NonbondedForce(), topology.addChain()
    for molecule in range(216):
        residue = topology.addResidue("HOH", chain)
        for name, symbol, mass, charge in (
            ("O", "O", 15.9994, -0.82),
            ("H1", "H", 1.008, 0.41),
            ("H2", "H", 1.008, 0.41),
        ):
            system.addParticle(mass)
            nonbonded.addParticle(charge, 0.316557, 0.650629 if name == "O" else 0.0)
            topology.addAtom(name, app.Element.getBySymbol(symbol), residue)
        first = 3 * molecule
        for a, b, length in ((0, 1, 0.1), (0, 2, 0.1), (1, 2, 0.1633)):
            system.addConstraint(first + a, first + b, length)
            nonbonded.addException(first + a, first + b, 0.0, 1.0, 0.0)
    nonbonded.setNonbondedMethod(openmm.NonbondedForce.PME)
    nonbonded.setCutoffDistance(0.9)
    nonbonded.setUseDispersionCorrection(False)
    system.addForce(nonbonded)
    system.setDefaultPeriodicBoxVectors(*gro.getPeriodicBoxVectors())
    topology.setPeriodicBoxVectors(gro.getPeriodicBoxVectors())
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(gro.getPositions())
    state = context.getState(getPositions=True)
    with (folder / "start.pdb").open("w") as file:
        app.PDBFile.writeFile(topology, gro.getPositions(), file)
    texts = {"system": openmm.XmlSerializer.serialize(system), "state": openmm.XmlSerializer.serialize(state)}
    return {**texts, "pdb": folder / "start.pdb"}


@pytest.mark.parametrize("role", ["state", "pdb"])
def test_a_serialised_system_runs(tmp_path: Path, role: str) -> None:
    files = serialised_water(tmp_path)
    settings = Settings(report_steps=50, trajectory_steps=100, seed=4)
    spec = OpenMMJob(
        system="system.xml",
        state="start.xml" if role == "state" else None,
        pdb="start.pdb" if role == "pdb" else None,
        nsteps=200,
        settings=settings,
    )
    job = Job(tmp_path / "job", spec, {name: files[name] for name in ("system", role)})
    assert job.engine.examine(spec, job.paths).system == "648 atoms, PME, constraints"
    verdict = job.run()
    assert (verdict.outcome, job.stderr()) == ("completed", "")
    energies = read_energies(job.folder)
    assert [round(time / 0.002) for time in energies.times_ps] == [0, 50, 100, 150, 200]
    assert energies.terms["potential"][0] == pytest.approx(
        -9261, rel=3e-3
    )  # constrained, and to three digits of the gro
    assert (job.folder / "final.pdb").exists() is (role == "pdb")


def test_an_amber_pair_has_the_energies_of_the_same_gromacs_topology(tmp_path: Path) -> None:
    settings = Settings(cutoff_nm=0.5, constraints="h-bonds", report_steps=10, trajectory_steps=0, timestep_fs=1.0)
    spec = AmberJob(prmtop="chains.prmtop", inpcrd="chains.inpcrd", nsteps=20, settings=settings)
    job = Job(
        tmp_path / "amber", spec, {role: SAMPLES / f"chains.{role}" for role in ("prmtop", "inpcrd")}, "Reference"
    )
    assert job.engine.examine(spec, job.paths).system == "108 atoms, PME, h-bonds"
    assert job.run().outcome == "completed"
    amber = read_energies(job.folder).terms

    files = {
        "gro": chain_gro(),
        "top": chain_top(),
        "mdp": mdp(nsteps="0", DispCorr="EnerPres", ewald_rtol="1e-5", fourierspacing="0.06"),
    }
    same = Job(tmp_path / "gromacs", GromacsTopJob(gro="conf.gro", top="topol.top", mdp="run.mdp"), files, "Reference")
    assert same.run().outcome == "completed"
    gromacs = read_energies(same.folder).terms
    for name in ("bond", "angle", "dihedral"):
        assert amber[name][0] == pytest.approx(gromacs[name][0], rel=1e-3)
    # Amber's electric constant is 3.5e-5 lower, and OpenMM's own error tolerance makes a coarser mesh
    assert amber["potential"][0] == pytest.approx(gromacs["potential"][0], rel=2e-3)


# ---------------------------------------------------------------- the matrix


async def test_the_probe_finds_what_is_here() -> None:
    async def run(
        argv: Sequence[str], *, timeout: float, cwd: str | None = None, variables: Mapping[str, str] | None = None
    ) -> Completed:
        with anyio.fail_after(timeout):
            done = await anyio.run_process(argv, check=False, cwd=cwd, env=variables or {})
        return Completed(code=done.returncode, stdout=done.stdout, stderr=done.stderr)

    host = Host(
        node="here", devices=(Device(id="cpu:0", node="here", type="cpu", index=0, cpus=(0, 1)),), search_path=()
    )
    found = await OpenMMEngine().probe(run, host)
    assert {(row.backend, row.precision) for row in found.capabilities} >= {("CPU", "mixed"), ("Reference", "double")}
    assert all(row.version == openmm.Platform.getOpenMMVersion() for row in found.capabilities)
