from __future__ import annotations

import pytest

from mdactors.engines.gromacs.figures import measured, ratio, timed_steps, unmeasured
from mdactors.engines.gromacs.files import text_of
from mdactors.engines.gromacs.log import Head, Log, Tail, parse_log
from tests.mdactors.engines.gromacs.conftest import corpus_bytes, params


def log_of(name: str) -> Log:
    text = text_of(corpus_bytes(name))
    return parse_log(text, text)


@pytest.mark.parametrize("row", params("gromacs-log"))
def test_printed_and_computed_figures_agree(row: dict[str, str]) -> None:
    figures = measured(log_of(row["file"]))
    if not row["ns_day"] or not figures.timestep_ps or not figures.steps_timed or figures.steps_timed < 200:
        return
    assert figures.wall_seconds is not None
    by_hand = figures.steps_timed * figures.timestep_ps * 86.4 / figures.wall_seconds
    assert by_hand == pytest.approx(float(row["ns_day"]), rel=0.01)
    assert figures.ms_per_step == pytest.approx(1000 * figures.wall_seconds / figures.steps_timed, rel=1e-3)
    assert figures.mflops is None or figures.mflops > 0


def test_the_six_metrics_of_2026_as_printed() -> None:
    figures = measured(log_of("gmx2026_0_cuda_signal.log"))
    assert (figures.ns_per_day, figures.hours_per_ns) == (118.705, 0.202)
    assert (figures.ms_per_step, figures.matom_steps_per_second) == (1.456, 58.266)
    assert figures.mnbf_per_second == pytest.approx((789740191.950336 + 7977286.210240) / 10315.331)
    assert figures.mflops == pytest.approx(52990572334.203 / 10315.331)
    assert figures.cpu_use_percent == pytest.approx(100.0)
    assert figures.steady


def test_flops_computed_from_the_table_are_those_that_are_printed() -> None:
    log = log_of("gmx456_zero_perf.log")
    assert measured(log).mflops == 337.431
    printed = log_of("gmx455_swarm_run0.log")
    assert measured(printed).mflops == 4813.0
    assert ratio(printed.tail.megaflops, printed.tail.core_seconds) == pytest.approx(4813.0, rel=1e-3)


def test_only_steps_after_a_reset_were_timed() -> None:
    assert timed_steps(log_of("gmx2022_5_resethway.log")) == 750
    assert timed_steps(log_of("gmx2022_5_term_then_continued.log")) == 17370


def test_the_rate_gives_the_steps_where_the_table_is_missing() -> None:
    log = Log(
        head=Head(timestep_ps=0.002),
        tail=Tail(performance={"ns/day": 172.8}, wall_seconds=10.0, force_calls=None),
    )
    assert timed_steps(log) == 9999


def test_a_count_that_the_rate_contradicts_is_not_used() -> None:
    log = Log(
        head=Head(timestep_ps=0.002),
        tail=Tail(performance={"ns/day": 172.8}, wall_seconds=10.0, force_calls=31),
    )
    assert timed_steps(log) == 9999


@pytest.mark.parametrize(
    ("calls", "wall", "steady"), [(1001, 30.0, True), (1000, 30.0, False), (100_000, 29.9, False), (None, 99.0, False)]
)
def test_short_runs_are_not_steady(calls: int | None, wall: float, *, steady: bool) -> None:
    log = Log(head=Head(atoms=10), tail=Tail(force_calls=calls, wall_seconds=wall))
    assert measured(log).steady is steady


def test_each_rate_gives_the_other() -> None:
    assert measured(Log(head=Head(), tail=Tail(performance={"ns/day": 48.0}))).hours_per_ns == 0.5
    assert measured(Log(head=Head(), tail=Tail(performance={"hour/ns": 0.5}))).ns_per_day == 48.0


def test_cpu_use_is_of_the_threads_that_were_given() -> None:
    log = Log(head=Head(ranks=2, threads=4), tail=Tail(cpu_percent=400.0))
    assert measured(log).cpu_use_percent == 50.0


def test_no_speeds_where_none_were_measured() -> None:
    figures = unmeasured(log_of("gmx2022_5_spc_finished.log"))
    assert figures.ns_per_day is None
    assert figures.wall_seconds is None
    assert (figures.atoms, figures.engine_version) == (648, "2022.5-Debian_2022.5_2")


def test_dividing_by_nothing() -> None:
    assert ratio(1.0, 0.0) is None
    assert ratio(None, 1.0) is None
    assert ratio(1.0, None) is None
