"""The table of options: no name in two columns, and dependants only of switches that are there."""

from __future__ import annotations

import pytest

from mdactors.engines.openmm.mdp_table import ALIASES, CANONICAL, FIXED, HARMLESS, HONOURED, is_dependant, plain


def test_no_option_stands_in_two_columns() -> None:
    names = [plain(name) for name in (*HONOURED, *FIXED, *HARMLESS)]
    assert len(names) == len(set(names))


def test_no_switch_passes_for_a_dependant_of_itself() -> None:
    assert [name for name in FIXED if is_dependant(name) and CANONICAL.get(plain(name)) != name] == []


def test_aliases_lead_to_known_names() -> None:
    assert all(new in CANONICAL.values() for new in ALIASES.values())


@pytest.mark.parametrize(
    "name",
    [
        "pull-group1-name",
        "awh1-dim1-k",
        "sc-gapsys-sigma-lj",
        "QMMM-grps",
        "userint3",
        "density-guided-simulation-group",
    ],
)
def test_dependants_are_recognised(name: str) -> None:
    assert is_dependant(name)


@pytest.mark.parametrize("name", ["dt", "tcoupl", "nstlist", "scoulombtype", "salt"])
def test_others_are_not(name: str) -> None:
    assert not is_dependant(name)
