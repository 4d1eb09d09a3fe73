"""How an attempt ended: by its result, its exit code, and what it left on stderr."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from events.outcome import Diagnosis, DiagnosisClass, ExitRecord, Figures, OutcomeName
from mdactors.engines.openmm.figures import figures
from mdactors.engines.openmm.job import DISK, ENGINE, INPUT, NUMERICS, STOPPED, Result
from mdactors.engines.openmm.log import read_progress, read_result
from mdactors.engines.openmm.survey import final_header
from mdactors.ports import Evidence, Verdict

STDERR_TAIL = 65536
"""Bytes of stderr that are searched; the reason comes last."""


class Signature(msgspec.Struct, frozen=True):
    """A phrase on stderr that names a cause."""

    phrase: str
    kind: DiagnosisClass
    code: str
    summary: str
    retry: str = "no"
    remedy: str = ""


_ELSEWHERE = "the driver or the device, not the job"
SIGNATURES: tuple[Signature, ...] = (
    # most telling first: the first phrase found wins
    # numerics: nothing that a retry could mend
    Signature("Particle coordinate is NaN", "numerics", "nan", "the simulation blew up", remedy="minimise and equilibrate first, or use a smaller time step"),
    Signature("Particle position is NaN", "numerics", "nan", "the simulation blew up", remedy="minimise and equilibrate first, or use a smaller time step"),
    Signature("Energy is NaN", "numerics", "nan", "the simulation blew up", remedy="minimise and equilibrate first, or use a smaller time step"),
    Signature("box size has decreased to less than twice", "numerics", "box-shrank", "the barostat made the box smaller than twice the cut-off", remedy="equilibrate at constant volume first, or use a bigger box"),
    Signature("cutoff distance cannot be greater than half", "build", "box-too-small", "the box is smaller than twice the cut-off", remedy="use a bigger box or a shorter cut-off"),
    # what a platform says when it, or its device, is not there
    Signature("There is no registered Platform called", "visibility", "platform-missing", "OpenMM has no such platform here", "other", "getPluginLoadFailures; install the plugin and its driver"),
    Signature("No compatible CUDA device is available", "visibility", "no-device", _ELSEWHERE, "other", "visibility of the device, container, driver"),
    Signature("No compatible HIP device is available", "visibility", "no-device", _ELSEWHERE, "other", "visibility of the device, container, driver"),
    Signature("No compatible OpenCL platform is available", "visibility", "no-device", _ELSEWHERE, "other", "install an OpenCL driver"),
    Signature("No compatible OpenCL device is available", "visibility", "no-device", _ELSEWHERE, "other", "visibility of the device, container, driver"),
    Signature("requested CUDA device could not be loaded", "visibility", "no-device", _ELSEWHERE, "other", "an index that counts visible devices"),
    Signature("Illegal value for DeviceIndex", "visibility", "no-device", "fewer devices are visible than expected", "other", "visibility of the device"),
    Signature("Illegal property name", "build", "property-unknown", "this platform has no such property"),
    Signature("CUDA_ERROR_OUT_OF_MEMORY", "resource", "device-memory", "the device's memory is full", "other", "fewer runs on this device"),
    Signature("out of memory", "resource", "device-memory", "the device's memory is full", "other", "fewer runs on this device"),
    Signature("CUDA_ERROR_ILLEGAL_ADDRESS", "visibility", "device-fault", "a kernel failed on the device", "other", "see the kernel's log for Xid"),
    Signature("CUDA_ERROR_LAUNCH_FAILED", "visibility", "device-fault", "a kernel failed on the device", "other", "see the kernel's log for Xid"),
    Signature("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "visibility", "driver-old", "the driver is older than the plugin's compiler", "other", "a plugin for this driver, or a newer driver"),
    Signature("Error initializing Context: CUDA_ERROR", "visibility", "device-fault", _ELSEWHERE, "other", "nvidia-smi; the kernel's log"),
    # a checkpoint that the worker's own checks let through
    Signature("Checkpoint was created with a different", "files", "checkpoint-foreign", "the checkpoint is of another platform or version", "same", "move checkpoint.chk aside: the portable state is used"),
    Signature("Checkpoint header was not correct", "files", "checkpoint-damaged", "the checkpoint is damaged", "same", "move checkpoint.chk aside: the portable state is used"),
    # the machine
    Signature("No space left on device", "files", "disk-full", "the file system is full", "same", "make room"),
    Signature("Disk quota exceeded", "files", "disk-full", "the quota is used up", "same", "make room"),
    Signature("MemoryError", "resource", "memory", "the memory is full", "other", "a node with more memory"),
    Signature("No module named", "build", "not-installed", "a package is missing in this Python", "other", "pip install openmm"),
    Signature("cannot open shared object", "visibility", "library-missing", "a library is missing", "other", "modules, container, LD_LIBRARY_PATH of the platform"),
)  # fmt: skip

CODES: dict[int, tuple[DiagnosisClass, str, str, str]] = {
    # exit status -> kind, code, summary, retry; where stderr names nothing more telling
    NUMERICS: ("numerics", "nan", "the simulation blew up", "no"),
    INPUT: ("build", "input", "the inputs can't be built into a System", "no"),
    ENGINE: ("unknown", "openmm-error", "OpenMM reported an error", "other"),
    DISK: ("files", "disk-full", "the file system is full", "same"),
    126: ("substrate", "not-executable", "the program could not be executed", "other"),
    127: ("substrate", "not-found", "the program is not there any more", "other"),
    -4: ("visibility", "illegal-instruction", "the program was built for a newer CPU", "other"),
    -6: ("unknown", "aborted", "the engine aborted", "other"),
    -9: ("resource", "killed", "killed from outside: the kernel (memory) or somebody", "same"),
    -11: ("unknown", "crashed", "the engine crashed (on Reference often a blow-up)", "other"),
    -15: ("substrate", "terminated", "asked to stop by somebody else, before it could save", "same"),
}


def judge(folder: Path, evidence: Evidence) -> Verdict:
    """Return how the attempt ended."""
    result = read_result(folder, evidence.attempt)
    figured = figures(result) if result is not None else _from_progress(folder, evidence.attempt)
    final = final_header(folder)
    asked = evidence.spec.nsteps if evidence.spec.nsteps is not None else final.steps_asked if final else 0
    if final is not None and final.step >= asked:
        return Verdict(outcome="completed", figures=figured, warnings=_warnings(result))
    outcome = _outcome(evidence)
    return Verdict(
        outcome=outcome,
        figures=figured,
        diagnosis=diagnose(evidence.exit, _tail(folder, evidence.attempt)) if outcome == "failed" else None,
        warnings=(*_warnings(result), *_force(evidence, outcome)),
    )


def _outcome(evidence: Evidence) -> OutcomeName:
    if evidence.exit is None:
        return "vanished"
    by_force = evidence.stop_asked and evidence.exit.code in {-9, -15}
    return "stopped" if evidence.exit.code == STOPPED or by_force else "failed"


def _force(evidence: Evidence, outcome: OutcomeName) -> tuple[str, ...]:
    if outcome == "stopped" and evidence.exit is not None and evidence.exit.code != STOPPED:
        return ("it ended before it could save: it goes on from the checkpoint before",)
    return ()


def _warnings(result: Result | None) -> tuple[str, ...]:
    return () if result is None else result.remarks


def _from_progress(folder: Path, attempt: int) -> Figures:
    progress = read_progress(folder, attempt)
    if progress is None:
        return Figures()
    return Figures(steps_asked=progress.steps_asked, steps_done=progress.step, timestep_ps=progress.timestep_ps)


def diagnose(record: ExitRecord | None, stderr: str) -> Diagnosis:
    """Return what went wrong, with the line that proves it."""
    lines = stderr.splitlines()
    for signature in SIGNATURES:
        for line in reversed(lines):
            if signature.phrase in line:
                return _diagnosis(signature, line.strip())
    code = record.code if record is not None else 0
    kind, name, summary, retry = CODES.get(code, ("unknown", "unexpected", f"the worker ended with {code}", "other"))
    evidence = next((line.strip() for line in reversed(lines) if line.strip()), f"exit status {code}")
    return _diagnosis(Signature("", kind, name, summary, retry), evidence)


def _diagnosis(signature: Signature, evidence: str) -> Diagnosis:
    return Diagnosis(
        kind=signature.kind,
        code=signature.code,
        summary=signature.summary,
        evidence=evidence[:500],
        retry=signature.retry,  # type: ignore[arg-type]  # the tables hold same, other and no; a test checks it
        remedy=signature.remedy,
    )


def _tail(folder: Path, attempt: int) -> str:
    try:
        with (folder / "attempts" / str(attempt) / "stderr").open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - STDERR_TAIL))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
