"""Velocity rescaling: the kinetic energy gets the canonical distribution, whatever it was, and nothing is lost on the way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.engines.openmm.thermostat import MOLAR_GAS, VelocityRescaling

KELVIN = 300.0


def thermostat(*, freedom: int = 60, tau: float = 0.1, coupling: float = 0.05, seed: int = 1) -> VelocityRescaling:
    return VelocityRescaling(kelvin=KELVIN, tau_ps=tau, coupling_ps=coupling, freedom=freedom, seed=seed)


def series(bath: VelocityRescaling, start: float, count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values, kinetic = [], start
    for _ in range(count):
        kinetic *= bath.scale(kinetic) ** 2
        values.append(kinetic)
    return np.array(values)


@pytest.mark.parametrize("freedom", [3, 60, 1293])
def test_the_kinetic_energy_has_the_canonical_mean_and_spread(freedom: int) -> None:
    mean = 0.5 * freedom * MOLAR_GAS * KELVIN
    values = series(thermostat(freedom=freedom), mean, 20_000)
    # correlation exp(-1/2) in each coupling: about 4 couplings make one independent sample
    error = mean * math.sqrt(2 / freedom) / math.sqrt(20_000 / 4.1)
    assert abs(values.mean() - mean) < 5 * error
    assert values.std() == pytest.approx(mean * math.sqrt(2 / freedom), rel=0.06)


def test_the_mean_relaxes_with_tau() -> None:
    mean = 0.5 * 3000 * MOLAR_GAS * KELVIN
    ends = [series(thermostat(freedom=3000, seed=seed), 2 * mean, 4)[-1] for seed in range(200)]
    assert np.mean(ends) == pytest.approx(mean * (1 + math.exp(-4 * 0.05 / 0.1)), rel=0.01)


def test_no_memory_where_tau_is_far_below_the_interval() -> None:
    values = series(thermostat(tau=0.0), 1e6, 2000)
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.1


def test_heat_is_what_the_scaling_took_out() -> None:
    bath = thermostat()
    kinetic, start = 80.0, 80.0
    for _ in range(50):
        kinetic *= bath.scale(kinetic) ** 2
    assert kinetic + bath.heat == pytest.approx(start)


def test_the_same_seed_gives_the_same_noise_and_another_another() -> None:
    assert series(thermostat(), 50, 20).tolist() == series(thermostat(), 50, 20).tolist()
    assert series(thermostat(), 50, 20).tolist() != series(thermostat(seed=2), 50, 20).tolist()


@given(st.integers(0, 30))
def test_it_goes_on_exactly_from_where_it_was_saved(before: int) -> None:
    whole, first, second = thermostat(), thermostat(), thermostat(seed=77)
    expected = series(whole, 50, before + 10)
    middle = series(first, 50, before)
    second.restore(first.saved())
    assert series(second, middle[-1] if before else 50.0, 10).tolist() == expected[before:].tolist()
    assert second.heat == whole.heat


def test_a_system_at_rest_stays_at_rest() -> None:
    assert thermostat().scale(0.0) == 1.0


def test_garbage_is_not_restored() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        thermostat().restore("garbage")
