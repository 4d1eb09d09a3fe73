"""Figures: the four metrics that apply, and what is steady enough to be compared."""

from __future__ import annotations

import pytest

from mdactors.engines.openmm.figures import figures
from tests.mdactors.engines.openmm.results import a_result


def test_the_metrics_follow_from_steps_and_seconds() -> None:
    read = figures(a_result())
    assert (read.ns_per_day, read.ms_per_step) == (17.28, 10.0)
    assert read.hours_per_ns == pytest.approx(24 / 17.28)
    assert read.matom_steps_per_second == pytest.approx(0.0648)
    assert (read.mnbf_per_second, read.mflops) == (None, None)
    assert (read.cpu_use_percent, read.simulated_ns, read.steady) == (95.0, 0.01, True)


def test_only_this_attempt_s_steps_are_simulated_by_it() -> None:
    read = figures(a_result(first_step=4000))
    assert read.simulated_ns == pytest.approx(0.002)
    assert read.steps_done == 5000


@pytest.mark.parametrize("changes", [{"steps_timed": 999}, {"timed_seconds": 29.9}])
def test_a_short_run_is_not_steady(changes: dict[str, float]) -> None:
    assert not figures(a_result(**changes)).steady


def test_a_run_without_timed_steps_has_no_speed() -> None:
    read = figures(a_result(steps_timed=0, timed_seconds=0.0, ns_per_day=None))
    assert (read.ns_per_day, read.hours_per_ns, read.ms_per_step, read.matom_steps_per_second) == (None,) * 4


def test_a_gpu_s_threads_tell_nothing_of_its_use() -> None:
    assert figures(a_result(platform="CUDA")).cpu_use_percent is None
