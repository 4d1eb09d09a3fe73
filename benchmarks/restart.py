"""Reading the event log, and starting over logs of different lengths.

    python -m benchmarks.restart --jobs 1500 150000

Makes logs of finished jobs (seven records each) besides 1,000 that wait, lets a platform start and stop once over each, so
that it has its snapshot, and measures in turn: the whole process of a start from its first instruction to the first
decision, over the short and the long log; and reading the log with everything that it decodes, beside the bare cursor.
Goals: long / short at most 1.3; reading at least 0.7 of the bare cursor with decoding.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from benchmarks.common import Facts, Report, Rounds, arguments, versions
from benchmarks.serving import Scratch, run_inside
from events.attempts import AttemptEnded, AttemptStarted, Handle, JobAssigned
from events.base import Event
from events.codec import STORED_AS, decode, encode
from events.devices import CapabilitiesProbed
from events.hardware import Capability, Device, Slot
from events.jobs import JobAccepted, JobCompleted, JobSubmitted
from events.outcome import Candidate, Figures
from events.results import Context, PerformanceRecorded
from events.spec import InputFile, TprJob
from mdactors.cli.own import live
from mdactors.runtime.journal.sql import INSERT, SELECT, schema
from mdactors.runtime.journal.sqlite import SqliteJournal

WAITING = 1000
"""Jobs that have not begun."""
CAPABILITY = "gromacs@2022.5/CPU/mixed@vm/cpu:0"
HANDLE = Handle(pid=12345, start_ticks=998877, boot_id="dadcd556-6bb5-4d16-9053-e0a5b946b279")

START = """
import json, sys, time
began = time.perf_counter()
from pathlib import Path
import anyio
import actors.building
from actors.assembly import assemble
from mdactors.config import load_config

async def main():
    imported = time.perf_counter()
    async with assemble(load_config(None, state=Path(sys.argv[1]), overrides={}), mode="settle", engines=[]) as platform:
        print(json.dumps({"imports": imported - began, "whole": time.perf_counter() - began, "jobs": len(platform.jobs)}))

anyio.run(main, backend_options={"use_uvloop": True})
"""


def story(job: int) -> Iterator[Event]:
    """Yield the facts of a finished job."""
    spec = TprJob(tpr=f"water-{job}.tpr", name=f"water-{job}", owner="anna", nsteps=5000)
    kept = InputFile("tpr", f"water-{job}.tpr", f"/home/anna/md/water-{job}.tpr", "ab" * 32, 27708)
    yield JobSubmitted(job=job, spec=spec, inputs=(kept,), examinations=())
    yield JobAccepted(job=job, candidates=(Candidate(CAPABILITY, "cpu:0", "gromacs 2022.5, CPU, mixed"),))
    yield JobAssigned(job=job, attempt=1, slot="cpu:0/0", device="cpu:0", capability=CAPABILITY)
    folder, argv = f"/home/anna/md/jobs/{job:06d}", ("/usr/bin/gmx", "-quiet", "mdrun", "-s", "topol.tpr")
    yield AttemptStarted(job=job, attempt=1, slot="cpu:0/0", folder=folder, handle=HANDLE, argv=argv)
    figures = Figures(steps_asked=5000, steps_done=5000, ns_per_day=128.3, wall_seconds=6.7, atoms=648, steady=True)
    yield AttemptEnded(job=job, attempt=1, slot="cpu:0/0", outcome="completed", figures=figures)
    yield JobCompleted(job=job, attempt=1)
    context = Context(
        engine="gromacs", version="2022.5", build="2022.5", backend="CPU", precision="mixed", device="cpu:0",
        device_name="CPU", driver="", node="vm", slot="cpu:0/0", threads=1, cpus=(0,), system="648 atoms",
        inputs_sha256=("ab" * 32,), added=(),
    )  # fmt: skip
    yield PerformanceRecorded(job=job, attempt=1, outcome="completed", context=context, figures=figures)


def log(jobs: int) -> Iterator[Event]:
    """Yield a log of finished jobs, then of waiting ones."""
    device = Device(id="cpu:0", node="vm", type="cpu", index=0, cpus=(0, 1))
    row = Capability(
        id=CAPABILITY, node="vm", engine="gromacs", version="2022.5", backend="CPU", precision="mixed", device="cpu:0",
        kinds=("tpr",),
    )  # fmt: skip
    slot = Slot(id="cpu:0/0", node="vm", device="cpu:0", cpus=(0,))
    yield CapabilitiesProbed(node="vm", devices=(device,), slots=(slot,), capabilities=(row,))
    for job in range(1, jobs + 1):
        yield from story(job)
    for job in range(jobs + 1, jobs + WAITING + 1):
        facts = story(job)
        yield from (next(facts), next(facts))


def write(path: Path, jobs: int) -> int:
    """Make a log; return its number of records."""
    began = time.time()
    rows = (
        (seq, began, max(seq - 1, 0), *STORED_AS[type(fact)], encode(fact).decode(), 0)
        for seq, fact in enumerate(log(jobs), 1)
    )
    with sqlite3.connect(path) as connection:
        connection.executescript(schema())
        connection.executemany(INSERT, rows)
    return int(connection.execute("SELECT max(seq) FROM events").fetchone()[0])


def bare(path: Path) -> float:
    """Return the records a second that a bare cursor with decoding reads."""
    began, count = time.perf_counter(), 0
    for row in sqlite3.connect(path).execute(SELECT, (0,)):
        decode(row[3], row[4], row[5])
        count += 1
    return count / (time.perf_counter() - began)


def reading(path: Path) -> float:
    """Return the records a second that the journal yields."""

    async def read() -> float:
        journal = await SqliteJournal.open(path)
        began, count = time.perf_counter(), 0
        async for _ in journal.read():
            count += 1
        seconds = time.perf_counter() - began
        await journal.close()
        return count / seconds

    return live(read)


def start(state: Path) -> float:
    """Return the seconds of a start, imports included."""
    return float(run_inside(START, str(state))["whole"])


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__, pairs=5)
    parser.add_argument("--jobs", type=int, nargs=2, default=(1_500, 150_000), metavar=("SHORT", "LONG"))
    options = parser.parse_args()
    report = Report("restart", options)
    with Scratch(options.scratch) as scratch:
        states = {name: scratch.folder(name) for name in ("short", "long")}
        made: Facts = {}
        for (name, state), jobs in zip(states.items(), options.jobs, strict=True):
            made[name] = write(state / "journal.sqlite", jobs)
            first = run_inside(START, str(state))
            report.note(
                f"{name}: {made[name]} records, the first start without a snapshot {msgspec.to_builtins(first)}"
            )
        report.add("records", made)
        starts = Rounds("short", "s")
        starts.turn({name: partial(start, state) for name, state in states.items()}, options.pairs, report.note)
        report.rounds("start to first decision, imports included", starts)
        readers = Rounds("bare", "records/s")
        path = states["short"] / "journal.sqlite"
        readers.turn({"bare": partial(bare, path), "journal": partial(reading, path)}, options.pairs, report.note)
        report.rounds("reading", readers)
        report.close(versions("aiosqlite", "msgspec"))


if __name__ == "__main__":
    main()
