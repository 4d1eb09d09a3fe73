from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.archive.statistics import Like, deviation_percent, group, like, speed, summary
from tests.mdactors.archive.builders import a_context, a_performance

SPEEDS = st.lists(st.floats(min_value=1e-3, max_value=1e6), min_size=1, max_size=50)


@pytest.mark.parametrize(
    "changes",
    [
        {"engine": "openmm"},
        {"version": "2023.1"},
        {"backend": "CUDA"},
        {"precision": "double"},
        {"device_name": "Other CPU"},
        {"threads": 2},
        {"system": "2269 atoms, PME, h-bonds"},
    ],
)
def test_unlike_contexts_are_kept_apart(changes: dict[str, Any]) -> None:
    assert like(a_context(**changes)) != like(a_context())
    assert len(group([a_performance(), a_performance(**changes)])) == 2


def test_place_and_neighbours_do_not_part_what_is_alike() -> None:
    assert like(a_context(slot="cpu:0/1", node="n1", neighbours=2, inputs_sha256=("cd",))) == like(a_context())


def test_the_key_names_every_field_once() -> None:
    assert like(a_context()) == Like("gromacs", "2022.5", "CPU", "mixed", "Some CPU", 1, "648 atoms, PME, h-bonds")


@pytest.mark.parametrize(
    "event",
    [
        a_performance(steady=False),
        a_performance(outcome="failed"),
        a_performance(outcome="vanished"),
        a_performance(system=""),
        a_performance(value=0.0),
        a_performance(value=math.nan),
    ],
)
def test_what_says_nothing_does_not_enter(event: Any) -> None:
    assert speed(event) is None
    assert group([event]) == {}


def test_stopped_runs_enter_with_their_speed() -> None:
    assert list(group([a_performance(value=3.0, outcome="stopped"), a_performance(value=4.0)]).values()) == [[3.0, 4.0]]


def test_numbers() -> None:
    made = summary([1.0, 2.0, 6.0])
    assert made is not None
    assert (made.count, made.mean, made.median, made.least, made.greatest) == (3, 3.0, 2.0, 1.0, 6.0)
    assert made.spread == pytest.approx(math.sqrt(7.0))
    assert deviation_percent(2.1, [1.0, 2.0, 6.0]) == pytest.approx(-30.0)


def test_no_history_no_deviation() -> None:
    assert summary([]) is None
    assert deviation_percent(5.0, []) is None
    lone = summary([5.0])
    assert lone is not None
    assert lone.spread == 0.0


@given(SPEEDS)
def test_mean_and_median_lie_inside(values: list[float]) -> None:
    made = summary(values)
    assert made is not None
    assert made.least <= made.median <= made.greatest
    assert made.least * (1 - 1e-12) <= made.mean <= made.greatest * (1 + 1e-12)
    assert made.spread >= 0


@given(SPEEDS, st.floats(min_value=1e-3, max_value=1e6))
def test_a_deviation_gives_the_figure_back(values: list[float], figure: float) -> None:
    made = summary(values)
    deviation = deviation_percent(figure, values)
    assert made is not None
    assert deviation is not None
    assert made.mean * (1 + deviation / 100) == pytest.approx(figure, rel=1e-9, abs=1e-9 * made.mean)
