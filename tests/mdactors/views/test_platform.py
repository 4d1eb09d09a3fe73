"""Slots, matrix, and everything at a glance."""

from __future__ import annotations

from pathlib import Path

import pytest

from events.devices import DeviceUnhealthy
from mdactors.core.capabilities import Matrix
from mdactors.core.lifecycle import Jobs, JobState
from mdactors.views.platform import LATEST, StatusView, matrix_view, slot_rows, status_view
from tests.mdactors.api.world import World, populated


@pytest.fixture
def crowd(tmp_path: Path) -> World:
    return populated(tmp_path)


def glance(jobs: Jobs, matrix: Matrix) -> StatusView:
    return status_view(jobs, matrix, version="1", node="n", state_folder="/s", last_seq=9, running=True)


def test_slots_and_what_runs_on_them(crowd: World) -> None:
    idle, busy = slot_rows(crowd.jobs, crowd.matrix)
    assert (idle.slot, idle.state, idle.job, idle.device_type) == ("cpu:0/0", "idle", None, "cpu")
    assert (busy.slot, busy.state, busy.job, busy.name) == ("cpu:0/1", "busy", 2, "ala2")


def test_a_sick_device_shows_on_its_slots_and_rows(crowd: World) -> None:
    crowd.append(DeviceUnhealthy(device="cpu:0", reason="Xid 79"))
    slots = slot_rows(crowd.jobs, crowd.matrix)
    assert {(slot.state, slot.reason) for slot in slots} == {("unhealthy", "Xid 79")}
    assert slots[1].job == 2
    rows = matrix_view(crowd.matrix).capabilities
    assert {(row.health, row.why) for row in rows} == {("unhealthy", "device cpu:0 is unhealthy: Xid 79")}


def test_an_empty_platform_has_a_view_as_well() -> None:
    shown = glance(Jobs(), Matrix())
    assert (shown.total, shown.slots, shown.active, shown.latest) == (0, [], [], [])
    assert set(shown.counts) == {str(state) for state in JobState}
    assert matrix_view(Matrix()).capabilities == []


def test_the_latest_are_few_and_newest_first(crowd: World) -> None:
    for _ in range(LATEST + 5):
        crowd.queue()
    latest = [row.job for row in glance(crowd.jobs, crowd.matrix).latest]
    assert latest == sorted(latest, reverse=True)
    assert len(latest) == LATEST


def test_when_a_node_was_looked_at(crowd: World) -> None:
    (node,) = matrix_view(crowd.matrix).nodes
    assert (node.node, node.probe_seconds) == ("node", 0.4)
    assert matrix_view(crowd.matrix).absences[0].what == "gmx_d"
