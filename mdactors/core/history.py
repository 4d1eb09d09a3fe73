"""A log folded by the very cores that live by it, for those who want to look back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from events.base import Event, Record
from events.codec import name_of
from mdactors.core.capabilities import Matrix
from mdactors.core.digest import digest
from mdactors.core.lifecycle import Jobs
from mdactors.core.queue import static_key
from mdactors.core.scheduling import SchedulerCore

SHORT = 60
"""Characters of a field's value that a sentence shows."""


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A job's place in line."""

    place: int
    job: int
    priority: float
    priority_class: str
    effective: float
    """Priority with what waiting has added to it so far."""
    waited_seconds: float
    devices: str
    """Devices that would do for it now."""


class History:
    """The state that a log leads to."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.jobs = Jobs()
        self.matrix = Matrix()
        self.scheduler = SchedulerCore()
        self.seq = 0
        self.time: float | None = None
        for record in records:
            self._fold(record)

    def _fold(self, record: Record) -> None:
        self.jobs.apply(record)
        self.matrix.apply(record)
        self.scheduler.apply(record)
        self.seq, self.time = record.seq, record.time

    def take(self, record: Record) -> list[str]:
        """Fold one record more; return what it changed, a line each."""
        job = getattr(record.event, "job", None)
        before = self._facts(job)
        self._fold(record)
        after = self._facts(job)
        return [
            f"{name}: {before.get(name, 'none')} -> {value}"
            for name, value in after.items()
            if before.get(name) != value
        ]

    def _facts(self, job: int | None) -> dict[str, str]:
        facts = {f"slot {slot}": f"job {holder}" for slot, holder in self.scheduler.busy.items()}
        facts = dict.fromkeys((f"slot {slot}" for slot in self.matrix.slots), "free") | facts
        facts |= {f"device {device}": f"unhealthy: {why}" for device, why in self.matrix.unhealthy.items()}
        facts |= {"jobs in line": str(len(self.scheduler.queue))}
        if job is not None and job in self.jobs:
            facts[f"job {job}"] = str(self.jobs.rows[job].state)
        return facts

    def line(self) -> list[Waiting]:
        """Return the waiting jobs, first in line first."""
        return [self._waiting(place, job) for place, (job, _) in enumerate(self.scheduler.queue.waiting(), 1)]

    def _waiting(self, place: int, job: int) -> Waiting:
        entry, rate = self.scheduler.entries[job], self.scheduler.policy.aging_per_hour
        waited = max(0.0, (self.time or 0.0) - entry.submitted)
        return Waiting(
            place=place,
            job=job,
            priority=entry.priority,
            priority_class=entry.priority_class,
            effective=static_key(entry.priority, entry.priority_class, -waited, rate),
            waited_seconds=waited,
            devices=" ".join(dict.fromkeys(choice.device for choice in self.scheduler.choices(entry))),
        )

    def digest(self) -> str:
        """Return one word for the whole state."""
        return digest(self.jobs, self.matrix)


def sentence(event: Event) -> str:
    """Return a fact as one line: its name, its plain fields, and why it failed where it says so."""
    fields: dict[str, Any] = msgspec.to_builtins(event)
    shown = [f"{name}={_short(value)}" for name, value in fields.items() if name != "type" and _is_plain(value)]
    if summary := (fields.get("diagnosis") or {}).get("summary"):
        shown.append(f"({summary})")
    return " ".join([name_of(event), *shown])


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float) and value != ""


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= SHORT else text[: SHORT - 1] + "…"
