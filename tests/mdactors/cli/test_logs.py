"""`logs`: the engine's own output."""

from __future__ import annotations

import pytest

from tests.mdactors.api.world import REFUSAL, World
from tests.mdactors.cli.conftest import Mdctl


@pytest.fixture(autouse=True)
def _files(world: World) -> None:
    folder = world.state / "jobs" / "1"
    (folder / "attempts" / "1" / "stderr").write_text("GROMACS reminds you\n")
    (folder / "md.log").write_text("Step 0\n")


@pytest.mark.parametrize("source", ["running", "stopped"])
def test_from_a_running_platform_and_from_files(mdctl: Mdctl, request: pytest.FixtureRequest, source: str) -> None:
    request.getfixturevalue(source)
    assert mdctl("logs", "1") == (0, "GROMACS reminds you\n", "")
    assert mdctl("logs", "1", "--stderr").out == "GROMACS reminds you\n"
    assert mdctl("logs", "1", "--engine-log").out == "Step 0\n"
    assert mdctl("logs", "1", "-f").out == "GROMACS reminds you\n"
    assert mdctl("logs", "1", "--stdout") == (0, "", "job 1 has written nothing there\n")
    assert mdctl("logs", "3") == (0, "", "job 3 has not run yet\n")
    assert mdctl("logs", "4") == (0, "", f"job 4 never ran: {REFUSAL.text()}\n")
    assert mdctl("logs", "99").code == 1


def test_following_the_files_of_a_stopped_platform_ends_and_says_so(mdctl: Mdctl, stopped: World) -> None:
    code, out, err = mdctl("logs", "1", "-f")
    assert (code, out) == (0, "GROMACS reminds you\n")
    assert err == f"no platform is running on {stopped.state}: this is what there is by now\n"
