"""The scan of a topology: what OpenMM's reader would read wrongly, or skip without a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.engines.openmm.topology import Scanned, element_notes, scan
from tests.mdactors.engines.openmm.samples import bead_top, chain_top, water_top


def scanned(text: str, **files: str) -> Scanned:
    return scan(text, lambda name: files.get(name.replace(".itp", "").replace("/", "_")))


def test_atoms_names_and_pairs_are_counted_over_all_molecules() -> None:
    found = scanned(chain_top(2).replace("CHN 2", "CHN 2\nCHN 1"))
    assert (found.problems, found.missing) == ([], [])
    assert found.atoms() == 12
    assert found.names() == ["C1", "C2", "C3", "H4"] * 3
    assert found.molecules["CHN"].pairs == [(0, 3)]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("[ pairs ]", "[ position_restraints ]\n1 1 1000 1000 1000\n[ pairs ]", "position_restraints"),
        ("[ pairs ]", "[ virtual_sites3 ]\n4 1 2 3 1 0.5 0.5\n[ pairs ]", "virtual_sites3"),
        ("2 3 1 0.1526", "2 3 3 0.1526", "[ bonds ] function type 3"),
        ("1 2 3 1 109.5", "1 2 3 8 109.5", "[ angles ] function type 8"),
        ("1 2 3 4 9", "1 2 3 4 8", "[ dihedrals ] function type 8"),
        ("1 4 1", "1 4 2 0.5 0.1 0.1 0.3 0.4", "[ pairs ] function type 2"),
        ("CHN 3", "CHN 2", "nrexcl = 2"),
        ("1 CT 1 CHN C1", "1 CX 1 CHN C1", "atom type CX"),
        ("CHN 27", "CHN 27\nXYZ 1", "names XYZ"),
        ("[ moleculetype ]", "[ nonbond_params ]\nCT HC 1 0.3 0.4\n[ moleculetype ]", "nonbond_params"),
        ("[ pairs ]", "[ constraints ]\n1 2 1\n[ pairs ]", "without a length"),
        ("CT 6 12.011", "CT six twelve", "can't be read"),
        ("CT 6 12.011 0.0", "CT 6 12.011 0", "takes 0 for the particle type"),
    ],
)
def test_what_openmm_reads_wrongly_is_a_problem(old: str, new: str, problem: str) -> None:
    (found,) = [text for text in scanned(chain_top().replace(old, new)).problems if problem in text]
    assert found


def test_parameters_of_pairs_that_are_not_in_use_do_no_harm() -> None:
    text = chain_top().replace("[ moleculetype ]", "[ nonbond_params ]\nCT XX 1 0.3 0.4\n[ moleculetype ]")
    assert scanned(text).problems == []


def test_inactive_sections_are_not_read() -> None:
    text = chain_top().replace("[ pairs ]", "#ifdef POSRES\n[ position_restraints ]\n1 1 9 9 9\n#endif\n[ pairs ]")
    assert scanned(text).problems == []
    assert scanned("#define POSRES\n" + text).problems != []
    assert scanned("#define POSRES\n#undef POSRES\n" + text).problems == []


def test_flexible_is_not_defined_because_gromacs_does_not_define_it() -> None:
    text = (
        water_top(1)
        .replace("[ settles ]", "#ifdef FLEXIBLE\n[ bonds ]\n1 2 3 0.1 1000\n#else\n[ settles ]")
        .replace("[ exclusions ]", "#endif\n[ exclusions ]")
    )
    assert scanned(text).problems == []


def test_included_files_are_read_from_where_they_are_included() -> None:
    whole = '#include "ff/all.itp"\n[ molecules ]\nCHN 2\n'
    rest = chain_top().partition("[ system ]")[0]
    found = scanned(whole, ff_all='#include "rest.itp"\n', ff_rest=rest)
    assert (found.missing, found.atoms()) == ([], 8)


def test_a_missing_included_file_is_named_once_it_is_active() -> None:
    assert scanned('#include "posre.itp"\n' + water_top()).missing == ["posre.itp"]
    assert scanned('#ifdef POSRES\n#include "posre.itp"\n#endif\n' + water_top()).missing == []


def test_a_file_that_includes_itself_ends() -> None:
    assert scanned('#include "me.itp"\n', me='#include "me.itp"\n').missing != []


def test_atoms_whose_number_disagrees_with_name_or_mass_are_named() -> None:
    assert element_notes(scanned(chain_top())) == ()
    (note,) = element_notes(scanned(chain_top(number=2)))
    assert "27 atoms" in note
    assert "H4 of CHN1" in note
    assert "at.num 2" in note


def test_repartitioned_masses_alone_are_no_disagreement_of_hydrogens() -> None:
    assert element_notes(scanned(chain_top().replace("0.10  1.008", "0.10  3.024"))) == ()


def test_the_first_charge_is_named_wherever_it_is_written() -> None:
    assert scanned(bead_top()).charged() == ""
    assert scanned(water_top()).charged() == "OW of SOL1: -0.82"
    assert scanned(bead_top().replace("AA 12.0 0.0 A", "AA 12.0 1.0 A")).charged() == "A1 of BDS1: 1"
    assert scanned(bead_top().replace("BB 14.0 0.0 A", "BB 14.0 1.0 A")).charged() == ""  # [ atoms ] says 0


@pytest.mark.parametrize("columns", ["AA", "AA A1", "AA 6", "AA A1 6"])
def test_the_charge_of_a_type_is_found_whichever_columns_are_left_out(columns: str) -> None:
    assert scanned(bead_top().replace("AA 12.0 0.0 A", f"{columns} 12.0 -0.5 A")).charged() == "A1 of BDS1: -0.5"


def test_a_charge_of_one_digit_is_no_particle_type_and_in_a_type_that_is_not_in_use_no_harm() -> None:
    assert scanned(bead_top().replace("AA 12.0 0.0 A", "AA 6 12.0 1 A")).charged() == "A1 of BDS1: 1"
    assert scanned(bead_top().replace("[ moleculetype ]", "CC 6 12.0 0 A 0.3 0.5\n[ moleculetype ]")).problems == []


def test_charges_of_molecules_that_the_system_lacks_do_not_count() -> None:
    water = water_top().partition("[ moleculetype ]")[2].partition("[ system ]")[0]
    text = bead_top().replace("[ system ]", f"[ moleculetype ]{water}[ system ]")
    assert scanned(text).charged() == ""
    assert scanned(text + "SOL 1\n").charged() != ""


@given(st.text(alphabet='[]#;\\\n 0123456789abcdefinouls_"', max_size=400))
def test_no_text_makes_the_scan_raise(text: str) -> None:
    scanned(text)
