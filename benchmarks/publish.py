"""Durable publish on the bus, beside raw SQLite with the same rows on the same disk, all at synchronous=FULL.

    python -m benchmarks.publish --publishers 100 --subscribers 8

`raw 100` is sqlite3, one executemany of 100 rows and one commit a group: the floor. `raw 1` is one commit an event.
`bus` has P publishers, each of which waits until its event is durable and seen by everybody before it publishes the
next, and S subscribers that loop over every record; on the event loop that the platform runs on. Goals: bus at least
0.45 of raw 100 and 15 of raw 1; eight subscribers cost less than a fifth; one publisher waits at most 1.4 times a raw
commit (p50).
"""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import anyio

from benchmarks.common import ROOT, Report, Rounds, arguments, percentiles, spread, versions
from benchmarks.serving import Scratch
from events.attempts import AttemptStarted, Handle, JobAssigned
from events.base import Event
from events.codec import STORED_AS, encode
from mdactors.cli.own import live
from mdactors.runtime.bus import Bus, Inbox
from mdactors.runtime.clock import SystemClock
from mdactors.runtime.journal.sql import INSERT, Row
from mdactors.runtime.journal.sqlite import SqliteJournal

SCHEMA = ROOT / "mdactors" / "runtime" / "journal" / "schema.sql"


def events(count: int) -> list[Event]:
    """Return facts as they occur, 110 to 330 bytes of JSON each."""
    handle = Handle(pid=12345, start_ticks=998877, boot_id="dadcd556-6bb5-4d16-9053-e0a5b946b279")
    capability, argv = "gromacs@2022.5/CPU/mixed@vm/cpu:0", ("/usr/bin/gmx", "-quiet", "mdrun", "-s", "topol.tpr")
    made: list[Event] = []
    for number in range(count):
        if number % 4:
            made.append(JobAssigned(job=number, attempt=1, slot="cpu:0/0", device="cpu:0", capability=capability))
        else:
            folder = f"/home/anna/md/jobs/{number:06d}"
            made.append(AttemptStarted(job=number, attempt=1, slot="cpu:0/0", folder=folder, handle=handle, argv=argv))
    return made


def rows(facts: Sequence[Event]) -> list[Row]:
    """Return the facts as rows of the event log, made beforehand: raw SQLite gets them for nothing."""
    return [
        (seq, time.time(), seq - 1, *STORED_AS[type(fact)], encode(fact).decode(), 0)
        for seq, fact in enumerate(facts, 1)
    ]


@contextlib.contextmanager
def raw_log(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open a log with the product's table and modes, by sqlite3 alone."""
    connection = sqlite3.connect(folder / "raw.sqlite", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.executescript(SCHEMA.read_text(encoding="utf-8"))
    try:
        yield connection
    finally:
        connection.close()


def raw(folder: Path, given: Sequence[Row], group: int) -> list[float]:
    """Append rows in groups; return the seconds of each group."""
    seconds = []
    with raw_log(folder) as connection:
        for start in range(0, len(given), group):
            began = time.perf_counter()
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(INSERT, given[start : start + group])
            connection.execute("COMMIT")
            seconds.append(time.perf_counter() - began)
    return seconds


async def bus(folder: Path, facts: Sequence[Event], publishers: int, subscribers: int) -> tuple[float, list[float]]:
    """Publish facts; return the seconds for all, and of each publish."""
    journal = await SqliteJournal.open(folder / "journal.sqlite")
    hub = Bus(journal, SystemClock())
    waits: list[float] = []
    seen = [0] * subscribers

    async def listen(inbox: Inbox, place: int) -> None:
        while True:
            for _ in await inbox.receive():
                seen[place] += 1

    async def publish(mine: Iterable[Event]) -> None:
        for fact in mine:
            began = time.perf_counter()
            await hub.publish(fact)
            waits.append(time.perf_counter() - began)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hub.run)
        for place in range(subscribers):
            tasks.start_soon(listen, hub.subscribe(str(place)), place)
        began = time.perf_counter()
        async with anyio.create_task_group() as publishing:
            for number in range(publishers):
                publishing.start_soon(publish, itertools.islice(facts, number, None, publishers))
        seconds = time.perf_counter() - began
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    await journal.close()
    if any(count != len(facts) for count in seen):
        raise RuntimeError(f"{len(facts)} events, and the subscribers saw {seen}")
    return seconds, waits


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__, pairs=7)
    parser.add_argument("--publishers", type=int, default=100)
    parser.add_argument("--subscribers", type=int, default=8)
    parser.add_argument("--events", type=int, default=20_000)
    options = parser.parse_args()
    report = Report("durable publish", options)
    facts = events(options.events)
    given, few = rows(facts), max(500, options.events // 20)
    waits: list[tuple[float, float, float]] = []

    with Scratch(options.scratch) as scratch:

        def rate_raw(group: int, count: int) -> float:
            return count / sum(raw(scratch.folder("raw"), given[:count], group))

        def rate_bus(subscribers: int) -> float:
            seconds: float = live(bus, scratch.folder("bus"), facts, options.publishers, subscribers)[0]
            return len(facts) / seconds

        def rate_alone() -> float:
            commits = raw(scratch.folder("raw"), given[:few], 1)
            seconds, each = live(bus, scratch.folder("bus"), facts[:few], 1, options.subscribers)
            waits.append((statistics.median(commits), statistics.median(each), percentiles(each)["p99"]))
            return float(few / seconds)

        rounds = Rounds("raw 100", "events/s")
        alone, crowd = (f"bus, {options.publishers} publishers, {n} subscribers" for n in (0, options.subscribers))
        rounds.turn(
            {
                "raw 100": lambda: rate_raw(100, len(given)),
                "raw 1": lambda: rate_raw(1, few),
                alone: lambda: rate_bus(0),
                crowd: lambda: rate_bus(options.subscribers),
                f"bus, 1 publisher, {options.subscribers} subscribers": rate_alone,
            },
            options.pairs,
            report.note,
        )
    report.rounds("rates", rounds)
    report.add("crowd to one commit an event", spread(rounds.ratios(crowd, "raw 1")))
    report.add("with to without subscribers", spread(rounds.ratios(crowd, alone)))
    report.add("one publisher, p50 to a raw commit's p50", spread([mine / floor for floor, mine, _ in waits]))
    report.add("one publisher, p99 to a raw commit's p50", spread([slow / floor for floor, _, slow in waits]))
    report.close(versions("anyio", "aiosqlite", "msgspec"))


if __name__ == "__main__":
    main()
