"""What job folders still know when the log does not."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from events.attempts import AttemptEnded, AttemptStarted, Handle, JobAssigned
from events.base import Event, Record
from events.devices import CapabilitiesProbed, ProbeRequested
from events.hardware import Slot
from events.jobs import JobAccepted, JobRequeued, JobSubmitted
from events.outcome import Candidate, ExitRecord, Figures
from events.platform import JobsRegained
from mdactors.core.capabilities import Matrix
from mdactors.core.lifecycle import Jobs, JobState
from mdactors.core.scheduling import SchedulerCore
from mdactors.ports import Evidence, Found, LaunchPlan, Verdict
from mdactors.runtime.folders import JOB_FILE, Folders, Launched
from mdactors.runtime.inputs import InputStore
from mdactors.runtime.regain import Regainer
from tests.actors.kit import logs
from tests.builders import START, a_capability, a_device, a_node, a_submission, an_acceptance, an_assignment, an_end
from tests.builders import records as numbered

NOW = START + 1000
HANDLE = Handle(pid=7, start_ticks=8, boot_id="b")
EXIT = ExitRecord(code=0, time=START + 500)
ABSENT = Found(state="absent")
RUNNING = Found(state="running", handle=HANDLE)
ENDED = Found(state="ended", handle=HANDLE, exit=EXIT)
VANISHED = Found(state="vanished", handle=HANDLE)


class Lost:
    """Job folders of a platform whose log is lost, wholly or in part."""

    def __init__(self, state: Path) -> None:
        self.folders = Folders(state, InputStore(state / "inputs"))
        self.found: dict[tuple[str, int], Found] = {}
        self.judged: list[Evidence] = []
        self.verdict = Verdict(outcome="completed", figures=Figures(steps_done=9))
        self.name = "gromacs"

    def job(self, number: int, *found: Found, candidates: bool = True) -> Path:
        """Make a job's folder with an attempt for each of what the substrate found."""
        jobs = Jobs()
        for record in numbered(a_submission(number), *([an_acceptance(number)] if candidates else [])):
            jobs.apply(msgspec.structs.replace(record, time=START + number))
        row = jobs[number]
        row.submitted = msgspec.structs.replace(row.submitted, inputs=())
        folder = self.folders.prepare(row)
        for attempt, each in enumerate(found, 1):
            launched = Launched(
                capability=a_capability(),
                device=a_device(),
                slot=Slot(id="cpu:0/1", node="n0", device="cpu:0", cpus=(1,)),
                assigned_at=START + 100 * attempt,
                argv=("gmx", "mdrun"),
            )
            self.folders.lay_out(folder, attempt, LaunchPlan(argv=("gmx", "mdrun")), launched)
            self.found[str(folder), attempt] = each
        return folder

    # -- the substrate's part, and the engine's

    async def find(self, folder: str, attempt: int) -> Found:
        return self.found[folder, attempt]

    def judge(self, folder: Path, evidence: Evidence) -> Verdict:
        self.judged.append(evidence)
        return self.verdict

    async def regained(self, *known: Event, engine: bool = True, first: int = 1) -> list[Record]:
        """Return what would be appended to a log with these facts."""
        jobs, matrix = Jobs(), Matrix()
        for record in numbered(*known):
            jobs.apply(record)
            matrix.apply(record)
        me: Any = self
        regainer = Regainer(
            folders=self.folders,
            jobs=jobs,
            matrix=matrix,
            substrate=me,
            engines={"gromacs": me} if engine else {},
            offload=at_once,
        )
        return await regainer.records(self.folders.numbers(), first, NOW)


async def at_once(work: Callable[[], Any]) -> Any:
    return work()


@pytest.fixture
def lost(tmp_path: Path) -> Lost:
    return Lost(tmp_path)


def told(records: Iterable[Record], *kinds: type[Event]) -> list[tuple[float, Event]]:
    return [(record.time - START, record.event) for record in records if isinstance(record.event, kinds or Event)]


def names(records: Iterable[Record]) -> list[str]:
    return [type(record.event).__name__ for record in records]


def folded(records: Iterable[Record], *known: Event) -> Jobs:
    jobs = Jobs()
    for record in (*numbered(*known), *records):
        jobs.apply(record)
    return jobs


# ---------------------------------------------------------------- what is lost


async def test_where_the_log_knows_everything_nothing_is_said(lost: Lost) -> None:
    assert await lost.regained() == []
    folder = lost.job(1, ABSENT)
    known = (a_node(), a_submission(1), an_acceptance(1))
    assert await lost.regained(*known) == []
    lost.found[str(folder), 1] = ENDED
    assert await lost.regained(*known, an_assignment(1)) == []  # its executor asks
    assert await lost.regained(*known, an_assignment(1), an_end(job=1)) == []


async def test_a_job_that_never_ran_is_submitted_and_accepted_again_at_its_time(lost: Lost) -> None:
    lost.job(3)
    records = await lost.regained(a_node())
    expected = msgspec.structs.replace(a_submission(3), inputs=())
    assert told(records) == [(1000, JobsRegained(jobs=(3,))), (3, expected), (3, an_acceptance(3))]
    assert folded(records).rows[3].state is JobState.QUEUED


async def test_one_that_was_never_accepted_is_negotiated_anew(lost: Lost) -> None:
    lost.job(3, candidates=False)
    records = await lost.regained(a_node())
    assert names(records) == ["JobsRegained", "JobSubmitted"]


async def test_a_running_attempt_is_known_again_with_its_process(lost: Lost) -> None:
    folder = lost.job(1, RUNNING)
    records = await lost.regained(a_node())
    assert names(records)[3:] == ["JobAssigned", "AttemptStarted"]
    started = records[-1].event
    assert isinstance(started, AttemptStarted)
    assert (started.handle, started.folder, started.cpus, started.argv) == (HANDLE, str(folder), (1,), ("gmx", "mdrun"))
    assert (records[-1].time, records[-2].time) == (START + 100, START + 100)
    assert folded(records).rows[1].state is JobState.RUNNING
    assert lost.judged == []


async def test_an_attempt_that_ended_is_judged_and_ended_when_it_did(lost: Lost) -> None:
    lost.job(1, ENDED)
    records = await lost.regained(a_node())
    assert told(records, AttemptEnded) == [
        (
            500,
            AttemptEnded(
                job=1, attempt=1, slot="cpu:0/1", outcome="completed", exit=EXIT, figures=Figures(steps_done=9)
            ),
        )
    ]
    assert [(each.attempt, each.exit, each.stop_asked) for each in lost.judged] == [(1, EXIT, False)]
    assert folded(records).rows[1].state is JobState.ENDING


async def test_one_that_left_no_record_ends_now(lost: Lost) -> None:
    lost.job(1, VANISHED)
    lost.verdict = Verdict(outcome="vanished")
    assert told(await lost.regained(a_node()), AttemptEnded) == [
        (1000, AttemptEnded(job=1, attempt=1, slot="cpu:0/1", outcome="vanished"))
    ]


async def test_one_that_was_never_launched_is_given_out_again(lost: Lost) -> None:
    lost.job(1, ABSENT)
    assert names(await lost.regained(a_node())) == ["JobsRegained", "JobSubmitted", "JobAccepted"]


async def test_earlier_attempts_are_requeued_by_those_that_followed(lost: Lost) -> None:
    lost.job(1, VANISHED, ENDED, RUNNING)
    records = await lost.regained(a_node())
    attempts = ["JobAssigned", "AttemptStarted", "AttemptEnded", "JobRequeued"]
    assert names(records)[3:] == [*attempts, *attempts, "JobAssigned", "AttemptStarted"]
    row = folded(records).rows[1]
    assert ([attempt.number for attempt in row.attempts], row.state) == ([1, 2, 3], JobState.RUNNING)
    assert told(records, JobRequeued) == [
        (200, JobRequeued(job=1, attempt=1, reason="another attempt followed")),  # it had vanished by then
        (500, JobRequeued(job=1, attempt=2, reason="another attempt followed")),
    ]


async def test_an_attempt_that_another_followed_did_not_complete_whatever_the_files_say_by_now(lost: Lost) -> None:
    lost.job(1, VANISHED, ENDED, ENDED)
    ended = [event for _, event in told(await lost.regained(a_node()), AttemptEnded)]
    assert [(each.outcome, each.figures.steps_done) for each in ended if isinstance(each, AttemptEnded)] == [
        ("vanished", None),
        ("stopped", None),
        ("completed", 9),
    ]


async def test_a_log_that_was_cut_off_gets_what_came_after(lost: Lost) -> None:
    lost.job(1, ENDED, RUNNING)
    known = (
        a_node(),
        a_submission(1),
        an_acceptance(1),
        an_assignment(1),
        an_end("vanished", job=1),
        JobRequeued(job=1, attempt=1, reason="it vanished"),
    )
    records = await lost.regained(*known, first=7)
    assert names(records) == ["JobsRegained", "JobAssigned", "AttemptStarted"]
    assert [record.seq for record in records] == [7, 8, 9]
    assert [record.cause for record in records] == [0, 7, 7]
    assert told(records, JobAssigned)[0][1].attempt == 2  # type: ignore[attr-defined]
    assert folded(records, *known).rows[1].state is JobState.RUNNING


async def test_a_log_that_was_cut_off_while_an_attempt_ran_gets_its_end_and_what_followed(lost: Lost) -> None:
    lost.job(1, ENDED, RUNNING)
    before = (a_node(), a_submission(1), an_acceptance(1), an_assignment(1, slot="cpu:0/1"))
    begun = await lost.regained(*before, first=5)
    assert names(begun)[1:] == ["AttemptStarted", "AttemptEnded", "JobRequeued", "JobAssigned", "AttemptStarted"]
    assert folded(begun, *before).rows[1].state is JobState.RUNNING
    ended = (*before, an_end("stopped", job=1))
    known = await lost.regained(*ended, first=6)
    assert names(known)[1:] == ["JobRequeued", "JobAssigned", "AttemptStarted"]
    assert folded(known, *ended).rows[1].state is JobState.RUNNING


async def test_an_attempt_that_was_never_launched_failed_where_another_followed(lost: Lost) -> None:
    lost.job(1, ABSENT, RUNNING, ABSENT)
    records = await lost.regained(a_node())
    assert names(records)[3:] == ["JobAssigned", "AttemptEnded", "JobRequeued", "JobAssigned", "AttemptStarted"]
    [(_, ended)] = told(records, AttemptEnded)
    assert isinstance(ended, AttemptEnded)
    assert (ended.outcome, ended.diagnosis and ended.diagnosis.code) == ("failed", "not-launched")
    assert lost.judged == []


async def test_what_runs_holds_its_slot_whoever_had_it_before(lost: Lost) -> None:
    lost.job(1, RUNNING)
    lost.job(2, ENDED)
    scheduler = SchedulerCore()
    for record in await lost.regained():
        scheduler.apply(record)
    assert scheduler.busy == {"cpu:0/1": 1}


async def test_a_log_that_was_cut_off_before_the_verdict_gets_that_too(lost: Lost) -> None:
    lost.job(1, RUNNING)
    records = await lost.regained(a_node(), a_submission(1))
    assert names(records) == ["JobsRegained", "JobAccepted", "JobAssigned", "AttemptStarted"]
    assert folded(records, a_node(), a_submission(1)).rows[1].state is JobState.RUNNING


async def test_an_attempt_can_only_have_begun_where_its_job_was_accepted(lost: Lost) -> None:
    lost.job(1, RUNNING, candidates=False)
    assert folded(await lost.regained(a_node())).rows[1].state is JobState.RUNNING


async def test_jobs_come_back_in_the_order_of_their_numbers(lost: Lost) -> None:
    for number in (12, 2, 7):
        lost.job(number)
    records = await lost.regained(a_node(), a_submission(7), an_acceptance(7))
    assert records[0].event == JobsRegained(jobs=(2, 12))
    assert [event.job for _, event in told(records, JobSubmitted) if isinstance(event, JobSubmitted)] == [2, 12]


# ---------------------------------------------------------------- what can't be known


async def test_a_folder_that_can_t_be_read_is_left_alone_and_said(lost: Lost) -> None:
    (lost.job(1) / JOB_FILE).write_text("torn")
    (lost.job(2) / JOB_FILE).unlink()
    lost.job(3)
    with logs() as said:
        records = await lost.regained(a_node())
    assert records[0].event == JobsRegained(jobs=(3,))
    assert [Path(entry["folder"]).name for entry in said] == ["000001", "000002"]


async def test_a_copy_of_another_job_s_folder_is_no_job(lost: Lost) -> None:
    copy = lost.folders.of(99)
    shutil.copytree(lost.job(5, ENDED), copy)
    lost.found[str(copy), 1] = ENDED
    with logs() as said:
        records = await lost.regained(a_node())
    assert records[0].event == JobsRegained(jobs=(5,))
    assert len(told(records, JobSubmitted)) == 1
    assert [entry["folder"] for entry in said] == [str(copy)]


async def test_of_a_waiting_job_the_log_says_what_its_folder_does_not(lost: Lost) -> None:
    (lost.job(1, RUNNING) / JOB_FILE).write_text("torn")
    known = (a_node(), a_submission(1), an_acceptance(1))
    records = await lost.regained(*known)
    assert names(records) == ["JobsRegained", "JobAssigned", "AttemptStarted"]
    assert folded(records, *known).rows[1].state is JobState.RUNNING


async def test_an_attempt_of_an_engine_that_is_gone_fails_and_says_why(lost: Lost) -> None:
    lost.job(1, ENDED)
    [(_, ended)] = told(await lost.regained(a_node(), engine=False), AttemptEnded)
    assert isinstance(ended, AttemptEnded)
    assert ended.outcome == "failed"
    assert ended.diagnosis
    assert "not installed here" in ended.diagnosis.summary


async def test_hardware_that_the_log_does_not_know_is_told_from_the_attempts_and_looked_at_again(lost: Lost) -> None:
    lost.job(1, RUNNING)
    lost.job(2, ENDED)
    records = await lost.regained()
    [(_, probed)] = told(records, CapabilitiesProbed)
    assert isinstance(probed, CapabilitiesProbed)
    assert [row.id for row in probed.capabilities] == [a_capability().id]
    assert ([slot.id for slot in probed.slots], [each.id for each in probed.devices]) == (["cpu:0/1"], ["cpu:0"])
    assert names(records)[:3] == ["JobsRegained", "CapabilitiesProbed", "ProbeRequested"]
    assert told(records, ProbeRequested) == [(1000, ProbeRequested(by="recovery"))]
    assert not told(await lost.regained(a_node()), CapabilitiesProbed)


async def test_candidates_are_those_that_were_written_down(lost: Lost) -> None:
    lost.job(1)
    [(_, accepted)] = told(await lost.regained(a_node()), JobAccepted)
    assert isinstance(accepted, JobAccepted)
    assert accepted.candidates == (Candidate(a_capability().id, "cpu:0"),)


async def test_what_was_regained_is_not_regained_again(lost: Lost) -> None:
    for number, found in enumerate((RUNNING, ENDED, VANISHED, ABSENT), 1):
        lost.job(number, found)
    first = await lost.regained()
    again = await lost.regained(*(record.event for record in first), first=len(first) + 1)
    assert again == []
