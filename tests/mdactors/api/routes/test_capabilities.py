"""The matrix over HTTP."""

from __future__ import annotations

from typing import Any

from tests.mdactors.api.conftest import Api
from tests.mdactors.api.world import World


def test_rows_devices_and_absences(ask: Any) -> None:
    shown = ask("/v1/capabilities")
    assert [row["engine"] for row in shown["capabilities"]] == ["gromacs", "openmm"]
    assert shown["devices"][0]["id"] == "cpu:0"
    assert shown["absences"][0]["remedy"] == "apt install gromacs"


def test_a_refresh_looks_again(api: Api, world: World) -> None:
    shown = api.post("/v1/capabilities/refresh", json={"by": "ada"})
    assert shown.status_code == 200
    assert world.asked == [("refresh", "ada")]
