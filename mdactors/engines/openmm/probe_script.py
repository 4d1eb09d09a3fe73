"""Asks OpenMM what it can do here and prints one line of JSON: run as a child process, imported by nobody.

Arguments: `TYPE:INDEX` for each accelerator of the node. A platform that is registered may still be unusable, so a
Context of two particles is made and evaluated for each platform, precision and device.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

PRECISIONS = ("single", "mixed", "double")
DRIVES = {"CUDA": ("cuda",), "HIP": ("rocm",), "OpenCL": ("cuda", "rocm", "oneapi")}


def main(devices: list[str]) -> None:
    """Print the answer."""
    try:
        import openmm  # noqa: PLC0415 - that it can't be imported is an answer
        from openmm import app  # noqa: PLC0415
    except ImportError as error:
        answer: dict[str, Any] = {"error": f"Python {sys.executable} can't import it: {error}"}
    else:
        answer = describe(openmm, app, devices)
    sys.stdout.write(json.dumps(answer) + "\n")


def describe(openmm: Any, app: Any, devices: list[str]) -> dict[str, Any]:  # noqa: ANN401 - an untyped library
    """Return what this OpenMM is and what became of every trial."""
    platforms = [openmm.Platform.getPlatform(i) for i in range(openmm.Platform.getNumPlatforms())]
    stat = os.stat(openmm.__file__)
    return {
        "version": openmm.Platform.getOpenMMVersion(),
        "full_version": openmm.version.full_version,
        "fingerprint": f"{openmm.version.git_revision}:{stat.st_mtime_ns}",
        "trajectories": hasattr(app, "XTCFile"),
        "threads": len(os.sched_getaffinity(0)),
        "platforms": [_platform(platform) for platform in platforms],
        "failures": list(openmm.Platform.getPluginLoadFailures()),
        "trials": [
            _trial(openmm, platform, *choice) for platform in platforms for choice in _choices(platform, devices)
        ],
    }


def _platform(platform: Any) -> dict[str, Any]:  # noqa: ANN401 - an untyped library
    return {
        "name": platform.getName(),
        "speed": platform.getSpeed(),
        "properties": list(platform.getPropertyNames()),
        "double": platform.supportsDoublePrecision(),
    }


def _choices(platform: Any, devices: list[str]) -> Iterator[tuple[str, int | None]]:  # noqa: ANN401 - an untyped library
    if "Precision" not in platform.getPropertyNames():
        yield "", None
        return
    for device in devices:
        kind, _, index = device.partition(":")
        if kind in DRIVES.get(platform.getName(), ()):
            for precision in PRECISIONS:
                yield precision, int(index)


def _trial(openmm: Any, platform: Any, precision: str, index: int | None) -> dict[str, Any]:  # noqa: ANN401 - an untyped library
    row: dict[str, Any] = {"platform": platform.getName(), "precision": precision, "index": index}
    properties = {"Precision": precision, "DeviceIndex": str(index)} if precision else {}
    try:
        row["device_name"] = _evaluate(openmm, platform, properties)
    except Exception as error:  # noqa: BLE001 - whatever a driver does wrong is the answer
        row["error"] = " ".join(str(error).split()) or type(error).__name__
    return row


def _evaluate(openmm: Any, platform: Any, properties: dict[str, str]) -> str:  # noqa: ANN401 - an untyped library
    system, force = openmm.System(), openmm.NonbondedForce()
    for charge in (1.0, -1.0):
        system.addParticle(1.0)
        force.addParticle(charge, 0.1, 0.0)
    system.addForce(force)
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform, properties)
    context.setPositions([(0, 0, 0), (0.5, 0, 0)])
    context.getState(getEnergy=True)
    return platform.getPropertyValue(context, "DeviceName") if "DeviceName" in platform.getPropertyNames() else ""


if __name__ == "__main__":
    main(sys.argv[1:])
