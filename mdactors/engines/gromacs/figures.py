"""From a log to figures: the six metrics of GROMACS's performance report, computed where a version does not print them.

| metric | printed | computed |
| --- | --- | --- |
| ns/day, hour/ns | always | each from the other |
| ms/step, Matom*steps/s | from 2026 on | wall time, timed steps, atoms |
| Mnbf/s, MFlops (GFlops) | with GMX_DETAILED_PERF_STATS | the table of floating-point operations and wall time |

Mnbf/s is printed as 0 by versions with the Verlet scheme, whose kernels it does not count; then the table is used.
"""

from __future__ import annotations

from events.outcome import Figures
from mdactors.engines.gromacs.log import Log

STEADY_STEPS = 1000
STEADY_SECONDS = 30.0
PS_PER_DAY_TO_NS = 86.4
"""ns/day = steps x ps / second x 86,400 s / 1,000 ps."""


def timed_steps(log: Log) -> int | None:
    """Return the steps over which the clock ran, None where the log does not say.

    That is one less than the number of force evaluations. Some builds count forces otherwise; then the number follows
    from ns/day, wall time and time step, which agree with the true count within rounding.
    """
    calls, by_rate = log.tail.force_calls, _steps_by_rate(log)
    if calls is None:
        return None if by_rate is None else max(0, round(by_rate) - 1)
    if by_rate is None or abs(calls - by_rate) <= max(5.0, 0.02 * by_rate):
        return calls - 1
    return max(0, round(by_rate) - 1)


def _steps_by_rate(log: Log) -> float | None:
    rate, wall, step = log.tail.performance.get("ns/day"), log.tail.wall_seconds, log.head.timestep_ps
    if not rate or not wall or not step:
        return None
    return rate * wall / (PS_PER_DAY_TO_NS * step)


def ratio(above: float | None, below: float | None) -> float | None:
    """Divide where both are known and the divisor is not 0."""
    return None if above is None or not below else above / below


def _per_second(printed: float | None, counted: float | None, wall: float | None) -> float | None:
    """Return the printed rate, or what was counted in the time; a printed 0 counts as not printed."""
    return printed or ratio(counted, wall)


def measured(log: Log) -> Figures:
    """Return the figures of a log's last part. Speeds are None where its closing report is missing."""
    tail, head, rates = log.tail, log.head, log.tail.performance
    wall, steps = tail.wall_seconds, timed_steps(log)
    cores = (log.ranks or 1) * (log.threads or 1)
    gigaflops = rates.get("GFlops")
    flops = gigaflops * 1000 if gigaflops is not None else rates.get("MFlops")
    atom_steps = head.atoms * steps / 1e6 if head.atoms and steps else None
    milliseconds = ratio(wall * 1000 if wall is not None else None, steps)
    return Figures(
        steps_timed=steps,
        timestep_ps=head.timestep_ps,
        atoms=head.atoms,
        wall_seconds=wall,
        core_seconds=tail.core_seconds,
        ns_per_day=rates.get("ns/day", ratio(24.0, rates.get("hour/ns"))),
        hours_per_ns=rates.get("hour/ns", ratio(24.0, rates.get("ns/day"))),
        ms_per_step=rates.get("ms/step", milliseconds),
        matom_steps_per_second=rates.get("Matom*steps/s", ratio(atom_steps, wall)),
        mnbf_per_second=_per_second(rates.get("Mnbf/s"), tail.pair_interactions, wall),
        mflops=_per_second(flops, tail.megaflops, wall),
        cpu_use_percent=ratio(tail.cpu_percent, cores),
        conserved_drift=tail.drift,
        threads=log.threads,
        ranks=log.ranks,
        engine_version=head.version,
        hardware=head.hardware,
        steady=(steps or 0) >= STEADY_STEPS and (wall or 0.0) >= STEADY_SECONDS,
    )


def unmeasured(log: Log) -> Figures:
    """Return what is true of a run whatever became of it: no speeds."""
    head = log.head
    return Figures(
        timestep_ps=head.timestep_ps,
        atoms=head.atoms,
        threads=log.threads,
        ranks=log.ranks,
        engine_version=head.version,
        hardware=head.hardware,
    )
