"""Writes chains.prmtop and chains.inpcrd: 27 four-bead chains, the same as in the tests' GROMACS sample, by ParmEd.

Run from the repository's root: python -m tests.data.openmm.make_amber
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import parmed

from tests.mdactors.engines.openmm.samples import chain_gro, chain_top

HERE = Path(__file__).parent


def main() -> None:
    """Convert the sample and write both files beside this script."""
    with tempfile.TemporaryDirectory() as folder:
        top, gro = Path(folder) / "chains.top", Path(folder) / "chains.gro"
        top.write_text(chain_top())
        gro.write_text(chain_gro())
        structure = parmed.gromacs.GromacsTopologyFile(str(top), xyz=str(gro))
        structure.box = parmed.load_file(str(gro)).box
        amber = parmed.amber.AmberParm.from_structure(structure)
        amber.write_parm(str(HERE / "chains.prmtop"))
        amber.save(str(HERE / "chains.inpcrd"), format="rst7", overwrite=True)


if __name__ == "__main__":
    main()
