"""A Context: energies that add up, motion that is thermostatted, and a state that is saved and restored exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import openmm
import pytest

from mdactors.engines.openmm.checkpoint import candidates, read_header
from mdactors.engines.openmm.dynamics import make_dynamics
from mdactors.engines.openmm.reports import NumericsError
from mdactors.engines.openmm.simulation import Simulation
from mdactors.engines.openmm.systems import build
from mdactors.errors import InputError
from tests.mdactors.engines.openmm.samples import (
    an_order,
    chain_gro,
    chain_top,
    mdp,
    water_gro,
    water_top,
    write_inputs,
)
from tests.mdactors.engines.openmm.test_systems import serialised_job


def simulation(
    folder: Path, *, gro: str = "", top: str = "", order: dict[str, Any] | None = None, **settings: str
) -> Simulation:
    write_inputs(folder, gro or chain_gro(), top or chain_top(), mdp(**settings))
    made = an_order(folder, **(order or {}))
    model = build(made)
    return Simulation(made, model, make_dynamics(made, model))


def started(folder: Path, **changes: Any) -> Simulation:
    made = simulation(folder, **changes)
    made.begin()
    return made


def positions(made: Simulation) -> Any:
    return made.context.getState(getPositions=True).getPositions(asNumpy=True)._value


# ---------------------------------------------------------------- energies


def test_terms_add_up_and_every_column_is_there(tmp_path: Path) -> None:
    made = started(tmp_path)
    row = made.energies()
    assert made.columns == ("conserved", "bond", "angle", "dihedral", "nonbonded")
    assert list(row)[6:] == list(made.columns)
    assert sum(row[name] for name in ("bond", "angle", "dihedral", "nonbonded")) == pytest.approx(row["potential"])
    assert row["total"] == row["potential"] + row["kinetic"] == pytest.approx(row["conserved"])
    assert row["potential"] == pytest.approx(made.context.getState(getEnergy=True).getPotentialEnergy()._value)


@pytest.mark.parametrize("settings", [{}, {"gro": water_gro(), "top": water_top()}])
def test_the_kinetic_energy_is_the_mean_of_the_half_steps_around_now(tmp_path: Path, settings: dict[str, str]) -> None:
    made = started(tmp_path, tcoupl="no", comm_mode="none", **settings)
    made.advance(11)
    before = made._kinetic(made.velocities())
    kinetic = made.energies()["kinetic"]
    made.advance(12)
    after = made._kinetic(made.velocities())
    assert kinetic == pytest.approx(0.5 * (before + after), rel=1e-3)


def test_reading_energies_does_not_move_anything(tmp_path: Path) -> None:
    quiet, read = started(tmp_path), started(tmp_path)
    for made in (quiet, read):
        made.advance(5)
    read.energies()
    for made in (quiet, read):
        made.advance(15)
    assert np.array_equal(positions(quiet), positions(read))


def test_without_a_bath_the_conserved_energy_is_the_total(tmp_path: Path) -> None:
    made = started(tmp_path, tcoupl="no", dt="0.0005")
    first = made.energies()["conserved"]
    made.advance(100)
    assert made.energies()["conserved"] == pytest.approx(first, abs=0.02 * abs(made.energies()["kinetic"]))


def test_the_conserved_energy_counts_the_heat_of_the_bath(tmp_path: Path) -> None:
    made = started(tmp_path, tau_t="0.001", ref_t="600", dt="0.0005")
    first = made.energies()
    for step in range(10, 101, 10):
        made.advance(step)
    last = made.energies()
    assert last["total"] - first["total"] > 50
    assert last["conserved"] == pytest.approx(first["conserved"], abs=0.02 * last["kinetic"])


def test_langevin_conserves_nothing_and_says_nothing_of_it(tmp_path: Path) -> None:
    assert "conserved" not in started(tmp_path, integrator="sd", tcoupl="no").energies()


# ---------------------------------------------------------------- start


def test_the_start_is_constrained_unless_it_is_a_continuation(tmp_path: Path) -> None:
    bent = chain_gro(1, 2.0).replace("   0.776   0.644   0.581", "   0.796   0.644   0.581")
    assert bent != chain_gro(1, 2.0)

    def length(**settings: str) -> float:
        x = positions(started(tmp_path, gro=bent, top=chain_top(1), **settings))
        return float(np.linalg.norm(x[3] - x[2]))

    assert length() == pytest.approx(0.109, abs=1e-5)
    assert length(continuation="yes") > 0.115


def test_given_velocities_are_taken_and_drawn_ones_are_reproducible(tmp_path: Path) -> None:
    moving = started(tmp_path, gro=chain_gro(moving=True), gen_vel="no", constraints="none")
    assert moving.velocities()[0].tolist() == [0.001, -0.25, 0.125]
    drawn = [started(tmp_path, gen_seed=seed).velocities() for seed in ("5", "5", "6")]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


def test_time_goes_on_from_where_the_input_begins(tmp_path: Path) -> None:
    made = started(tmp_path, tinit="2")
    made.advance(10)
    assert made.time_ps == pytest.approx(2.01)
    assert made.context.getTime()._value == pytest.approx(2.01)


def test_the_mesh_is_what_was_asked(tmp_path: Path) -> None:
    made = started(tmp_path)
    made.energies()
    assert (made.mesh()["nx"], round(made.mesh()["alpha_per_nm"], 4)) == (16, 6.2468)


# ---------------------------------------------------------------- saving and restoring


@pytest.mark.parametrize("settings", [{}, {"integrator": "sd", "tcoupl": "no"}])
def test_a_checkpoint_continues_bitwise_on_reference(tmp_path: Path, settings: dict[str, Any]) -> None:
    whole = started(tmp_path, **settings)
    whole.advance(20)
    whole.save(tmp_path)
    whole.advance(30)
    whole.advance(40)
    again = simulation(tmp_path, **settings)
    (best, *_), remarks = candidates(tmp_path)
    assert (best.name, best.header.step, remarks) == ("checkpoint.chk", 20, [])
    again.restore(tmp_path, best)
    assert again.step == 20
    again.advance(30)
    again.advance(40)
    assert np.array_equal(positions(whole), positions(again))


def test_a_portable_state_continues_the_same_ensemble(tmp_path: Path) -> None:
    whole = started(tmp_path)
    whole.advance(20)
    whole.save(tmp_path)
    again = simulation(tmp_path)
    again.restore(tmp_path, next(found for found in candidates(tmp_path)[0] if found.name == "state.xml"))
    assert again.step == 20
    assert np.allclose(positions(whole), positions(again), atol=1e-9)
    assert again.energies() == pytest.approx(whole.energies(), rel=1e-6)
    for made in (whole, again):
        made.advance(30)
    assert again.dynamics.thermostat is not None
    assert whole.dynamics.thermostat is not None
    assert again.dynamics.thermostat.heat == pytest.approx(whole.dynamics.thermostat.heat, rel=1e-4)


def test_the_checkpoint_before_is_kept(tmp_path: Path) -> None:
    made = started(tmp_path)
    for step in (10, 20):
        made.advance(step)
        made.save(tmp_path)
    steps = {
        name: read_header(tmp_path / name).step
        for name in ("checkpoint.chk", "checkpoint_prev.chk", "state.xml", "state_prev.xml")
    }
    assert steps == {"checkpoint.chk": 20, "checkpoint_prev.chk": 10, "state.xml": 20, "state_prev.xml": 10}


def test_what_openmm_does_not_take_is_an_input_error(tmp_path: Path) -> None:
    made = started(tmp_path, order={"platform": "CPU", "properties": {"Threads": "1"}})
    made.save(tmp_path)
    (best, *_), _ = candidates(tmp_path)
    other = simulation(tmp_path)  # Reference; `choose` would have passed it over
    with pytest.raises(InputError, match="different Platform"):
        other.restore(tmp_path, best)


# ---------------------------------------------------------------- blow-ups


def test_a_blow_up_on_reference_is_found_although_openmm_says_nothing(tmp_path: Path) -> None:
    made = started(tmp_path, tcoupl="no")
    made.context.setVelocities(np.full((108, 3), np.nan))
    made.dynamics.integrator.step(2)
    with pytest.raises(NumericsError, match="Particle coordinate is NaN"):
        made.frame()
    with pytest.raises(NumericsError):
        made.save(tmp_path)
    assert candidates(tmp_path) == ([], [])


def test_velocities_that_are_not_finite_stop_the_bath(tmp_path: Path) -> None:
    made = started(tmp_path)
    made.context.setVelocities(np.full((108, 3), np.nan))
    with pytest.raises((NumericsError, openmm.OpenMMException), match="NaN"):
        made.advance(10)


def test_a_barostat_and_a_user_s_integrator_are_left_alone(tmp_path: Path) -> None:
    order = an_order(
        kind="openmm",
        inputs=serialised_job(tmp_path, integrator=openmm.LangevinMiddleIntegrator(300, 1, 0.001)),
        nsteps=5,
    )
    model = build(order)
    made = Simulation(order, model, make_dynamics(order, model))
    made.begin()
    made.advance(5)
    assert made.columns == ()
    assert made.time_ps == pytest.approx(4.005)
    assert msgspec.structs.asdict(made.header())["integrator"].startswith("<?xml")
