"""One life of the real platform, to which something happens at an exact record.

`python -m tests.faults.platform STATE [--jobs FILE] [--when before --at JobAssigned --nth 1] [--step SECONDS] [--boot ID]`

It submits the entries of FILE that nobody was told a number for yet, notes the numbers in STATE.told, and ends when all jobs
have. Every record that is durable is told on standard output, a line each. At the n-th record of a kind, before or after
its commit, it kills itself, or its clock jumps.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import anyio

from actors import building
from actors.assembly import assemble
from events.attempts import AttemptStarted
from events.base import Record
from mdactors.config import load_config
from mdactors.errors import JournalError
from mdactors.runtime.clock import SystemClock
from mdactors.runtime.journal.sqlite import SqliteJournal
from mdactors.substrates.local import processes, watch

CONFIG_NAME = "mdactors.toml"


class SteppedClock(SystemClock):
    """The machine's clock, as if somebody had set it."""

    ahead = 0.0
    """Seconds."""

    def time(self) -> float:
        return super().time() + self.ahead


class Fate:
    """What happens at which record."""

    def __init__(self, asked: argparse.Namespace, clock: SteppedClock) -> None:
        self._asked = asked
        self._clock = clock
        self._left: int = asked.nth

    def meets(self, records: Sequence[Record]) -> bool:
        """Return whether the record is one of these."""
        before = self._left
        self._left -= sum(type(record.event).__name__ == self._asked.at for record in records)
        return self._left <= 0 < before

    def strike(self, when: str, met: bool) -> None:
        """Let it happen, where this is the moment."""
        if met and when == self._asked.when:
            if not self._asked.step:
                os.kill(os.getpid(), signal.SIGKILL)
            self._clock.ahead += self._asked.step


class FatefulJournal(SqliteJournal):
    """The event log, at whose commits fate strikes."""

    fate: ClassVar[Fate]

    async def append(self, records: Sequence[Record]) -> None:
        met = self.fate.meets(records)
        self.fate.strike("before", met)
        try:
            await super().append(records)
        except JournalError:
            say(type="JournalError")
            raise
        for record in records:
            say(**_facts(record))
        self.fate.strike("after", met)


def say(**facts: Any) -> None:
    """Tell who started us."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def _facts(record: Record) -> dict[str, Any]:
    event = record.event
    facts = {"type": type(event).__name__, "job": getattr(event, "job", 0), "attempt": getattr(event, "attempt", 0)}
    return facts | ({"pid": event.handle.pid} if isinstance(event, AttemptStarted) else {})


async def live(asked: argparse.Namespace, clock: SteppedClock) -> None:
    """Submit what is to be submitted, and wait for the end of everything."""
    told = asked.state.with_suffix(".told")
    settings = asked.state / CONFIG_NAME
    config = load_config(settings if settings.is_file() else None, state=asked.state)
    async with assemble(config, clock=clock) as platform:
        entries = json.loads(asked.jobs.read_text()) if asked.jobs else []
        known = told.read_text().split() if told.exists() else []
        if waiting := entries[len(known) :]:
            answers = await platform.submit(waiting, base=asked.state, owner="")
            told.write_text(" ".join([*known, *(str(answer.job) for answer in answers)]))
        await platform.finished(list(platform.jobs.numbers()))


def another_boot(name: str) -> Iterator[Any]:
    """Yield what makes everybody believe that the machine's present boot has this name."""
    for module, reader in ((building, "_boot_id"), (processes, "boot_id"), (watch, "boot_id")):
        yield patch.object(module, reader, lambda: name)


def main(argv: Sequence[str]) -> None:
    """Live."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state", type=Path)
    parser.add_argument("--jobs", type=Path)
    parser.add_argument("--when", choices=("before", "after"), default="before")
    parser.add_argument("--at", default="")
    parser.add_argument("--nth", type=int, default=1)
    parser.add_argument("--step", type=float, default=0.0)
    parser.add_argument("--boot", default="")
    asked = parser.parse_args(argv)
    clock = SteppedClock()
    FatefulJournal.fate = Fate(asked, clock)
    with ExitStack() as stack:
        stack.enter_context(patch.object(building, "SqliteJournal", FatefulJournal))
        for change in another_boot(asked.boot) if asked.boot else ():
            stack.enter_context(change)
        anyio.run(live, asked, clock, backend_options={"use_uvloop": True})


if __name__ == "__main__":
    main(sys.argv[1:])
