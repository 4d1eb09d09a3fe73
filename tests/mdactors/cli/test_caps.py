"""`caps`: of a running platform, remembered, or looked at now."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from events.base import Record
from events.devices import ProbeRequested
from mdactors.core.capabilities import Matrix
from tests.mdactors.api.world import World, probed
from tests.mdactors.cli.conftest import Mdctl, assembling

TABLE = """\
engine   version  backend    precision  device  name  health
gromacs  2022.5   CPU        mixed      cpu:0   EPYC  ready
openmm   8.1      Reference  double     cpu:0   EPYC  ready

not usable here:
  gromacs, gmx_d: not on PATH
    apt install gromacs
"""


@pytest.mark.parametrize("source", ["running", "stopped"])
def test_rows_and_absences(mdctl: Mdctl, request: pytest.FixtureRequest, source: str) -> None:
    request.getfixturevalue(source)
    code, out, _ = mdctl("caps")
    head, _, rest = out.partition("\n")
    assert code == 0
    assert head.startswith("node node, looked at ")
    assert rest == TABLE


def test_a_refresh_asks_the_running_platform(mdctl: Mdctl, running: World) -> None:
    assert len(json.loads(mdctl("caps", "--refresh", "--json").out)["capabilities"]) == 2
    assert running.asked[0][0] == "refresh"


def test_where_nothing_is_known_a_platform_of_our_own_looks(mdctl: Mdctl, world: World) -> None:
    assert mdctl("caps", assemble=assembling(world)).out.endswith(TABLE)
    assert [each[0] for each in world.asked] == ["assemble"]


class Young(World):
    """A platform that has just begun to look around."""

    def __init__(self, state: Path) -> None:
        super().__init__(state)
        self.matrix = Matrix()

    async def events(self, *, since: int, follow: bool) -> AsyncIterator[Record]:
        yield self.append(ProbeRequested(by="start"))
        yield self.append(probed())


def test_a_platform_that_still_looks_around_is_waited_for(mdctl: Mdctl, state: Path) -> None:
    assert mdctl("caps", assemble=assembling(Young(state))).out.endswith(TABLE)


def test_a_refresh_without_a_platform_looks_again(mdctl: Mdctl, stopped: World) -> None:
    assert mdctl("caps", "--refresh", assemble=assembling(stopped)).out.endswith(TABLE)
    assert [each[0] for each in stopped.asked] == ["assemble", "refresh"]


def test_why_a_row_takes_no_work(mdctl: Mdctl, running: World) -> None:
    mdctl("inject", "device-unhealthy", "cpu:0", "--reason", "Xid 79")
    assert "unhealthy  device cpu:0 is unhealthy: Xid 79" in mdctl("caps").out
