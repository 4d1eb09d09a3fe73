"""The run settings: what is honoured, what is refused, and that nothing is dropped in silence."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.engines.openmm.mdp import ewald_alpha, fourier_size, parse_mdp
from mdactors.engines.openmm.mdp_table import FIXED, HONOURED, SHOWN
from tests.mdactors.engines.openmm.samples import mdp

SYSTEMS = Path(__file__).parents[5] / "shared" / "systems"


def refused(text: str) -> list[str]:
    return [refusal.wanted for refusal in parse_mdp(text, "run.mdp").refusals]


def test_an_ordinary_run_is_honoured_in_full() -> None:
    parsed = parse_mdp(mdp(dt="0.002", nsteps="5000", DispCorr="EnerPres", ewald_rtol="1e-6", nstcomm="50"))
    settings = parsed.settings
    assert parsed.refusals == ()
    assert (settings.timestep_ps, settings.nsteps, settings.cutoff_nm, settings.com_interval) == (0.002, 5000, 0.5, 50)
    assert (settings.dispersion_correction, settings.ewald_rtol, settings.constraints) == (True, 1e-6, "h-bonds")
    assert settings.thermostat is not None
    assert (settings.thermostat.kelvin, settings.thermostat.tau_ps, settings.thermostat.interval) == (300, 0.1, 10)
    assert (settings.generate_kelvin, settings.velocity_seed, settings.noise_seed) == (300, 7, 8)
    assert (settings.energy_steps, settings.trajectory_steps) == (10, 20)


def test_the_ordinary_production_settings_are_honoured_exactly() -> None:
    path = SYSTEMS / "nvt.mdp"
    if not path.exists():
        pytest.skip("no ../shared/systems beside the repository")
    parsed = parse_mdp(path.read_text(), path.name)
    assert parsed.refusals == ()
    assert (parsed.settings.timestep_ps, parsed.settings.nsteps, parsed.settings.cutoff_nm) == (0.002, 5000, 0.9)
    assert parsed.settings.thermostat is not None
    assert parsed.settings.thermostat.interval == 10
    assert any("potential-shift" in note for note in parsed.notes)


def test_names_and_words_are_compared_as_gromacs_does() -> None:
    text = "Coulomb_Type = pme ; comment\nRVDW=0.9\nr-coulomb = 0.9\nconstraints = H_Bonds\nNST-LIST = 20\n"
    parsed = parse_mdp(text)
    assert parsed.refusals == ()
    assert (parsed.settings.cutoff_nm, parsed.settings.constraints) == (0.9, "h-bonds")


def test_everything_that_can_not_be_honoured_is_refused_at_once_by_name_and_value() -> None:
    text = mdp(
        pcoupl="Berendsen", coulombtype="Reaction-Field", freezegrps="Protein", define="-DPOSRES", rcoulomb="1.2"
    )
    assert set(refused(text)) == {
        "pcoupl = Berendsen", "coulombtype = Reaction-Field", "freezegrps = Protein", "define = -DPOSRES", "rcoulomb = 1.2",
    }  # fmt: skip
    assert all("gromacs" in refusal.remedy for refusal in parse_mdp(text).refusals)


@pytest.mark.parametrize("option", sorted(FIXED))
def test_every_fixed_option_is_refused_when_it_is_switched_on(option: str) -> None:
    assert refused(mdp() + f"{option} = surely-not\n") == [f"{option} = surely-not"]


@pytest.mark.parametrize("option", sorted(FIXED))
def test_every_fixed_option_is_taken_at_its_default(option: str) -> None:
    assert refused(mdp() + f"{option} = {FIXED[option][0]}\n") == []


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"integrator": "md-vv"}, "integrator = md-vv"),
        ({"tcoupl": "nose-hoover"}, "tcoupl = nose-hoover"),
        ({"tc_grps": "Protein SOL"}, "tc-grps = Protein SOL"),
        ({"vdw_modifier": "force-switch"}, "vdw-modifier = force-switch"),
        ({"constraints": "h-angles"}, "constraints = h-angles"),
        ({"dt": "fast"}, "dt = fast"),
        ({"dt": "0"}, "dt = 0"),
        ({"pme_order": "8"}, "pme-order = 8"),
        ({"comm_grps": "Protein"}, "comm-grps = Protein"),
        ({"tinit": "0.0005"}, "tinit = 0.0005"),
        ({"nstenergy": "-1"}, "nstenergy = -1"),
        ({"DispCorr": "AllEner"}, "DispCorr = AllEner"),
        ({"fourierspacing": "0"}, "fourierspacing = 0"),
        ({"nsttcouple": "0"}, "nsttcouple = 0"),
    ],
)
def test_values_outside_what_is_honoured_are_refused(changes: dict[str, str], wanted: str) -> None:
    assert refused(mdp(**changes)) == [wanted]


def test_an_unknown_option_is_refused_with_the_nearest_known_name() -> None:
    (refusal,) = parse_mdp(mdp() + "nstenergi = 5\n").refusals
    assert refusal.wanted == "nstenergi = 5"
    assert "nstenergy" in refusal.remedy


def test_a_line_without_an_equals_sign_and_a_second_setting_are_refused() -> None:
    assert refused(mdp() + "nonsense\n") == [f"line {len(mdp().splitlines()) + 1}: 'nonsense'"]
    assert refused(mdp() + "DT = 0.002\n") == ["DT = 0.002"]


def test_dependants_of_a_switch_that_is_off_mean_nothing() -> None:
    assert refused(mdp() + "free-energy = no\ninit-lambda = 0.5\nsc-alpha = 0.5\npull-ngroups = 2\ntau-p = 5\n") == []


def test_sd_becomes_langevin_with_the_inverse_of_tau_as_friction_and_says_so() -> None:
    parsed = parse_mdp(mdp(integrator="sd", tcoupl="no", tau_t="0.5"))
    assert (parsed.settings.friction_per_ps, parsed.settings.kelvin, parsed.settings.thermostat) == (2.0, 300.0, None)
    assert any("LangevinMiddle" in note for note in parsed.notes)


def test_a_switched_potential_keeps_its_distance() -> None:
    assert parse_mdp(mdp(vdw_modifier="potential-switch", rvdw_switch="0.4")).settings.switch_nm == 0.4
    assert refused(mdp(vdw_modifier="potential-switch", rvdw_switch="0.6")) == ["rvdw-switch = 0.6"]


@pytest.mark.parametrize("word", ["", "Cut-off", "cutoff"])
def test_a_cut_off_is_taken_and_options_of_the_mesh_mean_nothing_to_it(word: str) -> None:
    parsed = parse_mdp(mdp(coulombtype=word, pme_order="8", fourierspacing="0", ewald_rtol="0", coulomb_modifier=""))
    assert (parsed.refusals, parsed.notes, parsed.settings.electrostatics) == ((), (), "cut-off")
    assert parse_mdp(mdp()).settings.electrostatics == "PME"


def test_a_cut_off_has_one_distance_too() -> None:
    assert refused(mdp(coulombtype="Cut-off", rcoulomb="0.4")) == ["rcoulomb = 0.4"]


def test_a_dispersion_correction_says_what_else_it_holds() -> None:
    parsed = parse_mdp(mdp(DispCorr="EnerPres"))
    assert parsed.settings.dispersion_correction
    assert any("repulsion's tail" in note for note in parsed.notes)
    assert not any("DispCorr" in note for note in parse_mdp(mdp()).notes)


def test_a_short_tau_is_coupled_more_often() -> None:
    settings = parse_mdp(mdp(dt="0.002", tau_t="0.02")).settings
    assert settings.thermostat is not None
    assert settings.thermostat.interval == 2


def test_a_negative_tau_means_no_coupling() -> None:
    assert parse_mdp(mdp(tau_t="-1")).settings.thermostat is None


def test_the_first_step_has_the_time_that_the_file_gives_it() -> None:
    assert parse_mdp(mdp(tinit="5", init_step="100")).settings.start_ps == pytest.approx(5.1)


def test_no_centre_of_mass_removal_where_none_is_asked() -> None:
    assert parse_mdp(mdp(comm_mode="none")).settings.com_interval == 0
    assert parse_mdp(mdp()).settings.com_interval == 100


@given(cutoff=st.floats(0.3, 2.0), exponent=st.floats(-9, -2))
def test_alpha_solves_its_equation(cutoff: float, exponent: float) -> None:
    rtol = 10**exponent
    assert math.erfc(ewald_alpha(cutoff, rtol) * cutoff) == pytest.approx(rtol, rel=1e-6)


@given(length=st.floats(0.5, 50.0), spacing=st.floats(0.02, 0.3))
def test_a_grid_is_never_coarser_than_asked_and_even(length: float, spacing: float) -> None:
    size = fourier_size(length, spacing)
    assert length / size <= spacing * 1.01
    assert size % 2 == 0


@given(st.text(max_size=300))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    parse_mdp(text)


@given(st.dictionaries(st.sampled_from(sorted(HONOURED)), st.text("0123456789.-eE xyznopes", max_size=8)))
def test_no_value_makes_the_reader_raise(options: dict[str, str]) -> None:
    parse_mdp("".join(f"{name} = {value}\n" for name, value in options.items()))


def test_all_known_names_are_told_apart() -> None:
    assert len(SHOWN) == len(set(SHOWN.values()))
