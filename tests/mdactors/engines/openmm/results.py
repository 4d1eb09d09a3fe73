"""A worker's result, for tests."""

from __future__ import annotations

from typing import Any

import msgspec

from mdactors.engines.openmm.job import Result

RESULT = Result(
    outcome="completed", steps_asked=5000, first_step=0, steps_done=5000, steps_timed=4900, timed_seconds=49.0,
    wall_seconds=50.0, core_seconds=95.0, timestep_ps=0.002, ns_per_day=17.28, atoms=648, constraints=648,
    degrees_of_freedom=1293, threads=2, platform="CPU", properties={}, openmm_version="8.6.1", hardware="CPU",
    integrator="leap-frog", seeds={}, energies={}, remarks=("resumed",),
)  # fmt: skip


def a_result(**changes: Any) -> Result:
    return msgspec.structs.replace(RESULT, **changes)
