"""`inject`: what somebody knows about a device."""

from __future__ import annotations

import json

import pytest

from tests.mdactors.api.world import World
from tests.mdactors.cli.conftest import Mdctl, assembling


@pytest.mark.parametrize(
    ("what", "condition"),
    [("device-unhealthy", "unhealthy"), ("device-recovered", "recovered"), ("device-lost", "lost")],
)
def test_a_report_reaches_the_platform(mdctl: Mdctl, running: World, what: str, condition: str) -> None:
    code, out, _ = mdctl("inject", what, "cpu:0", "--reason", "Xid 79")
    assert (code, out) == (0, f"cpu:0: reported as {condition}\n")
    assert running.asked[0][:4] == ("report", "cpu:0", condition, "Xid 79")
    assert json.loads(mdctl("inject", what, "cpu:0", "--json").out) == {"ok": True}


def test_what_is_said_of_a_device_while_no_platform_runs_is_on_record_for_the_next_one(
    mdctl: Mdctl, stopped: World
) -> None:
    told = mdctl("inject", "device-unhealthy", "cpu:0", "--reason", "fan", assemble=assembling(stopped))
    assert told.out == "cpu:0: reported as unhealthy\n"
    assert stopped.asked[-1][:4] == ("report", "cpu:0", "unhealthy", "fan")


def test_an_unknown_device_or_no_platform(mdctl: Mdctl, request: pytest.FixtureRequest) -> None:
    assert mdctl("inject", "device-lost", "cpu:0").code == 1
    request.getfixturevalue("running")
    assert "known: cpu:0" in mdctl("inject", "device-lost", "cuda:7").err
    assert mdctl("inject", "device-dreaming", "cpu:0").code == 2
