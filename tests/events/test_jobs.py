"""The life of a job."""

from __future__ import annotations

import pytest

from events import jobs
from events.base import Event
from events.codec import EVENT_TYPES, decode, encode
from events.jobs import JobCancelled, JobRequeued, JobSubmitted
from events.spec import AmberJob, AnyJobSpec, GromacsTopJob, OpenMMJob, Settings, TprJob

OURS = [kind for kind in EVENT_TYPES if kind.__module__ == jobs.__name__]


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.__name__)
def test_every_fact_says_which_job_it_is_about(kind: type[Event]) -> None:
    assert kind.__struct_fields__[0] == "job"


@pytest.mark.parametrize(
    "spec",
    [
        TprJob(tpr="a.tpr", nsteps=0, device="cpu:0", labels={"a": "b"}),
        GromacsTopJob(gro="a.gro", top="a.top", mdp="a.mdp", device=1),
        OpenMMJob(system="a.xml", pdb="a.pdb", settings=Settings(seed=3)),
        AmberJob(prmtop="a.prmtop", inpcrd="a.inpcrd", priority=-1.5),
    ],
    ids=lambda spec: type(spec).__name__,
)
def test_a_submission_keeps_the_kind_of_its_spec(spec: AnyJobSpec) -> None:
    event = JobSubmitted(job=1, spec=spec, inputs=(), examinations=())
    assert decode("JobSubmitted", 1, encode(event)) == event


def test_a_job_that_is_requeued_avoids_nothing_unless_it_is_said() -> None:
    assert JobRequeued(job=1, attempt=1, reason="stopped").avoid == ""


def test_a_job_may_be_cancelled_before_it_had_an_attempt() -> None:
    assert JobCancelled(job=1).attempt == 0
