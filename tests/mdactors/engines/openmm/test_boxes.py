"""Boxes keep their nanometres on the way to OpenMM and back."""

from __future__ import annotations

import numpy as np
from openmm import unit

from mdactors.engines.openmm.boxes import from_vectors, to_vectors

BOX = np.array([[2.0, 0.0, 0.0], [0.5, 2.5, 0.0], [-0.5, 0.25, 3.0]])


def test_there_and_back() -> None:
    back = from_vectors(to_vectors(BOX))
    assert back is not None
    assert np.array_equal(back, BOX)


def test_other_units_are_converted() -> None:
    back = from_vectors(to_vectors(BOX).in_units_of(unit.angstrom))
    assert back is not None
    assert np.allclose(back, BOX)


def test_no_box_stays_none() -> None:
    assert to_vectors(None) is None
    assert from_vectors(None) is None
