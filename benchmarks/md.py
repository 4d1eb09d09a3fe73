"""Real MD: the makespan of batches of short GROMACS runs on two slots of one core, beside other launchers.

    python -m benchmarks.md [--peers]

Two batches: 20 runs of 2,000 steps and 60 of 200 (`--batch RUNSxSTEPS` for others). All contestants run the same input
for the same steps, one thread a run, each run bound to the core of its slot:

- `xargs`: `xargs -P2` with taskset by slot, a shell loop that keeps nothing; everybody's base.
- `mdactors`: `python run.py submit --wait jobs.json` beside a running `serve`: the whole client process, with the event
  log durable, progress, archive and metrics on.
- `--foreground`: `python run.py submit jobs.json` with none running: interpreter, imports, probe of the engines, the
  batch, report, good-bye.
- `--peers`: GNU parallel, and HyperQueue as installed from PyPI, whose clock starts when server and worker are up.

Besides: the gap of a slot between two runs (exit of one engine to the start of the next shim, by the files that the shim
writes; the kernel's file times have a grain of some ms), and the CPU time of all but the engines, a job.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path

from benchmarks.common import (
    Facts,
    Report,
    Rounds,
    arguments,
    own_seconds,
    percentiles,
    process_seconds,
    spread,
    versions,
)
from benchmarks.serving import Scratch, Serve, default_input, mdactors, records, run, run_inside

ONE = """#!/bin/sh
# usage: one.sh CORE FOLDER TPR STEPS
mkdir -p "$2" && cd "$2" || exit 1
exec taskset -c "$1" gmx -quiet mdrun -s "$3" -nsteps "$4" -ntmpi 1 -ntomp 1 -pin off >out.txt 2>&1
"""

HYPERQUEUE = """
import json, os, sys, time
from hyperqueue import Job
from hyperqueue.cluster import LocalCluster, WorkerConfig
one, folder, tpr, steps, count = sys.argv[1:]
os.chdir(folder)
cluster = LocalCluster()
client = cluster.client()
cluster.start_worker(WorkerConfig(cores=2))
time.sleep(0.5)
began = time.perf_counter()
job = Job()
for number in range(int(count)):
    words = ["/bin/sh", "-c", f"exec {one} $HQ_CPUS {folder}/{number} {tpr} {steps}"]
    job.program(words, stdout=os.devnull, stderr=os.devnull)
client.wait_for_jobs([client.submit(job)])
print(json.dumps({"seconds": time.perf_counter() - began}), flush=True)
os._exit(0)
"""


class Batch:
    """One batch of equal runs, by each of the contestants; every call takes a fresh folder."""

    def __init__(self, scratch: Scratch, tpr: Path, count: int, steps: int) -> None:
        self.scratch = scratch
        self.tpr = tpr
        self.count = count
        self.steps = steps
        self.gaps: list[float] = []
        """Of all rounds, ms."""
        self.overhead: list[float] = []
        """Of each round, ms a job."""
        self.one = scratch.root / "one.sh"
        self.one.write_text(ONE, encoding="ascii")
        self.one.chmod(0o755)

    # ------------------------------------------------------------ peers

    def xargs(self) -> float:
        """Run it by xargs."""
        folder = self.scratch.folder("xargs")
        line = f"{self.one} $SLOT {folder}/@ {self.tpr} {self.steps}"
        return self._shell(folder, f"seq {self.count} | xargs -P2 --process-slot-var=SLOT -I@ sh -c '{line}'")

    def parallel(self) -> float:
        """Run it by GNU parallel."""
        folder = self.scratch.folder("parallel")
        line = f"{self.one} $(( {{%}} - 1 )) {folder}/{{}} {self.tpr} {self.steps}"
        return self._shell(folder, f"seq {self.count} | parallel -j2 '{line}'")

    def hyperqueue(self) -> float:
        """Run it by HyperQueue."""
        folder = self.scratch.folder("hyperqueue")
        words = (str(self.one), str(folder), str(self.tpr), str(self.steps), str(self.count))
        seconds = float(run_inside(HYPERQUEUE, *words)["seconds"])
        self._check(folder)
        return seconds

    def _shell(self, folder: Path, line: str) -> float:
        seconds = run(["/bin/sh", "-c", line])
        self._check(folder)
        return seconds

    # ------------------------------------------------------------ ours

    def served(self) -> float:
        """Run it by a platform that is up and idle."""
        folder = self.scratch.folder("served")
        with Serve(folder / "state") as serve:
            before = own_seconds() + sum(process_seconds(serve.pid))
            seconds = run(mdactors("submit", "--wait", str(self._job_file(folder)), "--state", str(serve.state)))
            used = own_seconds() + sum(process_seconds(serve.pid)) - before
        self._check(serve.state / "jobs")
        ends = [fields for _, _, fields in records(serve.state, "AttemptEnded")]
        engines = sum(end["exit"]["user_seconds"] + end["exit"]["system_seconds"] for end in ends)
        self.overhead.append((used - engines) / self.count * 1e3)
        self.gaps += gaps(serve.state, ends)
        return seconds

    def foreground(self) -> float:
        """Run it by a platform of the command's own."""
        folder = self.scratch.folder("foreground")
        state = folder / "state"
        seconds = run(mdactors("submit", str(self._job_file(folder)), "--state", str(state), "--slots", "2"))
        self._check(state / "jobs")
        return seconds

    def _job_file(self, folder: Path) -> Path:
        entry = {"kind": "tpr", "tpr": str(self.tpr), "nsteps": self.steps, "precision": "mixed"}
        path = folder / "jobs.json"
        path.write_text(json.dumps([entry | {"backend_pref": "gromacs", "device": 0}] * self.count), encoding="ascii")
        return path

    def _check(self, folder: Path) -> None:
        """See that every run reached its end."""
        done = sum(b"Finished mdrun" in log.read_bytes() for log in folder.glob("*/md.log"))
        if done != self.count:
            raise RuntimeError(f"{done} of {self.count} runs reached their end in {folder}")


def gaps(state: Path, ends: list[Facts]) -> list[float]:
    """Return the milliseconds between an engine's exit and the next start on the same slot."""
    spans: dict[str, list[tuple[float, float]]] = {}
    for end in ends:
        attempt = state / "jobs" / f"{end['job']:06d}" / "attempts" / str(end["attempt"])
        span = ((attempt / "shim").stat().st_mtime, (attempt / "exit").stat().st_mtime)
        spans.setdefault(end["slot"], []).append(span)
    pairs = (pair for of_slot in spans.values() for pair in itertools.pairwise(sorted(of_slot)))
    return [(after[0] - before[1]) * 1e3 for before, after in pairs]


def contestants(batch: Batch, *, foreground: bool, peers: bool) -> dict[str, Callable[[], float]]:
    """Return those who take part."""
    found = {"xargs": batch.xargs, "mdactors": batch.served}
    if foreground:
        found["mdactors, foreground"] = batch.foreground
    if peers:
        found |= {"parallel": batch.parallel, "hyperqueue": batch.hyperqueue}
    return found


def sizes(text: str) -> tuple[int, int]:
    """Return runs and steps of `20x2000`."""
    runs, _, steps = text.partition("x")
    return int(runs), int(steps)


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__, pairs=7)
    parser.add_argument("--batch", type=sizes, action="append", metavar="RUNSxSTEPS", help="(20x2000 and 60x200)")
    parser.add_argument("--foreground", action="store_true", help="also with no platform running beforehand")
    parser.add_argument("--peers", action="store_true", help="also by GNU parallel and HyperQueue")
    parser.add_argument("--tpr", type=Path, default=default_input())
    options = parser.parse_args()
    if not shutil.which("gmx"):
        raise SystemExit("gmx is not on PATH; on Debian: apt install gromacs")
    report = Report(f"makespan of batches of {options.tpr}", options)
    with Scratch(options.scratch) as scratch:
        for count, steps in options.batch or [(20, 2000), (60, 200)]:
            batch = Batch(scratch, options.tpr.resolve(), count, steps)
            rounds = Rounds("xargs", "s")
            taking_part = contestants(batch, foreground=options.foreground, peers=options.peers)
            rounds.turn(taking_part, options.pairs, report.note)
            title = f"{count} runs x {steps} steps"
            report.rounds(title, rounds)
            report.add(f"{title}: slot gap of mdactors, ms", percentiles(batch.gaps))
            report.add(f"{title}: CPU of mdactors beside the engines, ms a job", spread(batch.overhead))
    report.close(versions("hyperqueue", "anyio"))


if __name__ == "__main__":
    main()
