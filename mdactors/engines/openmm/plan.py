"""The plan of one attempt: which Python, which order, which variables. Pure."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import msgspec

from events.spec import AmberJob, OpenMMJob, Settings, kind_of
from mdactors.engines.openmm.job import Order, order_file
from mdactors.ports import LaunchPlan, PlanRequest

WORKER = str(Path(__file__).with_name("worker.py"))
"""Run by its path: the worker's environment names no folder of Python packages."""
GRACE_SECONDS = 120.0
"""One block of steps and a checkpoint of a big system on a slow disk."""


DETERMINISTIC = "DeterministicForces"
"""Property of the platforms that otherwise sum forces in the order in which they come."""


def plan(request: PlanRequest) -> LaunchPlan:
    """Return what to run."""
    order = make_order(request)
    threads = str(order.threads)
    variables = {"OPENMM_CPU_THREADS": threads, "OMP_NUM_THREADS": threads}
    name = order_file(request.attempt)
    return LaunchPlan(
        argv=(request.capability.binary or sys.executable, "-P", WORKER, name),
        files={name: msgspec.json.format(msgspec.json.encode(order), indent=1).decode() + "\n"},
        set_aside=request.situation.stale,
        variables=variables,
        grace_seconds=GRACE_SECONDS,
        added=(*(f"{key}={value}" for key, value in variables.items()), *_chosen(order)),
    )


def make_order(request: PlanRequest) -> Order:
    """Return what the worker has to do."""
    spec = request.spec
    settings = spec.settings if isinstance(spec, OpenMMJob | AmberJob) else Settings()
    seed = settings.seed or derived_seed(request.job)
    return Order(
        job=request.job,
        attempt=request.attempt,
        kind=kind_of(spec),  # type: ignore[arg-type]  # the engine is asked only for kinds that it can run
        inputs={file.role: f"inputs/{file.name}" for file in request.inputs if file.role != "include"},
        nsteps=spec.nsteps,
        settings=settings,
        seed=seed,
        platform=request.capability.backend,
        properties=platform_properties(request),
        precision=request.capability.precision,
        threads=spec.ntomp or request.slot.threads,
        identity=identity(request, settings, seed),
    )


def derived_seed(job: int) -> int:
    """Return the seed of a job that leaves it open: the same in every attempt, from 1 to 2^31 - 1.

    >>> derived_seed(1) == derived_seed(1) != derived_seed(2)
    True
    """
    digest = hashlib.sha256(f"mdactors job {job}".encode()).digest()
    return int.from_bytes(digest[:4]) % (2**31 - 1) + 1


def platform_properties(request: PlanRequest) -> dict[str, str]:
    """Return the properties with which the Context is made."""
    asked = request.spec.deterministic and DETERMINISTIC in request.capability.features.get("properties", "")
    return _usual_properties(request) | ({DETERMINISTIC: "true"} if asked else {})


def _usual_properties(request: PlanRequest) -> dict[str, str]:
    """The environment shows the process one accelerator: its index is always 0."""
    match request.capability.backend:
        case "CPU":
            return {"Threads": str(request.spec.ntomp or request.slot.threads)}
        case "Reference":
            return {}
        case _:
            return {"DeviceIndex": "0", "Precision": request.capability.precision}


def identity(request: PlanRequest, settings: Settings, seed: int) -> str:
    """Return a digest of what decides the trajectory: inputs, settings and seed, but neither length nor output intervals."""
    physics = msgspec.structs.replace(settings, report_steps=1, trajectory_steps=0)
    inputs = sorted((file.role, file.name, file.sha256) for file in request.inputs)
    return hashlib.sha256(msgspec.json.encode((kind_of(request.spec), inputs, physics, seed))).hexdigest()


def _chosen(order: Order) -> tuple[str, ...]:
    properties = (f"{name}={value}" for name, value in order.properties.items())
    return (f"Platform={order.platform}", *properties, f"seed={order.seed} (where the input leaves it open)")
