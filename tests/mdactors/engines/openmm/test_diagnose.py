"""How an attempt ended: files before exit codes, and the line that proves it."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import msgspec
import pytest

from events.outcome import Diagnosis, ExitRecord
from mdactors.engines.openmm.checkpoint import seal
from mdactors.engines.openmm.diagnose import CODES, SIGNATURES, diagnose, judge
from mdactors.engines.openmm.job import DISK, ENGINE, INPUT, NUMERICS, STOPPED, Result
from mdactors.ports import Evidence
from tests.mdactors.engines.openmm.results import a_result
from tests.mdactors.engines.openmm.samples import top_job
from tests.mdactors.engines.openmm.test_checkpoint import XML, header


def evidence(code: int | None, *, asked: bool = False, nsteps: int | None = None) -> Evidence:
    record = None if code is None else ExitRecord(code=code, time=0.0)
    return Evidence(spec=top_job(nsteps=nsteps), attempt=1, exit=record, stop_asked=asked)


def leave(folder: Path, *, result: Result | None = None, stderr: str = "", final: int | None = None) -> None:
    attempt = folder / "attempts/1"
    attempt.mkdir(parents=True, exist_ok=True)
    (attempt / "stderr").write_text(stderr)
    if result is not None:
        (attempt / "result.json").write_bytes(msgspec.json.encode(result))
    if final is not None:
        (folder / "final_state.xml").write_bytes(seal(header(step=final), XML))


def test_completed_is_what_the_final_state_says_whatever_the_exit_code(tmp_path: Path) -> None:
    leave(tmp_path, result=a_result(), final=500)
    for code in (0, 1, -9, None):
        verdict = judge(tmp_path, evidence(code))
        assert (verdict.outcome, verdict.diagnosis, verdict.figures.ns_per_day) == ("completed", None, 17.28)


def test_a_clean_exit_before_the_last_step_is_a_failure(tmp_path: Path) -> None:
    leave(tmp_path, result=a_result())
    assert judge(tmp_path, evidence(0)).outcome == "failed"
    leave(tmp_path, final=400)
    assert judge(tmp_path, evidence(0, nsteps=500)).outcome == "failed"


def test_stopped_in_good_order(tmp_path: Path) -> None:
    leave(tmp_path, result=a_result(outcome="stopped", steps_done=700))
    verdict = judge(tmp_path, evidence(STOPPED, asked=True))
    assert (verdict.outcome, verdict.figures.steps_done, verdict.diagnosis) == ("stopped", 700, None)
    assert verdict.warnings == ("resumed",)


@pytest.mark.parametrize("code", [-9, -15])
def test_ended_by_force_after_we_asked_is_a_stop_with_a_warning(tmp_path: Path, code: int) -> None:
    verdict = judge(tmp_path, evidence(code, asked=True))
    assert verdict.outcome == "stopped"
    assert "before it could save" in verdict.warnings[-1]
    assert judge(tmp_path, evidence(code)).outcome == "failed"


def test_no_exit_record_is_vanished_with_what_the_progress_says(tmp_path: Path) -> None:
    leave(tmp_path)
    line = {"step": 60, "steps_asked": 500, "time_ps": 0.1, "timestep_ps": 0.002, "ns_per_day": 1.0, "elapsed": 2.0}
    (tmp_path / "attempts/1/progress.jsonl").write_bytes(msgspec.json.encode(line) + b"\n")
    verdict = judge(tmp_path, evidence(None))
    assert (verdict.outcome, verdict.figures.steps_done, verdict.figures.ns_per_day) == ("vanished", 60, None)


def read(code: int, *lines: str) -> Diagnosis:
    return diagnose(ExitRecord(code=code, time=0.0), "\n".join(lines))


@pytest.mark.parametrize(
    ("line", "kind", "code", "retry"),
    [
        (
            'openmm.OpenMMException: There is no registered Platform called "CUDA"',
            "visibility",
            "platform-missing",
            "other",
        ),
        ("No compatible CUDA device is available", "visibility", "no-device", "other"),
        ("Error initializing Context: CUDA_ERROR_NO_DEVICE (100)", "visibility", "device-fault", "other"),
        ("Error initializing Context: CUDA_ERROR_OUT_OF_MEMORY (2)", "resource", "device-memory", "other"),
        ("The requested CUDA device could not be loaded", "visibility", "no-device", "other"),
        ("openmm.OpenMMException: Particle coordinate is NaN.  For more information", "numerics", "nan", "no"),
        ("mdactors: Energy is NaN at step 7", "numerics", "nan", "no"),
        (
            "The periodic box size has decreased to less than twice the nonbonded cutoff.",
            "numerics",
            "box-shrank",
            "no",
        ),
        (
            "loadCheckpoint: Checkpoint was created with a different Platform: CPU",
            "files",
            "checkpoint-foreign",
            "same",
        ),
        ("OSError: [Errno 28] No space left on device", "files", "disk-full", "same"),
        ("ImportError: libcudart.so.12: cannot open shared object file", "visibility", "library-missing", "other"),
    ],
)
def test_known_phrases_name_their_cause(line: str, kind: str, code: str, retry: str) -> None:
    found = read(1, "Traceback (most recent call last):", line, "something later")
    assert (found.kind, found.code, found.retry, found.evidence) == (kind, code, retry, line)


@pytest.mark.parametrize(
    ("code", "kind", "retry"),
    [(NUMERICS, "numerics", "no"), (INPUT, "build", "no"), (ENGINE, "unknown", "other"), (DISK, "files", "same"), (-9, "resource", "same"), (127, "substrate", "other"), (-11, "unknown", "other")],
)  # fmt: skip
def test_without_a_phrase_the_exit_code_tells(code: int, kind: str, retry: str) -> None:
    found = read(code, "mdactors: the last word", "")
    assert (found.kind, found.retry, found.evidence) == (kind, retry, "mdactors: the last word")


def test_nothing_at_all_is_unknown() -> None:
    assert (read(77).code, read(77).evidence) == ("unexpected", "exit status 77")


def test_the_tables_hold_only_words_that_the_platform_knows() -> None:
    kinds = get_args(msgspec.structs.fields(Diagnosis)[0].type) or get_args(Diagnosis.__annotations__["kind"])
    rows = [(row.kind, row.retry) for row in SIGNATURES] + [(row[0], row[3]) for row in CODES.values()]
    assert {retry for _, retry in rows} <= {"same", "other", "no"}
    if kinds:
        assert {kind for kind, _ in rows} <= set(kinds)
