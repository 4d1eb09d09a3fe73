"""What the benchmarks start and where: fresh folders, processes that are waited for, a running platform, its event log.

Every process that is started is ended by its pid and waited for.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.common import ROOT, Facts
from mdactors.cli.client import Client
from mdactors.errors import MdactorsError

PYTHON = sys.executable
JOURNAL_NAME = "journal.sqlite"

SYSTEMS = (ROOT.parent / "shared" / "systems" / "water216" / "nvt.tpr", ROOT / "examples" / "water" / "topol.tpr")
"""Where an input is found, the preferred one first."""

COMMAND_SECONDS = 300.0
"""No command of a benchmark takes longer."""
CALM_SECONDS = 60.0

HOLD = "MDACTORS_BENCH_HOLD"
"""Variable under which the stamping engine's jobs sleep instead of stamping."""

SLOW_FILES_US = 100.0
"""A file system that takes longer to make an empty file is not itself; see `Scratch`."""


def default_input() -> Path:
    """Return the tpr that is run where none is given."""
    return next((path for path in SYSTEMS if path.exists()), SYSTEMS[-1])


class Scratch:
    """Fresh folders for every run, removed when all is measured.

    Not earlier: ext4 is slow to use inodes that were deleted in the last minutes, and makes whoever makes files nearby
    pay a millisecond for each. Whether somebody else has done that to this folder is looked at first.
    """

    def __init__(self, parent: Path | None) -> None:
        if parent is not None:
            parent.mkdir(parents=True, exist_ok=True)
        self.root = Path(tempfile.mkdtemp(prefix="mdactors-bench-", dir=parent))
        self._made = 0

    def __enter__(self) -> Self:
        if (cost := self._file_us()) > SLOW_FILES_US:
            print(f"an empty file costs {cost:.0f} us here: take another --scratch", file=sys.stderr)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def folder(self, name: str) -> Path:
        """Return a new empty folder."""
        self._made += 1
        path = self.root / f"{self._made:03d}-{name}"
        path.mkdir()
        return path

    def _file_us(self, count: int = 100) -> float:
        folder = self.folder("files")
        began = time.perf_counter()
        for number in range(count):
            (folder / str(number)).touch()
        return (time.perf_counter() - began) / count * 1e6


# ---------------------------------------------------------------- processes


def environment() -> dict[str, str]:
    """Return the environment of everything that is measured: ours, with this interpreter's programs found first.

    Compiled modules are kept, as everybody has them; without, every start would compile what it imports.
    """
    own = str(Path(PYTHON).parent)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PATH": f"{own}:{os.environ.get('PATH', os.defpath)}", "NO_COLOR": "1"}


def run(argv: Sequence[str]) -> float:
    """Run a command to its end, with nothing on its streams; return its wall seconds as seen from outside.

    Raises:
        RuntimeError: it failed.
    """
    argv = [shutil.which(argv[0]) or argv[0], *argv[1:]]
    null = os.open(os.devnull, os.O_RDWR)
    began = time.perf_counter()
    pid = os.posix_spawn(
        argv[0], argv, environment(), file_actions=[(os.POSIX_SPAWN_DUP2, null, stream) for stream in (0, 1, 2)]
    )
    status = os.waitpid(pid, 0)[1]
    seconds = time.perf_counter() - began
    os.close(null)
    if status:
        raise RuntimeError(f"{' '.join(argv)[:200]} ended with {os.waitstatus_to_exitcode(status)}")
    return seconds


def run_inside(script: str, *words: str) -> Facts:
    """Run a Python script in a process of its own and return the JSON document on its last line of output.

    Raises:
        RuntimeError: it failed.
    """
    done = subprocess.run(
        [PYTHON, "-c", script, *words],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        raise RuntimeError(f"a peer failed ({done.returncode}): {done.stderr[-2000:]}")
    found: Facts = json.loads(lines[-1])
    return found


def mdactors(*words: str) -> list[str]:
    """Return the command line of mdactors as it stands in this checkout."""
    return [PYTHON, str(ROOT / "run.py"), *words]


# ---------------------------------------------------------------- a running platform


class Serve:
    """`python run.py serve`, or the same with the stamping engine alone; ended by its pid at the end of the block.

    Args:
        state: its state folder.
        stamping: with the engine of `benchmarks.stamping` alone.
        hold: whose jobs then sleep in their slots, so that all others wait.
    """

    def __init__(self, state: Path, *, stamping: bool = False, hold: bool = False) -> None:
        words = ("serve", "--state", str(state), "--slots", "2")
        self.state = state
        self.client = Client(str(state))
        self._argv = [PYTHON, "-m", "benchmarks.stamping", *words] if stamping else mdactors(*words)
        self._environment = environment() | ({HOLD: "1"} if hold else {})
        self._log = state.with_name(f"{state.name}.log")

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._argv, env=self._environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.pid = self._process.pid
        try:
            self._await(30.0)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _await(self, limit: float) -> None:
        """Wait until it answers and knows its hardware."""
        end = time.monotonic() + limit
        while time.monotonic() < end and self._process.poll() is None:
            with contextlib.suppress(MdactorsError):
                if self.client.get("/v1/status")["slots"]:
                    return
            time.sleep(0.05)
        raise RuntimeError(f"the platform does not answer:\n{self._log.read_text(errors='replace')[-2000:]}")

    def _stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(15.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise RuntimeError(f"the platform did not stop:\n{self._log.read_text()[-2000:]}") from None

    def submit(self, entry: Facts, count: int) -> float:
        """Hand over a batch of equal jobs; return the seconds until it was acknowledged as durable."""
        body = {"jobs": [entry] * count, "base": "/", "owner": "bench", "wait": "durable"}
        began = time.perf_counter()
        answer = self.client.post("/v1/jobs", body)
        seconds = time.perf_counter() - began
        numbers = {each["job"] for each in answer["submissions"]}
        if None in numbers or len(numbers) != count:
            raise RuntimeError(f"not all were taken: {answer['submissions'][0]}")
        return seconds

    def calm(self) -> None:
        """Cancel everything and wait until nothing runs."""
        end = time.monotonic() + CALM_SECONDS
        while time.monotonic() < end:
            shown = self.client.get("/v1/status")
            counts, total = shown["counts"], shown["total"]
            if not sum(counts[name] for name in ("submitted", "queued", "assigned", "running", "stopping", "ending")):
                return
            for start in range(1, total + 1, 1000):
                self.client.post("/v1/cancel", {"jobs": list(range(start, min(total, start + 999) + 1))})
            time.sleep(0.1)
        raise RuntimeError("the jobs can't be cancelled")

    def memory(self) -> dict[str, float]:
        """Return resident and proportional set size in MB (10^6 bytes)."""
        with open(f"/proc/{self.pid}/smaps_rollup", encoding="ascii") as file:
            rows = [line.split() for line in file.readlines()[1:]]
        kilobytes = {row[0].rstrip(":"): int(row[1]) for row in rows if len(row) == 3}
        return {"rss_mb": kilobytes["Rss"] * 1024 / 1e6, "pss_mb": kilobytes["Pss"] * 1024 / 1e6}


def records(state: Path, *types: str) -> list[tuple[float, str, Facts]]:
    """Return (time, type, fields) of the records of these types in a state folder's log, in order."""
    marks = ",".join("?" * len(types))
    query = f"SELECT time, type, body FROM events WHERE type IN ({marks}) ORDER BY seq"
    with contextlib.closing(sqlite3.connect(state / JOURNAL_NAME)) as connection:
        rows = connection.execute(query, types).fetchall()
    return [(time_, name, json.loads(body)) for time_, name, body in rows]
