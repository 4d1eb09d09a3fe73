"""An engine of somebody else's: a package with an entry point, and a stop that it does not heed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import EXAMPLES, Desk

pytestmark = pytest.mark.e2e

TOY = '''
"""A toy engine: a shell that counts, or one that listens to nobody."""

import json
import shutil
from pathlib import Path

from events.hardware import Capability
from events.outcome import Examination, Figures
from mdactors.errors import EnergiesMissingError
from mdactors.ports import LaunchPlan, Probed, Situation, Verdict

COUNTS = "i=0; while [ $i -lt $0 ]; do i=$((i+1)); echo $i >steps; done"
DEAF = "trap '' TERM; echo deaf; while :; do :; done"


class Toy:
    name = "toy"
    kinds = ("tpr",)

    async def probe(self, run, host):
        done = await run(("sh", "-c", "echo 7"), timeout=5)
        version = done.stdout.decode().strip()
        return Probed(
            capabilities=tuple(
                Capability(
                    id=f"toy@{version}/CPU/single@{host.node}/{device.id}", node=host.node, engine="toy", version=version,
                    backend="CPU", precision="single", device=device.id, binary="/bin/sh", kinds=self.kinds,
                )
                for device in host.devices
            )
        )

    def examine(self, spec, files):
        return Examination(engine="toy", atoms=1, system="a toy")

    def survey(self, folder, spec):
        return Situation(finished=self._step(folder) >= spec.nsteps, step=self._step(folder))

    def plan(self, request):
        script = DEAF if request.spec.labels.get("deaf") else COUNTS
        return LaunchPlan(argv=("/bin/sh", "-c", script, str(request.spec.nsteps)), grace_seconds=0.1)

    def progress(self, folder, attempt):
        return None

    def judge(self, folder, evidence):
        step = self._step(folder)
        done = step >= evidence.spec.nsteps
        outcome = "completed" if done else "stopped" if evidence.stop_asked else "failed"
        return Verdict(outcome=outcome, figures=Figures(steps_done=step, ns_per_day=1.5, atoms=1))

    def energies(self, folder):
        raise EnergiesMissingError("a toy has no energies")

    @staticmethod
    def _step(folder):
        path = folder / "steps"
        return int(path.read_text()) if path.exists() else 0
'''


@pytest.fixture
def toy(desk: Desk) -> Desk:
    """Install the toy as pip would, where only this desk looks."""
    packages = desk.folder / "packages"
    (packages / "toy-7.dist-info").mkdir(parents=True)
    (packages / "toy.py").write_text(TOY)
    (packages / "toy-7.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 7\n")
    (packages / "toy-7.dist-info" / "entry_points.txt").write_text("[mdactors.engines]\ntoy = toy:Toy\n")
    desk.environ["PYTHONPATH"] = str(packages)
    return desk


def job(steps: int, **fields: object) -> dict[str, object]:
    tpr = str(EXAMPLES / "water" / "topol.tpr")
    return {"kind": "tpr", "tpr": tpr, "nsteps": steps, "precision": "single", "backend_pref": "toy", **fields}


def test_it_is_found_asked_and_run_like_our_own(toy: Desk) -> None:
    said = toy.run("submit", toy.file("jobs.json", job(20), job(5, precision="double")), "--json")
    assert said.code == 1
    assert said.states() == ["completed"]
    assert [row["ns_per_day"] for row in said.json()["ledger"]] == ["1.5"]
    texts = [refusal["text"] for refusal in said.json()["submissions"][1]["refusals"]]
    assert any(text.startswith("toy@7/CPU/single@") and "double precision" in text for text in texts)
    assert "toy has no energies" in toy.run("reconcile", 1, 1).err


def test_one_that_does_not_stop_is_ended_by_force_and_that_is_told(toy: Desk) -> None:
    toy.serve()
    (number,) = toy.submit(job(1, labels={"deaf": "yes"}))
    started = toy.until("AttemptStarted", number)
    output = Path(started["folder"]) / "attempts" / "1" / "stdout"
    follower = toy.start("logs", number, "-f")
    assert follower.stdout is not None
    assert follower.stdout.readline() == b"deaf\n"
    assert output.read_text() == "deaf\n"
    toy.run("cancel", number)
    toy.until("JobCancelled", number)
    assert toy.job(number)["reason"] == "attempt 1 was killed, since it did not stop: cancelled"
    assert "stopped    cancelled, by force" in toy.run("status", number).out


def test_one_that_can_not_be_loaded_harms_nobody(toy: Desk) -> None:
    (toy.folder / "packages" / "toy.py").write_text("import nothing_of_that_name\n")
    code, out, err = toy.run("caps")
    assert code == 0
    assert "openmm" in out
    assert "an engine could not be loaded" in err
