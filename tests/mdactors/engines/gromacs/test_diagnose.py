from __future__ import annotations

import pytest

from events.outcome import ExitRecord
from mdactors.engines.gromacs.diagnose import judge, last_line
from mdactors.ports import Evidence, Verdict
from tests.mdactors.engines.gromacs.conftest import LOG_HEAD, TPR_JOB, Job, a_checkpoint

OUTPUTS = {"md.log": 10, "ener.edr": 10}
BEGAN = "starting mdrun 'water'\n5000 steps,     10.0 ps.\n\nstep 0\n"
WENT_ON = "starting mdrun 'water'\n5000 steps,     10.0 ps (continuing from step 2590,      5.2 ps).\n"
TERM = "\n\nReceived the TERM signal, stopping within 20 steps\n\n"
REPORT = """
 Force                  1    2       2411       5.180         25.336  71.8
               Core t (s)   Wall t (s)        (%)
       Time:       20.000       10.000      200.0
                 (ns/day)    (hour/ns)
Performance:       41.662        0.576
Finished mdrun on rank 0 Tue Dec  1 02:41:41 2026
"""


def ended(job: Job, code: int | None, *, stop_asked: bool = False, attempt: int = 1) -> Verdict:
    record = None if code is None else ExitRecord(code=code, time=1.0)
    return judge(job.folder, Evidence(spec=TPR_JOB, attempt=attempt, exit=record, stop_asked=stop_asked))


def a_run(job: Job, *, log: str = "", terminal: str = BEGAN, step: int | None = None) -> None:
    job.write("md.log", LOG_HEAD + log)
    job.write("ener.edr", b"e" * 20)
    job.terminal(terminal)
    if step is not None:
        job.write("state.cpt", a_checkpoint(step, OUTPUTS))


class TestOutcomes:
    def test_the_last_step_was_reached(self, job: Job) -> None:
        a_run(job, log="Writing checkpoint, step 5000 at now\n" + REPORT, step=5000)
        verdict = ended(job, 0)
        assert (verdict.outcome, verdict.diagnosis, verdict.warnings) == ("completed", None, ())
        figures = verdict.figures
        assert (figures.steps_asked, figures.steps_done, figures.simulated_ns) == (5000, 5000, 0.01)
        assert (figures.ns_per_day, figures.cpu_use_percent) == (41.662, 100.0)

    @pytest.mark.parametrize("code", [1, 2])
    @pytest.mark.parametrize("asked", [True, False])
    def test_a_signal_stops_in_good_order(self, job: Job, code: int, *, asked: bool) -> None:
        a_run(job, log=TERM + REPORT, terminal=BEGAN + TERM, step=2410)
        verdict = ended(job, code, stop_asked=asked)
        assert (verdict.outcome, verdict.diagnosis) == ("stopped", None)
        assert verdict.figures.steps_done == 2410
        assert verdict.figures.steps_timed == 2410
        assert ("stopped by a signal that we did not send" in verdict.warnings) is not asked
        assert any("not exact" in text for text in verdict.warnings) is (code == 2)

    def test_a_time_limit_ends_with_status_0_before_the_last_step(self, job: Job) -> None:
        a_run(job, log="Step 2400: Run time exceeded 0.010 hours\n" + REPORT, step=2410)
        assert ended(job, 0).outcome == "stopped"

    @pytest.mark.parametrize("code", [-15, -9, -2])
    def test_our_own_stop_can_end_by_its_signal(self, job: Job, code: int) -> None:
        a_run(job, terminal="Reading file topol.tpr\n")
        verdict = ended(job, code, stop_asked=True)
        assert verdict.outcome == "stopped"
        assert any("by force" in text for text in verdict.warnings) is (code == -9)

    def test_our_own_stop_with_status_1_and_no_complaint(self, job: Job) -> None:
        a_run(job)
        assert ended(job, 1, stop_asked=True).outcome == "stopped"

    def test_our_own_stop_of_what_had_failed_already(self, job: Job) -> None:
        a_run(job, terminal=BEGAN + "Cannot rename checkpoint file; maybe you are out of disk space?\n")
        verdict = ended(job, 1, stop_asked=True)
        assert verdict.outcome == "failed"
        assert verdict.diagnosis is not None
        assert verdict.diagnosis.code == "disk-full"

    def test_no_exit_record(self, job: Job) -> None:
        a_run(
            job,
            log="Writing checkpoint, step 2590 at now\n",
            terminal=BEGAN + "step 3100, will finish now\r",
            step=2590,
        )
        verdict = ended(job, None, stop_asked=True)
        assert (verdict.outcome, verdict.figures.steps_done) == ("vanished", 3100)

    def test_killed_after_the_last_checkpoint_is_completed_all_the_same(self, job: Job) -> None:
        a_run(job, step=5000)
        verdict = ended(job, -9)
        assert verdict.outcome == "completed"
        assert verdict.warnings == ("the last step was reached, then it ended with -9",)
        assert verdict.figures.ns_per_day is None

    def test_killed_from_outside(self, job: Job) -> None:
        a_run(job, terminal=BEGAN + "step 300, will finish now\r", step=200)
        verdict = ended(job, -9)
        assert verdict.outcome == "failed"
        assert verdict.diagnosis is not None
        assert (verdict.diagnosis.code, verdict.diagnosis.retry) == ("killed", "same")


class TestTheAttemptBefore:
    """mdrun that refuses to start leaves the log of the attempt before it as it was."""

    def test_its_signal_does_not_make_a_failure_a_stop(self, job: Job) -> None:
        a_run(job, log=TERM + REPORT, terminal=BEGAN + TERM, step=2410)
        job.terminal("Checksum wrong for 'md.log'. The file has been replaced\n", attempt=2)
        verdict = ended(job, 1, attempt=2)
        assert verdict.outcome == "failed"
        assert verdict.diagnosis is not None
        assert (verdict.diagnosis.code, verdict.diagnosis.retry) == ("outputs-changed", "no")
        assert verdict.figures.ns_per_day is None

    def test_its_report_is_not_taken_for_that_of_a_killed_one(self, job: Job) -> None:
        a_run(job, log=TERM + REPORT, step=2590)
        job.terminal(WENT_ON + "step 2800, will finish now\r", attempt=2)
        verdict = ended(job, -9, attempt=2)
        assert verdict.figures.ns_per_day is None
        assert verdict.figures.steps_done == 2800
        assert verdict.figures.simulated_ns == pytest.approx((2800 - 2590) * 0.002 / 1000)


class TestCauses:
    def test_a_crash_after_the_system_blew_up(self, job: Job) -> None:
        job.corpus("md.log", "gmx2022_5_segfault_nan.log")
        job.terminal(BEGAN + "step 0: One or more water molecules can not be settled.\n")
        verdict = ended(job, -11)
        assert verdict.diagnosis is not None
        assert (verdict.diagnosis.kind, verdict.diagnosis.retry) == ("numerics", "no")
        assert "can not be settled" in verdict.diagnosis.evidence

    def test_a_crash_of_which_only_the_log_tells_the_cause(self, job: Job) -> None:
        a_run(job, log="Step 12, time 0.024 (ps)  LINCS WARNING\n" * 3)
        verdict = ended(job, -11)
        assert verdict.diagnosis is not None
        assert verdict.diagnosis.kind == "numerics"
        assert "3 LINCS warnings" in verdict.warnings

    def test_a_crash_without_any_word(self, job: Job) -> None:
        a_run(job, terminal=BEGAN + "last words\n")
        verdict = ended(job, -11)
        assert verdict.diagnosis is not None
        assert (verdict.diagnosis.code, verdict.diagnosis.evidence) == ("segfault", "last words")

    def test_an_error_that_only_the_log_holds(self, job: Job) -> None:
        job.corpus("md.log", "gmx2022_5_fatal_dd.log")
        verdict = ended(job, 1)
        assert verdict.diagnosis is not None
        assert verdict.diagnosis.code == "no-decomposition"

    def test_an_error_that_is_not_in_the_table(self, job: Job) -> None:
        bar = "-" * 55
        a_run(
            job,
            log=f"\n{bar}\nProgram:     gmx mdrun\nSource file: x.cpp\n\nFatal error:\nNobody knows\nthis\n\n{bar}\n",
        )
        verdict = ended(job, 1)
        assert verdict.diagnosis is not None
        assert (verdict.diagnosis.code, verdict.diagnosis.evidence) == ("fatal-error", "Nobody knows this")

    def test_further_causes_are_told_as_well(self, job: Job) -> None:
        a_run(job, terminal=BEGAN + "Too many LINCS warnings (1000)\nCUDA error #700\n")
        verdict = ended(job, 1)
        assert verdict.diagnosis is not None
        assert verdict.diagnosis.code == "lincs-blowup"
        assert "also: the device failed while it computed" in verdict.warnings


class TestWarnings:
    def test_a_gpu_build_that_ran_on_the_cpu(self, job: Job) -> None:
        job.corpus("md.log", "gmx2025_1_cuda_npt.log")
        job.terminal(BEGAN)
        assert "built for CUDA, but it ran on the CPU" in ended(job, 0).warnings

    def test_a_gpu_build_on_its_gpu(self, job: Job) -> None:
        job.corpus("md.log", "gmx2026_0_cuda_signal.log")
        job.terminal(BEGAN + TERM)
        verdict = ended(job, 1, stop_asked=True)
        assert (verdict.outcome, verdict.figures.hardware) == ("stopped", "NVIDIA GeForce RTX 4050 Laptop GPU")
        assert not [text for text in verdict.warnings if "CPU" in text]

    def test_more_threads_than_processors(self, job: Job) -> None:
        a_run(job, terminal="NOTE: Oversubscribing available/permitted CPUs, will not pin threads\n" + BEGAN)
        assert any("more threads than processors" in text for text in ended(job, -9).warnings)

    def test_a_run_that_ended_well_without_figures(self, job: Job) -> None:
        a_run(job, log="Finished mdrun on rank 0 now\n", step=5000)
        assert "no performance data" in ended(job, 0).warnings


def test_no_steps_at_all_were_asked_for(job: Job) -> None:
    job.write(
        "md.log",
        LOG_HEAD.replace("5000", "0") + "\n           Step           Time\n              0        0.0\n" + REPORT,
    )
    job.write("ener.edr", b"e")
    job.terminal("starting mdrun 'water'\n0 steps,      0.0 ps.\n")
    verdict = ended(job, 0)
    assert (verdict.outcome, verdict.figures.steps_done, verdict.figures.simulated_ns) == ("completed", 0, 0.0)


def test_an_empty_folder(job: Job) -> None:
    verdict = ended(job, 127)
    assert verdict.outcome == "failed"
    assert verdict.diagnosis is not None
    assert verdict.diagnosis.code == "not-found"
    assert verdict.figures.steps_done is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        ("one\n\nstep 3, will finish\n", "one"),
        ("two\nGROMACS reminds you: x\n\n", "two"),
        ("x" * 900, "x" * 500),
    ],
)
def test_the_last_line_that_tells_something(text: str, line: str) -> None:
    assert last_line(text) == line
