"""What led to a job's state: the facts about it, and the facts that caused those, back to their origin."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from events.base import Event, Record


class Link(msgspec.Struct, frozen=True):
    """One fact of the chain."""

    record: Record
    about: bool
    """It is about the job itself; else it is only what led to such a fact."""


def why(records: Iterable[Record], job: int) -> list[Link]:
    """Return the chain of facts that led to where a job stands, in order; empty: the log knows no such job."""
    log: dict[int, Record] = {}
    wanted: set[int] = set()
    for record in records:
        log[record.seq] = record
        if concerns(record.event, job):
            wanted |= _ancestors(record, log)
    return [Link(log[seq], concerns(log[seq].event, job)) for seq in sorted(wanted)]


def concerns(event: Event, job: int) -> bool:
    """Return whether a fact is about a job: its own, or a comparison with it."""
    return job in {getattr(event, field, None) for field in ("job", "a", "b")}


def _ancestors(record: Record, log: dict[int, Record]) -> set[int]:
    """Return the record and everything that caused it."""
    chain = {record.seq}
    while record.cause and record.cause in log:
        record = log[record.cause]
        chain.add(record.seq)
    return chain
