"""What a start still needs: with it and the tail, all is as with the whole log."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from events.base import Event, Record
from events.devices import ProbeRequested
from events.jobs import JobCancelRequested
from events.results import PairReconciled, ReconcileRequested
from mdactors.core.archiving import ArchivistCore
from mdactors.core.base import Core
from mdactors.core.capabilities import Matrix
from mdactors.core.digest import digest
from mdactors.core.effects import Effect
from mdactors.core.execution import ExecutorCore
from mdactors.core.health import HealthCore
from mdactors.core.lifecycle import Jobs
from mdactors.core.negotiation import NegotiatorCore
from mdactors.core.probing import ProberCore
from mdactors.core.reconciling import ReconcilerCore
from mdactors.core.residue import Residue
from mdactors.core.scheduling import SchedulerCore
from mdactors.runtime.journal.memory import ClosedRows
from tests.builders import a_diagnosis, a_node
from tests.mdactors.core.courses import DEVICES, Course, a_beginning, courses

FAULT = a_diagnosis("same", "visibility")


class Kept:
    """What is left of a log after snapshots at some places."""

    def __init__(self, log: Sequence[Record], *cuts: int) -> None:
        self.log = log
        self.needed: list[int] = []
        self.closed: dict[int, bytes] = {}
        self._cut = 0
        for cut in cuts:
            self._keep(cut)

    def _keep(self, cut: int) -> None:
        jobs = self.jobs()
        residue = Residue(jobs)
        for record in self.folded(cut):
            jobs.apply(record)
            residue.apply(record)
        closed = residue.closable()
        self.needed, self._cut = residue.needed(without=closed), cut
        self.closed |= {row.job: msgspec.json.encode(row) for row in closed}

    def jobs(self) -> Jobs:
        """Return the read model that a start begins with."""
        return Jobs(ClosedRows(self.closed))

    def folded(self, upto: int | None = None) -> list[Record]:
        """Return the records that a start folds."""
        return [self.log[seq - 1] for seq in self.needed] + list(self.log[self._cut : upto])


def kept(course: Course) -> Kept:
    """What a snapshot at the end of a course leaves."""
    return Kept(course.log, len(course.log))


def kinds(left: Kept) -> list[str]:
    return [type(record.event).__name__ for record in left.folded()]


def state(jobs: Jobs, records: Sequence[Record]) -> str:
    matrix = Matrix()
    for record in records:
        jobs.apply(record)
        matrix.apply(record)
    return digest(jobs, matrix)


def decisions(records: Sequence[Record]) -> dict[str, list[Effect]]:
    """What each core decides in the life that begins after these records."""
    slots = [f"{device}/{place}" for device, count in DEVICES.items() for place in range(count)]
    cores: dict[str, Core] = {
        "negotiator": NegotiatorCore(),
        "scheduler": SchedulerCore(),
        "health": HealthCore(),
        "archivist": ArchivistCore(),
        "reconciler": ReconcilerCore(),
        "prober": ProberCore("n0"),
    }
    cores |= {slot: ExecutorCore(slot) for slot in slots}
    return {name: _decision(core, records) for name, core in cores.items()}


def _decision(core: Core, records: Sequence[Record]) -> list[Effect]:
    for record in records:
        core.apply(record)
    return core.decide(records[-1].time)


@given(courses(), st.data())
def test_residue_and_tail_lead_where_the_whole_log_leads(log: list[Record], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=3)))
    left = Kept(log, *cuts)
    assert state(left.jobs(), left.folded()) == state(Jobs(), log)
    begun = [Record(len(log) + 1, log[-1].time, 0, a_beginning())]
    assert decisions(left.folded() + begun) == decisions(log + begun)


@given(courses())
def test_records_are_needed_in_their_order_and_once(log: list[Record]) -> None:
    needed = Kept(log, len(log)).needed
    assert needed == sorted(set(needed))


def test_nothing_of_a_job_that_has_ended_and_is_archived_is_needed() -> None:
    course = Course()
    course.submit()
    course.run(1)
    left = kept(course)
    assert [*left.closed] == [1]
    assert kinds(left) == ["PlatformStarted", "CapabilitiesProbed"]
    assert left.jobs()[1] == course.jobs[1]


def test_a_job_stays_open_until_its_end_is_in_the_archive() -> None:
    course = Course()
    course.submit()
    course.run(1)
    archived = len(course.log)
    assert [*Kept(course.log, archived - 1).closed] == []
    assert [*Kept(course.log, archived - 1, archived).closed] == [1]


def test_a_closed_job_is_told_once() -> None:
    course = Course()
    course.submit()
    course.run(1)
    residue = Residue(course.jobs)
    for record in course.log:
        residue.apply(record)
    closed = residue.closable()
    assert [row.job for row in closed] == [1]
    residue.forget(closed)
    assert residue.closable() == []
    assert residue.needed() == residue.needed(without=closed)


def test_a_job_whose_device_is_under_suspicion_because_of_it_stays_open() -> None:
    course = Course()
    course.submit(device="cuda:0")
    course.run(1, outcome="failed", diagnosis=a_diagnosis("no", "substrate"))
    assert course.jobs[1].ended_at is not None
    assert [*kept(course).closed] == []
    course.submit(device="cuda:0")
    course.run(2)
    assert 1 in kept(course).closed


def test_a_suspicion_that_was_lifted_stays_lifted() -> None:
    course = Course()
    course.submit(device="cuda:0")
    for other in (2, 3, 4):
        course.submit(device="cuda:0", priority=9.0)
        course.run(1, outcome="failed", diagnosis=FAULT)
        course.run(other)
    assert course.jobs[1].failures == 3
    assert decisions(kept(course).folded())["health"] == []


def test_a_comparison_is_needed_until_it_is_answered() -> None:
    course = Course()
    course.tell(ReconcileRequested(a=1, b=2))
    assert "ReconcileRequested" in kinds(kept(course))
    course.tell(PairReconciled(a=1, b=2, pair="x:y", verdict="pass", terms=()))
    assert "ReconcileRequested" not in kinds(kept(course))


def test_a_wish_for_a_look_is_needed_until_somebody_has_looked() -> None:
    course = Course()
    wish = course.tell(ProbeRequested(by="ada"))
    assert "ProbeRequested" in kinds(kept(course))
    course.tell(a_node(slots=DEVICES), cause=wish - 1)  # begun before
    assert "ProbeRequested" in kinds(kept(course))
    course.tell(a_node(slots=DEVICES), cause=wish)
    assert "ProbeRequested" not in kinds(kept(course))


def test_of_hardware_the_newest_look_is_needed_and_the_last_one_that_had_each_capability() -> None:
    course = Course()
    course.tell(a_node(slots=DEVICES), a_node(slots={"cpu:0": 1}), a_node(slots={"cpu:0": 1}))
    needed = [record.seq for record in kept(course).folded() if kind_is(record.event, "CapabilitiesProbed")]
    assert needed == [3, 5]


def kind_is(event: Event, name: str) -> bool:
    return type(event).__name__ == name


def test_what_comes_too_late_for_a_closed_job_is_not_needed() -> None:
    course = Course()
    course.submit()
    course.run(1)
    closed = len(course.log)
    course.tell(JobCancelRequested(job=1, by="ada"))
    left = Kept(course.log, closed, closed + 1)
    assert kinds(left) == ["PlatformStarted", "CapabilitiesProbed"]
    assert state(left.jobs(), left.folded()) == state(Jobs(), course.log)
