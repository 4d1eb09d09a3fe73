"""Small systems of our own, written out in code: a box of rigid waters, and a box of four-bead chains."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from events.hardware import Capability, Slot
from events.spec import AnyJobSpec, GromacsTopJob, InputFile
from mdactors.engines.openmm.job import Order
from mdactors.ports import PlanRequest, Situation

WATER_TOP = """\
[ defaults ]
1 3 yes 0.5 0.5
[ atomtypes ]
OW 8 15.9994 0.0 A 3.16557e-01 6.50629e-01
HW 1  1.0080 0.0 A 0.0 0.0
[ moleculetype ]
SOL 2
[ atoms ]
1 OW 1 SOL OW  1 -0.82 15.9994
2 HW 1 SOL HW1 1  0.41  1.0080
3 HW 1 SOL HW2 1  0.41  1.0080
[ settles ]
1 1 0.1 0.16330
[ exclusions ]
1 2 3
2 1 3
3 1 2
[ system ]
water
[ molecules ]
SOL {count}
"""

CHAIN_TOP = """\
[ defaults ]
; nbfunc comb-rule gen-pairs fudgeLJ fudgeQQ
1 {rule} yes 0.5 0.8333
[ atomtypes ]
CT 6 12.011 0.0 A 0.34 0.45
HC {number}  1.008 0.0 A 0.26 0.06
[ moleculetype ]
CHN 3
[ atoms ]
1 CT 1 CHN C1 1 -0.10 12.011
2 CT 1 CHN C2 1  0.05 12.011
3 CT 1 CHN C3 1 -0.05 12.011
4 HC 1 CHN H4 1  0.10  1.008
[ bonds ]
1 2 1 0.1526 259408.0
2 3 1 0.1526 259408.0
3 4 1 0.1090 284512.0
[ pairs ]
{pairs}
[ angles ]
1 2 3 1 109.5 334.72
2 3 4 1 109.5 418.40
[ dihedrals ]
1 2 3 4 9 0.0 0.65 3
[ system ]
chains
[ molecules ]
CHN {count}
"""

BEAD_TOP = """\
[ defaults ]
1 {rule} no 1 1
[ atomtypes ]
AA 12.0 0.0 A 0.34 0.9
BB 14.0 0.0 A 0.30 0.5
[ moleculetype ]
BDS 1
[ atoms ]
1 AA 1 BDS A1 1
2 BB 1 BDS B2 1 0.0
3 BB 1 BDS B3 1 0.0 14.0
[ system ]
beads
[ molecules ]
BDS {count}
"""
"""Nothing is bonded and nothing is charged."""

_BEADS = (("A1", 0.0, 0.0, 0.0), ("B2", 0.3, 0.0, 0.0), ("B3", 0.0, 0.3, 0.0))
_WATER = (("OW", 0.0, 0.0, 0.0), ("HW1", 0.1, 0.0, 0.0), ("HW2", -0.03334, 0.09428, 0.0))
_CHAIN = (("C1", 0.0, 0.0, 0.0), ("C2", 0.1526, 0.0, 0.0), ("C3", 0.2035, 0.1438, 0.0), ("H4", 0.2761, 0.1438, 0.0814))

SHORT_MDP: Mapping[str, str] = {
    "integrator": "md", "dt": "0.001", "nsteps": "40", "nstenergy": "10", "nstxout-compressed": "20", "coulombtype": "PME",
    "rcoulomb": "0.5", "rvdw": "0.5", "vdw-modifier": "none", "fourierspacing": "0.12", "constraints": "h-bonds",
    "tcoupl": "v-rescale", "tc-grps": "System", "tau-t": "0.1", "ref-t": "300", "gen-vel": "yes", "gen-temp": "300",
    "gen-seed": "7", "ld-seed": "8",
}  # fmt: skip


def water_top(count: int = 27) -> str:
    return WATER_TOP.format(count=count)


def chain_top(count: int = 27, *, rule: int = 2, pairs: str = "1 4 1", number: int = 1) -> str:
    return CHAIN_TOP.format(count=count, rule=rule, pairs=pairs, number=number)


def bead_top(count: int = 27, *, rule: int = 2) -> str:
    return BEAD_TOP.format(count=count, rule=rule)


def bead_gro(side: int = 3, spacing: float = 0.6) -> str:
    return _lattice("BDS", _BEADS, side, spacing, moving=False)


def water_gro(side: int = 3, spacing: float = 0.4, *, moving: bool = False) -> str:
    return _lattice("SOL", _WATER, side, spacing, moving=moving)


def chain_gro(side: int = 3, spacing: float = 0.6, *, moving: bool = False) -> str:
    return _lattice("CHN", _CHAIN, side, spacing, moving=moving)


def _lattice(
    residue: str, atoms: tuple[tuple[str, float, float, float], ...], side: int, spacing: float, *, moving: bool
) -> str:
    lines, number = [], 0
    places = [(i, j, k) for i in range(side) for j in range(side) for k in range(side)]
    for molecule, place in enumerate(places, 1):
        for name, *offset in atoms:
            number += 1
            x, y, z = (spacing * (p + 0.25) + o for p, o in zip(place, offset, strict=True))
            tail = f"{0.001 * number:8.4f}{-0.25:8.4f}{0.125:8.4f}" if moving else ""
            lines.append(f"{molecule:5d}{residue:<5s}{name:>5s}{number:5d}{x:8.3f}{y:8.3f}{z:8.3f}{tail}")
    edge = side * spacing
    return "\n".join(("sample", f"{number:5d}", *lines, f"{edge:10.5f}{edge:10.5f}{edge:10.5f}")) + "\n"


def mdp(**changes: str) -> str:
    """Return the short settings with changes; `_` stands for `-`, and an empty value leaves the option out."""
    options = {**SHORT_MDP, **{name.replace("_", "-"): value for name, value in changes.items()}}
    return "".join(f"{name} = {value}\n" for name, value in options.items() if value)


def write_inputs(folder: Path, gro: str, top: str, run: str) -> dict[str, Path]:
    inputs = folder / "inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    paths = {"gro": inputs / "conf.gro", "top": inputs / "topol.top", "mdp": inputs / "run.mdp"}
    for path, text in zip(paths.values(), (gro, top, run), strict=True):
        path.write_text(text)
    return paths


GROMACS_FILES = {"gro": "conf.gro", "top": "topol.top", "mdp": "run.mdp"}


def top_job(nsteps: int | None = None, **fields: object) -> GromacsTopJob:
    return GromacsTopJob(**GROMACS_FILES, nsteps=nsteps, **fields)  # type: ignore[arg-type]  # tests give what fits


def a_capability(**changes: object) -> Capability:
    row = {
        "id": "openmm@8.6.1/CPU/mixed@here/cpu:0", "node": "here", "engine": "openmm", "version": "8.6.1", "backend": "CPU",
        "precision": "mixed", "device": "cpu:0", "binary": "/opt/python",
    }  # fmt: skip
    return Capability(**{**row, **changes})  # type: ignore[arg-type]  # tests give what fits


def a_request(
    spec: AnyJobSpec | None = None, files: Mapping[str, str] = GROMACS_FILES, **changes: object
) -> PlanRequest:
    fields: dict[str, object] = {
        "job": 3, "attempt": 1, "spec": spec or top_job(),
        "inputs": tuple(InputFile(role, name, f"/home/x/{name}", f"digest of {name}", 1) for role, name in files.items()),
        "capability": a_capability(), "slot": Slot(id="cpu:0/0", node="here", device="cpu:0", threads=2),
        "situation": Situation(), "folder": "/state/jobs/3", "cache": "/state/cache",
    }  # fmt: skip
    return PlanRequest(**{**fields, **changes})  # type: ignore[arg-type]  # tests give what fits


def an_order(folder: Path | None = None, **changes: object) -> Order:
    base = f"{folder}/inputs" if folder else "inputs"
    fields: dict[str, object] = {
        "job": 3, "attempt": 1, "kind": "gromacs-top", "inputs": {role: f"{base}/{name}" for role, name in GROMACS_FILES.items()},
        "seed": 12, "platform": "Reference", "precision": "double", "threads": 1, "identity": "me",
    }  # fmt: skip
    return Order(**{**fields, **changes})  # type: ignore[arg-type]  # tests give what fits
