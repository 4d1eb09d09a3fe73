from __future__ import annotations

import msgspec
import pytest

from mdactors.engines.gromacs.folder import Terminal, present_outputs, read_log, read_terminal, steps_asked
from mdactors.engines.gromacs.log import parse_log
from tests.mdactors.engines.gromacs.conftest import LOG_HEAD, TPR_JOB, Job


@pytest.mark.parametrize(
    ("head", "step"),
    [
        ("starting mdrun 'x'\n2000 steps,      4.0 ps.\n", 0),
        ("200000000 steps, 400000.0 ps (continuing from step 1330,      2.7 ps).\n", 1330),
        ("infinite steps, infinite ps (continuing from step 1540,      3.1 ps).\n", 1540),
        ("-1 steps, infinite ps.\n", 0),
        ("Reading file topol.tpr\n", None),
    ],
)
def test_where_an_attempt_went_on_from(head: str, step: int | None) -> None:
    assert Terminal(head=head).from_step == step
    assert Terminal(head=head).began is (step is not None)


def test_a_minimiser_announces_no_steps_but_begins() -> None:
    assert Terminal(head="\nSteepest Descents:\n   Tolerance (Fmax)   =  1.00000e+02\n").began


def test_the_terminal_is_stderr_and_stdout_of_that_attempt(job: Job) -> None:
    job.terminal("step 100, will finish\rstep 200, will finish\r", attempt=2)
    job.write("attempts/2/stdout", "out")
    assert read_terminal(job.folder, 2).tail == "step 100, will finish\nstep 200, will finish\nout"
    assert read_terminal(job.folder, 1).tail.strip() == ""


def test_the_log_costs_the_same_however_long_it_is(job: Job) -> None:
    with job.write("md.log", LOG_HEAD).open("r+b") as file:
        file.seek(200 * 1024 * 1024)  # a hole: two hundred megabytes of nothing
        file.write(b"\nWriting checkpoint, step 777 at now\n")
    log = read_log(job.folder)
    assert (log.head.atoms, log.tail.last_step) == (648, 777)


def test_outputs_backups_and_dumps_are_found_and_inputs_are_not(job: Job) -> None:
    for name in (
        "md.log",
        "#md.log.1#",
        "step12b.pdb",
        "ener.part0002.edr",
        "state_step390.cpt",
        "topol.tpr",
        "job.json",
    ):
        job.write(name, "x")
    wanted = ("#md.log.1#", "ener.part0002.edr", "md.log", "state_step390.cpt", "step12b.pdb")
    assert present_outputs(job.folder) == wanted


def test_the_job_says_how_long_before_the_input_does() -> None:
    log = parse_log(LOG_HEAD, "")
    assert steps_asked(TPR_JOB, log) == 5000
    assert steps_asked(msgspec.structs.replace(TPR_JOB, nsteps=70), log) == 70
    assert steps_asked(TPR_JOB, parse_log(LOG_HEAD.replace("5000", "-1"), "")) is None
    assert steps_asked(TPR_JOB, parse_log("", "")) is None
