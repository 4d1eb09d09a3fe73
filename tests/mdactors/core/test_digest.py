"""One word for a state: the same for the same, another for anything else, and progress is in no log."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.attempts import AttemptProgressed
from events.base import Event, Record
from events.codec import decode, encode
from events.devices import DeviceUnhealthy
from events.jobs import JobCancelRequested
from mdactors.core.capabilities import Matrix
from mdactors.core.digest import digest
from mdactors.core.lifecycle import Jobs
from tests.builders import a_node, a_start, a_submission, an_acceptance, an_assignment, records
from tests.mdactors.core.courses import courses

ROOT = Path(__file__).parents[3]

RUNNING = (a_node(), a_submission(), an_acceptance(), an_assignment(), a_start())

HERE = """
from tests.mdactors.core.test_digest import RUNNING, word
print(word(*RUNNING))
"""


def word(*events: Event) -> str:
    return word_of(records(*events))


def word_of(log: list[Record]) -> str:
    jobs, matrix = Jobs(), Matrix()
    for record in log:
        jobs.apply(record)
        matrix.apply(record)
    return digest(jobs, matrix)


def test_it_is_a_sha256() -> None:
    assert len(word()) == 64
    assert int(word(), 16)


@given(courses())
def test_a_log_that_was_written_and_read_leads_to_the_same_word(log: list[Record]) -> None:
    read = [
        msgspec.structs.replace(record, event=decode(type(record.event).__name__, 1, encode(record.event)))
        for record in log
    ]
    assert word_of(read) == word_of(log)


@given(courses(), st.data())
def test_any_fact_that_changes_a_job_changes_the_word(log: list[Record], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(log) - 1))
    changed = rows(log[:place]) != rows(log[: place + 1])
    assert word_of(log[:place]) != word_of(log[: place + 1]) or not changed


def rows(log: list[Record]) -> bytes:
    jobs = Jobs()
    for record in log:
        jobs.apply(record)
    return msgspec.json.encode(list(jobs.ordered()))


@pytest.mark.parametrize(
    "other",
    [
        RUNNING[:-1],
        (*RUNNING, JobCancelRequested(job=1, by="ada")),
        (*RUNNING, DeviceUnhealthy(device="cpu:0", reason="hot")),
        (a_node(slots=1), *RUNNING[1:]),
        (a_node(slots=1), *RUNNING),
        (*RUNNING[:1], a_submission(priority=1.0), *RUNNING[2:]),
    ],
    ids=["less", "a wish", "a device", "other hardware", "a look more", "another job"],
)
def test_another_log_leads_to_another_word(other: tuple[Event, ...]) -> None:
    assert word(*other) != word(*RUNNING)


def test_progress_is_not_in_the_log_and_not_in_the_word() -> None:
    assert word(*RUNNING, AttemptProgressed(job=1, attempt=1, step=5)) == word(*RUNNING)


def test_the_live_row_keeps_its_progress() -> None:
    jobs = Jobs()
    for record in records(*RUNNING, AttemptProgressed(job=1, attempt=1, step=5)):
        jobs.apply(record)
    digest(jobs, Matrix())
    progress = jobs[1].attempts[-1].progress
    assert progress is not None
    assert progress.step == 5


def test_another_process_with_other_hashes_says_the_same_word() -> None:
    for seed in ("1", "2"):
        made = subprocess.run(
            [sys.executable, "-c", HERE],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        )
        assert made.stdout.strip() == word(*RUNNING)
