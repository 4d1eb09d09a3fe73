"""Reports on devices."""

from __future__ import annotations

from tests.mdactors.api.conftest import Api
from tests.mdactors.api.world import World


def test_a_report_reaches_the_platform(api: Api, world: World) -> None:
    body = {"condition": "unhealthy", "reason": "Xid 79", "source": "ada"}
    assert api.post("/v1/devices/cpu:0/report", json=body).json() == {"ok": True}
    assert world.asked == [("report", "cpu:0", "unhealthy", "Xid 79", "ada")]
    assert api.get("/v1/status").json()["slots"][0]["state"] == "unhealthy"


def test_an_unknown_device_or_condition_is_refused(api: Api) -> None:
    assert api.post("/v1/devices/cuda:7/report", json={"condition": "lost"}).status_code == 422
    assert api.post("/v1/devices/cpu:0/report", json={"condition": "sleepy"}).status_code == 400
