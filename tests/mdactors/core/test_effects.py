"""What a core may ask for."""

from __future__ import annotations

import msgspec
import pytest

from mdactors.core import effects
from mdactors.core.effects import Archive, Compare, Effect, Look, Publish, RunAttempt, StopAttempt, WakeAt
from tests.builders import a_submission, an_assignment, an_end

ALL: list[Effect] = [
    Publish(a_submission()),
    WakeAt(1.0),
    Look(1),
    RunAttempt(an_assignment(), 1),
    StopAttempt(1, 1, "device"),
    Archive(an_end(), 1),
    Compare(1, 2, 3),
]


def test_these_are_all_that_there_are() -> None:
    known = {kind for kind in vars(effects).values() if isinstance(kind, type) and issubclass(kind, Effect)}
    assert {type(effect) for effect in ALL} == known - {Effect}


@pytest.mark.parametrize("effect", ALL, ids=lambda effect: type(effect).__name__)
def test_an_effect_is_a_value(effect: Effect) -> None:
    assert effect == msgspec.structs.replace(effect)
    with pytest.raises(AttributeError, match="immutable"):
        setattr(effect, effect.__struct_fields__[0], None)


def test_what_a_person_did_has_no_cause() -> None:
    assert Publish(a_submission()).cause == 0
