"""What can be asked of a running platform."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup

from events.attempts import AttemptProgressed, AttemptStarted, Handle
from events.base import Record
from events.devices import CapabilitiesProbed, DeviceReported, ProbeRequested
from events.jobs import JobCancelled, JobCancelRequested, JobCompleted, JobRejected, JobRequeued, JobSubmitted
from events.outcome import Examination, Figures, Refusal
from events.platform import IntakeClosed
from events.results import Context, PerformanceRecorded, ReconcileFailed, ReconcileRequested
from mdactors.core.capabilities import Matrix
from mdactors.core.lifecycle import Jobs
from mdactors.errors import BacklogFullError, InputError, IntakeClosedError, JournalError, UnknownJobError
from mdactors.ports import Submission
from mdactors.runtime.admission import Admission
from mdactors.runtime.bus import Bus
from mdactors.runtime.clock import VirtualLoop
from mdactors.runtime.inputs import InputStore
from mdactors.runtime.platform import Platform
from tests.builders import a_node, an_acceptance, an_assignment, an_end
from tests.mdactors.runtime.kit import VIRTUAL, Room, TestedJournal

DAY = 86_400.0
REFUSAL = Refusal(subject="all", clause="precision", found="built in mixed precision")


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, type[VirtualLoop]]]:
    return VIRTUAL


class Reader:
    """The part of an engine that reads inputs."""

    name = "gromacs"

    def examine(self, spec: Any, files: Any) -> Examination:
        return Examination(engine="gromacs", atoms=648)


class House:
    """A platform without actors: a test says what they would."""

    def __init__(self, state: Path, backlog: int = 1000) -> None:
        self.state = state
        self.journal = TestedJournal()
        self.jobs, self.matrix = Jobs(), Matrix()
        self.clock = Room().clock
        self.bus = Bus(self.journal, self.clock, [self._fold])
        self.reading = anyio.Event()
        """Set when inputs are being read, which takes as long as a test wants."""
        self.read = anyio.Event()
        self.read.set()
        engines: list[Any] = [Reader()]
        self.platform = Platform(
            bus=self.bus,
            clock=self.clock,
            journal=self.journal,
            jobs=self.jobs,
            matrix=self.matrix,
            admission=Admission(engines, InputStore(state / "inputs")),
            offload=self._offload,
            state=state,
            node="n0",
            backlog=backlog,
            render_metrics=lambda: (b"text", "text/plain"),
        )
        (state / "water.tpr").write_bytes(b"water")

    def _fold(self, record: Record) -> None:
        self.jobs.apply(record)
        self.matrix.apply(record)
        self.platform.fold(record)

    async def _offload(self, work: Callable[[], Any]) -> Any:
        self.reading.set()
        await self.read.wait()
        return work()

    async def submit(self, count: int = 1, **fields: Any) -> list[Submission]:
        entries = [{"kind": "tpr", "tpr": "water.tpr"} | fields] * count
        return await self.platform.submit(entries, base=self.state, owner="ada")

    async def numbers(self) -> list[int]:
        """Return the numbers of all jobs in the journal."""
        submitted = [record.event for record in await self.journal.events(JobSubmitted)]
        return [event.job for event in submitted if isinstance(event, JobSubmitted)]


@asynccontextmanager
async def living(house: House) -> AsyncIterator[tuple[House, TaskGroup]]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.bus.run)
        yield house, tasks
        tasks.cancel_scope.cancel()


@pytest.fixture
async def house(tmp_path: Path) -> House:
    return House(tmp_path)


async def turn() -> None:
    await anyio.wait_all_tasks_blocked()


# ---------------------------------------------------------------- submitting


async def test_jobs_are_durable_and_numbered_when_submitting_returns(house: House) -> None:
    async with living(house):
        answers = await house.submit(3)
        assert [(each.index, each.job, each.state) for each in answers] == [
            (0, 1, "submitted"),
            (1, 2, "submitted"),
            (2, 3, "submitted"),
        ]
        assert await house.numbers() == [1, 2, 3]
        assert [answer.job for answer in await house.submit(2)] == [4, 5]


async def test_refused_entries_have_no_number_and_the_others_have(house: House) -> None:
    async with living(house):
        good, bad = {"kind": "tpr", "tpr": "water.tpr"}, {"kind": "tpr", "tpr": "gone.tpr"}
        answers = await house.platform.submit([bad, good, bad], base=house.state, owner="ada")
        assert [(each.job, each.state, bool(each.refusals)) for each in answers] == [
            (None, "refused", True),
            (1, "submitted", False),
            (None, "refused", True),
        ]


async def test_a_batch_of_which_all_is_refused_leaves_no_record(house: House) -> None:
    async with living(house):
        await house.submit(5, tpr="gone.tpr")
        assert house.journal.groups == []


async def test_batches_that_come_at_once_get_numbers_of_their_own(house: House) -> None:
    async with living(house):
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(house.submit, 5)
        assert await house.numbers() == list(range(1, 101))


async def test_a_number_is_not_given_again_while_its_job_is_on_its_way(house: House) -> None:
    """The first submitter goes away; what it published is committed all the same."""
    async with living(house) as (_, tasks):
        house.journal.hold()
        with anyio.move_on_after(1):
            await house.submit(2)
        tasks.start_soon(house.submit, 2)
        await turn()
        house.journal.release()
        await turn()
        assert await house.numbers() == [1, 2, 3, 4]


async def test_on_a_full_disk_nothing_is_acknowledged(house: House) -> None:
    async with living(house):
        house.journal.fill()
        with pytest.raises(JournalError):
            await house.submit()
        assert house.jobs.rows == {}
        house.journal.empty()
        [answer] = await house.submit()
        assert await house.numbers() == [answer.job]


async def test_too_many_waiting_jobs_are_refused_as_a_whole(tmp_path: Path) -> None:
    async with living(House(tmp_path, backlog=10)) as (house, _):
        await house.submit(8)
        with pytest.raises(BacklogFullError, match=r"8 jobs wait already and 3 more are too many \(limit 10\)"):
            await house.submit(3)
        await house.submit(2)
        assert len(await house.numbers()) == 10


async def test_those_who_come_at_once_do_not_pass_the_limit_together(tmp_path: Path) -> None:
    refused: list[BacklogFullError] = []

    async def submit(house: House) -> None:
        try:
            await house.submit(4)
        except BacklogFullError as error:
            refused.append(error)

    async with living(House(tmp_path, backlog=10)) as (house, _):
        house.read = anyio.Event()
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(submit, house)
            await house.reading.wait()
            house.read.set()
        assert (len(await house.numbers()), len(refused)) == (8, 3)


async def test_what_runs_or_has_ended_waits_no_more(tmp_path: Path) -> None:
    async with living(House(tmp_path, backlog=2)) as (house, _):
        await house.submit(2)
        await house.bus.publish(an_acceptance(1), JobRejected(job=2, refusals=(REFUSAL,)))
        await house.bus.publish(a_node(), an_assignment(1))
        assert len(await house.submit(2)) == 2


async def test_a_closed_intake_says_which_actor_failed_where(house: House) -> None:
    async with living(house):
        await house.submit()
        await house.bus.publish(IntakeClosed(actor="scheduler", error="KeyError: 7", at_seq=1))
        with pytest.raises(IntakeClosedError, match="scheduler failed at record 1: KeyError: 7; restart the platform"):
            await house.submit()
        assert house.platform.closed == "scheduler failed at record 1: KeyError: 7"
        await house.platform.cancel([1], by="ada")


# ---------------------------------------------------------------- verdicts and previews


async def test_verdicts_come_when_all_are_decided(house: House) -> None:
    verdicts: list[Submission] = []

    async def wait(answers: list[Submission]) -> None:
        verdicts.extend(await house.platform.verdicts(answers))

    async with living(house) as (_, tasks):
        answers = await house.submit(2)
        refused = Submission(index=2, name="x", state="refused", refusals=(REFUSAL,))
        tasks.start_soon(wait, [*answers, refused])
        await turn()
        await house.bus.publish(an_acceptance(1))
        await turn()
        assert verdicts == []
        await house.bus.publish(JobRejected(job=2, refusals=(REFUSAL,)))
        await turn()
        assert [each.state for each in verdicts] == ["queued", "rejected", "refused"]
        assert verdicts[0].candidates == an_acceptance(1).candidates
        assert verdicts[1].refusals == (REFUSAL,)
        assert not [inbox for inbox in house.bus.inboxes if inbox.name == "until"]


async def test_a_preview_waits_for_the_matrix_and_records_nothing(house: House) -> None:
    async with living(house) as (_, tasks):
        entries = [{"kind": "tpr", "tpr": "water.tpr", "precision": word} for word in ("mixed", "double")]
        previews: list[Submission] = []

        async def preview() -> None:
            made = await house.platform.preview([*entries, {"kind": "x"}], base=house.state, owner="ada")
            previews.extend(made)

        tasks.start_soon(preview)
        await turn()
        assert previews == []
        await house.bus.publish(a_node())
        await turn()
        assert [(each.state, each.job) for each in previews] == [
            ("feasible", None),
            ("refused", None),
            ("refused", None),
        ]
        assert previews[0].candidates
        assert previews[0].examinations[0].atoms == 648
        assert [refusal.clause for refusal in previews[1].refusals] == ["precision"]
        assert len(house.journal.groups) == 1


# ---------------------------------------------------------------- cancelling and waiting


async def test_cancelling_asks_once_for_each_job_that_lives(house: House) -> None:
    async with living(house):
        await house.submit(3)
        await house.bus.publish(JobRejected(job=2, refusals=(REFUSAL,)))
        await house.platform.cancel([3, 2, 1, 3], by="ada")
        asked = [record.event for record in await house.journal.events(JobCancelRequested)]
        assert asked == [JobCancelRequested(job=3, by="ada"), JobCancelRequested(job=1, by="ada")]
        await house.platform.cancel([2], by="ada")
        assert len(await house.journal.events(JobCancelRequested)) == 2


async def test_an_unknown_job_among_them_cancels_none(house: House) -> None:
    async with living(house):
        await house.submit()
        with pytest.raises(UnknownJobError, match="no job 7, 9"):
            await house.platform.cancel([1, 7, 9], by="ada")
        assert await house.journal.events(JobCancelRequested) == []


async def test_a_job_is_finished_when_its_figures_are_in_the_ledger(house: House) -> None:
    done: list[str] = []

    async def wait() -> None:
        await house.platform.finished([1, 2])
        done.append("finished")

    async with living(house) as (_, tasks):
        await house.submit(2)
        await house.bus.publish(a_node(), an_acceptance(1), an_acceptance(2), an_assignment(1))
        tasks.start_soon(wait)
        for event in (
            JobCancelled(job=2),
            AttemptStarted(
                job=1,
                attempt=1,
                slot="cpu:0/0",
                folder="/f",
                handle=Handle(pid=1, start_ticks=1, boot_id="b"),
                argv=("gmx",),
            ),
            an_end(job=1),
            JobCompleted(job=1, attempt=1),
        ):
            await house.bus.publish(event)
            await turn()
            assert done == []
        await house.bus.publish(
            PerformanceRecorded(job=1, attempt=1, outcome="completed", context=CONTEXT, figures=Figures())
        )
        await turn()
        assert done == ["finished"]


async def test_a_job_is_settled_when_all_that_follows_from_its_ended_attempts_is_known(house: House) -> None:
    done: list[str] = []

    async def wait() -> None:
        await house.platform.settled([1, 2])
        done.append("settled")

    async with living(house) as (_, tasks):
        await house.submit(2)
        await house.bus.publish(a_node(), an_acceptance(1), an_acceptance(2), an_assignment(1), an_end(job=1))
        tasks.start_soon(wait)
        recorded = PerformanceRecorded(job=1, attempt=1, outcome="vanished", context=CONTEXT, figures=Figures())
        for events in ([], [recorded]):
            await house.bus.publish(*events, ProbeRequested())
            await turn()
            assert done == []
        await house.bus.publish(JobRequeued(job=1, attempt=1, reason="it vanished"))
        await turn()
        assert done == ["settled"]  # it waits for a slot, and that may be a while
        await house.bus.publish(an_assignment(1, attempt=2))
        with anyio.fail_after(DAY):
            await house.platform.settled([1, 2])  # one that runs is settled too


async def test_no_folder_gets_a_second_job(house: House) -> None:
    """The folder of a job that the log has lost and that can't be read is there still."""
    house.platform.taken = 7
    async with living(house):
        assert [answer.job for answer in await house.submit(2)] == [8, 9]
        assert [answer.job for answer in await house.submit()] == [10]


CONTEXT = Context(
    engine="gromacs",
    version="2022.5",
    build="",
    backend="CPU",
    precision="mixed",
    device="cpu:0",
    device_name="",
    driver="",
    node="n0",
    slot="cpu:0/0",
    threads=1,
    cpus=(0,),
    system="",
    inputs_sha256=(),
)


# ---------------------------------------------------------------- hardware and numbers


async def test_its_age_is_by_the_injected_clock(house: House) -> None:
    assert (house.platform.started_at, house.platform.uptime_seconds) == (house.clock.time(), 0.0)
    await house.clock.sleep(DAY)
    assert house.platform.uptime_seconds == DAY


async def test_refreshing_waits_for_a_matrix_that_was_looked_for_after_the_wish(house: House) -> None:
    done: list[str] = []

    async def refresh() -> None:
        await house.platform.refresh(by="ada")
        done.append("refreshed")

    async with living(house) as (_, tasks):
        house.journal.hold()
        house.bus.publish(a_node())
        await turn()
        tasks.start_soon(refresh)
        await turn()
        house.journal.release()
        await turn()
        assert [record.event for record in await house.journal.events(ProbeRequested)] == [ProbeRequested(by="ada")]
        assert done == []
        [asked] = await house.journal.events(ProbeRequested)
        await house.bus.publish(a_node(slots=3), cause=asked.seq - 1)
        await turn()
        assert done == []
        await house.bus.publish(a_node(slots=4), cause=asked.seq)
        await turn()
        assert done == ["refreshed"]
        assert len(house.matrix.slots) == 4
        assert len(await house.journal.events(CapabilitiesProbed)) == 3
        assert not house.bus.inboxes


async def test_only_devices_that_are_there_can_be_reported(house: House) -> None:
    async with living(house):
        with pytest.raises(InputError, match="there is no device 'cuda:0'; known: none"):
            await house.platform.report_device("cuda:0", "lost", reason="", source="")
        await house.bus.publish(a_node())
        await house.platform.report_device("cpu:0", "unhealthy", reason="hot", source="ada")
        [record] = await house.journal.events(DeviceReported)
        assert record.event == DeviceReported(device="cpu:0", condition="unhealthy", reason="hot", source="ada")


async def test_a_comparison_is_answered_by_the_answer_to_it(house: House) -> None:
    answers: list[Any] = []

    async def reconcile() -> None:
        answers.append(await house.platform.reconcile(1, 2, by="ada"))

    async with living(house) as (_, tasks):
        await house.submit(2)
        with pytest.raises(UnknownJobError, match="no job 3"):
            await house.platform.reconcile(1, 3, by="ada")
        tasks.start_soon(reconcile)
        await turn()
        assert len(await house.journal.events(ReconcileRequested)) == 1
        await house.bus.publish(ReconcileFailed(a=2, b=1, why="another one"))
        await house.bus.publish(ReconcileFailed(a=1, b=2, why="not completed"))
        await turn()
        assert answers == [ReconcileFailed(a=1, b=2, why="not completed")]


# ---------------------------------------------------------------- watching


async def test_the_past_is_read_and_ends(house: House) -> None:
    async with living(house):
        await house.submit(5)
        assert [r.seq async for r in house.platform.events(since=0, follow=False)] == [1, 2, 3, 4, 5]
        assert [r.seq async for r in house.platform.events(since=3, follow=False)] == [4, 5]
        assert [r.seq async for r in house.platform.events(since=99, follow=False)] == []
        assert not house.bus.inboxes


@pytest.mark.parametrize("since", [0, 2, 5, 7])
async def test_following_goes_from_past_to_present_without_a_gap(house: House, since: int) -> None:
    """What is committed while the past is read is neither missed nor shown twice."""
    seen: list[int] = []

    async def follow() -> None:
        async for record in house.platform.events(since=since, follow=True):
            if not seen and record.seq:
                await house.submit(2)
            seen.append(record.seq)

    async with living(house) as (_, tasks):
        await house.submit(5)
        tasks.start_soon(follow)
        await turn()
        await house.submit(3)
        await turn()
        house.bus.announce(AttemptProgressed(job=1, attempt=1, step=5))
        await turn()
        last = house.platform.last_seq
        assert seen == [*range(since + 1, last + 1), 0]


async def test_what_is_durable_and_not_yet_dispatched_is_shown_once(house: House) -> None:
    """A commit that ends while somebody begins to read."""
    seen: list[int] = []

    async def follow() -> None:
        async for record in house.platform.events(since=0, follow=True):
            seen.insert(0, record.seq)

    async with living(house) as (_, tasks):
        await house.submit()
        await house.journal.append([Record(2, 0.0, 0, ProbeRequested())])
        tasks.start_soon(follow)
        await turn()
        assert seen == [1]


async def test_metrics_are_rendered_when_they_are_asked_for(house: House) -> None:
    assert house.platform.metrics() == (b"text", "text/plain")
