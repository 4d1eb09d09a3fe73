"""GROMACS coordinate files, velocities and skewed boxes included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.engines.openmm.gro import read_box, read_gro, write_gro
from mdactors.errors import InputError
from tests.mdactors.engines.openmm.samples import water_gro


def test_positions_box_and_labels() -> None:
    gro = read_gro(water_gro())
    assert gro.positions.shape == (81, 3)
    assert gro.positions[0].tolist() == [0.1, 0.1, 0.1]
    assert gro.labels[4] == "    2SOL    HW1    5"
    assert gro.velocities is None
    assert np.allclose(gro.box, np.diag([1.2] * 3))


def test_velocities_are_read_where_there_are_any() -> None:
    gro = read_gro(water_gro(moving=True))
    assert gro.velocities is not None
    assert gro.velocities[2].tolist() == [0.003, -0.25, 0.125]


def test_columns_touch_and_may_be_wider() -> None:
    text = "t\n 1\n    1SOL     OW    1-100.123 -50.000   3.000\n 9.0 9.0 9.0\n"
    assert read_gro(text).positions.tolist() == [[-100.123, -50.0, 3.0]]
    wide = "t\n 1\n    1SOL     OW    1    1.23456   -2.34567    3.45678\n 9.0 9.0 9.0\n"
    assert read_gro(wide).positions.tolist() == [[1.23456, -2.34567, 3.45678]]


def test_a_skewed_box_is_read_in_gromacs_s_order() -> None:
    assert read_box("1 2 3 0 0 0.5 0 0.6 0.7").tolist() == [[1, 0, 0], [0.5, 2, 0], [0.6, 0.7, 3]]


@pytest.mark.parametrize(
    "text", ["", "t\nmany\n", "t\n 2\n    1SOL     OW    1   1.000   1.000   1.000\n", "t\n 0\n 1 2\n"]
)
def test_what_is_no_complete_file_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError, match="not a complete gro"):
        read_gro(text)


@given(st.booleans())
def test_what_is_written_is_read_back(moving: bool) -> None:
    gro = read_gro(water_gro(moving=moving))
    back = read_gro(write_gro(gro))
    assert np.allclose(back.positions, gro.positions)
    assert (back.velocities is None) == (not moving)
    assert back.labels == gro.labels


def test_a_skewed_box_is_written_back() -> None:
    gro = read_gro(water_gro().rpartition("   1.2")[0].rpartition("\n")[0] + "\n1 2 3 0 0 0.5 0 0.6 0.7\n")
    assert np.allclose(read_gro(write_gro(gro)).box, gro.box)
