"""What travels over HTTP."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from events.outcome import Candidate, Refusal
from mdactors.cli import submit
from mdactors.ports import Submission
from mdactors.wire import JOBS_MAX, CancelRequest, SubmitRequest, submitted


def test_a_submission_is_told_with_the_text_of_each_refusal() -> None:
    refusal = Refusal(subject="gmx", clause="precision", wanted="double precision", found="built in mixed precision")
    told = submitted(
        Submission(index=1, name="a", job=3, state="rejected", refusals=(refusal,), candidates=(Candidate("c", "d"),))
    )
    assert told.refusals[0].text == refusal.text()
    assert (told.index, told.job, told.state, told.candidates[0].capability) == (1, 3, "rejected", "c")


def test_what_is_not_decided_yet_is_submitted() -> None:
    assert submitted(Submission(index=0, name="a", job=1)).state == "submitted"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (SubmitRequest, {"jobs": [], "base": "/"}),
        (SubmitRequest, {"jobs": [1], "base": "/", "wait": "for ever"}),
        (SubmitRequest, {"jobs": [1], "base": "/", "urgent": True}),
        (CancelRequest, {"jobs": ["1"]}),
        (CancelRequest, {}),
    ],
)
def test_requests_of_the_wrong_shape_are_refused(kind: Any, body: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(body, kind)


def test_the_client_knows_how_much_may_travel_at_once() -> None:
    assert submit.PART == JOBS_MAX
