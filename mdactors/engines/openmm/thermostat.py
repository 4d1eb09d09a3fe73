"""Stochastic velocity rescaling. Worker side; pure arithmetic on numbers that the caller reads and writes.

G. Bussi, D. Donadio, M. Parrinello, J. Chem. Phys. 126, 014101 (2007), appendix: in each coupling the kinetic energy K of
n degrees of freedom is moved by the exact solution of its own stochastic equation,

    K' = c K + (1 - c) (Kbar / n) (R1^2 + S) + 2 R1 sqrt(c (1 - c) K Kbar / n),     c = exp(-dt / tau),

with Kbar = n R T / 2, R1 a standard normal number and S the sum of n - 1 squares of such numbers, drawn from the chi-square
distribution; all velocities are then scaled by sqrt(K' / K). It samples the canonical ensemble for every tau.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

MOLAR_GAS = 8.31446261815324e-3
"""kJ/mol/K, CODATA 2018."""


class VelocityRescaling:
    """The thermostat of one run, with its random numbers and the heat that it has exchanged."""

    def __init__(self, *, kelvin: float, tau_ps: float, coupling_ps: float, freedom: int, seed: int) -> None:
        self._mean = 0.5 * freedom * MOLAR_GAS * kelvin
        self._freedom = freedom
        # GROMACS: shorter than a tenth of the coupling interval means a new kinetic energy at each coupling
        self._memory = math.exp(-coupling_ps / tau_ps) if tau_ps > 0.1 * coupling_ps else 0.0
        self._random = np.random.Generator(np.random.PCG64(seed))
        self.heat = 0.0
        """Energy taken out of the system so far, kJ/mol: added to the total energy it makes the conserved quantity."""

    def scale(self, kinetic: float) -> float:
        """Return by what to multiply all velocities, given the kinetic energy in kJ/mol; 1 for a system at rest."""
        if kinetic <= 0 or self._freedom <= 0:
            return 1.0
        new = self._moved(kinetic)
        self.heat += kinetic - new
        return math.sqrt(new / kinetic)

    def _moved(self, kinetic: float) -> float:
        c, n, mean = self._memory, self._freedom, self._mean
        first = float(self._random.standard_normal())
        rest = float(self._random.chisquare(n - 1)) if n > 1 else 0.0
        noise = (1 - c) * mean / n * (first * first + rest)
        return max(0.0, c * kinetic + noise + 2 * first * math.sqrt(c * (1 - c) * kinetic * mean / n))

    def saved(self) -> str:
        """Return everything that changes, as JSON."""
        return json.dumps({"random": self._random.bit_generator.state, "heat": self.heat})

    def restore(self, saved: str) -> None:
        """Go on from what `saved` returned.

        Raises:
            ValueError: it is something else.
        """
        state: dict[str, Any] = json.loads(saved)
        self._random.bit_generator.state = state["random"]
        self.heat = float(state["heat"])
