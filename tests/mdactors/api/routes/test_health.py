"""Whether the platform answers."""

from __future__ import annotations

from typing import Any

from tests.mdactors.api.world import World


def test_it_does(ask: Any, world: World) -> None:
    assert ask("/health") == {
        "status": "ok",
        "version": "0.1.0",
        "node": "node",
        "last_seq": world.last_seq,
        "reason": "",
    }


def test_a_closed_platform_answers_as_well(ask: Any, world: World) -> None:
    world.closed = "scheduler failed"
    assert (ask("/health")["status"], ask("/health")["reason"]) == ("closed", "scheduler failed")
