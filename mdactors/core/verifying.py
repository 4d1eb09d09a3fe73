"""Was every decision in a log the one that its core makes of the same facts? The first that differs is a bug, or a new rule.

A record says how far its core had folded the log when it decided (`Record.seen`), so that each decision can be made
again: fold up to there, decide, compare.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable

import msgspec

from events.attempts import AttemptStopRequested, JobAssigned
from events.base import Event, Record
from events.devices import DeviceRecovered, DeviceUnhealthy
from events.jobs import JobAccepted, JobCancelled, JobCompleted, JobFailed, JobRejected, JobRequeued
from events.platform import ActorRestarted, JobsRegained, Mode, PlatformStarted, Policy
from mdactors.core.base import Core
from mdactors.core.effects import Publish
from mdactors.core.health import HealthCore
from mdactors.core.negotiation import NegotiatorCore
from mdactors.core.scheduling import SchedulerCore

LOGIC = Policy().logic
"""Number of the rules that this version decides by."""


BEGINNINGS = (PlatformStarted, JobsRegained)
"""By what a life begins. A log that was cut off may have lost some of what was decided at the last moment before."""


class Deciders(msgspec.Struct, frozen=True):
    """A kind of core, and the facts that it alone decides."""

    name: str
    make: Callable[[Mode], Core]
    says: tuple[type[Event], ...]


DECIDERS = (
    Deciders("Negotiator", lambda mode: NegotiatorCore(), (JobAccepted, JobRejected)),
    Deciders(
        "Scheduler",
        lambda mode: SchedulerCore(assigns=mode == "work"),
        (JobAssigned, AttemptStopRequested, JobRequeued, JobCompleted, JobFailed, JobCancelled),
    ),
    Deciders("HealthWatcher", lambda mode: HealthCore(), (DeviceUnhealthy, DeviceRecovered)),
)


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that would not be made again."""

    actor: str
    seen: int
    """The record up to which it had folded the log."""
    seq: int
    """The first record of the decision."""
    logged: tuple[Event, ...]
    """What the log has and the core does not say."""
    decided: tuple[Event, ...]
    """What the core says and the log does not have."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a verification."""

    decisions: int
    """Decided facts that were decided again."""
    difference: Difference | None = None
    """The first that differs."""
    foreign: tuple[int, ...] = ()
    """Numbers of other decision logics in the log: what they decided is not judged by ours."""


class _Shadow:
    """One core beside the log, made anew wherever the living one was."""

    def __init__(self, decider: Deciders) -> None:
        self.decider = decider
        self.decisions = 0
        self._mode: Mode = "work"
        self._core = decider.make("work")
        self._past: list[Record] = []
        self._waiting: deque[Record] = deque()
        """Not folded yet."""
        self._group: list[Record] = []
        """What was decided at one moment."""

    def take(self, record: Record) -> Difference | None:
        """Take the next record of the log; return a difference that has come to light."""
        own = record.seen > 0 and isinstance(record.event, self.decider.says)
        goes_on = own and self._group and record.seen == self._group[0].seen
        found = None if goes_on else self.close(cut=isinstance(record.event, BEGINNINGS))
        if own:
            self._group.append(record)
        if isinstance(record.event, PlatformStarted):
            self._mode = record.event.mode
            self._renew()
        elif isinstance(record.event, ActorRestarted) and record.event.actor == self.decider.name.lower():
            self._renew()
        self._waiting.append(record)
        return found

    def close(self, *, cut: bool) -> Difference | None:
        """Judge what was decided at one moment, now that all of it is there; cut: some may have been lost."""
        if not self._group:
            return None
        group, self._group = self._group, []
        self._fold(group[0].seen)
        effects = self._core.decide(group[0].time)
        decided = [effect.event for effect in effects if isinstance(effect, Publish)]
        self.decisions += len(group)
        logged = [record.event for record in group]
        missing, surplus = _without(logged, decided), _without(decided, logged)
        if cut and not missing:
            return None
        if not missing and not surplus:
            return None
        return Difference(
            actor=self.decider.name,
            seen=group[0].seen,
            seq=group[0].seq,
            logged=tuple(missing),
            decided=tuple(surplus),
        )

    def _fold(self, upto: int) -> None:
        while self._waiting and self._waiting[0].seq <= upto:
            record = self._waiting.popleft()
            self._past.append(record)
            self._core.apply(record)

    def _renew(self) -> None:
        """A fresh core, folded from the beginning, as after a start."""
        self._core = self.decider.make(self._mode)
        for record in self._past:
            self._core.apply(record)


def _without(events: list[Event], others: list[Event]) -> list[Event]:
    """Return the events that the others lack, each as often as it is lacking."""
    left = list(others)
    lacking = []
    for event in events:
        if event in left:
            left.remove(event)
        else:
            lacking.append(event)
    return lacking


def verify(records: Iterable[Record]) -> Verdict:
    """Make every decision of a log again and return the first that differs.

    What was decided by another decision logic is folded and not judged.
    """
    shadows = [_Shadow(decider) for decider in DECIDERS]
    foreign: set[int] = set()
    logic = LOGIC
    for record in itertools.chain(records):
        if isinstance(record.event, PlatformStarted):
            logic = record.event.policy.logic
            foreign |= {logic} - {LOGIC}
        judged = record if logic == LOGIC else msgspec.structs.replace(record, seen=0)
        for found in filter(None, (shadow.take(judged) for shadow in shadows)):
            return _verdict(shadows, foreign, found)
    return _verdict(shadows, foreign, next(filter(None, (shadow.close(cut=True) for shadow in shadows)), None))


def _verdict(shadows: Iterable[_Shadow], foreign: set[int], difference: Difference | None) -> Verdict:
    return Verdict(
        decisions=sum(shadow.decisions for shadow in shadows),
        difference=difference,
        foreign=tuple(sorted(foreign)),
    )
