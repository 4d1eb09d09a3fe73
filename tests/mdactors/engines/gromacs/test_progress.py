from __future__ import annotations

import time

import pytest

from mdactors.engines.gromacs.progress import KNOWN_MAX, Progress, terminal_step
from mdactors.ports import Reading
from tests.mdactors.engines.gromacs.conftest import LOG_HEAD, Job


@pytest.mark.parametrize(
    ("tail", "step"),
    [
        (b"step 0\n", 0),
        (b"step 200, remaining wall clock time:     1 s          \rstep 400, remaining wall", 400),
        (b"\rstep 1300, will finish Thu Dec  3 19:03:46 2026\r", 1300),
        (b"\rimb F 12% pme/F 0.85 step 4100, will finish Thu Dec  3 19:03:46 2026", 4100),
        (b"Step=   31, Dmax= 1.0e-02 nm, Epot= -9.20138e+03\n", 31),
        (b"Step 7, Epot=-9.263715e+03, Fnorm=2.374e+02\n", 7),
        (b"step 0: One or more water molecules can not be settled.\n", None),
        (b"Wrote step 12b.pdb", None),
        (b"", None),
    ],
)
def test_the_last_step_on_the_terminal(tail: bytes, step: int | None) -> None:
    assert terminal_step(tail) == step


def test_a_running_attempt(job: Job) -> None:
    job.write("md.log", LOG_HEAD)
    job.terminal("step 100, will finish now\rstep 300, will finish now\r")
    assert Progress().read(job.folder, 1) == Reading(step=300, steps_asked=5000, timestep_ps=0.002)


def test_nothing_can_be_told_before_the_first_step(job: Job) -> None:
    assert Progress().read(job.folder, 1) is None
    job.write("md.log", LOG_HEAD[:200])
    assert Progress().read(job.folder, 1) is None
    job.write("md.log", LOG_HEAD)
    assert Progress().read(job.folder, 1) is None


def test_the_log_helps_where_the_terminal_is_silent(job: Job) -> None:
    job.write("md.log", LOG_HEAD + "\n           Step           Time\n            700        1.40000\n\n")
    reading = Progress().read(job.folder, 1)
    assert reading is not None
    assert reading.step == 700


def test_steps_are_counted_from_the_jobs_start(job: Job) -> None:
    job.write("md.log", LOG_HEAD.replace("init-step                      = 0", "init-step                      = 1000"))
    job.terminal("step 1100, will finish now\r")
    assert Progress().read(job.folder, 1) == Reading(step=100, steps_asked=5000, timestep_ps=0.002)


def test_a_run_without_end_asks_for_no_number(job: Job) -> None:
    job.write("md.log", LOG_HEAD.replace("5000", "-1"))
    job.terminal("step 100\n")
    assert Progress().read(job.folder, 1) == Reading(step=100, timestep_ps=0.002)


def test_it_costs_under_a_millisecond_however_long_the_log_is(job: Job) -> None:
    with job.write("md.log", LOG_HEAD).open("r+b") as file:
        file.truncate(50 * 1024 * 1024)
    job.terminal("step 100, will finish now\r" * 100_000)
    progress = Progress()
    progress.read(job.folder, 1)
    costs = []
    for _ in range(20):
        begin = time.perf_counter()
        progress.read(job.folder, 1)
        costs.append(time.perf_counter() - begin)
    assert min(costs) < 0.001


def test_what_is_remembered_has_a_bound(job: Job) -> None:
    job.write("md.log", LOG_HEAD)
    progress = Progress()
    for attempt in range(KNOWN_MAX + 20):
        progress.read(job.folder, attempt)
    assert len(progress._known) == KNOWN_MAX
