"""All that a core may ask for. The shell does it; the outcome, failure included, comes back as an event."""

from __future__ import annotations

from typing import Literal

import msgspec

from events.attempts import AttemptEnded, JobAssigned
from events.base import Event


class Effect(msgspec.Struct, frozen=True):
    """A value that says what should be done."""


class Publish(Effect, frozen=True):
    """Append an event, caused by the record with that sequence number."""

    event: Event
    cause: int = 0


class WakeAt(Effect, frozen=True):
    """Call `decide` again at this time (epoch seconds), if nothing else happens before."""

    time: float


class Look(Effect, frozen=True):
    """Look at the node's devices and engines; comes back as `CapabilitiesProbed`."""

    cause: int


class RunAttempt(Effect, frozen=True):
    """See an attempt through, whatever has become of it so far: start it, or adopt it, or read how it ended."""

    assigned: JobAssigned
    cause: int


class StopAttempt(Effect, frozen=True):
    """Stop an attempt in good order."""

    job: int
    attempt: int
    reason: Literal["cancelled", "device", "preempted", "shutdown"]


class Archive(Effect, frozen=True):
    """Write an ended attempt into ledger and archive; comes back as `PerformanceRecorded`."""

    ended: AttemptEnded
    cause: int


class Compare(Effect, frozen=True):
    """Compare the energies of two jobs; comes back as `PairReconciled` or `ReconcileFailed`."""

    a: int
    b: int
    cause: int
