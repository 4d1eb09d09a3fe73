"""When the capability matrix of the node has to be renewed."""

from __future__ import annotations

from events.base import Record
from events.devices import CapabilitiesProbed, ProbeRequested
from events.jobs import JobSubmitted
from events.platform import PlatformStarted, Policy
from mdactors.core.effects import Effect, Look


class ProberCore:
    """Looks when nothing is known, when somebody asks, and when a job comes after the matrix's time to live.

    An idle platform looks at nothing: a matrix past its time is renewed when something depends on it. A look that is
    under way will do for a job, but not for somebody who asks: what it has seen may be older than the question.
    """

    def __init__(self, node: str) -> None:
        self.node = node
        self.policy = Policy()
        self.probed_at: float | None = None
        self.wanted: int | None = 0
        """The record that makes a look necessary; None: the matrix will do."""
        self.requested = 0
        """The newest record by which somebody asked."""
        self._asked = False

    def apply(self, record: Record) -> None:
        """Fold one record."""
        match record.event:
            case PlatformStarted(policy=policy):
                self.policy = policy
                self._want(record.seq, record.time)
            case CapabilitiesProbed(node=self.node):
                self.probed_at, self._asked = record.time, False
                self.wanted = self.requested if self.requested > record.cause else None
            case ProbeRequested():
                self.wanted = self.requested = record.seq
            case JobSubmitted():
                self._want(record.seq, record.time)
            case _:
                pass

    def decide(self, now: float) -> list[Effect]:
        """Return one look, where one is wanted and none is under way."""
        if self.wanted is None or self._asked:
            return []
        self._asked = True
        return [Look(self.wanted)]

    def _want(self, seq: int, now: float) -> None:
        if self.probed_at is None or now - self.probed_at > self.policy.probe_ttl_seconds:
            self.wanted = seq
