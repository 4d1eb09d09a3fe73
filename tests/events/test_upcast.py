"""Old events in their present form."""

from __future__ import annotations

import pytest

from events.codec import BY_NAME
from events.upcast import STEPS, Fields, MissingStepError, upcast


def renamed(fields: Fields) -> Fields:
    return {"who": fields["by"]}


def shouted(fields: Fields) -> Fields:
    return {"who": fields["who"].upper()}


def test_the_steps_are_taken_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STEPS, ("Waved", 2), shouted)
    monkeypatch.setitem(STEPS, ("Waved", 1), renamed)
    assert upcast("Waved", 1, 3, {"by": "ada"}) == {"who": "ADA"}
    assert upcast("Waved", 2, 3, {"who": "ada"}) == {"who": "ADA"}


def test_what_is_current_is_left_alone() -> None:
    assert upcast("Waved", 3, 3, {"who": "ada"}) == {"who": "ada"}


def test_a_missing_step_names_the_event_and_both_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STEPS, ("Waved", 1), renamed)
    with pytest.raises(MissingStepError, match="no way from version 2 of 'Waved' to version 3"):
        upcast("Waved", 1, 3, {"by": "ada"})


def test_every_old_version_of_every_event_has_its_step() -> None:
    wanted = {(name, version) for name, kind in BY_NAME.items() for version in range(1, kind.VERSION)}
    assert set(STEPS) == wanted
