"""Waiting for jobs by events."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal

from mdactors.cli.client import BrokenAnswerError, Client
from mdactors.cli.follow import Pending, rows_of
from tests.mdactors.api.world import World


def test_it_ends_when_all_have_ended(running: World, portal: BlockingPortal) -> None:
    pending = Pending(Client(str(running.state)), [1, 2, 5])
    portal.call(running.complete, 2)
    pending.wait(since=0)
    assert pending.jobs == set()


def test_nothing_to_wait_for() -> None:
    Pending(Client("/nowhere"), []).wait(since=0)


def test_only_the_end_of_a_job_counts() -> None:
    pending = Pending(Client("/nowhere"), [1, 2])
    for kind, job in (("JobAccepted", 1), ("JobCompleted", 7), ("JobFailed", 2)):
        pending.hear({"type": kind, "job": job})
    assert pending.jobs == {1}


def test_after_a_gap_it_looks_where_the_jobs_stand(running: World) -> None:
    pending = Pending(Client(str(running.state)), [1, 2, 3, 4, 5])
    pending.hear(json.loads('{"type":"Gap","first":1,"last":20,"lost":20}'))
    assert pending.jobs == {2, 3}


def test_a_platform_that_stops_is_told(running: World, portal: BlockingPortal) -> None:
    portal.call(running.stop)
    with pytest.raises(BrokenAnswerError, match="was stopped"):
        Pending(Client(str(running.state)), [2]).wait(since=0)


def test_rows_are_asked_for_in_few_requests(running: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(400):
        running.queue()
    asked: list[Any] = []
    get = Client.get

    def counted(self: Client, path: str, **query: Any) -> Any:
        asked.append(query)
        return get(self, path, **query)

    monkeypatch.setattr(Client, "get", counted)
    wanted = [2, 5, *range(300, 406)]
    assert [row["job"] for row in rows_of(Client(str(running.state)), wanted)] == [*wanted[:-1], 405]
    assert len(asked) == 2
