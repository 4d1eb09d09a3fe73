"""What every fact has in common, and the record that the journal makes of it."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", gc=False):
    """A fact in the past tense; the only thing that actors say to each other.

    Not tracked by the garbage collector: a fact is made of other facts and never part of a circle.
    """

    VERSION: ClassVar[int] = 1
    """Raised when a field's meaning changes; `events.upcast` then learns the step."""

    EPHEMERAL: ClassVar[bool] = False
    """Ephemeral facts are seen by all who listen and never stored."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """An event in the journal: its place in the total order, its time and what caused it."""

    seq: int
    """1, 2, 3 ... without gaps; 0 for an ephemeral event, which has no place."""
    time: float
    """Seconds since the epoch, by the platform's clock."""
    cause: int
    """The sequence number of the record that led to this one; 0 where a person or the outside world did."""
    event: Event
    seen: int = 0
    """The newest record that the core which decided this had folded; 0 where no core decided. With it, a decision can be made again."""
