"""What became of the entries of a job file."""

from __future__ import annotations

from typing import Any

import pytest

from mdactors.cli.output import Output
from mdactors.cli.verdicts import SHOWN_MAX, accepted, show


def answer(number: int, state: str = "queued") -> dict[str, Any]:
    refusals = [{"text": "no"}, {"text": "never"}] if state == "rejected" else []
    return {
        "file": "jobs.json",
        "index": number - 1,
        "job": number,
        "name": f"n{number}",
        "state": state,
        "candidates": [],
        "refusals": refusals,
    }


def test_every_reason_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    answers = [answer(1), answer(2, "rejected")]
    show(Output({}), answers)
    out = capsys.readouterr().out
    assert "rejected: n2 (job 2), entry 2 of jobs.json\n  - no\n  - never\n" in out
    assert not accepted(answers)
    assert accepted(answers[:1])


def test_a_long_list_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    show(Output({}), [answer(number) for number in range(1, SHOWN_MAX + 11)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"... and 10 jobs more, up to job {SHOWN_MAX + 10}"
    assert len(lines) == SHOWN_MAX + 2


def test_an_entry_without_a_name_goes_by_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    show(Output({}), [answer(3, "refused") | {"name": "", "job": None}])
    assert capsys.readouterr().out.startswith("refused: entry 3 of jobs.json\n")
