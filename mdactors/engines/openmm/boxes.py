"""Periodic boxes between numpy (rows are vectors, nm) and OpenMM's own vectors. Worker side."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import openmm
from openmm import unit

from mdactors.engines.openmm.gro import Array

Foreign: TypeAlias = Any
"""An object of OpenMM's, which has no type annotations."""


def to_vectors(box: Array | None) -> Foreign:
    """Return OpenMM's form of a box of shape (3, 3); None stays None."""
    return None if box is None else [openmm.Vec3(*map(float, row)) for row in box] * unit.nanometer


def from_vectors(vectors: Foreign) -> Array | None:
    """Return a box of shape (3, 3) in nm; None stays None."""
    return None if vectors is None else np.array([tuple(row) for row in vectors.value_in_unit(unit.nanometer)])
