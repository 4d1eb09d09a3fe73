"""What the pages say about the code is what the code does."""

from __future__ import annotations

from tests.architecture.flow import PARTS, heard, said
from tests.architecture.pages import BLOCKS, PAGE, filled

EPHEMERAL_OR_READ_BY_PEOPLE = {"JobsRegained", "AttemptProgressed", "PlatformStopped", "ActorRestarted", "AttemptFound"}
"""Facts on which nothing is decided: they are for those who watch."""


def test_architecture_page_is_what_the_code_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"<!-- {name} -->" in text for name in BLOCKS)
    assert filled(text) == text, "run `make docs`"


def test_every_event_that_is_decided_on_is_said_by_somebody() -> None:
    everything_said = {event for part in PARTS for event in said(part)}
    assert {event for part in PARTS for event in heard(part)} <= everything_said | {"DeviceReported"}


def test_nothing_is_said_to_nobody() -> None:
    everything_heard = {event for part in PARTS for event in heard(part)}
    everything_said = {event for part in PARTS for event in said(part)}
    assert everything_said - everything_heard <= EPHEMERAL_OR_READ_BY_PEOPLE
