"""The worker's life: read the order, build, resume, run in blocks, stop in good order, leave a result. Worker side."""

from __future__ import annotations

import errno
import io
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Literal

import msgspec
import openmm
from openmm import app, unit

from mdactors.engines.openmm import job
from mdactors.engines.openmm.boxes import to_vectors
from mdactors.engines.openmm.checkpoint import candidates, choose, set_damaged_aside
from mdactors.engines.openmm.dynamics import make_dynamics
from mdactors.engines.openmm.files import write_whole
from mdactors.engines.openmm.gro import Gro, write_gro
from mdactors.engines.openmm.job import Order, Result
from mdactors.engines.openmm.loop import Loop
from mdactors.engines.openmm.parts import cut_beyond, trajectory_parts
from mdactors.engines.openmm.reports import NumericsError, ns_per_day
from mdactors.engines.openmm.simulation import Simulation
from mdactors.engines.openmm.systems import build
from mdactors.errors import InputError


class Stop:
    """A wish to stop, made by SIGTERM or SIGINT and heard between two blocks of steps."""

    def __init__(self) -> None:
        self.asked = ""

    def __call__(self, number: int, _: FrameType | None) -> None:
        """Note a signal."""
        self.asked = signal.Signals(number).name

    def listen(self) -> None:
        """Take the signals."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self)


def main(argv: Sequence[str], stop: Stop) -> int:
    """Run the order in `argv[0]` in the current folder; return the exit status (see `job`)."""
    try:
        order = msgspec.json.decode(Path(argv[0]).read_bytes(), type=Order)
        return run(order, Path(), stop)
    except NumericsError as error:
        return _fail(job.NUMERICS, error)
    except (InputError, msgspec.DecodeError) as error:
        return _fail(job.INPUT, error)
    except openmm.OpenMMException as error:
        return _fail(job.NUMERICS if "NaN" in str(error) else job.ENGINE, error)
    except OSError as error:
        return _fail(job.DISK if error.errno in {errno.ENOSPC, errno.EDQUOT} else job.UNEXPECTED, error)


def _fail(code: int, error: Exception) -> int:
    """Say why on stderr, the reason last."""
    traceback.print_exception(error)
    sys.stderr.write(f"mdactors: {' '.join(str(error).split())}\n")
    return code


def run(order: Order, folder: Path, stop: Stop) -> int:
    """Run an order in a job's folder.

    Raises:
        InputError: the inputs can't be built.
        NumericsError: the simulation blew up.
    """
    model = build(order)
    dynamics = make_dynamics(order, model)
    simulation = Simulation(order, model, dynamics)
    remarks = resume(simulation, folder)
    _say(simulation, remarks)
    loop = Loop(simulation, folder)
    try:
        loop.run(stop)
    except (NumericsError, openmm.OpenMMException):
        _leave_result(loop, "failed", remarks)
        raise
    finally:
        loop.close()
    simulation.save(folder)
    if simulation.step < dynamics.steps:
        _leave_result(loop, "stopped", remarks)
        sys.stdout.write(f"stopped by {stop.asked} at step {simulation.step} of {dynamics.steps}\n")
        return job.STOPPED
    write_structure(simulation, folder)
    simulation.save_final(folder)
    _leave_result(loop, "completed", remarks)
    sys.stdout.write(f"completed {dynamics.steps} steps\n")
    return job.COMPLETED


# ---------------------------------------------------------------- start


def resume(simulation: Simulation, folder: Path) -> list[str]:
    """Restore the best that is there, or begin; return what is worth saying about it."""
    found, remarks = candidates(folder)
    set_damaged_aside(folder)
    while True:
        chosen, passed = choose(found, simulation.header())
        remarks += passed
        if chosen is None:
            simulation.begin()
            remarks += ["nothing to resume from: started at step 0"] if remarks else []
            break
        try:
            simulation.restore(folder, chosen)
        except InputError as error:
            remarks.append(f"{error}; the next best is tried")
            found = [candidate for candidate in found if candidate.name != chosen.name]
            continue
        break
    cut_beyond(folder, simulation.step or -1, frame_offset=frame_offset(simulation))
    return remarks


def frame_offset(simulation: Simulation) -> int:
    """Return what is added to a step for its frame, so that step x dt is its time."""
    return round(simulation.model.start_ps / simulation.dynamics.timestep_ps)


def _say(simulation: Simulation, remarks: list[str]) -> None:
    order, dynamics = simulation.order, simulation.dynamics
    lines = [
        f"OpenMM {openmm.Platform.getOpenMMVersion()}, platform {order.platform}, {simulation.properties}",
        f"{len(simulation.model.positions)} atoms, {dynamics.freedom} degrees of freedom",
        f"steps {simulation.step} to {dynamics.steps}; seeds {dynamics.seeds}",
        *remarks,
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


# ---------------------------------------------------------------- end


def write_structure(simulation: Simulation, folder: Path) -> None:
    """Write the last configuration in the format that the job came in, where it came with names at all."""
    positions, box = simulation.frame()
    model = simulation.model
    if model.gro is not None:
        assert box is not None  # a gro job is periodic
        gro = Gro(model.gro.title, model.gro.labels, positions, simulation.velocities(), box)
        write_whole(folder / "confout.gro", write_gro(gro).encode())
    elif "state" not in simulation.order.inputs:
        text = io.StringIO()
        model.topology.setPeriodicBoxVectors(to_vectors(box))
        app.PDBFile.writeFile(model.topology, positions * unit.nanometer, text, keepIds=True)
        write_whole(folder / "final.pdb", text.getvalue().encode())


def _leave_result(loop: Loop, outcome: Literal["completed", "stopped", "failed"], remarks: list[str]) -> None:
    simulation, folder, timing = loop.simulation, loop.folder, loop.timing
    order, dynamics = simulation.order, simulation.dynamics
    result = Result(
        outcome=outcome,
        steps_asked=dynamics.steps,
        first_step=timing.first_step,
        steps_done=simulation.step,
        steps_timed=timing.steps_timed,
        timed_seconds=timing.timed_seconds,
        wall_seconds=timing.wall_seconds,
        core_seconds=timing.core_seconds,
        timestep_ps=dynamics.timestep_ps,
        ns_per_day=ns_per_day(timing.steps_timed, timing.timed_seconds, dynamics.timestep_ps)
        if timing.timed_seconds > 0
        else None,
        atoms=len(simulation.model.positions),
        constraints=simulation.model.system.getNumConstraints(),
        degrees_of_freedom=dynamics.freedom,
        threads=order.threads if order.platform == "CPU" else 1,
        platform=order.platform,
        properties=simulation.properties,
        openmm_version=openmm.Platform.getOpenMMVersion(),
        hardware=simulation.properties.get("DeviceName", order.platform),
        integrator=dynamics.description if len(dynamics.description) < 200 else "as given",
        seeds=dynamics.seeds,
        pme=simulation.mesh(),
        energies=loop.last_row,
        trajectory=tuple(part.name for part in trajectory_parts(folder)),
        remarks=tuple(remarks),
    )
    write_whole(folder / job.result_file(order.attempt), msgspec.json.format(msgspec.json.encode(result), indent=1))
