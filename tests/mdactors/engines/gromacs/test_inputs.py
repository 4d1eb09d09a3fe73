from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.engines.gromacs.inputs import parse_gro_atoms, parse_mdp, steps_of, system_class
from mdactors.errors import InputError
from tests.mdactors.engines.gromacs.conftest import system


def test_settings_in_every_way_that_people_write_them() -> None:
    text = "; a comment\n\nNSTEPS=100 ; why\nref_t = 300 300\r\n tc-grps= Protein Water\ndefine =\nnsteps = 200\n"
    settings = parse_mdp(text)
    assert settings == {"nsteps": "200", "ref-t": "300 300", "tc-grps": "Protein Water", "define": ""}


def test_a_line_without_equals_sign_is_named() -> None:
    with pytest.raises(InputError, match=r"line 2 .*'nsteps 100'"):
        parse_mdp("dt = 1\nnsteps 100\n")


@given(st.text(max_size=200))
def test_settings_raise_nothing_but_their_own_error(text: str) -> None:
    try:
        settings = parse_mdp(text)
    except InputError:
        return
    assert all("_" not in name for name in settings)


@pytest.mark.parametrize(("text", "steps"), [("nsteps = 5", 5), ("nsteps = -1", -1), ("nsteps =", 0), ("", 0)])
def test_number_of_steps(text: str, steps: int) -> None:
    assert steps_of(parse_mdp(text)) == steps


def test_a_number_of_steps_that_is_none() -> None:
    with pytest.raises(InputError, match="'1e6'"):
        steps_of({"nsteps": "1e6"})


def test_atoms_of_a_structure() -> None:
    assert parse_gro_atoms("title\n  648\n    1SOL", lines=651) == 648


@pytest.mark.parametrize(
    ("text", "lines", "words"),
    [
        ("", 0, "line 2"),
        ("title\nATOM      1\n", 2, "line 2"),
        ("title\n0\n", 3, "no atoms"),
        ("title\n648\n", 650, "cut off: 650 lines, 648 atoms need 651"),
    ],
)
def test_why_a_structure_can_not_be_used(text: str, lines: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        parse_gro_atoms(text, lines)


def test_the_class_of_a_real_system() -> None:
    settings = parse_mdp(system("nvt.mdp").read_text())
    assert system_class(648, settings) == "648 atoms, PME, h-bonds"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "cut-off, none"),
        ({"coulombtype": "Reaction-Field", "constraints": "all-bonds"}, "reaction field, all-bonds"),
        ({"coulombtype": "User"}, "user, none"),
    ],
)
def test_classes_of_systems(settings: dict[str, str], words: str) -> None:
    assert system_class(9, settings) == f"9 atoms, {words}"
