"""`reconcile`: the terms as a table, the verdict as the exit code."""

from __future__ import annotations

import json

from tests.mdactors.api.world import World
from tests.mdactors.cli.conftest import Mdctl, assembling

TABLE = """\
jobs 1 and 5 (gromacs-mixed:openmm-mixed), kJ/mol:
term        a     b  difference  allowed  relative  verdict
potential  -1  -1.1         0.1      0.5  1.00e-01  pass
verdict: pass
"""


def test_by_the_running_platform(mdctl: Mdctl, running: World) -> None:
    assert mdctl("reconcile", "1", "5") == (0, TABLE, "")
    assert json.loads(mdctl("reconcile", "1", "5", "--json").out)["verdict"] == "pass"


def test_by_a_platform_of_our_own(mdctl: Mdctl, stopped: World) -> None:
    assert mdctl("reconcile", "1", "5", assemble=assembling(stopped)) == (0, TABLE, "")


def test_a_comparison_that_can_not_be_made(mdctl: Mdctl, stopped: World) -> None:
    code, out, err = mdctl("reconcile", "3", "1", assemble=assembling(stopped))
    assert (code, out) == (1, "")
    assert err == "error: job 3 has not completed\n"
    assert mdctl("reconcile", "1", "99").code == 1
