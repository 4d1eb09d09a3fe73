from __future__ import annotations

import csv
import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.outcome import Figures
from mdactors.archive import ledger
from mdactors.archive.ledger import HEADER, NAMES, Ledger, line, read, row
from tests.mdactors.archive.builders import a_context, a_failure, a_job, an_attempt


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.csv"


def filled(path: Path, *jobs: int) -> Ledger:
    book = Ledger(path)
    for job in jobs:
        assert book.append(a_job(an_attempt(), job=job), an_attempt(), a_context())
    return book


# ---------------------------------------------------------------- rows


def test_a_row_holds_the_whole_context() -> None:
    attempt = an_attempt()
    made = row(a_job(attempt), attempt, a_context(neighbours=3))
    assert tuple(made) == NAMES
    expected = {
        "job": 1,
        "attempt": 1,
        "name": "water",
        "owner": "ada",
        "project": "",
        "outcome": "completed",
        "diagnosis": None,
        "version": "2022.5",
        "cpus": "0 2",
        "neighbours": 3,
        "atoms": 648,
        "ns_per_day": 100.0,
        "hours_per_ns": 0.24,
        "ms_per_step": 1.728,
        "matom_steps_per_second": 0.375,
        "mnbf_per_second": None,
        "mflops": None,
        "steady": "true",
        "conserved_drift": -6e-5,
        "submitted": "2023-11-14T22:13:20.000000Z",
        "started": "2023-11-14T22:13:30.500000Z",
        "ended": "2023-11-14T22:15:00.000000Z",
        "wait_seconds": 10.0,
        "exit_code": 0,
        "inputs_sha256": "ab12",
        "added": "'-ntmpi 1",
    }
    assert {name: made[name] for name in expected} == expected


def test_a_failure_leaves_a_row_with_its_diagnosis() -> None:
    made = row(a_job(a_failure()), a_failure(), a_context())
    assert (made["outcome"], made["diagnosis"], made["exit_code"]) == ("failed", "lincs-blowup", -11)
    assert made["ns_per_day"] is None


def test_without_its_context_a_speed_is_left_out_and_the_rest_kept() -> None:
    attempt = an_attempt()
    made = row(a_job(attempt), attempt, a_context(system=""))
    assert [made[name] for name in ("ns_per_day", "hours_per_ns", "ms_per_step", "matom_steps_per_second")] == [
        None
    ] * 4
    assert (made["steps_done"], made["wall_seconds"], made["outcome"]) == (50_000, 86.4, "completed")


def test_a_nameless_job_is_called_by_its_input() -> None:
    attempt = an_attempt()
    assert row(a_job(attempt, name=""), attempt, a_context())["name"] == "water.tpr"


def test_a_vanished_attempt_has_empty_cells_not_zeros() -> None:
    attempt = an_attempt(outcome="vanished", exit=None, started=None, figures=Figures())
    made = row(a_job(attempt), attempt, a_context())
    assert [made[name] for name in ("exit_code", "started", "steps_done", "atoms")] == [None] * 4


# ---------------------------------------------------------------- the file


def test_the_header_is_written_once(path: Path) -> None:
    filled(path, 1, 2)
    filled(path, 3)
    assert path.read_bytes().count(HEADER) == 1
    assert path.read_bytes().startswith(HEADER)
    assert [each["job"] for each in read(path)] == ["1", "2", "3"]


def test_an_attempt_is_written_once_also_after_a_restart(path: Path) -> None:
    filled(path, 1)
    again = Ledger(path)
    assert again.has(1, 1)
    assert not again.has(1, 2)
    assert not again.append(a_job(an_attempt()), an_attempt(), a_context())
    assert len(read(path)) == len(again) == 1


def test_any_csv_reader_reads_it(path: Path) -> None:
    book = Ledger(path)
    book.append(a_job(an_attempt(), name='a "quoted", name'), an_attempt(), a_context())
    with path.open(encoding="utf-8", newline="") as file:
        (found,) = csv.DictReader(file)
    assert found["name"] == 'a "quoted", name'
    assert float(found["conserved_drift"]) == -6e-5
    assert float(found["ns_per_day"]) == 100.0


def test_reading_takes_the_guard_away(path: Path) -> None:
    Ledger(path).append(a_job(an_attempt(), name="=cmd|'/c calc'!A0"), an_attempt(), a_context())
    assert b"'=cmd|" in path.read_bytes()
    (found,) = read(path)
    assert found["name"] == "=cmd|'/c calc'!A0"
    assert found["added"] == "-ntmpi 1"


def test_a_missing_file_has_no_rows(path: Path) -> None:
    assert read(path) == []
    assert len(Ledger(path)) == 0
    assert not path.exists()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.text(max_size=30), torn=st.integers(min_value=1, max_value=10_000))
def test_a_torn_line_is_cut_and_whole_ones_stay(path: Path, text: str, torn: int) -> None:
    path.unlink(missing_ok=True)
    attempt = an_attempt()
    Ledger(path).append(a_job(attempt, name=text), attempt, a_context())
    whole = path.read_bytes()
    unfinished = line(row(a_job(attempt, job=2), attempt, a_context()))[:-1]
    path.write_bytes(whole + unfinished[: torn % len(unfinished) + 1])
    book = Ledger(path)
    assert path.read_bytes() == whole
    assert book.cut > 0
    assert not book.has(2, 1)
    assert book.append(a_job(attempt, job=2), attempt, a_context())
    first, second = read(path)
    assert first["name"] == (" ".join(text.splitlines()).replace("\0", " ") if text else "water.tpr")
    assert second["job"] == "2"


def test_a_tear_longer_than_a_block_is_cut_too(path: Path) -> None:
    filled(path, 1)
    whole = path.read_bytes()
    path.write_bytes(whole + b"2,1," + b"x" * (2 * ledger.BLOCK_BYTES))
    assert Ledger(path).cut == 4 + 2 * ledger.BLOCK_BYTES
    assert path.read_bytes() == whole


def test_a_torn_header_is_written_anew(path: Path) -> None:
    path.write_bytes(HEADER[:10])
    book = filled(path, 1)
    assert (book.cut, book.set_aside) == (10, None)
    assert path.read_bytes().count(HEADER) == 1
    assert [each["job"] for each in read(path)] == ["1"]


def test_a_tear_after_opening_is_cut_before_the_next_row(path: Path) -> None:
    book = filled(path, 1)
    with path.open("ab") as file:
        file.write(b"somebody was here")
    book.append(a_job(an_attempt(), job=2), an_attempt(), a_context())
    assert [each["job"] for each in read(path)] == ["1", "2"]


def test_a_file_moved_away_is_begun_anew(path: Path) -> None:
    book = filled(path, 1)
    path.rename(path.with_name("old.csv"))
    book.append(a_job(an_attempt(), job=2), an_attempt(), a_context())
    assert path.read_bytes().startswith(HEADER)
    assert [each["job"] for each in read(path)] == ["2"]


def test_a_foreign_file_is_set_aside_never_lost(path: Path) -> None:
    path.write_text("job;attempt;name\n1;1;x\n")
    path.with_name("ledger.csv.1").write_text("older\n")
    book = filled(path, 5)
    assert book.set_aside == path.with_name("ledger.csv.2")
    assert book.set_aside.read_text() == "job;attempt;name\n1;1;x\n"
    assert path.with_name("ledger.csv.1").read_text() == "older\n"
    assert len(read(path)) == 1


def test_a_full_disk_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = filled(path, 1)
    before = path.read_bytes()
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[: len(data) // 2]))
    with pytest.raises(OSError, match="No space") as caught:
        book.append(a_job(an_attempt(), job=2), an_attempt(), a_context())
    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == before
    monkeypatch.undo()
    assert not book.has(2, 1)
    assert book.append(a_job(an_attempt(), job=2), an_attempt(), a_context())


def test_a_row_is_one_write(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[bytes] = []
    real = os.write

    def noted(descriptor: int, data: bytes) -> int:
        writes.append(data)
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", noted)
    filled(path, 1, 2)
    assert [data.count(b"\n") for data in writes] == [2, 1]


def test_sync_waits_for_the_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    Ledger(path, sync=True).append(a_job(an_attempt()), an_attempt(), a_context())
    assert len(synced) == 1
    Ledger(path).append(a_job(an_attempt(), job=2), an_attempt(), a_context())
    assert len(synced) == 1


def test_all_rows_and_the_file_s_name_are_waited_for_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    book = Ledger(path)
    book.sync()
    assert synced == []  # nothing was written yet
    book.append(a_job(an_attempt()), an_attempt(), a_context())
    book.sync()
    assert synced == [path.stat().st_ino, path.parent.stat().st_ino]


def test_opening_reads_no_row(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path, 1, 2)
    reads: list[Path] = []
    keys = ledger.keys

    def noted(path: Path) -> set[tuple[int, int]]:
        reads.append(path)
        return keys(path)

    monkeypatch.setattr(ledger, "keys", noted)
    book = Ledger(path)
    assert reads == []
    assert [book.has(job, 1) for job in (1, 2, 3)] == [True, True, False]
    assert reads == [path]


def test_two_threads_that_write_the_same_attempts_leave_one_row_each(path: Path) -> None:
    book = Ledger(path)

    def write(_: int) -> int:
        return sum(book.append(a_job(an_attempt(), job=job), an_attempt(), a_context()) for job in range(1, 40))

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(write, range(4))) == 39
    assert [row["job"] for row in read(path)] == [str(job) for job in range(1, 40)]
