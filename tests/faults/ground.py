"""Where faults are tried: a state folder, engines that leave word of each start, lives of the platform, and what must hold."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio

from events.attempts import AttemptEnded, AttemptFound, AttemptStarted
from events.base import Record
from mdactors.archive.ledger import read as read_ledger
from mdactors.runtime.clock import LoopClock
from mdactors.runtime.journal.sqlite import SqliteJournal
from tests.e2e.kit import PATIENCE_SECONDS, ROOT, Desk, Process, portable, water
from tests.faults.platform import CONFIG_NAME
from tests.simulation import invariants
from tests.simulation.machine import Machine

GMX = """#!/bin/sh
# GROMACS as it is; but each mdrun leaves word that it began, and keeps a checkpoint every half second.
case " $* " in
*" mdrun "*) echo $$ >>starts; exec {gmx} "$@" -cpt 0.008 ;;
*) exec {gmx} "$@" ;;
esac
"""

SETTINGS = """search_path = ["{programs}"]
[policy]
retries = 1000
suspicions = 1000
"""

TICKS = os.sysconf("SC_CLK_TCK")
EPSILON = 0.1
"""Seconds that two of the kernel's clocks may differ."""

OF_THE_LOG = (
    invariants.the_log_is_a_total_order,
    invariants.causes_say_why,
    invariants.the_log_can_be_folded,
    invariants.nothing_raises,
    invariants.no_job_is_lost,
    invariants.every_job_ends_once,
    invariants.every_attempt_ends_once,
    invariants.every_end_has_its_result,
    invariants.cancelled_means_asked,
)
"""Of the simulation's invariants those that need no simulated machine."""
UNLESS_REBUILT = (invariants.the_log_is_a_total_order, invariants.causes_say_why)
"""Those that a log does not keep that was made again from folders: its causes are lost, and its times are the folders'."""
UNLESS_SET = (invariants.the_log_is_a_total_order,)
"""Those that a log does not keep where somebody set the clock: it tells the times that the machine had."""


class Life:
    """One life of the platform, as its parent sees it."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.seen: list[dict[str, Any]] = []

    def until(self, kind: str, job: int = 0, attempt: int = 0) -> dict[str, Any]:
        """Wait until a fact is durable in this life; return it."""
        for fact in self._facts():
            if fact["type"] == kind and job in (0, fact.get("job")) and attempt in (0, fact.get("attempt")):
                return fact
        raise AssertionError(f"no {kind} of job {job}; seen: {[fact['type'] for fact in self.seen]}")

    def _facts(self) -> Iterator[dict[str, Any]]:
        """Yield the facts that were told, then those that come."""
        yield from tuple(self.seen)
        assert self.process.stdout is not None
        while select.select([self.process.stdout], [], [], PATIENCE_SECONDS)[0]:
            line = self.process.stdout.readline()
            if not line:
                return
            self.seen.append(json.loads(line))
            yield self.seen[-1]

    def end(self) -> int:
        """Wait for its end and return its exit code."""
        for _ in self._facts():
            pass
        return self.process.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        """End it as power loss would."""
        self.process.kill()
        self.end()


class Ground(Desk):
    """One fault's state folder, jobs and witnesses."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.killed: set[tuple[int, int]] = set()
        """Attempts whose engine or shim we killed ourselves."""
        self.causes: dict[int, str] = {}
        """Jobs that are right to fail -> the code of their diagnosis."""
        self.judged: list[str] | None = None
        """What did not hold, once that was looked at."""
        self.reused: dict[tuple[int, int], int] = {}
        """Attempts over whose shim's record we wrote -> the pid that it had."""
        self.honest = True
        """Nobody set the clock."""
        self.rebuilt = False
        """The log was made again from the job folders."""
        self.state.mkdir()
        programs = folder / "bin"
        programs.mkdir()
        (programs / "gmx").write_text(GMX.format(gmx=shutil.which("gmx")))
        (programs / "gmx").chmod(0o755)
        (self.state / CONFIG_NAME).write_text(SETTINGS.format(programs=programs))
        self.wants(*both(600))

    # ------------------------------------------------------------ lives

    def wants(self, *entries: dict[str, Any]) -> None:
        """Say which jobs the first life is to submit, in the place of a short one for each engine."""
        self.file("jobs.json", *entries)

    def life(self, **options: Any) -> Life:
        """Begin a life of the platform."""
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        argv = ("-m", "tests.faults.platform", str(self.state), "--jobs", str(self.folder / "jobs.json"), *words)
        with (self.folder / "err").open("ab") as err:
            process = subprocess.Popen(
                (sys.executable, *argv),
                bufsize=0,
                stdout=subprocess.PIPE,
                stderr=err,
                cwd=ROOT,
                env=self.environ | {"PYTHONPATH": str(ROOT)},
            )
        self._started.append(process)
        return Life(process)

    def dies(self, when: str, at: str, nth: int = 1, **options: Any) -> None:
        """Live a life that ends at a record."""
        code = self.life(when=when, at=at, nth=nth, **options).end()
        assert code == -9, f"it should have died {when} {at}, and ended with {code}: {self.err()[-2000:]}"

    def settle(self) -> None:
        """Live a last life, in which everything ends."""
        code = self.life().end()
        assert code == 0, f"the last life ended with {code}: {self.err()[-2000:]}"

    # ------------------------------------------------------------ processes and files

    def job_folder(self, job: int) -> Path:
        return self.state / "jobs" / f"{job:06d}"

    def runs(self, job: int, attempt: int = 1) -> int:
        """Wait until an engine makes steps; return its pid."""
        folder = self.job_folder(job)
        words = folder / "attempts" / str(attempt)
        self.wait(lambda: b"step " in _bytes(words / "stderr") or bool(_bytes(words / "progress.jsonl")))
        return self.engine(job, attempt)

    def shim(self, job: int, attempt: int = 1) -> int:
        """Return the pid in the shim's record."""
        return int((self.job_folder(job) / "attempts" / str(attempt) / "shim").read_text().splitlines()[1].split()[0])

    def engine(self, job: int, attempt: int = 1) -> int:
        """Return the pid of a running engine: the shim's only child."""
        shim = self.shim(job, attempt)
        (pid,) = Path(f"/proc/{shim}/task/{shim}/children").read_text().split()
        return int(pid)

    def wait(self, holds: Callable[[], bool]) -> None:
        """Wait for what an engine writes into its files, of which nobody tells."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < deadline, f"it never came to be; the platforms said {self.err()[-2000:]}"
            time.sleep(0.01)

    def processes(self) -> list[int]:
        """Return all that works in job folders, shims and engines."""
        return list(self._processes())

    def found_running(self) -> bool:
        """Return whether the last life that asked about engines found one at work."""
        found = [event.state for event in _of(self.records(), AttemptFound)]
        return bool(found) and found[-1] == "running"

    # ------------------------------------------------------------ what must hold

    def records(self, *words: object) -> list[Any]:
        """Return the whole log."""

        async def read() -> list[Record]:
            journal = await SqliteJournal.open(self.state / "journal.sqlite")
            try:
                return [record async for record in journal.read()]
            finally:
                await journal.close()

        return anyio.run(read)

    def attempts(self, job: int) -> int:
        """Return how many attempts a job took."""
        return len(self.ended(job))

    def ended(self, job: int) -> list[AttemptEnded]:
        """Return how a job's attempts ended."""
        return [event for event in _of(self.records(), AttemptEnded) if event.job == job]

    def judge(self) -> None:
        """Look now at what must hold; afterwards the disk is gone."""
        self.judged = self.problems()

    def problems(self) -> list[str]:
        """Return what does not hold, now that everything has ended."""
        records = self.records()
        return [
            *self._of_the_log(records),
            *self._ends(records),
            *self._starts(records),
            *self._one_after_the_other(records),
            *(f"process {pid} was left behind" for pid in self.processes()),
            *self._verdict("check"),
            *self._verdict("replay", "--verify"),
        ]

    def _of_the_log(self, records: list[Record]) -> Iterator[str]:
        seen = invariants.Witness(
            records=records,
            machine=Machine(LoopClock()),
            acknowledged=tuple(map(int, self._told())),
            ledger=read_ledger(self.state / "ledger.csv"),
            epoch=0.0,
            spans=(),
        )
        excepted = UNLESS_REBUILT if self.rebuilt else () if self.honest else UNLESS_SET
        for invariant in OF_THE_LOG:
            if invariant not in excepted:
                yield from (f"{invariant.__name__}: {text}" for text in invariant(seen))

    def _told(self) -> list[str]:
        told = self.state.with_suffix(".told")
        return told.read_text().split() if told.exists() else []

    def _ends(self, records: list[Record]) -> Iterator[str]:
        """Jobs are completed, or failed by the cause that is right; no engine dies that nobody here killed."""
        last = {event.job: event for event in _of(records, AttemptEnded)}
        if not set(map(int, self._told())) <= set(last):
            yield f"jobs {self._told()} were acknowledged, and only {sorted(last)} ran"
        for job, event in last.items():
            code = event.diagnosis.code if event.diagnosis else event.outcome
            if code != self.causes.get(job, "completed"):
                yield f"job {job} ended as {code}"
        for event in _of(records, AttemptEnded):
            wrong = event.exit is None or event.exit.code < 0
            if wrong and _ran(event) and (event.job, event.attempt) not in self.killed:
                yield f"attempt {event.job}/{event.attempt} ended by {event.exit}, and nobody killed it"

    def _starts(self, records: list[Record]) -> Iterator[str]:
        """The engine of each attempt was started once, by the shim that the log names."""
        for job in sorted({event.job for event in _of(records, AttemptEnded)}):
            folder = self.job_folder(job)
            claims = [path.parent for path in sorted(folder.glob("attempts/*/shim"))]
            ended = [event for event in _of(records, AttemptEnded) if event.job == job and _ran(event)]
            if len(claims) != len(ended):
                yield f"job {job}: {len(claims)} attempts ran, {len(ended)} are in the log"
            words = b"".join(_bytes(claim / "stdout") for claim in claims)
            starts = len(_bytes(folder / "starts").split()) or words.count(b", platform ")
            if starts != len(claims):
                yield f"job {job}: {len(claims)} attempts, {starts} engine processes"
        for event in _of(records, AttemptStarted):
            key = event.job, event.attempt
            if event.handle.pid != self.reused.get(key, self.shim(*key)):
                yield f"attempt {event.job}/{event.attempt} was started by another process than the log says"

    def _one_after_the_other(self, records: list[Record]) -> Iterator[str]:
        """No attempt began before the one before it had left its record."""
        booted = time.clock_gettime(time.CLOCK_REALTIME) - time.clock_gettime(time.CLOCK_BOOTTIME)
        ends = {(event.job, event.attempt): event.exit for event in _of(records, AttemptEnded)}
        for event in _of(records, AttemptStarted):
            before = ends.get((event.job, event.attempt - 1))
            if before is not None and booted + event.handle.start_ticks / TICKS < before.time - EPSILON:
                yield f"attempt {event.job}/{event.attempt} began before the one before it had ended"

    def _verdict(self, *words: str) -> Iterator[str]:
        said = self.run(*words)
        if said.code:
            yield f"{' '.join(words)}: {said.out.strip()} {said.err.strip()}"


def tried(run: Callable[[Ground], None]) -> None:
    """Try one fault on a ground of its own.

    Raises:
        AssertionError: something does not hold.
        SkippedError: it can't be tried here.
    """
    with tempfile.TemporaryDirectory(prefix="md") as folder:
        ground = Ground(Path(folder))
        try:
            run(ground)
            problems = ground.problems() if ground.judged is None else ground.judged
            assert not problems, "; ".join(problems)
        finally:
            ground.clear()


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mount a small disk; yield the path of the file that fills it.

    Raises:
        SkippedError: nobody lets us.
    """
    folder.mkdir(exist_ok=True)
    words = ("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(folder))
    if subprocess.run(words, capture_output=True, check=False).returncode:
        raise SkippedError("mounting a small disk is not allowed here")
    try:
        yield folder / "ballast"
    finally:
        subprocess.run(("umount", "--lazy", str(folder)), check=True)


def remount(folder: Path, mode: str) -> None:
    """Make a small disk read-only (ro) or writable again (rw)."""
    subprocess.run(("mount", "-o", f"remount,{mode}", str(folder)), check=True)


def fill(ballast: Path) -> None:
    """Leave not a byte of room."""
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            return


class SkippedError(Exception):
    """This case can't be tried here."""


def both(steps: int, **fields: Any) -> list[dict[str, Any]]:
    """Return a job for GROMACS, and one for OpenMM that takes about as long."""
    return [
        water(steps, backend_pref="gromacs", **fields),
        portable("argon", 2 * steps, backend_pref="openmm", precision="any", **fields),
    ]


def _of(records: list[Record], kind: type[Any]) -> Iterator[Any]:
    return (record.event for record in records if isinstance(record.event, kind))


def _ran(event: AttemptEnded) -> bool:
    """Return whether there was an engine to end."""
    return event.diagnosis is None or event.diagnosis.code != "folder-unusable"


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
