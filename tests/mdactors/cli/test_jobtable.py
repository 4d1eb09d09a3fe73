"""Jobs as people read them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mdactors.cli import jobtable
from mdactors.cli.output import Output
from mdactors.views.jobs import job_detail, job_row
from tests.mdactors.api.world import World, populated


@pytest.fixture
def crowd(tmp_path: Path) -> World:
    return populated(tmp_path)


def test_a_job_without_an_attempt_shows_what_it_prefers(crowd: World) -> None:
    number = crowd.queue(backend_pref="gromacs")
    row = msgspec.to_builtins(job_row(crowd.jobs[number], crowd.matrix))
    assert jobtable.cells(row) == (str(number), f"job-{number}", "queued", "", "gromacs", "", "", "", "", "")


def test_every_state_has_a_story(crowd: World, capsys: pytest.CaptureFixture[str]) -> None:
    for number, row in crowd.jobs.rows.items():
        jobtable.story(Output({}), msgspec.to_builtins(job_detail(row, crowd.matrix)))
        out = capsys.readouterr().out
        assert out.startswith(f"job {number}: ")
        assert "record " in out
        assert "  \n" not in out


def test_a_refused_job_names_every_reason(crowd: World, capsys: pytest.CaptureFixture[str]) -> None:
    jobtable.story(Output({}), msgspec.to_builtins(job_detail(crowd.jobs[4], crowd.matrix)))
    assert "the job asks for double precision; built in mixed precision" in capsys.readouterr().out


def test_notes_are_those_of_the_engine_that_ran(crowd: World, capsys: pytest.CaptureFixture[str]) -> None:
    shown = msgspec.to_builtins(job_detail(crowd.jobs[1], crowd.matrix))
    notes = ({"engine": shown["engine"], "notes": ["a finer mesh"]}, {"engine": "another", "notes": ["a coarser one"]})
    jobtable.story(Output({}), {**shown, "examinations": notes})
    out = capsys.readouterr().out
    assert "  notes:\n    a finer mesh\n" in out
    assert "a coarser one" not in out


def test_figures_have_units(crowd: World, capsys: pytest.CaptureFixture[str]) -> None:
    jobtable.story(Output({}), msgspec.to_builtins(job_detail(crowd.jobs[1], crowd.matrix)))
    assert "123.4 ns/day, 7 s wall time" in capsys.readouterr().out
