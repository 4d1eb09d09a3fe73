from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.engines.gromacs.files import EDGE, text_of
from mdactors.engines.gromacs.log import Log, fatal_error, notes, parse_head, parse_log, parse_tail, performance
from tests.mdactors.engines.gromacs.conftest import LOG_HEAD, corpus_bytes, params

REPORT = """
               Core t (s)   Wall t (s)        (%)
       Time:        6.294        6.294      100.0
                 (ns/day)    (hour/ns)
Performance:      137.304        0.175
Finished mdrun on rank 0 Tue Dec  1 02:41:41 2026
"""


def ends(data: bytes) -> Log:
    """Read a log as the platform does: the start up to the first step, and the last 64 KiB."""
    started = data.find(b"\nStarted ")
    head = data[: started + 1000 if started >= 0 else 1024 * 1024]
    return parse_log(text_of(head), text_of(data[-EDGE:]))


def whole(data: bytes) -> Log:
    text = text_of(data)
    return parse_log(text, text)


def number(text: str) -> float | None:
    return float(text) if text else None


def outcome(log: Log) -> str:
    """Say in the index's words how a run ended, as far as its log alone can tell."""
    tail = log.tail
    if tail.fatal:
        return f"failed:{tail.fatal}"
    if tail.signal or tail.time_exceeded:
        word = tail.signal.replace("second INT/TERM", "INT (second signal), no closing report")
        return f"stopped:{word or 'maxh'}"
    if not tail.finished or (log.head.steps_planned is None and log.head.version > "2016"):
        return "cut"
    return "finished" if log.head.in_time else "finished:minimization"


@pytest.mark.parametrize("row", params("gromacs-log"))
@pytest.mark.parametrize("read", [whole, ends])
class TestRealLogs:
    def test_what_the_head_says(self, row: dict[str, str], read: Callable[[bytes], Log]) -> None:
        head = read(corpus_bytes(row["file"])).head
        assert head.version == row["engine_version"]
        assert (head.precision, head.gpu_support, head.mpi) == (row["precision"], row["gpu_support"], row["mpi"])
        assert head.steps_planned == number(row["nsteps"])

    def test_the_figures(self, row: dict[str, str], read: Callable[[bytes], Log]) -> None:
        tail = read(corpus_bytes(row["file"])).tail
        assert tail.performance.get("ns/day") == number(row["ns_day"])
        assert tail.performance.get("hour/ns") == number(row["hour_ns"])
        assert (tail.core_seconds, tail.wall_seconds) == (number(row["core_t_s"]), number(row["wall_t_s"]))
        for fact in row["other"].split("; "):
            unit, _, value = fact.partition("=")
            if unit in {"Mnbf/s", "GFlops", "MFlops", "steps/hour", "ms/step", "Matom*steps/s"}:
                assert tail.performance[unit] == float(value)

    def test_how_it_ended(self, row: dict[str, str], read: Callable[[bytes], Log]) -> None:
        log = read(corpus_bytes(row["file"]))
        assert log.tail.finished is (row["finished_line"] == "yes")
        assert log.tail.last_step == number(row["last_step"])
        wanted = row["outcome"]
        assert outcome(log).startswith("cut" if wanted.startswith("cut") else wanted)
        assert log.tail.converged is ("converged to" in row["other"])

    def test_ranks_threads_and_balance(self, row: dict[str, str], read: Callable[[bytes], Log]) -> None:
        log = read(corpus_bytes(row["file"]))
        ranks, _, threads = row["ranks_threads"].partition("x")
        if ranks:
            assert log.ranks == int(ranks)
        if threads:
            assert log.threads == int(threads)
        tail = log.tail
        assert tail.imbalance_percent == number(row["imbalance_pct"])
        assert tail.imbalance_lost_percent == number(row["imbalance_lost_pct"])
        assert tail.pme_force_ratio == number(row["pme_force_ratio"])
        assert tail.pme_lost_percent == number(row["pme_wait_pct"])


@pytest.mark.parametrize("row", params("gromacs-log"))
def test_parts_of_real_logs(row: dict[str, str]) -> None:
    assert whole(corpus_bytes(row["file"])).parts == int(row["parts"])


@pytest.mark.parametrize("row", params("mdrun-stderr"))
def test_figures_on_the_terminal_are_read_alike(row: dict[str, str]) -> None:
    tail = parse_tail(text_of(corpus_bytes(row["file"])))
    assert tail.performance["ns/day"] == float(row["ns_day"])
    assert tail.wall_seconds == float(row["wall_t_s"])
    assert tail.time_exceeded is row["outcome"].endswith("maxh")
    assert tail.pme_force_ratio == number(row["pme_force_ratio"])


def test_the_device_as_the_engine_names_it() -> None:
    head = whole(corpus_bytes("gmx2026_0_cuda_signal.log")).head
    assert (head.hardware, head.uses_gpu) == ("NVIDIA GeForce RTX 4050 Laptop GPU", True)
    without = whole(corpus_bytes("gmx2025_1_cuda_npt.log")).head
    assert (without.hardware, without.uses_gpu) == ("AMD Ryzen 9 4900HS with Radeon Graphics", False)


def test_virtual_sites_are_atoms() -> None:
    assert whole(corpus_bytes("gmx2019_4_remd_plumed_unfinished.log")).head.atoms == 34834 + 10116


def test_the_head_ends_where_the_run_begins() -> None:
    head = parse_head(LOG_HEAD + "Using 9 MPI threads\n")
    assert (head.ranks, head.threads, head.atoms, head.timestep_ps) == (1, 2, 648, 0.002)
    assert head.started
    assert not parse_head(LOG_HEAD.replace("Started", "Starting")).started


def test_only_the_last_part_counts() -> None:
    text = (
        "Received the TERM signal, stopping within 20 steps\n"
        + REPORT
        + "Restarting from checkpoint, appending to previous log file.\n"
        + "Started mdrun on rank 0 now\n"
    )
    tail = parse_tail(text)
    assert (tail.signal, tail.finished, tail.performance) == ("", False, {})


def test_units_are_zipped_with_their_row() -> None:
    text = "          (hour/ns)  (Mnbf/s)   (ns/day)\nPerformance:   0.5     1e3    48\n"
    assert performance(text) == {"hour/ns": 0.5, "Mnbf/s": 1000.0, "ns/day": 48.0}


@pytest.mark.parametrize("value", ["nan", "inf", "-", ""])
def test_what_is_no_number_is_left_out(value: str) -> None:
    assert performance(f"   (ns/day)\nPerformance:  {value}\n") == {}


def test_a_cut_report_gives_what_it_has() -> None:
    assert performance("   (ns/day)   (hour/ns)\nPerformance:  1.5") == {"ns/day": 1.5}
    assert parse_tail(REPORT[: REPORT.index("Performance")]).wall_seconds == 6.294


def test_an_error_without_the_word_for_its_class() -> None:
    bar = "-" * 55
    text = f"{bar}\nProgram:     gmx mdrun, version 2022.5\nSource file: x.cpp\n\nFatal error:\nfirst\nsecond\n\nFor more\n{bar}\n"
    assert fatal_error(text) == "first second"


def test_notes_on_one_line_each() -> None:
    assert notes("NOTE: one\n      more\n\ntext\nNOTE: two\n") == ("one more", "two")


@given(st.text(max_size=400), st.integers(0, len(REPORT)))
def test_any_text_is_survived(text: str, cut: int) -> None:
    log = parse_log(LOG_HEAD[cut:] + text, text + REPORT[cut:])
    assert log.parts >= 1


def test_a_large_tail_costs_milliseconds() -> None:
    block = "           Step           Time\n         {0}       {0}.0\n\n   Energies (kJ/mol)\n    1.0  2.0\n\n"
    text = "".join(block.format(step) for step in range(1000))[-EDGE:]
    begin = time.perf_counter()
    assert parse_tail(text).last_step == 999
    assert time.perf_counter() - begin < 0.2
