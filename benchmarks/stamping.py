"""A tiny engine for benchmarks, and the mdactors command line with it alone: `python -m benchmarks.stamping serve ...`.

Its program is a shell that writes the time into a file: what it measures is the platform, not an MD engine. With `HOLD`
in the environment it sleeps instead, so that jobs stay queued behind it.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from actors.assembly import assemble
from benchmarks.serving import HOLD
from events.hardware import Capability
from events.outcome import Diagnosis, Examination, Figures
from events.spec import AnyJobSpec
from mdactors.cli.main import main as run_command_line
from mdactors.errors import EnergiesMissingError
from mdactors.ports import Energies, Evidence, Host, LaunchPlan, PlanRequest, Probed, Reading, Run, Situation, Verdict

STAMP = "stamp"

PROGRAM = f"date +%s%N >{STAMP}.part; mv {STAMP}.part {STAMP}"
"""What a job runs, and what a bare spawn runs beside it."""


class StampEngine:
    """Runs every `tpr` job as one shell that says when it was started."""

    name = "stamp"
    kinds: tuple[str, ...] = ("tpr",)

    async def probe(self, run: Run, host: Host) -> Probed:
        """Return one capability for each CPU."""
        rows = (
            Capability(
                id=f"stamp@1/CPU/mixed@{host.node}/{device.id}",
                node=host.node,
                engine=self.name,
                version="1",
                backend="CPU",
                precision="mixed",
                device=device.id,
                binary="/bin/sh",
                kinds=self.kinds,
            )
            for device in host.devices
            if device.type == "cpu"
        )
        return Probed(capabilities=tuple(rows))

    def examine(self, spec: AnyJobSpec, files: Mapping[str, Path]) -> Examination:
        """Take everything."""
        return Examination(engine=self.name)

    def survey(self, folder: Path, spec: AnyJobSpec) -> Situation:
        """Find a fresh start, or a stamp."""
        return Situation(finished=(folder / STAMP).exists())

    def plan(self, request: PlanRequest) -> LaunchPlan:
        """Return the shell that stamps, or one that sleeps."""
        program = "exec sleep 3600" if os.environ.get(HOLD) else PROGRAM
        return LaunchPlan(argv=("/bin/sh", "-c", program), grace_seconds=1.0)

    def progress(self, folder: Path, attempt: int) -> Reading | None:
        """Know nothing of steps."""

    def judge(self, folder: Path, evidence: Evidence) -> Verdict:
        """Believe the stamp."""
        if (folder / STAMP).exists():
            return Verdict(outcome="completed", figures=Figures(steps_done=1))
        if evidence.stop_asked:
            return Verdict(outcome="stopped")
        return Verdict(
            outcome="failed",
            diagnosis=Diagnosis(kind="unknown", code="no-stamp", summary="it left no stamp", retry="no"),
        )

    def energies(self, folder: Path) -> Energies:
        """Have none.

        Raises:
            EnergiesMissingError: always.
        """
        raise EnergiesMissingError("a stamp has no energy")


def main() -> int:
    """Run one command line of mdactors with this engine alone."""
    only = functools.partial(assemble, engines=[StampEngine()])
    return run_command_line(sys.argv[1:], environ=os.environ, assemble=only)


if __name__ == "__main__":
    sys.exit(main())
