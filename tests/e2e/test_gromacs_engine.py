"""The GROMACS adapter with the real program: probe, plan, run, stop, continue, judge."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import msgspec
import pytest

from events.hardware import Capability, Device, Slot
from events.outcome import ExitRecord
from events.spec import AnyJobSpec, GromacsTopJob, InputFile, TprJob
from mdactors.engines.gromacs.engine import GromacsEngine
from mdactors.ports import Completed, Evidence, Host, LaunchPlan, PlanRequest, Situation, Verdict

ROOT = Path(__file__).parents[2]
WATER = ROOT / "examples" / "water"
POINT = ROOT.parent / "shared" / "systems" / "water216" / "point.tpr"
GMX = "/usr/bin/gmx"
CPU = Device(id="cpu:0", node="n", type="cpu", index=0)
SLOT = Slot(id="cpu:0/0", node="n", device="cpu:0", threads=1)

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not os.access(GMX, os.X_OK), reason="GROMACS is not installed"),
]

ENDLESS = 400_000_000
"""Steps; never reached here."""


async def run(
    argv: Sequence[str], *, timeout: float, cwd: str | None = None, variables: Mapping[str, str] | None = None
) -> Completed:
    """Run a short program as a substrate would."""
    env = {**os.environ, **(variables or {})}
    with anyio.fail_after(timeout):
        done = await anyio.run_process(argv, check=False, cwd=cwd, env=env)
    return Completed(code=done.returncode, stdout=done.stdout, stderr=done.stderr)


@pytest.fixture(scope="module")
def capabilities() -> dict[str, Capability]:
    """The installed builds by precision."""
    host = Host(node="n", devices=(CPU,), search_path=("/usr/bin",))
    found = anyio.run(GromacsEngine().probe, run, host)
    return {row.precision: row for row in found.capabilities}


class Bench:
    """A job's folder, and what an executor would do in it."""

    def __init__(self, folder: Path, spec: AnyJobSpec, capability: Capability) -> None:
        self.folder, self.spec, self.capability = folder, spec, capability
        self.engine = GromacsEngine()
        self.inputs = self._place()
        self.attempt = 0

    def _place(self) -> tuple[InputFile, ...]:
        """Put real inputs under `inputs/`."""
        placed = []
        (self.folder / "inputs").mkdir()
        (self.folder / "cache").mkdir()
        for role, source in self.sources().items():
            (self.folder / "inputs" / source.name).write_bytes(source.read_bytes())
            placed.append(InputFile(role=role, name=source.name, path=str(source), sha256=role, size=1))
        return tuple(placed)

    def sources(self) -> dict[str, Path]:
        """Return the real files behind the spec's fields."""
        if isinstance(self.spec, TprJob):
            return {"tpr": POINT if self.spec.tpr == POINT.name else WATER / self.spec.tpr}
        return {"gro": WATER / "conf.gro", "top": WATER / "topol.top", "mdp": WATER / "nvt.mdp"}

    def plan(self) -> LaunchPlan:
        """Plan the next attempt from the folder's situation and make what it needs."""
        self.attempt += 1
        request = PlanRequest(
            job=1,
            attempt=self.attempt,
            spec=self.spec,
            inputs=self.inputs,
            capability=self.capability,
            slot=SLOT,
            situation=self.survey(),
            folder=str(self.folder),
            cache=str(self.folder / "cache"),
        )
        plan = self.engine.plan(request)
        for step in plan.prepare:
            self._prepare(step.argv, step.makes, Path(step.product))
        (self.folder / f"aside-{self.attempt}").mkdir()
        for name in plan.set_aside:
            (self.folder / name).rename(self.folder / f"aside-{self.attempt}" / name)
        for name, product in plan.links.items():
            (self.folder / name).unlink(missing_ok=True)
            os.link(product, self.folder / name)
        return plan

    def _prepare(self, argv: Sequence[str], makes: str, product: Path) -> None:
        if product.exists():
            return
        empty = self.folder / "prepare"
        empty.mkdir(exist_ok=True)
        subprocess.run(argv, cwd=empty, check=True, capture_output=True, timeout=30)
        (empty / makes).rename(product)

    def start(self, **variables: str) -> subprocess.Popen[bytes]:
        """Start the next attempt with its output in files."""
        plan = self.plan()
        said = self.folder / "attempts" / str(self.attempt)
        said.mkdir(parents=True)
        with (said / "stdout").open("wb") as out, (said / "stderr").open("wb") as err:
            return subprocess.Popen(
                plan.argv,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, **plan.variables, **variables},
                start_new_session=True,
            )

    def run(self) -> Verdict:
        """Run an attempt to its end."""
        with self.start() as process:
            code = process.wait(timeout=60)
        return self.judge(code)

    def run_until(self, step: int, stop: signal.Signals) -> tuple[int, int]:
        """Run an attempt, signal it once it is past a step, and return its exit code and the last reading."""
        with self.start() as process:
            reached = wait_for_step(self, step)
            process.send_signal(stop)
            code = process.wait(timeout=30)
        return code, reached

    def survey(self) -> Situation:
        """Return where the job stands."""
        return self.engine.survey(self.folder, self.spec)

    def judge(self, code: int, *, stop_asked: bool = False) -> Verdict:
        """Return how the last attempt ended."""
        record = ExitRecord(code=code, time=0.0)
        evidence = Evidence(spec=self.spec, attempt=self.attempt, exit=record, stop_asked=stop_asked)
        return self.engine.judge(self.folder, evidence)


def wait_for_step(bench: Bench, step: int) -> int:
    """Wait until the running attempt has announced a step: the engine offers no event, so its file is asked."""
    pause = threading.Event()
    for _ in range(600):
        reading = bench.engine.progress(bench.folder, bench.attempt)
        if reading is not None and reading.step >= step:
            return reading.step
        pause.wait(0.05)
    pytest.fail(f"step {step} was not reached within 30 s")


def test_the_installed_builds(capabilities: dict[str, Capability]) -> None:
    mixed, double = capabilities["mixed"], capabilities["double"]
    assert (mixed.version, mixed.limits["tpx_version"]) == ("2022.5", 127)
    assert (Path(mixed.binary).name, Path(double.binary).name) == ("gmx", "gmx_d")


async def test_what_does_not_start_is_told_or_gives_rows() -> None:
    host = Host(node="n", devices=(CPU,), search_path=("/usr/bin",))
    found = await GromacsEngine().probe(run, host)
    named = {row.binary for row in found.capabilities} | {row.what for row in found.absences}
    assert {"/usr/bin/gmx", "/usr/bin/gmx_d", "/usr/bin/gmx_mpi"} <= named


def test_stopped_continued_and_completed(tmp_path: Path, capabilities: dict[str, Capability]) -> None:
    bench = Bench(tmp_path, TprJob(tpr="topol.tpr", nsteps=3000), capabilities["mixed"])
    code, reached = bench.run_until(300, signal.SIGTERM)
    stopped = bench.judge(code, stop_asked=True)
    assert (code, stopped.outcome, stopped.diagnosis) == (1, "stopped", None)
    situation = bench.survey()
    assert situation.checkpoint == "state.cpt"
    assert situation.step == stopped.figures.steps_done
    assert reached <= situation.step < 3000

    completed = bench.run()
    figures = completed.figures
    assert completed.outcome == "completed"
    assert (figures.steps_asked, figures.steps_done, figures.atoms) == (3000, 3000, 1029)
    assert figures.steps_timed == 3000 - situation.step
    assert figures.simulated_ns == pytest.approx((3000 - situation.step) * 0.002 / 1000)
    for metric in ("ns_per_day", "hours_per_ns", "ms_per_step", "matom_steps_per_second", "mnbf_per_second", "mflops"):
        assert getattr(figures, metric) > 0, metric
    assert (figures.threads, figures.ranks, figures.steady) == (1, 1, False)
    assert bench.survey().finished
    energies = bench.engine.energies(tmp_path)
    assert (energies.times_ps[0], energies.times_ps[-1], len(energies.times_ps)) == (0.0, 6.0, 31)


def test_killed_before_any_checkpoint_starts_anew(tmp_path: Path, capabilities: dict[str, Capability]) -> None:
    bench = Bench(tmp_path, TprJob(tpr="topol.tpr", nsteps=ENDLESS), capabilities["mixed"])
    code, reached = bench.run_until(200, signal.SIGKILL)
    verdict = bench.judge(code)
    assert (code, verdict.outcome) == (-9, "failed")
    assert verdict.diagnosis is not None
    assert verdict.diagnosis.code == "killed"
    assert verdict.figures.steps_done is not None
    assert verdict.figures.steps_done >= reached
    situation = bench.survey()
    assert (situation.step, situation.checkpoint) == (0, "")
    assert {"md.log", "ener.edr"} <= set(situation.stale)

    bench.spec = msgspec.structs.replace(bench.spec, nsteps=200)
    assert bench.run().outcome == "completed"
    assert (tmp_path / "aside-2" / "md.log").exists()
    assert not list(tmp_path.glob("#*#"))


def test_a_damaged_checkpoint_costs_only_the_steps_since_the_one_before(
    tmp_path: Path, capabilities: dict[str, Capability]
) -> None:
    bench = Bench(tmp_path, TprJob(tpr="topol.tpr", nsteps=2000), capabilities["mixed"])
    for step in (200, 600):
        code, _ = bench.run_until(step, signal.SIGTERM)
        assert bench.judge(code, stop_asked=True).outcome == "stopped"
    newest, before = bench.survey().step, tmp_path / "state_prev.cpt"
    assert before.exists()
    state = tmp_path / "state.cpt"
    state.write_bytes(state.read_bytes()[:-4])
    situation = bench.survey()
    assert situation.checkpoint == "state_prev.cpt"
    assert 0 < situation.step < newest

    verdict = bench.run()
    assert (verdict.outcome, verdict.figures.steps_done) == ("completed", 2000)
    assert len(bench.engine.energies(tmp_path).times_ps) == 21


def test_topology_and_settings_in_double_precision(tmp_path: Path, capabilities: dict[str, Capability]) -> None:
    spec = GromacsTopJob(gro="conf.gro", top="topol.top", mdp="nvt.mdp", nsteps=100, precision="double")
    bench = Bench(tmp_path, spec, capabilities["double"])
    examination = bench.engine.examine(spec, bench.sources())
    assert (examination.refusals, examination.system) == ((), "1029 atoms, PME, h-bonds")
    verdict = bench.run()
    assert (verdict.outcome, verdict.figures.steps_done) == ("completed", 100)
    assert bench.survey().finished
    potential = bench.engine.energies(tmp_path).terms["potential"]
    assert len(potential) == 2


@pytest.mark.skipif(not POINT.exists(), reason="no ../shared/systems beside the repository")
def test_one_energy_evaluation_is_complete_without_a_checkpoint(
    tmp_path: Path, capabilities: dict[str, Capability]
) -> None:
    bench = Bench(tmp_path, TprJob(tpr="point.tpr"), capabilities["double"])
    verdict = bench.run()
    assert (verdict.outcome, verdict.figures.steps_done, verdict.figures.steady) == ("completed", 0, False)
    assert verdict.figures.ns_per_day is None  # no step was timed
    (potential,) = bench.engine.energies(tmp_path).terms["potential"]
    assert potential == pytest.approx(-9261.20, abs=0.01)


def test_a_system_that_blows_up_is_not_tried_again(tmp_path: Path, capabilities: dict[str, Capability]) -> None:
    spec = GromacsTopJob(gro="conf.gro", top="topol.top", mdp="nvt.mdp")
    bench = Bench(tmp_path, spec, capabilities["mixed"])
    settings = tmp_path / "inputs" / "nvt.mdp"
    settings.write_text(settings.read_text().replace("gen-temp                = 300", "gen-temp = 100000"))
    verdict = bench.run()
    assert verdict.outcome == "failed"
    assert verdict.diagnosis is not None
    assert (verdict.diagnosis.kind, verdict.diagnosis.code, verdict.diagnosis.retry) == (
        "numerics",
        "settle-blowup",
        "no",
    )
    assert "can not be settled" in verdict.diagnosis.evidence


def test_a_refusal_to_append_is_not_taken_for_the_stop_before_it(
    tmp_path: Path, capabilities: dict[str, Capability]
) -> None:
    bench = Bench(tmp_path, TprJob(tpr="topol.tpr", nsteps=5000), capabilities["mixed"])
    bench.run_until(200, signal.SIGTERM)
    log = tmp_path / "md.log"
    log.write_bytes(log.read_bytes().replace(b"Energies (kJ/mol)", b"Energies [kJ/mol]"))
    verdict = bench.run()
    assert verdict.outcome == "failed"
    assert verdict.diagnosis is not None
    assert (verdict.diagnosis.code, verdict.diagnosis.retry) == ("outputs-changed", "no")


def test_the_whole_folder_can_be_moved_between_attempts(tmp_path: Path, capabilities: dict[str, Capability]) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    bench = Bench(first, TprJob(tpr="topol.tpr", nsteps=1000), capabilities["mixed"])
    bench.run_until(100, signal.SIGTERM)
    first.rename(second)
    bench.folder = second
    assert bench.run().outcome == "completed"
