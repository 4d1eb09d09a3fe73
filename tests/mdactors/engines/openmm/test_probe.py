"""What the child said about OpenMM -> rows of the matrix, and reasons for what is not there."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from events.hardware import Device
from mdactors.engines.openmm.probe import SCRIPT, parse, probe
from mdactors.ports import Completed, Host, Probed

CPU = Device(id="cpu:0", node="lab", type="cpu", index=0, cpus=(0, 1, 2, 3))
GPU = Device(id="cuda:1", node="lab", type="cuda", index=1, name="H200")

ANSWER: dict[str, Any] = {
    "version": "8.6.1", "full_version": "8.6.1.dev-b399af4", "fingerprint": "b399:17", "trajectories": True, "threads": 4,
    "platforms": [
        {"name": "Reference", "speed": 1.0, "properties": [], "double": True},
        {"name": "CPU", "speed": 10.0, "properties": ["Threads", "DeterministicForces"], "double": False},
    ],
    "failures": [],
    "trials": [{"platform": "Reference", "precision": "", "index": None}, {"platform": "CPU", "precision": "", "index": None}],
}  # fmt: skip
CUDA_PLATFORM = {"name": "CUDA", "speed": 100.0, "properties": ["DeviceIndex", "Precision"], "double": True}


def cuda(precision: str, index: int = 1, error: str = "") -> dict[str, Any]:
    return {"platform": "CUDA", "precision": precision, "index": index, "error": error, "device_name": "NVIDIA H200"}


def parsed(*devices: Device, stdout: bytes | None = None, **changes: Any) -> Probed:
    text = json.dumps({**ANSWER, **changes}).encode() if stdout is None else stdout
    host = Host(node="lab", devices=devices or (CPU,), search_path=())
    return parse(Completed(code=0, stdout=b"a warning of a plugin\n" + text + b"\n", stderr=b""), host, "/opt/python")


def test_the_cpu_has_a_fast_mixed_and_a_slow_double_platform() -> None:
    reference, cpu = parsed().capabilities
    assert cpu.id == "openmm@8.6.1/CPU/mixed@lab/cpu:0"
    assert (cpu.backend, cpu.precision, cpu.speed, cpu.limits) == ("CPU", "mixed", 10, {"threads": 4})
    assert "forces in single" in cpu.features["arithmetic"]
    assert (reference.backend, reference.precision, reference.speed) == ("Reference", "double", 1)
    assert cpu.kinds == ("openmm", "gromacs-top", "amber")
    assert (cpu.binary, cpu.fingerprint, cpu.build) == ("/opt/python", "b399:17", "8.6.1.dev-b399af4")


def test_platforms_that_are_not_there_are_absences_with_a_remedy() -> None:
    absent = {absence.what: absence for absence in parsed().absences}
    assert set(absent) == {"CUDA platform", "HIP platform", "OpenCL platform"}
    assert "openmm[cuda12]" in absent["CUDA platform"].remedy


def test_each_precision_of_a_gpu_that_works_is_a_row_on_its_device() -> None:
    found = parsed(
        CPU,
        GPU,
        platforms=[*ANSWER["platforms"], CUDA_PLATFORM],
        trials=[cuda("single"), cuda("mixed"), cuda("double")],
    )
    assert [(row.device, row.backend, row.precision) for row in found.capabilities] == [
        ("cuda:1", "CUDA", "single"), ("cuda:1", "CUDA", "mixed"), ("cuda:1", "CUDA", "double"),
    ]  # fmt: skip
    assert found.capabilities[0].features["device name"] == "NVIDIA H200"
    assert found.capabilities[0].limits == {}


def test_a_registered_platform_that_fails_is_no_capability_but_an_absence() -> None:
    trials = [cuda("mixed", error="Error initializing Context: CUDA_ERROR_NO_DEVICE (100)")]
    found = parsed(CPU, GPU, platforms=[CUDA_PLATFORM], trials=trials)
    assert found.capabilities == ()
    (absence,) = [row for row in found.absences if "CUDA" in row.what]
    assert (absence.what, absence.why) == ("CUDA platform in mixed precision on device 1", trials[0]["error"])


def test_a_plugin_that_could_not_be_loaded_says_why() -> None:
    failure = "Error loading library /opt/libOpenMMCUDA.so: libcuda.so.1: cannot open\n shared object file"
    absent = [row for row in parsed(failures=[failure]).absences if row.what == "CUDA platform"]
    assert [row.why for row in absent] == [" ".join(failure.split())]


def test_no_cpu_device_no_row_for_the_cpu() -> None:
    assert parsed(GPU).capabilities == ()


def test_openmm_that_can_not_be_imported_is_an_absence_with_the_remedy() -> None:
    (absence,) = parsed(stdout=b'{"error": "No module named openmm"}').absences
    assert (absence.what, absence.remedy) == ("openmm", "pip install openmm")


def test_an_openmm_that_can_not_write_trajectories_is_too_old() -> None:
    found = parsed(trajectories=False, version="8.0")
    assert found.capabilities == ()
    assert "8.2" in found.absences[0].remedy


def test_whatever_the_child_does_is_an_absence_and_never_an_exception() -> None:
    host = Host(node="lab", devices=(CPU,), search_path=())
    ends = [
        Completed(code=-11, stdout=b"", stderr=b"Segmentation fault\n"),
        Completed(code=0, stdout=b"", stderr=b""),
        Completed(code=0, stdout=b"{}[\n", stderr=b""),
        Completed(code=-9, stdout=b"", stderr=b"", timed_out=True),
        Completed(code=127, stdout=b"", stderr=b"python: not found"),
    ]
    for end in ends:
        found = parse(end, host, "python")
        assert found.capabilities == ()
        assert len(found.absences) == 1
    assert "Segmentation fault" in parse(ends[0], host, "python").absences[0].why


async def test_the_child_is_told_of_every_accelerator() -> None:
    asked: list[tuple[tuple[str, ...], float]] = []

    async def run(
        argv: Sequence[str], *, timeout: float, cwd: str | None = None, variables: Mapping[str, str] | None = None
    ) -> Completed:
        asked.append((tuple(argv), timeout))
        return Completed(code=0, stdout=json.dumps(ANSWER).encode(), stderr=b"")

    found = await probe(run, Host(node="lab", devices=(CPU, GPU), search_path=()))
    assert asked == [((sys.executable, "-P", SCRIPT, "cuda:1"), 20.0)]
    assert len(found.capabilities) == 2
