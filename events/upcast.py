"""Old events brought to their present form, one version step at a time, over plain dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Fields = dict[str, Any]

STEPS: dict[tuple[str, int], Callable[[Fields], Fields]] = {}
"""(event name, version n) -> the step to version n + 1. A field that is only added needs a default, not a step."""


class MissingStepError(LookupError):
    """A version of an event has no step to the next one: the journal is older than this version of mdactors can read."""


def upcast(name: str, version: int, current: int, fields: Fields) -> Fields:
    """Return `fields` of event `name`, stored at `version`, in the form of version `current`.

    Raises:
        MissingStepError: a step on the way is not known.
    """
    for step in range(version, current):
        if (name, step) not in STEPS:
            raise MissingStepError(f"no way from version {step} of {name!r} to version {step + 1}")
        fields = STEPS[name, step](fields)
    return fields
