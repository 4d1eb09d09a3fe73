"""OpenMM as an engine of the platform: a thin door to the modules beside it, none of which imports OpenMM here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from events.outcome import Examination
from events.spec import AnyJobSpec
from mdactors.engines.openmm import diagnose, energies, examine, log, plan, probe, survey
from mdactors.ports import Energies, Evidence, Host, LaunchPlan, PlanRequest, Probed, Reading, Run, Situation, Verdict


class OpenMMEngine:
    """Runs serialised Systems, GROMACS topologies and Amber topologies; every attempt is a worker process of its own."""

    name = probe.ENGINE
    kinds: tuple[str, ...] = probe.KINDS

    async def probe(self, run: Run, host: Host) -> Probed:
        """Try every platform on every device, in a child process."""
        return await probe.probe(run, host)

    def examine(self, spec: AnyJobSpec, files: Mapping[str, Path]) -> Examination:
        """Read the inputs as far as needed to say no before a run."""
        return examine.examine(spec, files)

    def survey(self, folder: Path, spec: AnyJobSpec) -> Situation:
        """Read where the job stands."""
        return survey.survey(folder, spec)

    def plan(self, request: PlanRequest) -> LaunchPlan:
        """Return what to run."""
        return plan.plan(request)

    def progress(self, folder: Path, attempt: int) -> Reading | None:
        """Return how far the running attempt has come."""
        return log.reading(log.read_progress(folder, attempt))

    def judge(self, folder: Path, evidence: Evidence) -> Verdict:
        """Return how the attempt ended."""
        return diagnose.judge(folder, evidence)

    def energies(self, folder: Path) -> Energies:
        """Return the job's energies.

        Raises:
            EnergiesMissingError: there are none.
        """
        return energies.read_energies(folder)
