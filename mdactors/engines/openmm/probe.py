"""What this node's OpenMM can do: a child process tries every platform on every device, a pure parser reads its answer."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

import msgspec

from events.hardware import Absence, Capability, Device
from mdactors.ports import Completed, Host, Probed, Run

ENGINE = "openmm"
KINDS = ("openmm", "gromacs-top", "amber")
SCRIPT = str(Path(__file__).with_name("probe_script.py"))
TIMEOUT_SECONDS = 20.0
Precision = Literal["mixed", "double", "single"]

ACCELERATORS: dict[str, tuple[str, ...]] = {
    # platform -> types of device that it can drive
    "CUDA": ("cuda",),
    "HIP": ("rocm",),
    "OpenCL": ("cuda", "rocm", "oneapi"),
}
HOSTED: dict[str, Precision] = {
    # platforms without a Precision property, on the CPU -> what they compute in
    "CPU": "mixed",
    "Reference": "double",
}
REMEDIES: dict[str, str] = {
    "CUDA": "install openmm[cuda12] or openmm[cuda13] beside a matching driver",
    "HIP": "install openmm[hip6] or openmm[hip7] beside a matching driver",
    "OpenCL": "install an OpenCL driver (ICD) for the device",
}


class Trial(msgspec.Struct, frozen=True):
    """One Context of two particles: platform, precision, device, and what came of it."""

    platform: str
    precision: str
    """Empty: the platform has no such property."""
    index: int | None
    """Device index; None: the CPU."""
    error: str = ""
    device_name: str = ""


class Platform(msgspec.Struct, frozen=True):
    """One registered platform. Being registered proves nothing."""

    name: str
    speed: float
    properties: tuple[str, ...]
    double: bool


class Answer(msgspec.Struct, frozen=True):
    """What the child prints."""

    error: str = ""
    """Non-empty: OpenMM can't be imported."""
    version: str = ""
    full_version: str = ""
    fingerprint: str = ""
    trajectories: bool = False
    """It can write XTC (8.2 and newer)."""
    threads: int = 1
    platforms: tuple[Platform, ...] = ()
    failures: tuple[str, ...] = ()
    """Plugins that could not be loaded: this is how a missing driver shows."""
    trials: tuple[Trial, ...] = ()


async def probe(run: Run, host: Host) -> Probed:
    """Ask a child process, because a broken driver can take its process down; never raises for what it finds."""
    argv = (sys.executable, "-P", SCRIPT, *(f"{type_}:{index}" for type_, index in _accelerators(host.devices)))
    completed = await run(argv, timeout=TIMEOUT_SECONDS)
    return parse(completed, host, sys.executable)


def _accelerators(devices: Sequence[Device]) -> list[tuple[str, int]]:
    return [(device.type, device.index) for device in devices if device.type != "cpu" and device.index is not None]


def parse(completed: Completed, host: Host, binary: str) -> Probed:
    """Return capabilities and absences from what the child printed."""
    if completed.timed_out or completed.code != 0:
        return Probed(absences=(_broken(completed),))
    try:
        answer = msgspec.json.decode(completed.stdout.strip().rpartition(b"\n")[2], type=Answer)
    except msgspec.DecodeError as error:
        return Probed(absences=(_absence("openmm", f"its probe's answer can't be read: {error}"),))
    if answer.error:
        return Probed(absences=(_absence("openmm", answer.error, "pip install openmm"),))
    if not answer.trajectories:
        return Probed(
            absences=(_absence("openmm", f"OpenMM {answer.version} can't write XTC", "pip install 'openmm>=8.2'"),)
        )
    rows = [_capability(answer, trial, device, binary) for trial, device in _working(answer, host)]
    return Probed(capabilities=tuple(rows), absences=tuple(_absences(answer)))


def _broken(completed: Completed) -> Absence:
    if completed.timed_out:
        return _absence(
            "openmm", f"its probe did not answer within {TIMEOUT_SECONDS:g} s", "look at the driver: nvidia-smi"
        )
    last = completed.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    return _absence("openmm", f"its probe ended with {completed.code}: {last}")


def _absence(what: str, why: str, remedy: str = "") -> Absence:
    return Absence(engine=ENGINE, what=what, why=why, remedy=remedy)


# ---------------------------------------------------------------- capabilities


def _working(answer: Answer, host: Host) -> list[tuple[Trial, Device]]:
    return [
        (trial, device) for trial in answer.trials if not trial.error for device in host.devices if _fits(trial, device)
    ]


def _fits(trial: Trial, device: Device) -> bool:
    if trial.platform in HOSTED:
        return device.type == "cpu"
    return device.index == trial.index and device.type in ACCELERATORS.get(trial.platform, ())


def _capability(answer: Answer, trial: Trial, device: Device, binary: str) -> Capability:
    platform = next(row for row in answer.platforms if row.name == trial.platform)
    precision = HOSTED.get(trial.platform) or _precision(trial.precision)
    return Capability(
        id=f"{ENGINE}@{answer.version}/{trial.platform}/{precision}@{device.node}/{device.id}",
        node=device.node,
        engine=ENGINE,
        version=answer.version,
        build=answer.full_version,
        backend=trial.platform,
        precision=precision,
        device=device.id,
        binary=binary,
        fingerprint=answer.fingerprint,
        kinds=KINDS,
        limits={"threads": len(device.cpus) or answer.threads} if trial.platform in HOSTED else {},
        features=_features(platform, trial),
        speed=round(platform.speed),
    )


def _precision(word: str) -> Precision:
    return next(known for known in get_args(Precision) if known == word)


def _features(platform: Platform, trial: Trial) -> dict[str, str]:
    features = {"properties": ", ".join(platform.properties)}
    if trial.platform == "CPU":
        features["arithmetic"] = "forces in single, integration in double precision"
    if trial.device_name:
        features["device name"] = trial.device_name
    return features


# ---------------------------------------------------------------- absences


def _absences(answer: Answer) -> list[Absence]:
    failed = [
        _absence(f"{_platform_in(text)} platform", _one_line(text), REMEDIES.get(_platform_in(text), ""))
        for text in answer.failures
    ]
    named = {absence.what for absence in failed}
    registered = {platform.name for platform in answer.platforms}
    missing = [
        _absence(f"{name} platform", f"OpenMM {answer.version} has no {name} platform here", REMEDIES[name])
        for name in ACCELERATORS
        if name not in registered and f"{name} platform" not in named
    ]
    broken = [
        _absence(_subject(trial), trial.error, REMEDIES.get(trial.platform, ""))
        for trial in answer.trials
        if trial.error
    ]
    return [*failed, *missing, *broken]


def _platform_in(text: str) -> str:
    return next((name for name in (*ACCELERATORS, *HOSTED) if name in text), "a plugin's")


def _subject(trial: Trial) -> str:
    device = "" if trial.index is None else f" on device {trial.index}"
    return f"{trial.platform} platform{f' in {trial.precision} precision' if trial.precision else ''}{device}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
