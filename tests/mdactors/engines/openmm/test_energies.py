"""Energy logs of several attempts make one series: every step once, in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdactors.engines.openmm.energies import joined, read_energies, read_table
from mdactors.errors import EnergiesMissingError


def part(folder: Path, number: int, head: str, *rows: str) -> None:
    (folder / f"energies.part{number:04d}.csv").write_text("\n".join((head, *rows)) + "\n")


def test_parts_are_joined_and_what_is_no_energy_is_left_out(tmp_path: Path) -> None:
    part(tmp_path, 1, "step,time_ps,potential,temperature", "0,0.0,-1,300", "10,0.1,-2,301")
    part(tmp_path, 3, "step,time_ps,potential,temperature", "20,0.2,-3,302")
    read = read_energies(tmp_path)
    assert read.times_ps == (0.0, 0.1, 0.2)
    assert read.terms == {"potential": (-1.0, -2.0, -3.0)}
    assert read.source == "energies.part0001.csv, energies.part0003.csv"


def test_where_parts_overlap_the_later_one_counts() -> None:
    names = ["step", "potential"]
    common, rows = joined([(names, [[0, 1], [10, 2], [20, 3]]), (names, [[10, 7], [20, 8]])])
    assert (common, rows) == (names, [[0, 1], [10, 7], [20, 8]])


def test_columns_that_only_some_parts_have_are_left_out() -> None:
    common, rows = joined([(["step", "bond", "potential"], [[0, 1, 2]]), (["step", "potential"], [[10, 3]])])
    assert (common, rows) == (["step", "potential"], [[0, 2], [10, 3]])


@pytest.mark.parametrize("tail", ["20,0.", "20,0.2\n", "x,y,z\n"])
def test_a_broken_row_is_left_out(tail: str) -> None:
    assert read_table("step,time_ps,potential\n0,0.0,-1\n" + tail)[1] == [[0.0, 0.0, -1.0]]


def test_no_rows_are_an_error_that_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(EnergiesMissingError, match=r"energies\.part"):
        read_energies(tmp_path)
    part(tmp_path, 1, "step,time_ps,potential")
    with pytest.raises(EnergiesMissingError):
        read_energies(tmp_path)
