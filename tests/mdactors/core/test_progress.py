"""How fast, and how long still."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.core.progress import WINDOW, Pace


def pace_of(*points: tuple[float, int]) -> Pace:
    pace = Pace()
    for now, step in points:
        pace.note(now, step)
    return pace


def test_one_point_is_no_pace() -> None:
    for pace in (Pace(), pace_of((0.0, 100)), pace_of((0.0, 100), (5.0, 100))):
        assert pace.steps_per_second is None
        assert pace.ns_per_day(0.002) is None
        assert pace.seconds_left(1000) is None


def test_units() -> None:
    pace = pace_of((0.0, 0), (10.0, 5000))
    assert pace.steps_per_second == 500.0
    assert pace.ns_per_day(0.002) == pytest.approx(86.4)  # 500 steps/s of 2 fs: 1 ps/s
    assert pace.seconds_left(10_000) == 10.0


def test_what_is_not_known_is_not_told() -> None:
    pace = pace_of((0.0, 0), (10.0, 5000))
    assert pace.ns_per_day(None) is None
    assert pace.seconds_left(None) is None


def test_who_is_past_the_end_has_no_time_left_rather_than_less() -> None:
    assert pace_of((0.0, 0), (10.0, 5000)).seconds_left(4000) == 0.0


def test_a_slow_start_is_forgotten() -> None:
    pace = pace_of((0.0, 0), (100.0, 10), *((100.0 + t, 10 + 100 * t) for t in range(1, 120)))
    assert pace.steps_per_second == pytest.approx(100.0)


def test_a_step_seen_before_says_nothing_new() -> None:
    pace = pace_of((0.0, 0), (1.0, 100), (2.0, 100), (3.0, 50))
    assert pace.steps_per_second == 100.0


def test_two_points_at_one_time_are_no_pace() -> None:
    assert pace_of((1.0, 0), (1.0, 100)).steps_per_second is None


@given(
    st.integers(1, 10**6),
    st.lists(st.floats(min_value=0.01, max_value=3 * WINDOW), min_size=2, max_size=100),
    st.integers(0, 10**9),
)
def test_a_steady_run_has_its_pace_however_it_is_looked_at(rate: int, gaps: list[float], asked: int) -> None:
    pace, now = Pace(), 0.0
    for gap in gaps:
        now += max(gap, 1.0 / rate * 2)
        pace.note(now, int(rate * now))
    speed = pace.steps_per_second
    assert speed is not None
    first, last = pace._points[0], pace._points[-1]
    assert speed == pytest.approx(rate, abs=1.0 / (last[0] - first[0]) + 1e-6 * rate)
    left = pace.seconds_left(asked)
    assert left is not None
    assert left >= 0
    assert len(pace._points) <= 2 or last[0] - pace._points[1][0] <= WINDOW
