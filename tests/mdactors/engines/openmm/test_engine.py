"""The engine: the platform's Protocol, and no OpenMM in the platform's process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from mdactors.engines.openmm.engine import OpenMMEngine
from mdactors.ports import Engine
from tests.mdactors.engines.openmm.samples import a_request, mdp, top_job, water_gro, water_top, write_inputs

ROOT = Path(__file__).parents[4]


def test_it_is_an_engine_of_the_platform() -> None:
    engine: Engine = OpenMMEngine()
    assert (engine.name, engine.kinds) == ("openmm", ("openmm", "gromacs-top", "amber"))


def test_its_doors_lead_where_they_say(tmp_path: Path) -> None:
    engine = OpenMMEngine()
    files = write_inputs(tmp_path, water_gro(), water_top(), mdp())
    assert engine.examine(top_job(), files).atoms == 81
    assert engine.survey(tmp_path, top_job()).step == 0
    assert engine.plan(a_request()).argv[0] == "/opt/python"
    assert engine.progress(tmp_path, 1) is None


def test_the_platform_s_process_never_loads_openmm_or_numpy() -> None:
    code = (
        "import sys; import mdactors.engines.openmm.engine; "
        "sys.exit(' '.join({'openmm', 'numpy'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
