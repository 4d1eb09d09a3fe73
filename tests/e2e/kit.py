"""A user at a shell: a state folder of their own, `python run.py` as a process, and what they can see of it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SYSTEMS = ROOT.parent / "shared" / "systems"
RUN = (sys.executable, str(ROOT / "run.py"))

PATIENCE_SECONDS = 40.0
"""Nothing that is waited for here takes longer on a busy machine, unless it never comes."""

OWN_TO_THE_SHELL = ("MDACTORS_", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TERM", "PYTHON")
"""Beginnings of names that another shell would not have."""

needs_gromacs = pytest.mark.skipif(not shutil.which("gmx"), reason="no gmx on PATH")
"""For tests that need an engine that starts at once and runs for as long as it is asked to."""

LONG = 2_000_000
"""Steps that take longer than any test."""


class Said(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)

    def states(self) -> list[str]:
        """Return the states of the jobs in a document about several."""
        return [job["state"] for job in self.json()["jobs"]]


Process = subprocess.Popen[bytes]


class Desk:
    """One user, one state folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "s"
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith(OWN_TO_THE_SHELL)}
        self.environ["MDACTORS_STATE"] = str(self.state)
        self._started: list[Process] = []

    # ------------------------------------------------------------ commands

    def run(self, *words: object, stdin: str = "", cwd: Path | None = None, **environ: str) -> Said:
        """Run a command line to its end."""
        done = subprocess.run(
            (*RUN, *map(str, words)),
            input=stdin.encode(),
            cwd=cwd or self.folder,
            env=self.environ | environ,
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        return Said(done.returncode, done.stdout.decode(), done.stderr.decode())

    def shell(self, line: str) -> Said:
        """Run a line of shell in which `mdctl` is the program."""
        start = f"set -o pipefail; mdctl() {{ '{RUN[0]}' '{RUN[1]}' \"$@\"; }}; {line}"
        done = subprocess.run(
            ("bash", "-c", start),
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def start(self, *words: object) -> Process:
        """Start a command and leave it running; what it says on stderr goes to the file `err`."""
        with (self.folder / "err").open("ab") as err:
            process = subprocess.Popen(
                (*RUN, *map(str, words)),
                bufsize=0,  # a line that lies in a buffer is not seen by `select`
                stdout=subprocess.PIPE,
                stderr=err,
                cwd=self.folder,
                env=self.environ,
            )
        self._started.append(process)
        return process

    def serve(self, *words: object) -> Process:
        """Start a platform and wait until it answers."""
        process = self.start("serve", "--json", *words)
        assert json.loads(next_line(process))["state"] == str(self.state), self.err()
        return process

    def end(self, process: Process, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        process.send_signal(number)
        return process.wait(PATIENCE_SECONDS)

    def err(self) -> str:
        """Return what everything that was started has said on stderr."""
        return (self.folder / "err").read_text()

    # ------------------------------------------------------------ job files

    def file(self, name: str, *entries: Any) -> Path:
        """Write a job file."""
        path = self.folder / name
        path.write_text(json.dumps(entries))
        return path

    def submit(self, *entries: Any) -> list[int]:
        """Hand jobs over to the platform that runs; return their numbers."""
        answers = self.run("submit", self.file("jobs.json", *entries), "--json").json()["submissions"]
        return [answer["job"] for answer in answers]

    # ------------------------------------------------------------ what happens

    def until(self, kind: str, job: int | None = None, since: int = 0) -> Any:
        """Wait for a fact, which may lie in the past; return its record. The platform may be about to start."""
        words = () if job is None else ("--job", job)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            process = self.start("tail", "-f", "--type", kind, "--since", since, *words)
            line = next_line(process)
            self.end(process)
            if line:
                return json.loads(line)
        raise AssertionError(f"no {kind} of job {job} in {PATIENCE_SECONDS} s")

    def records(self, *words: object) -> list[Any]:
        """Return what `tail` prints."""
        return [json.loads(line) for line in self.run("tail", *words).out.splitlines()]

    def job(self, number: int) -> Any:
        """Return all that is known of a job."""
        return self.run("status", number, "--json").json()

    def ask(self, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
        """Ask the API on the Unix socket, as any other program would."""
        connection = OverUnix(str(self.state / "mdactors.sock"))
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is None:
            connection.request("GET", path, headers=named)
        else:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **named})
        with contextlib.closing(connection), connection.getresponse() as answer:
            return answer.status, answer.read()

    def engines(self) -> list[int]:
        """Return the engine processes that live, by what the kernel says."""
        return [pid for pid in self._processes() if _name(pid).startswith("gmx")]

    def _processes(self) -> Iterator[int]:
        """Yield every process that works in a job's folder."""
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdecimal() and (entry / "cwd").readlink().is_relative_to(self.state / "jobs"):
                    yield int(entry.name)

    def clear(self) -> None:
        """End everything of this user."""
        while self._started:
            with self._started.pop() as process:
                process.kill()
        while left := list(self._processes()):
            for pid in left:
                end_process(pid)


class OverUnix(http.client.HTTPConnection):
    """HTTP on a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=PATIENCE_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE_SECONDS)
        self.sock.connect(self._path)


def next_line(process: Process) -> bytes:
    """Return the next line of a process's output; empty where it ended without one, or was ended for want of one."""
    out: IO[bytes] | None = process.stdout
    assert out is not None
    if not select.select([out], [], [], PATIENCE_SECONDS)[0]:
        process.kill()
    return out.readline()


def end_process(pid: int) -> None:
    """Kill a process and wait until it is gone."""
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            select.select([descriptor], [], [], PATIENCE_SECONDS)
        finally:
            os.close(descriptor)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


# ---------------------------------------------------------------- jobs


def water(steps: int, **fields: Any) -> dict[str, Any]:
    """Return a job on the example's run input: 343 molecules of water."""
    return {"kind": "tpr", "tpr": str(EXAMPLES / "water" / "topol.tpr"), "nsteps": steps, **fields}


def portable(system: str, steps: int, **fields: Any) -> dict[str, Any]:
    """Return a job that GROMACS and OpenMM can run."""
    folder = EXAMPLES / system
    files = {"gro": str(folder / "conf.gro"), "top": str(folder / "topol.top"), "mdp": str(folder / "nvt.mdp")}
    return {"kind": "gromacs-top", **files, "nsteps": steps, **fields}
