"""GROMACS as an engine: the one class that the platform sees; every verb is a module beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from events.outcome import Examination
from events.spec import AnyJobSpec
from mdactors.engines.gromacs.diagnose import judge
from mdactors.engines.gromacs.energies import read_energies
from mdactors.engines.gromacs.examine import ENGINE, KINDS, examine
from mdactors.engines.gromacs.plan import plan
from mdactors.engines.gromacs.probe import probe
from mdactors.engines.gromacs.progress import Progress
from mdactors.engines.gromacs.situation import survey
from mdactors.ports import Energies, Evidence, Host, LaunchPlan, PlanRequest, Probed, Reading, Run, Situation, Verdict


class GromacsEngine:
    """Runs `tpr` and `gromacs-top` jobs with every build of GROMACS that a node has."""

    name = ENGINE
    kinds: tuple[str, ...] = KINDS

    def __init__(self) -> None:
        self._progress = Progress()

    async def probe(self, run: Run, host: Host) -> Probed:
        """Find builds by their programs and what each can do on the node's devices."""
        return await probe(run, host)

    def examine(self, spec: AnyJobSpec, files: Mapping[str, Path]) -> Examination:
        """Read a tpr's head, or gro, top and mdp, as far as needed to say no before a run."""
        return examine(spec, files)

    def survey(self, folder: Path, spec: AnyJobSpec) -> Situation:
        """Read where the job stands: its checkpoints, its log, and whether mdrun could append."""
        return survey(folder, spec)

    def plan(self, request: PlanRequest) -> LaunchPlan:
        """Return the command line of one attempt.

        Raises:
            TypeError: the job is of a kind that GROMACS can't run.
        """
        return plan(request)

    def progress(self, folder: Path, attempt: int) -> Reading | None:
        """Return the last step that mdrun announced; None before its first."""
        return self._progress.read(folder, attempt)

    def judge(self, folder: Path, evidence: Evidence) -> Verdict:
        """Return how the attempt ended, by the files as well as by the exit code."""
        return judge(folder, evidence)

    def energies(self, folder: Path) -> Energies:
        """Return the job's energies from `ener.edr`, kJ/mol.

        Raises:
            EnergiesMissingError: there is none, or nothing in it can be read.
        """
        return read_energies(folder)
