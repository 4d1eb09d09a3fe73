"""`cancel`: by the running platform, or by one of our own that adopts what goes on."""

from __future__ import annotations

import json

from events.attempts import AttemptEnded
from events.jobs import JobCancelled
from tests.mdactors.api.world import World
from tests.mdactors.cli.conftest import Mdctl, assembling


def test_several_jobs(mdctl: Mdctl, running: World) -> None:
    code, out, _ = mdctl("cancel", "2", "3", "--json")
    assert (code, [row["state"] for row in json.loads(out)]) == (0, ["stopping", "cancelled"])
    assert "cancelled" in mdctl("cancel", "3").out


def test_an_unknown_job_spoils_the_request(mdctl: Mdctl, running: World) -> None:
    assert mdctl("cancel", "3", "99").code == 1
    assert running.jobs[3].state == "queued"


class Adopting(World):
    """Ends a cancelled job when it is waited for."""

    async def finished(self, jobs: object) -> None:
        self.append(AttemptEnded(job=2, attempt=1, slot="cpu:0/1", outcome="stopped"))
        self.append(JobCancelled(job=2, attempt=1))


def test_where_none_is_running_engines_are_adopted_and_stopped(mdctl: Mdctl, stopped: World) -> None:
    stopped.__class__ = Adopting
    code, out, _ = mdctl("cancel", "2", assemble=assembling(stopped))
    assert code == 0
    assert "cancelled" in out


def test_nothing_is_started_for_a_job_that_does_not_exist(mdctl: Mdctl, stopped: World) -> None:
    code, _, err = mdctl("cancel", "99")
    assert (code, err.splitlines()[0]) == (1, "error: there is no job 99")


def test_more_jobs_than_a_request_may_name(mdctl: Mdctl, running: World) -> None:
    numbers = [str(running.queue()) for _ in range(1200)]
    code, out, _ = mdctl("cancel", *numbers, "--json")
    assert (code, [str(row["job"]) for row in json.loads(out)]) == (0, numbers)
    assert {row["state"] for row in json.loads(out)} == {"cancelled"}
