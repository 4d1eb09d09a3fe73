from __future__ import annotations

import msgspec
import pytest

from events.spec import TprJob
from mdactors.engines.gromacs.situation import survey
from mdactors.ports import Situation
from tests.mdactors.engines.gromacs.conftest import LOG_HEAD, TPR_JOB, Job, a_checkpoint

OUTPUTS = {"md.log": 100, "ener.edr": 50}


def running(job: Job, *, nsteps: int = 5000, log: str = "") -> None:
    """A folder with outputs and no checkpoint."""
    job.write("md.log", LOG_HEAD.replace("5000", str(nsteps)) + log)
    job.write("ener.edr", b"e" * 60)


def test_an_empty_folder_is_a_fresh_start(job: Job) -> None:
    assert survey(job.folder, TPR_JOB) == Situation()


def test_a_run_that_was_killed_goes_on_from_its_checkpoint(job: Job) -> None:
    running(job)
    job.write("state.cpt", a_checkpoint(2590, OUTPUTS))
    job.write("state_prev.cpt", a_checkpoint(1730, OUTPUTS))
    assert survey(job.folder, TPR_JOB) == Situation(step=2590, checkpoint="state.cpt")


@pytest.mark.parametrize("damage", [0, 4, 300])
def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(job: Job, damage: int) -> None:
    running(job)
    whole = a_checkpoint(2590, OUTPUTS)
    job.write("state.cpt", whole[: len(whole) - damage] if damage else b"")
    job.write("state_prev.cpt", a_checkpoint(1730, OUTPUTS))
    found = survey(job.folder, TPR_JOB)
    assert (found.step, found.checkpoint, found.stale) == (1730, "state_prev.cpt", ("state.cpt",))
    assert "state.cpt can't be used" in found.remarks[0]


def test_both_damaged_is_a_fresh_start_with_everything_moved_aside(job: Job) -> None:
    running(job)
    job.write("state.cpt", b"")
    job.write("state_prev.cpt", b"x" * 300)
    found = survey(job.folder, TPR_JOB)
    assert (found.step, found.checkpoint) == (0, "")
    assert set(found.stale) == {"md.log", "ener.edr", "state.cpt", "state_prev.cpt"}
    assert len(found.remarks) == 2


@pytest.mark.parametrize("lost", ["md.log", "ener.edr"])
def test_without_an_output_nothing_can_be_appended(job: Job, lost: str) -> None:
    running(job)
    job.write("state.cpt", a_checkpoint(2590, OUTPUTS))
    (job.folder / lost).unlink()
    found = survey(job.folder, TPR_JOB)
    assert (found.step, found.checkpoint) == (0, "")
    assert "state.cpt" in found.stale
    assert f"state.cpt, step 2590, can't be continued: {lost} is missing" in found.remarks
    assert "step 0" in found.remarks[-1]


def test_an_output_cut_short_can_still_fit_the_older_checkpoint(job: Job) -> None:
    running(job)
    job.write("state.cpt", a_checkpoint(2590, {"md.log": 100, "ener.edr": 61}))
    job.write("state_prev.cpt", a_checkpoint(1730, OUTPUTS))
    assert survey(job.folder, TPR_JOB).checkpoint == "state_prev.cpt"


def test_finished_means_that_the_planned_step_was_reached(job: Job) -> None:
    running(job)
    job.write("state.cpt", a_checkpoint(5000, OUTPUTS))
    assert survey(job.folder, TPR_JOB) == Situation(finished=True, step=5000, checkpoint="state.cpt")


def test_the_jobs_own_total_counts_more_than_the_inputs(job: Job) -> None:
    running(job)
    job.write("state.cpt", a_checkpoint(5000, OUTPUTS))
    assert not survey(job.folder, msgspec.structs.replace(TPR_JOB, nsteps=9000)).finished
    assert survey(job.folder, msgspec.structs.replace(TPR_JOB, nsteps=5000)).finished


def test_an_old_confout_and_a_finished_line_prove_nothing(job: Job) -> None:
    running(job, log="Finished mdrun on rank 0 now\n")
    job.write("confout.gro", "old")
    job.write("state.cpt", a_checkpoint(2590, OUTPUTS))
    assert survey(job.folder, TPR_JOB) == Situation(step=2590, checkpoint="state.cpt")


def test_steps_are_counted_from_the_jobs_start(job: Job) -> None:
    job.write("md.log", LOG_HEAD.replace("init-step                      = 0", "init-step                      = 1000"))
    job.write("ener.edr", b"e" * 60)
    job.write("state.cpt", a_checkpoint(3500, OUTPUTS))
    assert survey(job.folder, TPR_JOB).step == 2500
    job.write("state.cpt", a_checkpoint(6000, OUTPUTS))
    assert survey(job.folder, TPR_JOB).finished


def test_a_run_without_end_is_never_finished(job: Job) -> None:
    running(job, nsteps=-1)
    job.write("state.cpt", a_checkpoint(9_000_000, OUTPUTS))
    assert survey(job.folder, TPR_JOB) == Situation(step=9_000_000, checkpoint="state.cpt")


ROW_0 = "\n           Step           Time\n              0        0.00000\n\n"
FINISHED = "Finished mdrun on rank 0 now\n"


def test_no_steps_leave_no_checkpoint_and_are_finished_all_the_same(job: Job) -> None:
    running(job, nsteps=0, log=ROW_0 + FINISHED)
    assert survey(job.folder, TPR_JOB) == Situation(finished=True)


def test_no_steps_that_were_not_made_are_not_finished(job: Job) -> None:
    running(job, nsteps=0, log=ROW_0)
    found = survey(job.folder, TPR_JOB)
    assert not found.finished
    assert found.stale == ("ener.edr", "md.log")


@pytest.mark.parametrize(
    "end", ["Received the TERM signal, stopping within 20 steps\n", "Step 20: Run time exceeded\n"]
)
def test_a_run_stopped_before_its_first_checkpoint_starts_anew(job: Job, end: str) -> None:
    running(job, nsteps=0, log=ROW_0 + end + FINISHED)
    assert not survey(job.folder, TPR_JOB).finished


def test_a_minimisation_is_finished_by_its_log(job: Job) -> None:
    head = LOG_HEAD.replace("= md", "= steep").replace("Started mdrun", "Started Steepest Descents")
    job.write("md.log", head + "\nSteepest Descents converged to Fmax < 100 in 31 steps\n" + FINISHED)
    job.write("ener.edr", b"e")
    assert survey(job.folder, TPR_JOB).finished


def test_real_files_of_a_run_stopped_by_a_signal(job: Job) -> None:
    job.corpus("md.log", "gmx2022_5_term_stopped.log")
    job.corpus("state.cpt", "gmx2022_5_term_stopped.cpt")
    for name in ("term.log", "term.edr", "term.xtc"):  # names as its command line gave them
        job.write(name, b"x" * 1_000_000)
    spec = TprJob(tpr="long.tpr")
    assert survey(job.folder, spec) == Situation(step=22630, checkpoint="state.cpt")
    assert survey(job.folder, msgspec.structs.replace(spec, nsteps=22630)).finished
