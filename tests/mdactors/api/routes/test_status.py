"""The platform at a glance over HTTP."""

from __future__ import annotations

import time
from typing import Any

from mdactors.views.platform import status_view
from tests.mdactors.api.world import World


def test_counts_slots_and_jobs(ask: Any, world: World) -> None:
    shown = ask("/v1/status")
    assert (shown["version"], shown["node"], shown["running"]) == ("0.1.0", "node", True)
    assert shown["last_seq"] == world.last_seq
    assert (shown["total"], shown["counts"]["running"]) == (5, 1)
    assert [(slot["slot"], slot["state"], slot["job"]) for slot in shown["slots"]] == [
        ("cpu:0/0", "idle", None),
        ("cpu:0/1", "busy", 2),
    ]
    assert [row["job"] for row in shown["active"]] == [2]
    assert [row["job"] for row in shown["latest"]] == [5, 4, 3, 1]
    assert shown["uptime_seconds"] >= 0


def test_ten_thousand_jobs_hold_the_loop_for_a_few_milliseconds_at_most(world: World) -> None:
    for _ in range(10_000):
        world.queue()
    spans = []
    for _ in range(5):
        began = time.perf_counter()
        status_view(world.jobs, world.matrix, version="", node="", state_folder="", last_seq=0, running=True)
        spans.append(time.perf_counter() - began)
    assert min(spans) < 0.05  # ten times the goal: a scan of all rows by something slow would take longer
