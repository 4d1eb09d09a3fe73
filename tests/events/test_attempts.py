"""The life of an attempt."""

from __future__ import annotations

import msgspec
import pytest

from events import attempts
from events.attempts import AttemptEnded, AttemptFound, AttemptProgressed, AttemptStarted
from events.base import Event
from events.codec import EVENT_TYPES, decode, encode
from events.outcome import Figures
from tests.builders import a_start, an_end

OURS = [kind for kind in EVENT_TYPES if kind.__module__ == attempts.__name__]


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.__name__)
def test_every_fact_says_whose_attempt_it_is_about(kind: type[Event]) -> None:
    assert kind.__struct_fields__[:2] == ("job", "attempt")


def test_only_progress_leaves_no_trace() -> None:
    assert [kind for kind in EVENT_TYPES if kind.EPHEMERAL] == [AttemptProgressed]


def test_a_start_is_from_step_0_where_nothing_else_is_said() -> None:
    fresh = a_start()
    assert (fresh.from_step, fresh.cpus, fresh.added) == (0, (), ())
    assert b"from_step" not in encode(fresh)
    assert decode("AttemptStarted", 1, encode(a_start(from_step=500))) == a_start(from_step=500)


def test_a_process_is_known_by_more_than_its_pid() -> None:
    assert attempts.Handle.__struct_fields__ == ("pid", "start_ticks", "boot_id")
    with pytest.raises(msgspec.ValidationError, match="boot_id"):
        msgspec.convert({"pid": 1, "start_ticks": 2}, attempts.Handle)


def test_an_end_says_nothing_that_was_not_seen() -> None:
    bare = an_end("vanished")
    assert (bare.exit, bare.diagnosis, bare.warnings) == (None, None, ())
    assert AttemptEnded(job=1, attempt=1, slot="s", outcome="failed").figures == Figures()


@pytest.mark.parametrize(
    ("kind", "field"),
    [(AttemptFound, "state"), (attempts.AttemptStopRequested, "reason"), (AttemptEnded, "outcome")],
)
def test_a_word_that_is_none_of_the_few_is_refused(kind: type[Event], field: str) -> None:
    plain = {"type": kind.__name__, "job": 1, "attempt": 1, "slot": "s", field: "sideways"}
    with pytest.raises(msgspec.ValidationError, match=rf"sideways.*\$\.{field}"):
        msgspec.convert(plain, kind)


def test_the_whole_command_line_is_kept() -> None:
    assert {"argv", "added", "cpus", "folder", "handle"} <= set(AttemptStarted.__struct_fields__)
