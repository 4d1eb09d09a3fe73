"""Integrators, seeds and degrees of freedom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openmm
import pytest
from openmm import unit

from events.spec import Settings
from mdactors.engines.openmm.dynamics import Dynamics, degrees_of_freedom, make_dynamics, reseed, temperature
from mdactors.engines.openmm.systems import build
from mdactors.engines.openmm.thermostat import MOLAR_GAS
from tests.mdactors.engines.openmm.samples import an_order, mdp, water_gro, water_top, write_inputs
from tests.mdactors.engines.openmm.test_systems import serialised_job, two_particles


def by_mdp(folder: Path, nsteps: int | None = None, **settings: str) -> Dynamics:
    write_inputs(folder, water_gro(), water_top(), mdp(**settings))
    order = an_order(folder, nsteps=nsteps)
    return make_dynamics(order, build(order))


def by_settings(folder: Path, *, integrator: Any = None, **settings: Any) -> Dynamics:
    inputs = serialised_job(folder, moving=False, integrator=integrator)
    order = an_order(kind="openmm", inputs=inputs, nsteps=50, settings=Settings(**settings))
    return make_dynamics(order, build(order))


def test_leap_frog_with_rescaling(tmp_path: Path) -> None:
    dynamics = by_mdp(tmp_path)
    assert isinstance(dynamics.integrator, openmm.VerletIntegrator)
    assert (dynamics.steps, dynamics.timestep_ps, dynamics.coupling_steps) == (40, 0.001, 10)
    assert dynamics.thermostat is not None
    assert dynamics.seeds == {"velocities": 7, "thermostat": 8}
    assert (dynamics.draw_kelvin, dynamics.constrain_start) == (300, True)
    assert dynamics.freedom == 3 * 81 - 81 - 3


def test_the_job_s_steps_come_before_the_mdp_s_and_may_be_none(tmp_path: Path) -> None:
    assert by_mdp(tmp_path, nsteps=9).steps == 9
    assert by_mdp(tmp_path, nsteps=0).steps == 0


def test_open_seeds_are_the_order_s(tmp_path: Path) -> None:
    assert by_mdp(tmp_path, gen_seed="-1", ld_seed="-1").seeds == {"velocities": 12, "thermostat": 12}


def test_without_a_bath_the_energy_is_conserved(tmp_path: Path) -> None:
    dynamics = by_mdp(tmp_path, tcoupl="no", gen_vel="no", continuation="yes")
    assert (dynamics.thermostat, dynamics.coupling_steps, dynamics.seeds) == (None, 0, {})
    assert (dynamics.draw_kelvin, dynamics.constrain_start) == (None, False)


def test_sd_is_langevin(tmp_path: Path) -> None:
    dynamics = by_mdp(tmp_path, integrator="sd", tcoupl="no", tau_t="0.5")
    assert isinstance(dynamics.integrator, openmm.LangevinMiddleIntegrator)
    assert dynamics.integrator.getFriction().value_in_unit(unit.picosecond**-1) == 2.0
    assert dynamics.integrator.getRandomNumberSeed() == dynamics.seeds["noise"] == 8


def test_settings_make_langevin_or_without_friction_verlet(tmp_path: Path) -> None:
    langevin = by_settings(tmp_path, friction_per_ps=3.0, temperature_kelvin=310, timestep_fs=4.0)
    assert langevin.integrator.getTemperature().value_in_unit(unit.kelvin) == 310
    assert (langevin.timestep_ps, langevin.draw_kelvin, langevin.steps) == (0.004, 310, 50)
    assert isinstance(by_settings(tmp_path, friction_per_ps=0.0).integrator, openmm.VerletIntegrator)


def test_a_given_integrator_stays_and_only_an_open_seed_is_filled(tmp_path: Path) -> None:
    given = openmm.LangevinMiddleIntegrator(280, 1, 0.003)
    dynamics = by_settings(tmp_path, integrator=given)
    assert (dynamics.timestep_ps, dynamics.integrator.getRandomNumberSeed(), dynamics.seeds["noise"]) == (0.003, 12, 12)
    given.setRandomNumberSeed(5)
    assert by_settings(tmp_path, integrator=given).integrator.getRandomNumberSeed() == 5


def test_another_integrator_has_another_description(tmp_path: Path) -> None:
    texts = {
        by_mdp(tmp_path).description,
        by_mdp(tmp_path, dt="0.002").description,
        by_mdp(tmp_path, ref_t="310").description,
        by_mdp(tmp_path, integrator="sd", tcoupl="no").description,
    }
    assert len(texts) == 4


def test_noise_begins_another_sequence_after_a_portable_resume(tmp_path: Path) -> None:
    dynamics = by_mdp(tmp_path, integrator="sd", tcoupl="no")
    reseed(dynamics, 100)
    assert dynamics.integrator.getRandomNumberSeed() == 108


def test_degrees_of_freedom() -> None:
    system = two_particles()
    assert degrees_of_freedom(system) == 6
    system.addConstraint(0, 1, 0.5)
    system.addForce(openmm.CMMotionRemover())
    assert degrees_of_freedom(system) == 2
    system.addParticle(0.0)
    assert degrees_of_freedom(system) == 2


def test_temperature() -> None:
    assert temperature(0.5 * 10 * MOLAR_GAS * 300, 10) == pytest.approx(300)
    assert temperature(1.0, 0) == 0.0
