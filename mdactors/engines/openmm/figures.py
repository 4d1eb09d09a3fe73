"""The worker's measurements -> the platform's figures."""

from __future__ import annotations

from events.outcome import Figures
from mdactors.engines.openmm.job import Result

STEADY_STEPS, STEADY_SECONDS = 1000, 30.0
"""From here on a speed may be compared with others."""


def figures(result: Result) -> Figures:
    """Return what an attempt did and how fast.

    Speeds are of the steps after warm-up: ms/step = 1000 x seconds / steps; Matom steps/s = atoms x steps / 10^6 / seconds.
    OpenMM reports neither a non-bonded rate nor floating-point operations.
    """
    timed, seconds = result.steps_timed, result.timed_seconds
    measured = timed > 0 and seconds > 0 and bool(result.ns_per_day)
    done = result.steps_done - result.first_step
    return Figures(
        steps_asked=result.steps_asked,
        steps_done=result.steps_done,
        steps_timed=timed,
        simulated_ns=done * result.timestep_ps / 1000,
        timestep_ps=result.timestep_ps,
        atoms=result.atoms,
        wall_seconds=result.wall_seconds,
        core_seconds=result.core_seconds,
        ns_per_day=result.ns_per_day if measured else None,
        hours_per_ns=24 / result.ns_per_day if measured and result.ns_per_day else None,
        ms_per_step=1000 * seconds / timed if measured else None,
        matom_steps_per_second=result.atoms * timed / 1e6 / seconds if measured else None,
        cpu_use_percent=_cpu_use(result),
        threads=result.threads,
        ranks=1,
        engine_version=result.openmm_version,
        hardware=result.hardware,
        steady=timed >= STEADY_STEPS and seconds >= STEADY_SECONDS,
    )


def _cpu_use(result: Result) -> float | None:
    if result.platform not in {"CPU", "Reference"} or result.wall_seconds <= 0:
        return None
    return 100 * result.core_seconds / (result.wall_seconds * max(1, result.threads))
