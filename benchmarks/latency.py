"""From submit to exec on an idle platform, beside a bare spawn of the same program.

    python -m benchmarks.latency --probes 20

The job's program is a shell that writes the time (benchmarks/stamping.py): the stamp says when it ran, so the start of
the shell and of `date` is in all figures, and an MD engine's own start (0.1 to 1.5 s for gmx mdrun) in none.

- `spawn`: posix_spawn of that program by the benchmark itself.
- `mdactors`: POST of one job over the Unix socket to an idle `serve`: examined, durable, negotiated, assigned, its folder
  laid out, every decision durable before the next, started under the shim.
- `run.py submit`: the same by `python run.py submit`, interpreter and all.
- `hyperqueue`: submit to an idle server with one idle worker, in memory.

Goal: mdactors at most 3 x spawn (p50) and no slower than HyperQueue.
"""

from __future__ import annotations

import itertools
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.common import Report, Rounds, arguments, percentiles, spread, versions
from benchmarks.serving import Scratch, Serve, mdactors, records, run, run_inside
from benchmarks.stamping import PROGRAM, STAMP

REST_SECONDS = 0.05
LOOK_SECONDS = 0.0005
LIMIT_SECONDS = 10.0

HYPERQUEUE = """
import json, os, sys, time
from hyperqueue import Job
from hyperqueue.cluster import LocalCluster, WorkerConfig
folder, probes, program = sys.argv[1], int(sys.argv[2]), sys.argv[3]
os.chdir(folder)
cluster = LocalCluster()
client = cluster.client()
cluster.start_worker(WorkerConfig(cores=2))
time.sleep(1.0)
found = []
for number in range(probes):
    job = Job()
    os.mkdir(f"{folder}/{number}")
    job.program(["/bin/sh", "-c", f"cd {folder}/{number}; {program}"], stdout=os.devnull, stderr=os.devnull)
    began = time.time_ns()
    client.submit(job)
    while not os.path.exists(f"{folder}/{number}/stamp"):
        time.sleep(0.0005)
    found.append((int(open(f"{folder}/{number}/stamp").read()) - began) / 1e6)
    time.sleep(0.05)
print(json.dumps({"ms": found}), flush=True)
os._exit(0)
"""


class Probe:
    """Measures some latencies of one kind at a time; returns their median in ms and keeps them all."""

    def __init__(self, scratch: Scratch, probes: int) -> None:
        self._scratch = scratch
        self._probes = probes
        self._tpr = scratch.root / "x.tpr"
        self._tpr.write_bytes(b"nothing that anybody reads")
        self.all: dict[str, list[float]] = {}
        self.parts: dict[str, list[float]] = {}

    def spawn(self) -> float:
        """Spawn the program."""
        folder = self._scratch.folder("spawn")

        def start(number: int) -> Path:
            place = folder / str(number)
            place.mkdir()
            run(["/bin/sh", "-c", f"cd {place}; {PROGRAM}"])
            return place

        return self._several("spawn", start)

    def platform(self) -> float:
        """Post a job."""
        with self._serve("mdactors") as serve:

            def start(number: int) -> Path:
                serve.submit(self._entry(), 1)
                return serve.state / "jobs" / f"{number + 1:06d}"

            median = self._several("mdactors", start)
        self._note_parts(serve.state)
        return median

    def command(self) -> float:
        """Submit a job by the command line."""
        file = self._scratch.root / "one.json"
        file.write_text(json.dumps(self._entry()), encoding="ascii")
        with self._serve("command") as serve:
            words = mdactors("submit", str(file), "--state", str(serve.state))

            def start(number: int) -> Path:
                run(words)
                return serve.state / "jobs" / f"{number + 1:06d}"

            return self._several("run.py submit", start)

    def hyperqueue(self) -> float:
        """Submit a task to HyperQueue."""
        folder = self._scratch.folder("hyperqueue")
        found: list[float] = run_inside(HYPERQUEUE, str(folder), str(self._probes), PROGRAM)["ms"]
        self.all.setdefault("hyperqueue", []).extend(found)
        return statistics.median(found)

    def _serve(self, name: str) -> Serve:
        return Serve(self._scratch.folder(name) / "state", stamping=True)

    def _entry(self) -> dict[str, str]:
        return {"kind": "tpr", "tpr": str(self._tpr)}

    def _several(self, name: str, start: Callable[[int], Path]) -> float:
        found = []
        for number in range(self._probes):
            began = time.time_ns()
            found.append((_stamp_of(start(number)) - began) / 1e6)
            time.sleep(REST_SECONDS)
        self.all.setdefault(name, []).extend(found)
        return statistics.median(found)

    def _note_parts(self, state: Path) -> None:
        """Split the way of each job by the times of its records."""
        order = ("JobSubmitted", "JobAccepted", "JobAssigned", "AttemptStarted", "AttemptEnded", "PerformanceRecorded")
        times: dict[int, dict[str, float]] = {}
        for moment, kind, fields in records(state, *order):
            times.setdefault(fields["job"], {})[kind] = moment
        for facts in times.values():
            for before, after in itertools.pairwise(order):
                self.parts.setdefault(f"{before} -> {after}", []).append((facts[after] - facts[before]) * 1e3)


def _stamp_of(folder: Path) -> int:
    """Wait for the stamp in a job's folder; return it, in ns since the epoch."""
    end = time.monotonic() + LIMIT_SECONDS
    while not (folder / STAMP).exists():
        if time.monotonic() > end:
            raise RuntimeError(f"nothing ran in {folder}")
        time.sleep(LOOK_SECONDS)
    return int((folder / STAMP).read_text())


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__, pairs=5)
    parser.add_argument("--probes", type=int, default=20, metavar="N", help="jobs of one kind in a round")
    options = parser.parse_args()
    report = Report("submit to exec, idle", options)
    with Scratch(options.scratch) as scratch:
        probe = Probe(scratch, options.probes)
        rounds = Rounds("spawn", "ms")
        contestants = {
            "spawn": probe.spawn,
            "mdactors": probe.platform,
            "run.py submit": probe.command,
            "hyperqueue": probe.hyperqueue,
        }
        rounds.turn(contestants, options.pairs, report.note)
        report.rounds("p50 of each round", rounds)
        for name, found in probe.all.items():
            report.add(f"{name}, ms, all rounds", percentiles(found))
        for name, found in probe.parts.items():
            report.add(f"{name}, ms", spread(found))
    report.close(versions("hyperqueue", "anyio", "litestar"))


if __name__ == "__main__":
    main()
