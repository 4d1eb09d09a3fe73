"""Random stories: whatever people do and whatever breaks, the invariants hold; and a seed replays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.run import main
from tests.simulation.seeds import scenario_of
from tests.simulation.world import simulate

ROOT = Path(__file__).parents[2]

SEEDS = 100
BLOCK = 20


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_whatever_happens_the_invariants_hold(first: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = main(["--first", str(first), "--seeds", str(BLOCK)])
    assert found == 0, capsys.readouterr().out


def test_seeds_make_scenarios_that_differ() -> None:
    assert len({repr(scenario_of(seed)) for seed in range(50)}) == 50


def test_a_seed_makes_the_same_log_and_the_same_trace_twice() -> None:
    for seed in range(10):
        one, other = (simulate(scenario_of(seed), trace=True) for _ in range(2))
        assert one.log == other.log
        assert one.trace == other.trace


def test_a_seed_makes_the_same_log_in_another_process_with_other_hashes() -> None:
    digests = [digest(PYTHONHASHSEED=seed) for seed in ("1", "2")]
    assert len(digests[0]) == 64
    assert digests[0] == digests[1]


def digest(**variables: str) -> str:
    """Return the digest of ten seeds' logs, made by a process with these variables."""
    command = [sys.executable, "-m", "tests.simulation.run", "--seeds", "10", "--digest"]
    made = subprocess.run(command, cwd=ROOT, env={**os.environ, **variables}, capture_output=True, check=True)
    return made.stdout.decode().strip()
