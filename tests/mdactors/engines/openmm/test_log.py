"""Progress and result, read while they are written and after they were cut."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from mdactors.engines.openmm.job import Progress
from mdactors.engines.openmm.log import newest, read_progress, read_result, reading


def line(step: int) -> bytes:
    progress = Progress(step=step, steps_asked=900, time_ps=0.1, timestep_ps=0.002, ns_per_day=None, elapsed=1.0)
    return msgspec.json.encode(progress) + b"\n"


def write(folder: Path, data: bytes) -> None:
    (folder / "attempts/1").mkdir(parents=True, exist_ok=True)
    (folder / "attempts/1/progress.jsonl").write_bytes(data)


def test_the_newest_whole_line_counts(tmp_path: Path) -> None:
    write(tmp_path, line(10) + line(20) + line(30)[:-9])
    progress = read_progress(tmp_path, 1)
    assert progress is not None
    assert progress.step == 20


@pytest.mark.parametrize("data", [b"", b"{", b"nonsense\n", b'{"step": 1}\n'])
def test_what_can_not_be_read_is_no_progress(data: bytes) -> None:
    assert newest(data) is None


def test_garbage_after_a_good_line_is_passed_over() -> None:
    found = newest(line(40) + b"\x00\x00\n")
    assert found is not None
    assert found.step == 40


def test_no_file_is_no_progress_and_no_result(tmp_path: Path) -> None:
    assert read_progress(tmp_path, 1) is None
    assert reading(None) is None
    assert read_result(tmp_path, 1) is None


def test_a_long_log_is_read_in_under_a_millisecond(tmp_path: Path) -> None:
    write(tmp_path, b"".join(line(step) for step in range(20_000)))
    seconds = []
    for _ in range(20):
        start = time.perf_counter()
        progress = read_progress(tmp_path, 1)
        seconds.append(time.perf_counter() - start)
    assert progress is not None
    assert progress.step == 19_999
    assert min(seconds) < 1e-3


def test_a_reading_has_the_platform_s_words() -> None:
    found = reading(newest(line(50)))
    assert found is not None
    assert (found.step, found.steps_asked, found.timestep_ps) == (50, 900, 0.002)


def test_a_result_that_was_cut_is_none(tmp_path: Path) -> None:
    (tmp_path / "attempts/1").mkdir(parents=True)
    (tmp_path / "attempts/1/result.json").write_text('{"outcome": "comp')
    assert read_result(tmp_path, 1) is None
