"""The Context of one run: reading it, moving it, saving and restoring it. Worker side."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import openmm
from openmm import unit

from mdactors.engines.openmm.boxes import Foreign, from_vectors, to_vectors
from mdactors.engines.openmm.checkpoint import Candidate, Header, pack, seal, unpack, unseal
from mdactors.engines.openmm.dynamics import Dynamics, reseed, temperature
from mdactors.engines.openmm.files import keep_previous, write_whole
from mdactors.engines.openmm.gro import Array
from mdactors.engines.openmm.job import CHECKPOINT, FINAL_STATE, PREVIOUS, STATE, Order
from mdactors.engines.openmm.reports import NumericsError, check_finite
from mdactors.engines.openmm.systems import Model
from mdactors.errors import InputError

BOUND_TO = ("DeviceName", "UseCpuPme", "DeterministicForces")
"""Properties of a platform that a checkpoint is bound to; the number of threads and the device's index are not."""


class Simulation:
    """One System in one Context, at one step."""

    def __init__(self, order: Order, model: Model, dynamics: Dynamics) -> None:
        self.order, self.model, self.dynamics = order, model, dynamics
        self.step = 0
        self._masses = np.array([model.system.getParticleMass(i)._value for i in range(model.system.getNumParticles())])  # noqa: SLF001 - in Dalton
        self._per_mass = np.divide(1.0, self._masses, out=np.zeros_like(self._masses), where=self._masses > 0)
        platform = openmm.Platform.getPlatformByName(order.platform)
        self.context = openmm.Context(model.system, dynamics.integrator, platform, dict(order.properties))
        names = platform.getPropertyNames()
        self.properties = {name: platform.getPropertyValue(self.context, name) for name in names}
        self._system_sha256 = model.sha256()

    # ---------------------------------------------------------------- start

    def begin(self) -> None:
        """Set positions, box and velocities of a fresh run."""
        model, dynamics = self.model, self.dynamics
        if model.box is not None:
            self.context.setPeriodicBoxVectors(*to_vectors(model.box))
        self.context.setPositions(model.positions)
        if model.velocities is not None:
            self.context.setVelocities(model.velocities)
        if dynamics.constrain_start:
            self.context.applyConstraints(1e-6)
        self.context.computeVirtualSites()
        if dynamics.draw_kelvin is not None:
            self.context.setVelocitiesToTemperature(
                dynamics.draw_kelvin, dynamics.seeds["velocities"] % (2**31 - 1) or 1
            )
        elif dynamics.constrain_start:
            self.context.applyVelocityConstraints(1e-6)
        self.context.setTime(model.start_ps)
        self.context.setStepCount(0)

    # ---------------------------------------------------------------- motion

    def advance(self, target: int) -> None:
        """Integrate up to a step; the thermostat acts where its interval ends.

        Raises:
            NumericsError: velocities are not finite any more.
        """
        self.dynamics.integrator.step(target - self.step)
        self.step = target
        coupling = self.dynamics.coupling_steps
        if coupling and self.step % coupling == 0:
            self._rescale()

    def _rescale(self) -> None:
        """Scale the half-step velocities by their own kinetic energy, as GROMACS does with leap-frog."""
        assert self.dynamics.thermostat is not None  # a coupling interval comes with a thermostat
        velocities = self.velocities()
        kinetic = self._kinetic(velocities)
        if not np.isfinite(kinetic):
            raise NumericsError(f"Energy is NaN: the kinetic energy at step {self.step}")
        scale = self.dynamics.thermostat.scale(kinetic)
        self.context.setVelocities(velocities * scale)

    # ---------------------------------------------------------------- reading

    def frame(self) -> tuple[Array, Array | None]:
        """Return positions, molecules whole, and box vectors.

        Raises:
            NumericsError: a coordinate is not finite.
        """
        periodic = self.model.system.usesPeriodicBoundaryConditions()
        state = self.context.getState(getPositions=True, enforcePeriodicBox=periodic)
        positions = np.asarray(state.getPositions(asNumpy=True).value_in_unit(unit.nanometer))
        check_finite(positions, self.step)
        return positions, from_vectors(state.getPeriodicBoxVectors()) if periodic else None

    def velocities(self) -> Array:
        """Return velocities in nm/ps, as the integrator has them: half a step behind for leap-frog."""
        return _per_ps(self.context.getState(getVelocities=True).getVelocities(asNumpy=True))

    @property
    def columns(self) -> tuple[str, ...]:
        """Energies beyond those that every run has."""
        conserved = ("conserved",) if self._conserves() else ()
        titles = self.model.titles
        return conserved if titles is None else (*conserved, *titles.values(), "nonbonded")

    def energies(self) -> dict[str, float]:
        """Return a row of the energy log: kJ/mol and K.

        Bonded terms are cheap to evaluate apart; everything non-bonded, 1-4 pairs included, is what remains.
        """
        leap_frog = self._conserves()
        state = self.context.getState(getEnergy=True, getForces=leap_frog, getVelocities=leap_frog)
        potential = _kj(state.getPotentialEnergy())
        kinetic = self._half_step_kinetic(state) if leap_frog else _kj(state.getKineticEnergy())
        row = {
            "step": float(self.step),
            "time_ps": self.time_ps,
            "potential": potential,
            "kinetic": kinetic,
            "total": potential + kinetic,
            "temperature": temperature(kinetic, self.dynamics.freedom),
        }
        if leap_frog:
            thermostat = self.dynamics.thermostat
            row["conserved"] = potential + kinetic + (thermostat.heat if thermostat is not None else 0.0)
        return row | self._terms(potential)

    def _half_step_kinetic(self, state: Foreign) -> float:
        """Return the mean of the kinetic energies half a step before and after now, which is GROMACS's of leap-frog.

        OpenMM's own is that of the velocity now, v = (v- + v+) / 2, which is lower: 1 % for rigid water at 2 fs. With
        v = v- + a dt / 2, constrained, the mean of both sides is m (v^2 + (v - v-)^2) / 2.
        """
        before = _per_ps(state.getVelocities(asNumpy=True))
        forces = np.asarray(state.getForces(asNumpy=True).value_in_unit(unit.kilojoule_per_mole / unit.nanometer))
        self.context.setVelocities(before + 0.5 * self.dynamics.timestep_ps * forces * self._per_mass[:, None])
        self.context.applyVelocityConstraints(1e-6)
        now = self.velocities()
        self.context.setVelocities(before)
        return self._kinetic(now) + self._kinetic(now - before)

    def _kinetic(self, velocities: Array) -> float:
        return 0.5 * float(self._masses @ np.einsum("ij,ij->i", velocities, velocities))

    def _conserves(self) -> bool:
        return self.dynamics.description.startswith("leap-frog")

    def _terms(self, potential: float) -> dict[str, float]:
        if self.model.titles is None:
            return {}
        terms = {name: self._energy_of(group) for group, name in self.model.titles.items()}
        return terms | {"nonbonded": potential - sum(terms.values())}

    def _energy_of(self, group: int) -> float:
        return _kj(self.context.getState(getEnergy=True, groups=1 << group).getPotentialEnergy())

    @property
    def time_ps(self) -> float:
        """Time of the current step."""
        return self.model.start_ps + self.step * self.dynamics.timestep_ps

    def mesh(self) -> dict[str, float]:
        """Return alpha (1/nm) and grid that the platform really uses; empty without PME.

        Only after forces have been computed: before that OpenMM's CPU platform fails now and then (openmm #5392).
        """
        for force in self.model.system.getForces():
            if isinstance(force, openmm.NonbondedForce) and force.getNonbondedMethod() == openmm.NonbondedForce.PME:
                values = force.getPMEParametersInContext(self.context)
                return dict(zip(("alpha_per_nm", "nx", "ny", "nz"), map(float, values), strict=True))
        return {}

    # ---------------------------------------------------------------- saving and restoring

    def header(self) -> Header:
        """Return what a checkpoint made here and now belongs to."""
        thermostat = self.dynamics.thermostat
        return Header(
            step=self.step,
            steps_asked=self.dynamics.steps,
            time_ps=self.time_ps,
            timestep_ps=self.dynamics.timestep_ps,
            atoms=len(self._masses),
            identity=self.order.identity,
            system_sha256=self._system_sha256,
            integrator=self.dynamics.description,
            platform=self.order.platform,
            precision=self.order.precision,
            device=json.dumps({name: self.properties[name] for name in BOUND_TO if name in self.properties}),
            openmm_version=openmm.Platform.getOpenMMVersion(),
            extra=thermostat.saved() if thermostat is not None else "",
        )

    def save(self, folder: Path) -> None:
        """Write checkpoint and portable State, each whole or not at all, and keep those before.

        Raises:
            NumericsError: there is nothing worth saving; the files before stay as they are.
        """
        self.frame()
        header = self.header()
        for name, data in (
            (STATE, seal(header, self._xml())),
            (CHECKPOINT, pack(header, self.context.createCheckpoint())),
        ):
            keep_previous(folder / name, folder / PREVIOUS[name])
            write_whole(folder / name, data)

    def save_final(self, folder: Path) -> None:
        """Write the final State; that it is there and whole means that the job is complete."""
        write_whole(folder / FINAL_STATE, seal(self.header(), self._xml()))

    def _xml(self) -> str:
        state = self.context.getState(
            getPositions=True, getVelocities=True, getParameters=True, getIntegratorParameters=True
        )
        return str(openmm.XmlSerializer.serialize(state))

    def restore(self, folder: Path, candidate: Candidate) -> None:
        """Go on from a file whose digest was right.

        Raises:
            InputError: OpenMM does not take it.
        """
        data = (folder / candidate.name).read_bytes()
        try:
            if candidate.form == "checkpoint":
                self.context.loadCheckpoint(unpack(data)[1])
            else:
                reseed(self.dynamics, candidate.header.step)
                self.context.reinitialize()
                self.context.setState(openmm.XmlSerializer.deserialize(unseal(data)[1]))
        except openmm.OpenMMException as error:
            raise InputError(f"{candidate.name}: {error}") from error
        self.step = candidate.header.step
        self.context.setStepCount(self.step)
        self.context.setTime(candidate.header.time_ps)
        if self.dynamics.thermostat is not None:
            self.dynamics.thermostat.restore(candidate.header.extra)


def _kj(quantity: Foreign) -> float:
    return float(quantity.value_in_unit(unit.kilojoule_per_mole))


def _per_ps(quantity: Foreign) -> Array:
    return np.asarray(quantity.value_in_unit(unit.nanometer / unit.picosecond))
