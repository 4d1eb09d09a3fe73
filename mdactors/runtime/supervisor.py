"""Owns every task: an actor that raises is rebuilt from the journal; one that keeps raising closes the intake."""

from __future__ import annotations

import errno
from collections.abc import Awaitable

import structlog

from events.base import Record
from events.platform import ActorRestarted, IntakeClosed
from mdactors.core.base import Core
from mdactors.core.effects import Effect
from mdactors.errors import JournalError
from mdactors.ports import Clock, Journal
from mdactors.runtime.actor import Actor
from mdactors.runtime.bus import Bus, Inbox
from mdactors.runtime.resume import resume

log = structlog.get_logger("mdactors.supervisor")

RESTARTS = 5
"""Restarts within `WINDOW` that are one too many."""
WINDOW = 60.0
"""Seconds."""
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
BACKOFF = 0.1
"""Seconds before the first restart; doubled each time, to at most 10."""


class Supervisor:
    """Keeps actors alive.

    Args:
        bus: where the actors listen.
        journal: from which a fresh core is folded.
        clock: for the backoff.
    """

    def __init__(self, bus: Bus, journal: Journal, clock: Clock) -> None:
        self._bus = bus
        self._journal = journal
        self._clock = clock

    async def keep(self, actor: Actor, core: Core, inbox: Inbox) -> None:
        """Run an actor for ever: `core` has folded everything up to the inbox's first record."""
        tries: list[float] = []
        faults: list[float] = []
        """Those among them that count: a full disk is nobody's fault."""
        while True:
            try:
                await actor.run(core, inbox)
            except Exception as error:  # noqa: BLE001 - whatever it is, an actor is rebuilt, never lost
                inbox.close()
                now = self._clock.monotonic()
                tries = [*(moment for moment in tries if now - moment < WINDOW), now]
                faults = [moment for moment in faults if now - moment < WINDOW]
                if not blameless(error):
                    faults.append(now)
                if not await self._report(actor, error, len(faults)):
                    return
                core, inbox = await self._rebuild(actor, len(tries))

    async def _report(self, actor: Actor, error: Exception, count: int) -> bool:
        """Tell everybody; return whether the actor gets another try: always, where the disk is what failed."""
        text = _text(error)
        log.error("actor raised", actor=actor.name, error=text, at_seq=actor.seen, restarts=count, exc_info=error)
        if blameless(error):
            return True
        if count > RESTARTS:
            closed = IntakeClosed(actor=actor.name, error=text, at_seq=actor.seen)
            return not await _told(self._bus.publish(closed))
        restarted = ActorRestarted(actor=actor.name, error=text, at_seq=actor.seen, restarts=count)
        await _told(self._bus.publish(restarted))
        return True

    async def _rebuild(self, actor: Actor, count: int) -> tuple[Core, Inbox]:
        await self._clock.sleep(min(10.0, BACKOFF * 2 ** (count - 1)))
        inbox = self._bus.subscribe(actor.name)
        upto = self._bus.last
        core = actor.core()
        try:
            kept = await self._journal.snapshot()
            async for record in resume(self._journal, kept[0] if kept else None):
                if record.seq > upto:
                    break
                actor.seen = record.seq
                core.apply(record)
        except Exception as error:  # noqa: BLE001 - raised again by the actor itself, so that it is counted and told
            return _Broken(error), inbox
        return core, inbox


class _Broken:
    """Stands in for a core that could not be folded."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def apply(self, record: Record) -> None:
        raise self._error

    def decide(self, now: float) -> list[Effect]:
        raise self._error


async def _told(publishing: Awaitable[int]) -> bool:
    """Return whether it could be recorded."""
    try:
        await publishing
    except JournalError as error:
        log.warning("a restart could not be recorded", error=str(error))
        return False
    return True


def blameless(error: BaseException) -> bool:
    """Return whether a full disk is behind it: nobody's fault, whether the journal meets it or who writes beside it."""
    root = _root(error)
    if isinstance(root, JournalError):
        return True
    return any(isinstance(each, OSError) and each.errno in FULL for each in (root, root.__cause__))


def _root(error: BaseException) -> BaseException:
    """Return the first error inside (nested) groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _text(error: BaseException) -> str:
    root = _root(error)
    return f"{type(root).__name__}: {root}"
