"""What each GROMACS option means to the OpenMM adapter: one commented table, names and defaults as GROMACS 2022-2026 has them.

GROMACS compares option names and words without regard to case, `-` and `_`; so does `plain`, and so do the tables.
An option in none of them is refused by name.
"""

from __future__ import annotations


def plain(word: str) -> str:
    """Return a name or word as GROMACS compares it: `Nst_List` and `nstlist` are the same."""
    return word.lower().replace("-", "").replace("_", "")


HONOURED: dict[str, str] = {
    # run control
    "integrator": "md", "dt": "0.001", "nsteps": "0", "tinit": "0", "init-step": "0", "continuation": "no",
    "comm-mode": "linear", "nstcomm": "100", "comm-grps": "", "ld-seed": "-1",
    # output: how often; OpenMM writes one trajectory, compressed
    "nstenergy": "1000", "nstxout": "0", "nstvout": "0", "nstfout": "0", "nstxout-compressed": "0",
    "compressed-x-grps": "", "compressed-x-precision": "1000",
    # interactions
    "coulombtype": "cut-off", "coulomb-modifier": "potential-shift", "rcoulomb": "1",
    "vdwtype": "cut-off", "vdw-modifier": "potential-shift", "rvdw": "1", "rvdw-switch": "0", "DispCorr": "no",
    "ewald-rtol": "1e-5", "fourierspacing": "0.12", "fourier-nx": "0", "fourier-ny": "0", "fourier-nz": "0",
    "pme-order": "4", "constraints": "none", "constraint-algorithm": "lincs",
    # temperature and velocities
    "tcoupl": "no", "nsttcouple": "-1", "tc-grps": "", "tau-t": "", "ref-t": "",
    "gen-vel": "no", "gen-temp": "300", "gen-seed": "-1",
}  # fmt: skip
"""Options that decide what the worker does -> GROMACS's default."""

FIXED: dict[str, tuple[str, ...]] = {
    # the first word is GROMACS's default; an empty word: the option is left empty
    "cutoff-scheme": ("verlet",),
    "define": ("",),
    "pbc": ("xyz",),
    "periodic-molecules": ("no", "false"),
    "epsilon-r": ("1",),
    "epsilon-surface": ("0",),
    "ewald-geometry": ("3d",),
    "implicit-solvent": ("no",),
    "pcoupl": ("no",),
    "mts": ("no", "false"),
    "morse": ("no",),
    "energygrp-excl": ("",),
    "energygrp-table": ("",),
    "freezegrps": ("",),
    "acc-grps": ("",),
    "annealing": ("", "no"),
    "cos-acceleration": ("0",),
    "deform": ("", "0"),
    "electric-field-x": ("", "0"),
    "electric-field-y": ("", "0"),
    "electric-field-z": ("", "0"),
    "nwall": ("0",),
    "pull": ("no", "false"),
    "awh": ("no", "false"),
    "rotation": ("no", "false"),
    "IMD-group": ("",),
    "disre": ("no",),
    "orire": ("no", "false"),
    "free-energy": ("no",),
    "expanded": ("no",),
    "simulated-tempering": ("no", "false"),
    "swapcoords": ("no",),
    "adress": ("no", "false"),
    "QMMM": ("no", "false"),
    "density-guided-simulation-active": ("false", "no"),
    "qmmm-cp2k-active": ("false", "no"),
    "colvars-active": ("false", "no"),
    "nnpot-active": ("false", "no"),
    "fmm-override-active": ("false", "no"),
    "mass-repartition-factor": ("1",),
    "ensemble-temperature-setting": ("auto",),
}
"""Options that the adapter takes only at values that mean `off`."""

HARMLESS: tuple[str, ...] = (
    # pair lists: how often they are rebuilt and how thick they are, never which pairs count
    "nstlist", "ns-type", "verlet-buffer-tolerance", "verlet-buffer-pressure-tolerance", "rlist", "rlistlong", "nstcalclr",
    # logs, and groups that only sort the output
    "nstlog", "nstcalcenergy", "energygrps", "user1-grps", "user2-grps", "nstcheckpoint",
    # accuracy of the constraint solver; OpenMM's relative tolerance is 1e-5 or better
    "lincs-order", "lincs-iter", "lincs-warnangle", "shake-tol", "shake-sor",
    # belongs to methods that are refused, or to none
    "title", "cpp", "include", "simulation-part", "rcoulomb-switch", "epsilon-rf", "table-extension", "ewald-rtol-lj",
    "lj-pme-comb-rule", "optimize-fft", "bd-fric", "emtol", "emstep", "niter", "fcstep", "nstcgsteep", "nbfgscorr",
    "rtpi", "nh-chain-length", "print-nose-hoover-chain-variables", "andersen-seed", "pcoupltype", "nstpcouple", "tau-p",
    "compressibility", "ref-p", "refcoord-scaling", "accelerate", "freezedim", "domain-decomposition",
    "sc-function", "sc-alpha", "sc-power", "sc-r-power", "sc-sigma", "sc-coul", "init-wl-delta", "wl-scale", "wl-ratio",
    "wl-oneovert", "sa-algorithm", "sa-surface-tension", "rgbradii", "nstgbradii", "threshold", "coupl-steps", "bOPT", "bTS",
    "SHsteps", "SAoff", "SAon", "SAsteps", "CASorbitals", "CASelectrons",
    "nstdhdl", "dhdl-print-energy", "separate-dhdl-file", "dhdl-derivatives", "dh-hist-size", "dh-hist-spacing",
    "calc-lambda-neighbors", "delta-lambda", "ensemble-temperature",
)  # fmt: skip
"""Options that change no dynamics here, whatever their value."""

FAMILIES: tuple[str, ...] = (
    # dependants of a switch in FIXED; as that one is off, they mean nothing
    "pull-", "awh-", "awh1-", "rot-", "annealing-", "wall-", "disre-", "nstdisreout", "orire-", "nstorireout",
    "couple-", "init-lambda", "fep-lambdas", "mass-lambdas", "coul-lambdas", "vdw-lambdas", "bonded-lambdas",
    "restraint-lambdas", "temperature-lambdas", "sc-gapsys-", "lmc-", "mc-temperature", "nstexpanded", "sim-temp-",
    "simulated-tempering-", "swap-", "split-", "massw-", "solvent-group", "iontype", "cyl0-", "cyl1-", "bulk-offset",
    "adress-", "QMMM-", "QMmethod", "QMMMscheme", "QMbasis", "QMcharge", "QMmult", "MMChargeScaleFactor", "mts-",
    "userint", "userreal", "density-guided-simulation-", "qmmm-cp2k-", "colvars-", "nnpot-", "fmm-", "gb-obc-",
    "gb-algorithm", "gb-epsilon-", "gb-saltconc", "gb-dielectric-",
)  # fmt: skip
"""Beginnings of such names."""

ALIASES: dict[str, str] = {
    "vdw-type": "vdwtype",
    "xtc-grps": "compressed-x-grps",
    "xtc-precision": "compressed-x-precision",
    "nstxtcout": "nstxout-compressed",
    "unconstrained-start": "continuation",
    "coulomb-type": "coulombtype",
}
"""Older or second names -> the one used here."""

SHOWN: dict[str, str] = {plain(name): name for name in (*HONOURED, *FIXED, *HARMLESS)}
"""Plain name -> the name as documentation spells it."""
CANONICAL: dict[str, str] = {**SHOWN, **{plain(old): new for old, new in ALIASES.items()}}
"""Plain name, aliases included -> the name used in these tables."""
_FAMILIES = tuple(plain(start) for start in FAMILIES)


def is_dependant(name: str) -> bool:
    """Tell whether an option only details something that is switched off."""
    return plain(name).startswith(_FAMILIES)
