"""How a run moves: integrator, thermostat, start velocities, seeds. Worker side."""

from __future__ import annotations

from dataclasses import dataclass, field

import openmm
from openmm import unit

from mdactors.engines.openmm.boxes import Foreign
from mdactors.engines.openmm.job import Order
from mdactors.engines.openmm.mdp import Thermostat
from mdactors.engines.openmm.systems import Model
from mdactors.engines.openmm.thermostat import MOLAR_GAS, VelocityRescaling


@dataclass
class Dynamics:
    """Everything that moves the atoms."""

    integrator: Foreign
    description: str
    """What a checkpoint must have been made with; OpenMM's own holds no integrator."""
    steps: int
    """Total number of steps of the job."""
    timestep_ps: float
    freedom: int
    """Degrees of freedom of the kinetic energy."""
    energy_steps: int
    trajectory_steps: int
    thermostat: VelocityRescaling | None = None
    coupling_steps: int = 0
    draw_kelvin: float | None = None
    """Temperature at which start velocities are drawn; None: they are given, or zero."""
    constrain_start: bool = True
    seeds: dict[str, int] = field(default_factory=dict)


def make_dynamics(order: Order, model: Model) -> Dynamics:
    """Return the dynamics that the inputs ask for."""
    if model.run is not None:
        return _by_mdp(order, model)
    return _by_settings(order, model)


def _by_mdp(order: Order, model: Model) -> Dynamics:
    run = model.run
    assert run is not None  # a `gromacs-top` model has one
    noise = run.noise_seed if run.noise_seed >= 0 else order.seed
    velocity = run.velocity_seed if run.velocity_seed >= 0 else order.seed
    freedom = degrees_of_freedom(model.system)
    dynamics = Dynamics(
        integrator=openmm.VerletIntegrator(run.timestep_ps),
        description=f"leap-frog, dt {run.timestep_ps:g} ps",
        steps=run.nsteps if order.nsteps is None else order.nsteps,
        timestep_ps=run.timestep_ps,
        freedom=freedom,
        energy_steps=run.energy_steps,
        trajectory_steps=run.trajectory_steps,
        draw_kelvin=run.generate_kelvin,
        constrain_start=run.constrain_start,
        seeds={"velocities": velocity} if run.generate_kelvin is not None else {},
    )
    if run.integrator == "sd":
        _make_langevin(dynamics, run.kelvin, run.friction_per_ps, noise)
    elif run.thermostat is not None:
        _add_thermostat(dynamics, run.thermostat, noise)
    return dynamics


def _add_thermostat(dynamics: Dynamics, bath: Thermostat, seed: int) -> None:
    coupling = bath.interval * dynamics.timestep_ps
    dynamics.thermostat = VelocityRescaling(
        kelvin=bath.kelvin, tau_ps=bath.tau_ps, coupling_ps=coupling, freedom=dynamics.freedom, seed=seed
    )
    dynamics.coupling_steps = bath.interval
    dynamics.seeds["thermostat"] = seed
    dynamics.description += f", v-rescale {bath.kelvin:g} K, tau {bath.tau_ps:g} ps, every {bath.interval} steps"


def _by_settings(order: Order, model: Model) -> Dynamics:
    settings = order.settings
    timestep = settings.timestep_fs / 1000
    if model.integrator is not None:
        timestep = model.integrator.getStepSize().value_in_unit(unit.picosecond)
    dynamics = Dynamics(
        integrator=model.integrator or openmm.VerletIntegrator(timestep),
        description=f"leap-frog, dt {timestep:g} ps",
        steps=order.nsteps or 0,
        timestep_ps=timestep,
        freedom=degrees_of_freedom(model.system),
        energy_steps=settings.report_steps,
        trajectory_steps=settings.trajectory_steps,
        draw_kelvin=settings.temperature_kelvin if model.velocities is None else None,
    )
    if dynamics.draw_kelvin is not None:
        dynamics.seeds["velocities"] = order.seed
    if model.integrator is not None:
        _seed_given(dynamics, order.seed)
        dynamics.description = openmm.XmlSerializer.serialize(model.integrator)
    elif settings.friction_per_ps > 0:
        _make_langevin(dynamics, settings.temperature_kelvin, settings.friction_per_ps, order.seed)
    _seed_barostats(model.system, order.seed, dynamics.seeds)
    return dynamics


def _make_langevin(dynamics: Dynamics, kelvin: float, friction: float, seed: int) -> None:
    dynamics.integrator = openmm.LangevinMiddleIntegrator(kelvin, friction, dynamics.timestep_ps)
    dynamics.integrator.setRandomNumberSeed(_as_seed(seed))
    dynamics.seeds["noise"] = seed
    dynamics.description = f"LangevinMiddle, {kelvin:g} K, friction {friction:g}/ps, dt {dynamics.timestep_ps:g} ps"


def _seed_given(dynamics: Dynamics, seed: int) -> None:
    """A serialised integrator with seed 0 would take one from the clock."""
    integrator = dynamics.integrator
    if hasattr(integrator, "getRandomNumberSeed") and integrator.getRandomNumberSeed() == 0:
        integrator.setRandomNumberSeed(_as_seed(seed))
        dynamics.seeds["noise"] = seed


def _seed_barostats(system: Foreign, seed: int, seeds: dict[str, int]) -> None:
    for force in system.getForces():
        if hasattr(force, "getRandomNumberSeed") and force.getRandomNumberSeed() == 0:
            force.setRandomNumberSeed(_as_seed(seed + 1))
            seeds[force.getName()] = seed + 1


def _as_seed(seed: int) -> int:
    """OpenMM takes 32-bit seeds, and 0 for "from the clock"."""
    return seed % (2**31 - 1) or 1


def reseed(dynamics: Dynamics, step: int) -> None:
    """Begin another sequence of noise: one that was begun again from its start would repeat what was drawn before."""
    if "noise" in dynamics.seeds:
        dynamics.seeds["noise"] += step
        dynamics.integrator.setRandomNumberSeed(_as_seed(dynamics.seeds["noise"]))


def degrees_of_freedom(system: Foreign) -> int:
    """Return 3 for each particle with a mass, less one for each constraint between such, less 3 where the centre of mass is held."""
    massive = [bool(system.getParticleMass(index)._value > 0) for index in range(system.getNumParticles())]  # noqa: SLF001 - in Dalton
    pairs = (system.getConstraintParameters(index)[:2] for index in range(system.getNumConstraints()))
    constraints = sum(1 for a, b in pairs if massive[a] or massive[b])
    held = any(isinstance(force, openmm.CMMotionRemover) for force in system.getForces())
    return max(0, 3 * sum(massive) - constraints - (3 if held else 0))


def temperature(kinetic: float, freedom: int) -> float:
    """Return the temperature in K of a kinetic energy in kJ/mol: 2 K / (n R)."""
    return 2 * kinetic / (freedom * MOLAR_GAS) if freedom else 0.0
