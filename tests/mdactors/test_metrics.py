from __future__ import annotations

import shutil
import subprocess
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.attempts import AttemptEnded, AttemptProgressed
from events.base import Event, Record
from events.devices import DeviceRecovered, DeviceUnhealthy
from events.jobs import JobAccepted, JobCancelled, JobFailed, JobRejected, JobRequeued
from events.outcome import Diagnosis
from events.results import PairReconciled
from mdactors.core.capabilities import Matrix
from mdactors.core.lifecycle import Jobs
from mdactors.metrics import NAMES, SYSTEMS_MAX, Metrics, escaped
from tests.mdactors.archive.builders import a_life, a_node, a_performance, a_start, a_submission, records

RAN = {"engine": "gromacs", "backend": "CPU", "precision": "mixed"}
NOWHERE = {"engine": "none", "backend": "none", "precision": "none"}


def folded(log: list[Record]) -> Metrics:
    """Metrics that were fed as the platform feeds them."""
    metrics, jobs, matrix = Metrics(), Jobs(), Matrix()
    for record in log:
        jobs.apply(record)
        matrix.apply(record)
        metrics.observe(record, jobs, matrix)
    return metrics


def samples(*events: Event, pace: float = 1.0) -> dict[str, float]:
    """Series -> value after these events."""
    text = folded(records(*events, pace=pace)).render()[0].decode()
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines}


def series(name: str, **labels: str) -> str:
    """The series' name in the text: labels in alphabetical order."""
    inside = ",".join(f'{key}="{labels[key]}"' for key in sorted(labels))
    return f"mdplatform_{name}{{{inside}}}"


def ended(job: int, attempt: int = 1, *, slot: str = "cpu:0/0") -> AttemptEnded:
    return AttemptEnded(job=job, attempt=attempt, slot=slot, outcome="stopped")


def a_pair(verdict: str, pair: str = "gromacs-mixed:openmm-mixed") -> PairReconciled:
    return PairReconciled(a=1, b=2, pair=pair, verdict=verdict, terms=())  # type: ignore[arg-type]


# ---------------------------------------------------------------- jobs


def test_a_life_is_counted_at_every_state() -> None:
    found = samples(a_node(), *a_life(1), *a_life(2))
    jobs = {name: value for name, value in found.items() if name.startswith("mdplatform_jobs_total")}
    assert jobs == {
        series("jobs_total", **NOWHERE, state="submitted"): 2,
        series("jobs_total", **NOWHERE, state="queued"): 2,
        series("jobs_total", **RAN, state="running"): 2,
        series("jobs_total", **RAN, state="completed"): 2,
    }


def test_jobs_that_never_ran_count_under_none() -> None:
    found = samples(
        a_node(),
        a_submission(1),
        JobRejected(job=1, refusals=()),
        a_submission(2),
        JobAccepted(job=2, candidates=()),
        JobCancelled(job=2),
    )
    assert found[series("jobs_total", **NOWHERE, state="rejected")] == 1
    assert found[series("jobs_total", **NOWHERE, state="cancelled")] == 1


def test_a_requeued_job_counts_where_it_ran() -> None:
    failed = JobFailed(job=1, attempt=2, diagnosis=Diagnosis(kind="unknown", code="x", summary="x"))
    found = samples(
        a_node(),
        a_submission(1),
        JobAccepted(job=1, candidates=()),
        *a_start(1),
        ended(1),
        JobRequeued(job=1, attempt=1, reason="device"),
        *a_start(1, attempt=2),
        ended(1, 2),
        failed,
    )
    assert found[series("jobs_total", **RAN, state="requeued")] == 1
    assert found[series("jobs_total", **RAN, state="running")] == 2
    assert found[series("jobs_total", **RAN, state="failed")] == 1


# ---------------------------------------------------------------- slots


def slots(*events: Event) -> tuple[float, float, float]:
    found = samples(*events)
    free, busy, unhealthy = (
        found[f'mdplatform_slots{{device_type="cpu",state="{state}"}}'] for state in ("free", "busy", "unhealthy")
    )
    return free, busy, unhealthy


def test_slots_are_free_busy_or_unhealthy() -> None:
    running = (a_node(slots=3), a_submission(1), JobAccepted(job=1, candidates=()), *a_start(1))
    sick = DeviceUnhealthy(device="cpu:0", reason="hot")
    assert slots(a_node(slots=3)) == (3, 0, 0)
    assert slots(*running) == (2, 1, 0)
    assert slots(*running, sick) == (0, 0, 3)
    assert slots(*running, sick, ended(1)) == (0, 0, 3)
    assert slots(*running, ended(1), sick, DeviceRecovered(device="cpu:0")) == (3, 0, 0)


def test_slots_that_are_gone_read_zero_not_their_last_value() -> None:
    metrics, jobs, matrix = Metrics(), Jobs(), Matrix()
    for record in records(a_node(slots=2)):
        matrix.apply(record)
        metrics.observe(record, jobs, matrix)
    assert b'state="free"} 2' in metrics.render()[0]
    matrix.slots, matrix.devices = {}, {}
    assert b'mdplatform_slots{device_type="cpu",state="free"} 0' in metrics.render()[0]


# ---------------------------------------------------------------- histograms


def test_waiting_is_timed_from_acceptance_and_again_from_each_requeue() -> None:
    found = samples(
        a_node(),
        a_submission(1, priority_class="bulk"),
        JobAccepted(job=1, candidates=()),
        *a_start(1),
        ended(1),
        JobRequeued(job=1, attempt=1, reason="device"),
        *a_start(1, attempt=2),
        pace=5.0,
    )
    assert found[series("queue_wait_seconds_count", priority_class="bulk")] == 2
    assert found[series("queue_wait_seconds_sum", priority_class="bulk")] == 10.0
    assert found[series("queue_wait_seconds_bucket", priority_class="bulk", le="1.0")] == 0
    assert found[series("queue_wait_seconds_bucket", priority_class="bulk", le="10.0")] == 2


def test_speeds_of_runs_that_say_something() -> None:
    found = samples(
        a_performance(1, 120.0),
        a_performance(2, 80.0, steady=False, steps=1000),
        a_performance(3, 9999.0, steady=False, steps=999),
        a_performance(4, float("nan")),
    )
    labels = {"engine": "gromacs", "backend": "CPU", "system": "648 atoms, PME, h-bonds"}
    assert found[series("job_ns_per_day_count", **labels)] == 2
    assert found[series("job_ns_per_day_sum", **labels)] == 200.0
    assert found[series("job_ns_per_day_bucket", **labels, le="100.0")] == 1


def test_system_classes_are_bounded() -> None:
    found = samples(*(a_performance(n, system=f"{n} atoms") for n in range(1, SYSTEMS_MAX + 11)))
    counts = {name: value for name, value in found.items() if name.startswith("mdplatform_job_ns_per_day_count")}
    assert len(counts) == SYSTEMS_MAX + 1
    assert counts[series("job_ns_per_day_count", engine="gromacs", backend="CPU", system="other")] == 10


# ---------------------------------------------------------------- reconciliation


def test_pass_ratio_is_per_pair() -> None:
    found = samples(a_pair("pass"), a_pair("pass"), a_pair("warn"), a_pair("fail"), a_pair("fail", "a-mixed:b-mixed"))
    assert found['mdplatform_reconcile_pass_ratio{pair="gromacs-mixed:openmm-mixed"}'] == 0.5
    assert found['mdplatform_reconcile_pass_ratio{pair="a-mixed:b-mixed"}'] == 0.0


# ---------------------------------------------------------------- the text


def test_rendering_twice_says_the_same() -> None:
    metrics = folded(records(a_node(), *a_life(1), a_performance(1), a_pair("pass")))
    assert metrics.render() == metrics.render()


def test_a_replay_of_the_same_journal_gives_the_same_text() -> None:
    log = records(a_node(), *a_life(1), *a_life(2), a_performance(1), a_pair("warn"))
    assert folded(log).render() == folded(list(log)).render()


def test_two_platforms_share_nothing() -> None:
    first, second = folded(records(a_pair("pass"))), Metrics()
    assert b"openmm" in first.render()[0]
    assert b"openmm" not in second.render()[0]


def test_names_and_types_are_those_of_the_field() -> None:
    text, content_type = Metrics().render()
    types = sorted(line for line in text.decode().splitlines() if line.startswith("# TYPE"))
    assert types == [
        "# TYPE mdplatform_job_ns_per_day histogram",
        "# TYPE mdplatform_jobs_total counter",
        "# TYPE mdplatform_queue_wait_seconds histogram",
        "# TYPE mdplatform_reconcile_pass_ratio gauge",
        "# TYPE mdplatform_slots gauge",
    ]
    assert content_type.startswith("text/plain; version=0.0.4")


@given(st.text())
def test_label_values_are_escaped(value: str) -> None:
    made = escaped(value)
    assert "\n" not in made
    assert all(before == "\\" for before, after in pairwise(" " + made.replace("\\\\", "")) if after == '"')


def test_prometheus_own_tool_finds_nothing_to_complain_of_but_the_name_that_is_given() -> None:
    tool = shutil.which("promtool")
    if tool is None:
        pytest.skip("promtool (Debian: prometheus) is not installed")
    log = records(
        a_node(),
        *a_life(1),
        a_performance(1, system='a "box"\\of\nwater, 10 Å'),
        a_performance(2, system=""),
        a_pair("pass"),
    )
    text, _ = folded(log).render()
    done = subprocess.run([tool, "check", "metrics"], input=text, capture_output=True, check=False, timeout=60)
    said = (done.stdout + done.stderr).decode().split("\n")
    remarks = [line for line in said if line]
    # The field fixed the name, and nanoseconds in "ns/day" are no time unit of the metric.
    assert set(remarks) <= {f"{NAMES['speed'][0]} metric names should not contain abbreviated units"}


def test_facts_that_are_not_measured_change_nothing() -> None:
    progressed = AttemptProgressed(job=1, attempt=1, step=100)
    running = (a_node(), *a_life(1)[:4])
    assert samples(*running, progressed) == samples(*running)


# ---------------------------------------------------------------- over lives


LIVES = records(
    a_node(),
    *a_life(1),
    a_performance(1),
    a_pair("pass"),
    a_pair("fail"),
    *a_life(2),
    a_performance(2, 0.3, system='\\ "odd" \n'),
    a_submission(3),
    JobAccepted(job=3, candidates=()),
    *a_start(3),
)


def told(metrics: Metrics) -> list[str]:
    return sorted(metrics.render()[0].decode().splitlines())


@pytest.mark.parametrize("at", range(len(LIVES) + 1))
def test_counters_that_are_restored_go_on_as_if_nothing_had_been(at: int) -> None:
    """As after a start: what is still needed of the past was folded again, then comes the rest."""
    kept = folded(LIVES[:at]).counters()
    metrics, jobs, matrix = Metrics(), Jobs(), Matrix()
    for record in LIVES:
        if record.seq == at + 1:
            metrics.restore(kept)
        jobs.apply(record)
        matrix.apply(record)
        metrics.observe(record, jobs, matrix)
    if at == len(LIVES):
        metrics.restore(kept)
    assert told(metrics) == told(folded(LIVES))


def test_what_was_counted_of_the_residue_is_not_counted_twice() -> None:
    running = LIVES[-4:]
    metrics, jobs, matrix = Metrics(), Jobs(), Matrix()
    for record in (LIVES[0], *running):
        jobs.apply(record)
        matrix.apply(record)
        metrics.observe(record, jobs, matrix)
    metrics.restore(folded(LIVES).counters())
    assert told(metrics) == told(folded(LIVES))


def test_systems_keep_their_labels_over_lives() -> None:
    metrics, jobs, matrix = Metrics(), Jobs(), Matrix()
    metrics.restore(folded(records(*[a_performance(system=f"s{n}") for n in range(SYSTEMS_MAX)])).counters())
    for record in records(a_performance(system="one more"), a_performance(system="s7")):
        metrics.observe(record, jobs, matrix)
    text = metrics.render()[0].decode()
    assert 'system="other"' in text
    assert "one more" not in text
