"""How an attempt ended, whatever the adapter does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from events.outcome import ExitRecord, Figures
from mdactors.ports import Evidence, Verdict
from mdactors.runtime.judging import judged
from tests.actors.kit import logs
from tests.builders import a_spec

EVIDENCE = Evidence(spec=a_spec(), attempt=2, exit=ExitRecord(code=0, time=5.0), stop_asked=False)
VERDICT = Verdict(outcome="completed", figures=Figures(steps_done=7))


class Judge:
    """The part of an engine that judges."""

    def __init__(self, answer: Verdict | Exception) -> None:
        self.answer = answer
        self.asked: list[tuple[Path, Evidence]] = []

    def judge(self, folder: Path, evidence: Evidence) -> Verdict:
        self.asked.append((folder, evidence))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_the_engine_s_word_is_what_counts(tmp_path: Path) -> None:
    engine: Any = Judge(VERDICT)
    assert judged(engine, tmp_path, EVIDENCE) == VERDICT
    assert engine.asked == [(tmp_path, EVIDENCE)]


@pytest.mark.parametrize("error", [OSError("disk"), ValueError("bad log"), ZeroDivisionError("by zero")])
def test_an_adapter_that_fails_fails_the_attempt_and_nothing_else(tmp_path: Path, error: Exception) -> None:
    engine: Any = Judge(error)
    with logs() as told:
        verdict = judged(engine, tmp_path, EVIDENCE)
    assert verdict.outcome == "failed"
    assert verdict.diagnosis
    assert (verdict.diagnosis.kind, verdict.diagnosis.code, verdict.diagnosis.retry) == ("unknown", "unjudged", "no")
    assert verdict.diagnosis.summary == f"its files could not be judged: {type(error).__name__}: {error}"
    assert [(entry["log_level"], entry["attempt"], entry["folder"]) for entry in told] == [("error", 2, str(tmp_path))]


def test_without_its_engine_an_attempt_can_t_be_judged(tmp_path: Path) -> None:
    verdict = judged(None, tmp_path, EVIDENCE)
    assert verdict.diagnosis
    assert verdict.diagnosis.summary == "its files could not be judged: its engine is not installed here"
