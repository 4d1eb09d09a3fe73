"""`submit` with a platform running."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal

from mdactors.cli import submit as subject
from mdactors.errors import StateBusyError
from mdactors.ports import Submission
from mdactors.runtime.platform import Platform
from tests.mdactors.api.world import World, listening
from tests.mdactors.cli.conftest import Mdctl, assembling

GOOD = {"kind": "tpr", "tpr": "a.tpr"}
DOUBLE = {"kind": "tpr", "tpr": "b.tpr", "precision": "double"}
WRONG = {"kind": "tpr", "tpr": "c.tpr", "nstep": 1}


@pytest.fixture
def job_file(tmp_path: Path) -> Any:
    def write(*entries: Any) -> str:
        path = tmp_path / "jobs.json"
        path.write_text(json.dumps(entries))
        return str(path)

    return write


class Quick(World):
    """Completes every accepted job before the verdict is told."""

    def _verdict(self, submission: Submission) -> Submission:
        found = super()._verdict(submission)
        if found.job and found.state == "queued":
            self.start(found.job)
            self.complete(found.job)
        return found


def test_numbers_and_every_refusal(mdctl: Mdctl, running: World, job_file: Any) -> None:
    path = job_file(GOOD, DOUBLE, WRONG)
    code, out, _ = mdctl("submit", path)
    assert code == 1
    assert out == (
        "job  name   state   choice                               why\n"
        "  6  a.tpr  queued  gromacs@2022.5/CPU/mixed@node/cpu:0  fastest\n"
        f"rejected: b.tpr (job 7), entry 2 of {path}\n"
        "  - gromacs@2022.5/CPU/mixed@node/cpu:0: the job asks for double precision; built in mixed precision"
        " (install a double-precision build)\n"
        f"refused: entry 2, entry 3 of {path}\n"
        "  - entry: Object contains unknown field `nstep`\n"
        "1 job accepted, 2 refused\n"
    )


def test_for_a_script(mdctl: Mdctl, running: World, job_file: Any) -> None:
    code, out, _ = mdctl("submit", job_file(GOOD), "--json")
    (answer,) = json.loads(out)["submissions"]
    assert (code, answer["job"], answer["state"], answer["index"]) == (0, 6, "queued", 0)


def test_a_dry_run_starts_nothing(mdctl: Mdctl, running: World, job_file: Any) -> None:
    before = running.last_seq
    code, out, _ = mdctl("submit", job_file(GOOD, DOUBLE), "--dry-run")
    assert code == 1
    assert "feasible" in out
    assert "built in mixed precision" in out
    assert running.last_seq == before


def test_a_long_file_is_handed_over_in_parts(
    mdctl: Mdctl, running: World, job_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "PART", 2)
    answers = json.loads(mdctl("submit", job_file(*[GOOD] * 5), "--json").out)["submissions"]
    assert [each["index"] for each in answers] == [0, 1, 2, 3, 4]
    assert [each["job"] for each in answers] == [6, 7, 8, 9, 10]


def test_waiting_ends_with_the_outcome(mdctl: Mdctl, running: World, job_file: Any) -> None:
    running.__class__ = Quick
    code, out, _ = mdctl("submit", job_file(GOOD, GOOD), "--wait", "--json")
    assert (code, [row["state"] for row in json.loads(out)["jobs"]]) == (0, ["completed", "completed"])
    assert mdctl("submit", job_file(GOOD), "--wait").out.count("completed") == 1
    assert mdctl("submit", job_file(GOOD, DOUBLE), "--wait").code == 1


def test_ctrl_c_while_waiting_leaves_the_jobs_alone(
    mdctl: Mdctl, running: World, job_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mdactors.cli.follow.Pending.wait", interrupted)
    code, _, err = mdctl("submit", job_file(GOOD), "--wait")
    assert code == 130
    assert "the jobs go on" in err
    assert running.jobs[6].state == "queued"


def test_an_unreadable_file_is_told_before_anything_is_asked(mdctl: Mdctl, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    code, out, err = mdctl("submit", str(tmp_path / "bad.json"))
    assert (code, out) == (2, "")
    assert "not JSON" in err


def test_ctrl_c_while_waiting_keeps_the_numbers_for_a_script(
    mdctl: Mdctl, running: World, job_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mdactors.cli.follow.Pending.wait", interrupted)
    code, out, _ = mdctl("submit", job_file(GOOD), "--wait", "--json")
    assert (code, [answer["job"] for answer in json.loads(out)["submissions"]]) == (130, [6])


def test_a_platform_that_is_about_to_answer_is_waited_for(
    mdctl: Mdctl, world: World, portal: BlockingPortal, job_file: Any
) -> None:
    with contextlib.ExitStack() as stack:

        @asynccontextmanager
        async def held(config: Any, **_: Any) -> AsyncIterator[Platform]:
            stack.enter_context(portal.wrap_async_context_manager(listening(world)))
            raise StateBusyError("pid 7 holds it")
            yield

        code, out, _ = mdctl("submit", job_file(GOOD), "--json", assemble=held)
    assert (code, [answer["job"] for answer in json.loads(out)["submissions"]]) == (0, [6])


def test_a_folder_that_stays_taken_by_one_that_does_not_answer(
    mdctl: Mdctl, job_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "PATIENCE_SECONDS", 0)

    @asynccontextmanager
    async def held(config: Any, **_: Any) -> AsyncIterator[Platform]:
        raise StateBusyError("pid 7 holds it")
        yield

    assert mdctl("submit", job_file(GOOD), assemble=held) == (1, "", "error: pid 7 holds it\n")


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("{kind: tpr, tpr: 2026-01-02, labels: {1: a}}", 0, '"2026-01-02"'),
        ("{kind: tpr, tpr: a.tpr, priority: .nan}", 2, "entry 1: priority: NaN has no form in JSON"),
        ("{kind: tpr, tpr: a.tpr, labels: !!set {a}}", 2, "entry 1: labels: "),
        ("{kind: tpr, tpr: a.tpr, labels: &a {b: *a}}", 2, "entry 1: labels: b: it contains itself"),
    ],
)
def test_yaml_s_own_values_mean_the_same_with_a_platform_and_without(
    mdctl: Mdctl, running: World, text: str, code: int, told: str
) -> None:
    other = running.state.parent / "other"
    path = running.state.parent / "jobs.yaml"
    path.write_text(text)
    command = ("submit", str(path), "--dry-run", "--json")
    there = mdctl(*command)
    here = mdctl(*command, assemble=assembling(World(other)), MDACTORS_STATE=str(other))
    assert told in there.out + there.err
    assert (there.code, here.code, there.err) == (code, code, here.err)
    if code == 0:
        assert json.loads(there.out)["submissions"] == json.loads(here.out)["submissions"]
