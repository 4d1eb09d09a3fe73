"""The probe's child, run as the platform runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from mdactors.engines.openmm import probe_script
from mdactors.engines.openmm.probe import SCRIPT


def ask(*devices: str, env: dict[str, str] | None = None) -> dict[str, object]:
    done = subprocess.run([sys.executable, "-P", SCRIPT, *devices], capture_output=True, check=True, env=env or {})
    return dict(json.loads(done.stdout))


def test_reference_and_cpu_are_tried_and_work() -> None:
    answer = ask()
    trials = answer["trials"]
    assert isinstance(trials, list)
    assert [(row["platform"], row.get("error")) for row in trials] == [("Reference", None), ("CPU", None)]
    assert answer["trajectories"] is True


def test_without_openmm_the_answer_says_so(tmp_path: Path) -> None:
    (tmp_path / "openmm.py").write_text("raise ImportError('no OpenMM here')")
    answer = ask(env={"PYTHONPATH": str(tmp_path)})
    assert "no OpenMM here" in str(answer["error"])


def platform(name: str, *properties: str) -> SimpleNamespace:
    return SimpleNamespace(getName=lambda: name, getPropertyNames=lambda: properties)


def test_each_precision_is_tried_on_each_device_that_the_platform_can_drive() -> None:
    cuda = platform("CUDA", "Precision")
    assert list(probe_script._choices(cuda, ["cuda:1", "rocm:0"])) == [("single", 1), ("mixed", 1), ("double", 1)]
    assert list(probe_script._choices(platform("CPU", "Threads"), ["cuda:1"])) == [("", None)]


def test_a_platform_that_fails_is_an_error_in_its_row() -> None:
    class Broken:
        def System(self) -> None:  # noqa: N802 - OpenMM's name
            raise RuntimeError("CUDA_ERROR_NO_DEVICE\n (100)")

    row = probe_script._trial(Broken(), platform("CUDA", "Precision"), "mixed", 0)
    assert row["error"] == "CUDA_ERROR_NO_DEVICE (100)"
