"""`submit` without a platform: a batch in the foreground."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from mdactors.ports import Submission
from mdactors.runtime.platform import Platform
from tests.mdactors.api.world import World
from tests.mdactors.cli.conftest import Mdctl, assembling

GOOD = {"kind": "tpr", "tpr": "a.tpr"}
DOUBLE = {"kind": "tpr", "tpr": "b.tpr", "precision": "double"}


class Working(World):
    """Runs what is waited for; a job called `bad.tpr` fails."""

    async def finished(self, jobs: Sequence[int]) -> None:
        for job in jobs:
            await anyio.lowlevel.checkpoint()
            self.start(job)
            self.progress(job, 1000)
            await anyio.wait_all_tasks_blocked()
            self.fail(job) if self.jobs[job].submitted.spec.name == "bad.tpr" else self.complete(job)
        (self.state / "ledger.csv").write_text("job,ns_per_day\n99,1\n1,123.4\n")
        await anyio.wait_all_tasks_blocked()


class Interrupted(World):
    """Somebody presses Ctrl-C while the first job runs."""

    async def finished(self, jobs: Sequence[int]) -> None:
        self.start(jobs[0])
        os.kill(os.getpid(), signal.SIGINT)
        await anyio.sleep_forever()


@pytest.fixture
def job_file(tmp_path: Path) -> Any:
    def write(*entries: Any) -> str:
        path = tmp_path / "jobs.json"
        path.write_text(json.dumps(entries))
        return str(path)

    return write


def test_a_batch_that_ends_well(mdctl: Mdctl, state: Path, job_file: Any) -> None:
    code, out, err = mdctl("submit", job_file(GOOD, GOOD), assemble=assembling(Working(state)))
    assert code == 0
    assert err.splitlines() == [
        "job 1 a.tpr: running on cpu:0/0 (gromacs/CPU/mixed)",
        "job 1 a.tpr: completed, 123.4 ns/day",
        "job 2 a.tpr: running on cpu:0/0 (gromacs/CPU/mixed)",
        "job 2 a.tpr: completed, 123.4 ns/day",
    ]
    assert "\n2 jobs in 0 s: 2 completed\n" in out
    assert out.endswith(f"\nledger ({state}/ledger.csv):\njob  ns_per_day\n  1       123.4\n")


def test_a_failure_shows_in_summary_and_exit_code(mdctl: Mdctl, state: Path, job_file: Any) -> None:
    bad = GOOD | {"tpr": "bad.tpr"}
    code, out, _ = mdctl("submit", job_file(GOOD, bad), assemble=assembling(Working(state)))
    assert code == 1
    assert "1 completed, 1 failed" in out
    assert "constraints failed" in out


def test_a_refused_entry_harms_no_other(mdctl: Mdctl, state: Path, job_file: Any) -> None:
    code, out, _ = mdctl("submit", job_file(DOUBLE, GOOD), assemble=assembling(Working(state)))
    assert code == 1
    assert "built in mixed precision" in out
    assert "1 job in 0 s: 1 completed" in out


def test_nothing_that_can_run(mdctl: Mdctl, state: Path, job_file: Any) -> None:
    code, out, _ = mdctl("submit", job_file(DOUBLE), assemble=assembling(World(state)))
    assert code == 1
    assert out.endswith("0 jobs accepted, 1 refused\n")


def test_for_a_script(mdctl: Mdctl, state: Path, job_file: Any) -> None:
    code, out, _ = mdctl("submit", job_file(GOOD), "--json", "--slots", "2", assemble=assembling(Working(state)))
    shown = json.loads(out)
    assert (code, shown["jobs"][0]["state"], shown["ledger"]) == (0, "completed", [{"job": "1", "ns_per_day": "123.4"}])


def test_a_dry_run_starts_nothing(mdctl: Mdctl, state: Path, job_file: Any) -> None:
    world = World(state)
    before = world.last_seq
    code, out, _ = mdctl("submit", job_file(GOOD, DOUBLE), "--dry-run", assemble=assembling(world))
    assert code == 1
    assert "feasible" in out
    assert "built in mixed precision" in out
    assert world.last_seq == before


def test_ctrl_c_detaches_and_says_how_to_go_on(mdctl: Mdctl, state: Path, job_file: Any) -> None:
    code, out, err = mdctl("submit", job_file(GOOD, GOOD), assemble=assembling(Interrupted(state)))
    assert code == 130
    assert "1 running, 1 queued" in out
    assert "detached: 1 job under way, whose engines go on; 1 waiting" in err
    assert f"--state {state} serve" in err
    assert f"--state {state} cancel 1" in err


class Undecided(World):
    """Somebody presses Ctrl-C before it is known what can run."""

    async def verdicts(self, submissions: Sequence[Submission]) -> list[Submission]:
        os.kill(os.getpid(), signal.SIGINT)
        await anyio.sleep_forever()
        raise AssertionError


def test_ctrl_c_before_the_verdicts_tells_what_was_submitted(mdctl: Mdctl, state: Path, job_file: Any) -> None:
    code, out, err = mdctl("submit", job_file(GOOD, GOOD), assemble=assembling(Undecided(state)))
    assert code == 130
    assert "2 submitted" in out
    assert "detached: 0 jobs under way, whose engines go on; 2 waiting" in err
    out = mdctl("submit", job_file(GOOD), "--json", assemble=assembling(Undecided(state))).out
    assert [answer["job"] for answer in json.loads(out)["submissions"]] == [1]


def test_ctrl_c_pressed_again_while_it_stops_changes_nothing(mdctl: Mdctl, state: Path, job_file: Any) -> None:
    world = Interrupted(state)

    @asynccontextmanager
    async def stopping(config: Any, **_: Any) -> AsyncIterator[Platform]:
        yield world
        os.kill(os.getpid(), signal.SIGINT)
        await anyio.wait_all_tasks_blocked()

    code, out, err = mdctl("submit", job_file(GOOD), assemble=stopping)
    assert (code, "1 running" in out) == (130, True)
    assert "detached: 1 job under way" in err


class Shared(Working):
    """Another `submit` finds it running and leaves a job to it."""

    async def finished(self, jobs: Sequence[int]) -> None:
        if jobs == [1]:
            self.queue(name="another's")
        await super().finished(jobs)


def test_jobs_that_others_handed_over_are_seen_through(mdctl: Mdctl, state: Path, job_file: Any) -> None:
    world = Shared(state)
    code, out, err = mdctl("submit", job_file(GOOD), assemble=assembling(world))
    assert code == 0
    assert "1 job in 0 s: 1 completed" in out
    assert err.splitlines()[2:] == [
        "going on with 1 job of other batches; Ctrl-C leaves them",
        "job 2 another's: running on cpu:0/0 (gromacs/CPU/mixed)",
        "job 2 another's: completed, 123.4 ns/day",
    ]
