"""Submit, list, look at and cancel."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mdactors.api.conftest import Api
from tests.mdactors.api.world import World

GOOD = {"kind": "tpr", "tpr": "a.tpr"}
DOUBLE = {"kind": "tpr", "tpr": "b.tpr", "precision": "double"}
WRONG = {"kind": "tpr", "tpr": "c.tpr", "nstep": 1}


def post(api: Api, jobs: list[Any], **more: Any) -> Any:
    answer = api.post("/v1/jobs", json={"jobs": jobs, "base": "/data", "owner": "ada"} | more)
    assert answer.status_code == 200, answer.text
    return answer.json()["submissions"]


class TestSubmit:
    def test_each_entry_gets_its_verdict_and_none_harms_another(self, api: Api) -> None:
        good, double, wrong = post(api, [GOOD, DOUBLE, WRONG])
        assert (good["job"], good["state"]) == (6, "queued")
        assert good["candidates"][0]["capability"].startswith("gromacs@")
        assert (double["job"], double["state"]) == (7, "rejected")
        assert "built in mixed precision" in double["refusals"][0]["text"]
        assert (wrong["job"], wrong["state"]) == (None, "refused")
        assert "nstep" in wrong["refusals"][0]["text"]

    def test_durable_does_not_wait_for_the_verdict(self, api: Api) -> None:
        (good,) = post(api, [GOOD], wait="durable")
        assert (good["job"], good["state"]) == (6, "submitted")

    def test_a_dry_run_starts_nothing(self, api: Api, world: World) -> None:
        before = world.last_seq
        feasible, refused = post(api, [GOOD, DOUBLE], dry_run=True)
        assert (feasible["job"], feasible["state"]) == (None, "feasible")
        assert refused["state"] == "refused"
        assert world.last_seq == before

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({"jobs": [GOOD], "base": "relative"}, 422),
            ({"jobs": [], "base": "/"}, 400),
            ({"jobs": [GOOD] * 1001, "base": "/"}, 400),
            ({"jobs": [GOOD], "base": "/", "urgent": True}, 400),
            ({"jobs": [GOOD]}, 400),
        ],
    )
    def test_a_request_of_the_wrong_shape_is_refused(self, api: Api, body: Any, status: int) -> None:
        answer = api.post("/v1/jobs", json=body)
        assert (answer.status_code, set(answer.json())) == (status, {"error", "detail", "remedy"})


class TestList:
    def test_pages_follow_each_other(self, ask: Any) -> None:
        first, second = ask("/v1/jobs", limit=3), ask("/v1/jobs", limit=3, offset=3)
        assert [row["job"] for row in first["jobs"] + second["jobs"]] == [1, 2, 3, 4, 5]
        assert first["total"] == 5

    def test_by_state_and_newest_first(self, ask: Any) -> None:
        page = ask("/v1/jobs", state="completed,failed", newest="true")
        assert [row["name"] for row in page["jobs"]] == ["villin", "water"]

    def test_by_number(self, ask: Any) -> None:
        assert [row["job"] for row in ask("/v1/jobs", first=2, last=3)["jobs"]] == [2, 3]

    def test_an_unknown_state_is_refused_with_the_known_ones(self, api: Api) -> None:
        answer = api.get("/v1/jobs", params={"state": "sleeping"})
        assert answer.status_code == 422
        assert "queued" in answer.json()["detail"]

    def test_no_page_is_longer_than_the_greatest(self, api: Api, ask: Any, world: World) -> None:
        for _ in range(300):
            world.queue()
        assert api.get("/v1/jobs", params={"limit": "251"}).status_code == 400
        assert len(ask("/v1/jobs", first=1, last=10_000_000)["jobs"]) == 250


class TestOne:
    def test_the_whole_story(self, ask: Any) -> None:
        job = ask("/v1/jobs/5")
        assert (job["state"], job["diagnosis"]["code"]) == ("failed", "lincs-blowup")
        assert [step["fact"] for step in job["story"]][-1] == "JobFailed"
        assert job["attempts"][0]["argv"] == ["/usr/bin/gmx", "mdrun"]

    def test_there_is_none(self, api: Api) -> None:
        answer = api.get("/v1/jobs/99")
        assert (answer.status_code, answer.json()["error"]) == (404, "unknown-job")


class TestCancel:
    def test_one(self, api: Api) -> None:
        assert api.post("/v1/jobs/3/cancel").json()["state"] == "cancelled"

    def test_several(self, api: Api, world: World) -> None:
        rows = api.post("/v1/cancel", json={"jobs": [2, 3], "by": "ada"}).json()["jobs"]
        assert [row["state"] for row in rows] == ["stopping", "cancelled"]

    def test_an_unknown_one_spoils_the_request(self, api: Api, world: World) -> None:
        assert api.post("/v1/cancel", json={"jobs": [3, 99]}).status_code == 404
        assert world.jobs[3].state == "queued"
